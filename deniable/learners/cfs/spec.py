"""The entry of this learner in a release spec."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, ValidationInfo, field_validator

from deniable.foundation.domain import Domain
from deniable.foundation.errors import InvalidInput
from deniable.foundation.spec_values import AttributeName, Strict, domain_known_to
from deniable.learners.cfs.given_graph import MOST_CELLS, cells_of, graph_in_spec
from deniable.learners.entry import CountingEntry, ParameterBudget, StructureBudget
from deniable.privacy.loss import WITHOUT_NOISE
from deniable.roles import Role

_MOST_ATTRIBUTES = 10_000

Names = Annotated[tuple[AttributeName, ...], Field(max_length=_MOST_ATTRIBUTES)]


class GivenGraph(Strict):
    """A public graph, which the spec states and no record is read for.

    Attributes:
        parents: the attributes on which each depends directly; one that is not listed depends on none.
        order: all attributes, each after those on which it depends; derived from the graph if left out. Records copy
            the first ones from a seed, if they start from seeds.
    """

    parents: Annotated[dict[AttributeName, Names], Field(max_length=_MOST_ATTRIBUTES)]
    order: Annotated[tuple[AttributeName, ...], Field(max_length=_MOST_ATTRIBUTES)] | None = Field(
        default=None, exclude_if=lambda order: order is None
    )

    @field_validator("parents")
    @classmethod
    def _name_attributes(cls, parents: dict[str, tuple[str, ...]], info: ValidationInfo) -> dict[str, tuple[str, ...]]:
        domain = _modelled(info)
        if domain is not None:
            named = dict.fromkeys([*parents, *(name for those in parents.values() for name in those)])
            _refuse_unknown(named, domain)
        for child, those in parents.items():
            if child in those or len(set(those)) < len(those):
                raise ValueError(f"must list others, each once, as parents of {child}, got {', '.join(those)}")
        if domain is not None:
            _require_room(domain, parents)
            try:
                graph_in_spec(domain, {"parents": parents})
            except InvalidInput:
                raise ValueError(
                    "must have no cycle, in which an attribute depends on itself by way of others, got one; leave out "
                    "a parent in it"
                ) from None
        return parents

    @field_validator("order")
    @classmethod
    def _has_parents_first(cls, order: tuple[str, ...] | None, info: ValidationInfo) -> tuple[str, ...] | None:
        domain, parents = _modelled(info), info.data.get("parents")
        if domain is None or parents is None or order is None:
            return order
        _refuse_unknown(order, domain)
        if sorted(order) != sorted(domain.names):
            missing = [name for name in domain.names if name not in order]
            said = f"without {', '.join(missing)}" if missing else "with one twice"
            raise ValueError(f"must list each attribute of the dataset once, got a list {said}")
        try:
            graph_in_spec(domain, {"parents": parents, "order": order})
        except InvalidInput as error:
            raise ValueError(str(error).rstrip(".")) from None
        return order


def _modelled(info: ValidationInfo) -> Domain | None:
    """The attributes that a graph is about, if known: all but those that rules determine."""
    domain = domain_known_to(info)
    return None if domain is None else domain.modelled


def _refuse_unknown(names: Iterable[str], domain: Domain) -> None:
    unknown = [name for name in names if name not in domain.names]
    if unknown:
        raise ValueError(
            f"must name attributes of the dataset that no rule determines, {', '.join(domain.names)}; got "
            f"{', '.join(unknown)}"
        )


def _require_room(domain: Domain, parents: Mapping[str, tuple[str, ...]]) -> None:
    """Refuse tables that are too large to count."""
    for child, those in parents.items():
        cells = cells_of(domain, child, those)
        if cells > MOST_CELLS:
            raise ValueError(
                f"must give each attribute at most {MOST_CELLS:,} counts, one for each of its values and each "
                f"combination of its parents' buckets, got {cells:,} for {child}; leave out a parent, or make buckets "
                "coarser in the schema"
            )


class Entry(CountingEntry):
    """The papers' Bayesian network: a graph, then probabilities.

    Attributes:
        noise: noise added to entropies and counts; `none`, of a public table with a public graph, guarantees nothing.
        structure: the learning of the graph; left out if the graph is given.
        graph: a public graph, instead of one that is learnt.
        parameters: the learning of the probabilities; left out without noise.
        accept_no_differential_privacy: must be true without noise, and left out otherwise.
    """

    reads_buckets: ClassVar[bool] = True
    parts: ClassVar[tuple[str, ...]] = ("structure", "parameters")
    steps: ClassVar[Mapping[str, str]] = {
        Role.STRUCTURE: "Learns from noisy counts which attributes depend on which, unless the spec has the graph.",
        Role.PARAMETERS: "Learns the probabilities of the model from noisy counts.",
    }

    kind: Literal["cfs"]
    noise: Literal["laplace", "gaussian", "none"]
    # Omitted from all written forms if the spec leaves it out; it has this or the structure's budget.
    graph: GivenGraph | None = Field(default=None, exclude_if=lambda graph: graph is None)
    structure: StructureBudget | None = Field(
        default=None, exclude_if=lambda structure: structure is None, validate_default=True
    )
    parameters: ParameterBudget | None = Field(
        default=None, exclude_if=lambda parameters: parameters is None, validate_default=True
    )
    accept_no_differential_privacy: bool = Field(
        default=False, exclude_if=lambda accepted: not accepted, validate_default=True
    )

    @field_validator("parameters")
    @classmethod
    def _pays_for_noise(cls, parameters: ParameterBudget | None, info: ValidationInfo) -> ParameterBudget | None:
        is_without = info.data.get("noise") == WITHOUT_NOISE
        if "noise" in info.data and is_without != (parameters is None):
            raise ValueError(
                "must be left out if noise is none, because exact counts have no budget"
                if is_without
                else "must be given, the budget with which the probabilities are learnt"
            )
        return parameters

    @field_validator("accept_no_differential_privacy")
    @classmethod
    def _is_said(cls, accepted: bool, info: ValidationInfo) -> bool:  # noqa: FBT001 - pydantic calls it
        is_without = info.data.get("noise") == WITHOUT_NOISE
        if "noise" in info.data and is_without != accepted:
            raise ValueError(
                "must be true if noise is none, which is for public tables and gives no differential privacy"
                if is_without
                else "must be left out unless noise is none"
            )
        return accepted

    @field_validator("structure")
    @classmethod
    def _is_learnt_or_given(cls, structure: StructureBudget | None, info: ValidationInfo) -> StructureBudget | None:
        if "graph" in info.data and (structure is None) == (info.data["graph"] is None):
            raise ValueError(
                "must be given, the budget with which the graph is learnt, or graph instead, a public graph; got "
                f"{'neither' if structure is None else 'both'}"
            )
        if structure is not None and info.data.get("noise") == WITHOUT_NOISE:
            raise ValueError("must be left out if noise is none; state graph instead, a public graph")
        return structure

    @property
    def reads(self) -> tuple[str, ...]:
        """The parts that are read: none for the structure if the graph is given."""
        return self.parts if self.graph is None else ("parameters",)

    @classmethod
    def learns_structure(cls, asked: Mapping[str, Any]) -> bool:
        """Whether the spec must state the budget of the structure."""
        return asked.get("graph") is None
