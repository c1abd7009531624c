"""Plans a release of a data frame before anything is read, and learns from the frame.

The steps, their costs and their noise are those of the release flow (deniable.learners, deniable.mechanisms). There is
no ledger here: what is spent is stated by `Plan` and added up by `Synthesizer.spent`, for this object alone.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, TypeVar

from pydantic import ValidationError

from deniable.foundation.domain import Codes
from deniable.foundation.errors import InvalidInput, Refused
from deniable.foundation.keys import ReleaseKey
from deniable.foundation.tables import Tally
from deniable.learners.entry import LearnerEntry, budget_of
from deniable.learners.registry import LEARNERS, entry_of, relation_of, steps_of
from deniable.ledger.drawing_versions import drawing_of, stream_name
from deniable.library.frames import codes_of_frame
from deniable.library.release import Release
from deniable.library.schema import Schema
from deniable.mechanisms import PlannedStep, step_cost
from deniable.privacy.composition import sequential
from deniable.privacy.loss import NOTHING, Guarantee
from deniable.privacy.step_costs import SHARED, StepCost, combine

_WHOLE = {SHARED: Fraction(1)}
_ROWS_A_CHUNK = 100_000
T = TypeVar("T", bound=Tally)


class AlreadySpent(Refused):
    """A second fit, which would cost as much again, was not asked for in words."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a fit will do and cost; it follows from the schema and the parameters alone.

    Attributes:
        learner: the learner with its budget, as in a release spec.
        steps: the cost of each step.
        total: the cost of one fit; samples of its release cost nothing.
        relation: what neighbouring tables differ by, in words.
    """

    learner: Mapping[str, Any]
    steps: tuple[StepCost, ...]
    total: Guarantee
    relation: str

    @property
    def epsilon(self) -> float:
        """The epsilon of one fit."""
        return self.total.epsilon

    @property
    def delta(self) -> float:
        """The delta of one fit."""
        return self.total.delta

    def __str__(self) -> str:
        """The cost in a sentence."""
        vacuous = " (vacuous)" if self.total.is_vacuous else ""
        return (
            f"Each fit by {self.learner['kind']} costs epsilon {self.epsilon:.6g} at delta {self.delta:.6g}{vacuous}; "
            f"tables are neighbouring if {self.relation}; samples cost nothing."
        )


class Synthesizer:
    """Learns a model of a confidential table under differential privacy.

    The cost is fixed when it is made. Each `fit` costs as much as `plan` states, again. There is no ledger: the caller
    must add up what other objects, programs and people spend on the same people.

    Args:
        schema: the public description of the table.
        epsilon: the budget of one fit; leave it out if `learner` states its own.
        delta: delta of one fit.
        learner: the name of a learner, or its entry as in a release spec.

    Attributes:
        schema: the schema.
        plan: what a fit costs.

    Raises:
        InvalidInput: there is no such learner, or the budget or the schema does not suit it.
    """

    def __init__(
        self,
        schema: Schema,
        epsilon: float | str | Fraction | None = None,
        delta: float | str | Fraction = 1e-9,
        learner: str | Mapping[str, Any] = "loglinear",
    ) -> None:
        if not isinstance(schema, Schema):
            raise InvalidInput(f"the schema must be a deniable.Schema, and is a {type(schema).__name__}; make one.")
        if schema.domain.person is not None:
            raise InvalidInput(
                "the library protects single records, and this schema names people, who may have several: make the "
                "release by the release flow, or make one row of each person and leave person out of the schema."
            )
        if schema.domain.totals:
            raise InvalidInput("a schema for the library must have no public totals; leave them out, or use the flow.")
        self.schema = schema
        self._entry = _entry(schema, epsilon, delta, learner)
        self._steps = steps_of(self._entry, schema.domain, lambda whole: whole)
        if any(step.public is not None for step in self._steps):
            raise InvalidInput("a learner that counts public rows needs the release flow; choose another.")
        costs = tuple(step_cost(step, _WHOLE, step.guarantee) for step in self._steps if step.part is not None)
        document = self._entry.model_dump(mode="json", fallback=str)
        relation = relation_of(document)
        self.plan = Plan(
            learner=document,
            steps=costs,
            total=combine(costs) if costs else NOTHING,
            relation=relation.neighbouring,
        )
        self._fits = 0

    @property
    def fits(self) -> int:
        """How often a fit has spent its cost, whether or not it ended."""
        return self._fits

    @property
    def spent(self) -> Guarantee:
        """What all fits of this object have cost together, by basic composition."""
        return sequential([self.plan.total] * self._fits) if self._fits else NOTHING

    def fit(self, frame: Any, *, drop_invalid: bool = False, again: bool = False) -> Release:
        """Learn from a table. This costs what `plan` states, each time.

        All noise is drawn from a key that the operating system's generator makes and that is destroyed afterwards, so
        no fit can be repeated. Nothing is published: only what the returned release has may be.

        Args:
            frame: a data frame of pandas, polars or Arrow, or a mapping from names to columns.
            drop_invalid: whether rows with values outside the schema are left out. Otherwise they stop the fit; that it
                stopped is not covered by epsilon.
            again: whether the cost is to be spent once more if this object has spent it already.

        Raises:
            AlreadySpent: this object has been fitted before, and `again` was not given.
            InvalidInput: the frame does not have the columns and values of the schema; nothing is spent.
        """
        if self._fits and not again:
            cost = f"epsilon {self.plan.epsilon:.6g} at delta {self.plan.delta:.6g}"
            raise AlreadySpent(
                f"this synthesizer has spent its cost already, and a second fit costs {cost} again: draw more records "
                "with release.sample, which is free, or say so with fit(frame, again=True)."
            )
        codes = codes_of_frame(frame, self.schema.domain, drop_invalid=drop_invalid)
        # From here on noise may be drawn, so the cost counts even if a step fails.
        self._fits += 1
        products = self._learn(codes, ReleaseKey.generate())
        return Release(self.schema, self.plan.learner, self.plan.steps, self.plan.total, products)

    def _learn(self, codes: Codes, key: ReleaseKey) -> Mapping[str, tuple[Any, Any]]:
        """Run the steps on all rows; the key exists only as long as this runs."""
        made: dict[str, tuple[Any, Any]] = {}
        for step in self._steps:
            name = stream_name(drawing_of(self._entry.kind, step.name), step.name)
            read = {each: made[each][1] for each in step.reads}
            if step.foresee is not None:
                step.foresee(read)
            found = step.run(_Rows(codes, step), read, partial(key.stream, step=name, inputs=""))
            for product in step.makes:
                made[product.name] = product, found.products[product.name]
        return made


class _Rows:
    """Counts the rows of a table in memory; see `deniable.mechanisms.Counter`."""

    def __init__(self, codes: Codes, step: PlannedStep) -> None:
        self._codes, self._step = codes, step

    def count(self, empty: Callable[[], T], _: str) -> T:
        """Count all rows, unless the step reads none."""
        if self._step.part is None:
            raise Refused("a step that reads no part of the rows must count none, and requested counts.")
        tally = empty()
        for start in range(0, len(self._codes), _ROWS_A_CHUNK):
            tally.add(self._codes[start : start + _ROWS_A_CHUNK])
        return tally

    def advance(self, _: int) -> None:
        """Report nothing."""


def _entry(
    schema: Schema,
    epsilon: float | str | Fraction | None,
    delta: float | str | Fraction,
    learner: str | Mapping[str, Any],
) -> LearnerEntry:
    """The learner's entry in a spec."""
    kind = learner if isinstance(learner, str) else learner.get("kind")
    if kind not in LEARNERS:
        raise InvalidInput(f"the learner must be one of {', '.join(LEARNERS)}, and {kind} is none; choose one.")
    model = entry_of(kind)
    if model.is_drawn_from_counts or relation_of({"kind": kind}).kind != "record":
        raise InvalidInput(f"the learner {kind} is charged for each record that it draws: use the release flow for it.")
    asked: Mapping[str, Any]
    if isinstance(learner, str):
        if "parameters" not in model.model_fields or model.learns_structure({"kind": kind}):
            if "parameters" in model.model_fields:
                raise InvalidInput(
                    f"one epsilon does not determine the budgets of the learner {kind}: give its entry as in a release "
                    "spec, learner={'kind': ..., ...}, and leave epsilon out."
                )
            asked = {"kind": kind}
        else:
            if epsilon is None:
                raise InvalidInput(
                    "epsilon must be given, what one fit may cost, such as 1; decide it before you look."
                )
            noise = model.model_fields.get("noise")
            asked = {
                "kind": kind,
                **({"noise": "gaussian"} if noise is not None and noise.is_required() else {}),
                "parameters": {"epsilon": epsilon, **({} if _is_pure(model) else {"delta": delta})},
            }
    elif epsilon is not None:
        raise InvalidInput(
            "the budget is stated by the learner's entry, so epsilon must be left out; state one of both."
        )
    else:
        asked = learner
    try:
        return model.model_validate(asked, context={"domain": schema.domain})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(each) for each in first["loc"])
        why = first["msg"].removeprefix("Value error, ")
        raise InvalidInput(f"{place} of the learner {kind} is wrong: {why}; correct it.") from None


def _is_pure(model: type[LearnerEntry]) -> bool:
    """Whether a learner's noise has no delta."""
    budget = budget_of(model)
    fields = {} if budget is None else budget.model_fields
    return "delta" not in fields or not fields["delta"].is_required()
