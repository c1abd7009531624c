"""The entry of this learner in a release spec."""

from collections.abc import Mapping
from typing import ClassVar, Final, Literal

from pydantic import Field, field_validator

from deniable.foundation.spec_values import AttributeName
from deniable.learners.entry import CountingEntry, ParameterBudget, StructureBudget
from deniable.roles import Role

_A_PAIR: Final = 2


class Entry(CountingEntry):
    """A log-linear network fitted to small noisy tables.

    Attributes:
        noise: noise added to the tables; `auto` selects the kind with smaller errors.
        structure: ignored, because everything is learnt with the budget of the parameters; a spec may keep it, so that
            only one word must change to switch learners.
        parameters: the budget; prior and estimate are unused.
        counted_together: sets of attributes of which all pairs are counted, as analyses need them; in a spec as it is
            written, `analyses` stands for the sets of those that the evaluation declares.
    """

    certifies: ClassVar[bool] = True
    makes_buckets: ClassVar[bool] = True
    parts: ClassVar[tuple[str, ...]] = ("parameters",)
    leaves: ClassVar[tuple[str, ...]] = ("structure",)
    steps: ClassVar[Mapping[str, str]] = {
        Role.PARAMETERS: "Learns graph and probabilities of the model from small noisy tables.",
    }

    kind: Literal["loglinear"]
    noise: Literal["auto", "laplace", "gaussian"]
    structure: StructureBudget | None = None
    parameters: ParameterBudget
    # Omitted from all written forms if the spec leaves it out.
    counted_together: tuple[tuple[AttributeName, ...], ...] | None = Field(
        default=None, exclude_if=lambda sets: sets is None
    )

    @field_validator("counted_together", mode="before")
    @classmethod
    def _are_lists(cls, sets: object) -> object:
        """Lists of lists, or nothing."""
        if isinstance(sets, str):
            raise ValueError(  # noqa: TRY004 - pydantic reports a ValueError with its place
                f"must be lists of attributes, or `analyses` if the evaluation declares some, got {sets!r}; write for "
                "example [[income, age, sex]]"
            )
        return sets

    @field_validator("counted_together")
    @classmethod
    def _are_sets_of_attributes(cls, sets: tuple[tuple[str, ...], ...] | None) -> tuple[tuple[str, ...], ...] | None:
        """Two attributes or more in each set."""
        for each in sets or ():
            if len({*each}) != len(each) or len(each) < _A_PAIR:
                raise ValueError(
                    f"must have two or more different attributes in each set, got {', '.join(each) or 'none'}"
                )
        return sets

    @field_validator("structure")
    @classmethod
    def _has_none(cls, _: StructureBudget | None) -> None:
        """Everything is learnt in one step."""
