"""The decision on a release: whether it is published automatically, waits for a person, or is refused.

Figures are measured on real records, without noise. If they decide, the fact of publication discloses something about
those records that no epsilon covers. Therefore they decide only if the spec states it, and then the release's
statement states it too; under any other policy a person decides, whatever the figures.

The figures and their measurement do not belong here (schemas.spec.evaluation).
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from deniable.evaluation.thresholds import bounds_of
from deniable.foundation.spec_values import Strict
from schemas.plain_text import LONGEST_LINE, Line
from schemas.spec.evaluation import judge
from schemas.spec.spec_values import Bound

_MOST_THRESHOLDS = 10_000
_MOST_APPROVERS = 1000

ThresholdName: TypeAlias = Annotated[str, Field(pattern=r"^[a-z0-9_]+_(min|max)$", max_length=LONGEST_LINE)]
Thresholds: TypeAlias = Annotated[dict[ThresholdName, Bound], Field(max_length=_MOST_THRESHOLDS)]


class Policy(Strict):
    """The policy of the decision in a spec; thresholds are named as elsewhere in the spec.

    Attributes:
        exact_figures_decide: whether exact figures of the real records may publish or refuse a release.
        publish_within: a release that meets all of these publishes by itself; without any, none does.
        refuse_beyond: a release that misses any of these is never published.
        approvers: who may decide; by default anyone except the person who started the release.
        always_ask: whether a person decides even if all thresholds are met.
    """

    exact_figures_decide: bool = False
    publish_within: Thresholds = Field(default_factory=dict)
    refuse_beyond: Thresholds = Field(default_factory=dict)
    approvers: tuple[Line, ...] | None = Field(default=None, min_length=1, max_length=_MOST_APPROVERS)
    always_ask: bool = False

    @field_validator("publish_within", "refuse_beyond")
    @classmethod
    def _is_said(cls, bounds: dict[str, float], info: ValidationInfo) -> dict[str, float]:
        if bounds and not info.data.get("exact_figures_decide", True):
            raise ValueError(
                "must come with exact_figures_decide: true, because exact figures of the real records then decide "
                "whether the release is published, which no epsilon covers and its statement discloses; or leave this "
                "out, and a person always decides, who sees which thresholds of the spec are met"
            )
        return bounds


class Outcome(BaseModel):
    """The outcome of a policy.

    Attributes:
        action: whether the release publishes by itself, is held for a person, or is refused.
        reasons: why it does not publish by itself, in words; they name figures and bounds, never measured values.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    action: Literal["publish", "hold", "refuse"]
    reasons: tuple[str, ...] = ()


PUBLISH = Outcome(action="publish")
"""The outcome of a release whose spec requires no decision."""


def outcome_of(policy: Policy | None, figures: Mapping[str, float]) -> Outcome:
    """Compare the figures of a release with the policy of its spec.

    A figure that was not measured meets no threshold: a person must decide.

    Args:
        policy: the policy; None if the spec has none.
        figures: all figures of utility and risk, by name.
    """
    if policy is None:
        return PUBLISH
    beyond = list(_missed(policy.refuse_beyond, figures, "to be published at all, and is not"))
    if beyond:
        return Outcome(action="refuse", reasons=tuple(beyond))
    reasons = [*_missed(policy.publish_within, figures, "to be published without a decision, and is not")]
    reasons += _unmeasured({**policy.refuse_beyond, **policy.publish_within}, figures)
    if policy.always_ask:
        reasons.append("its spec always asks")
    elif not policy.publish_within:
        reasons.append("its spec requires a person to decide, for any figures")
    return Outcome(action="hold", reasons=tuple(reasons)) if reasons else PUBLISH


def _missed(bounds: Mapping[str, float], figures: Mapping[str, float], what_for: str) -> Iterator[str]:
    """A sentence for each bound that is missed."""
    for verdict in judge(figures, bounds):
        if not verdict.met:
            yield f"{verdict.figure} must be {verdict.limit.words} {what_for}"


def _unmeasured(bounds: Mapping[str, float], figures: Mapping[str, float]) -> Iterator[str]:
    names = dict.fromkeys(bound.figure for bound in bounds_of(bounds))
    yield from (f"{name} was not measured" for name in names if name not in figures)
