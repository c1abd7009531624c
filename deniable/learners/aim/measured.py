"""The published measurements: their requirements, which a verifier derives from the spec.

After the one-way marginals each round has one choice and one release. Its noise is that of the previous round, or
reduced noise, or uses all that was left; no clock and no confidential count decides. Hence the whole schedule, and the
candidates of each choice, can be checked without the engine. Whether a reduction was right depends on the models, and
is checked by replay.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from deniable.learners.aim.candidates import candidates
from deniable.learners.aim.plan import Amounts, RoundsPlan
from deniable.learners.aim.workload import Attributes
from deniable.measurements.document import FILE, Measurements
from deniable.measurements.noisy_tables import NoiseLaw, Release

PURPOSE = "table"
"""The purpose of each choice."""
_DIGITS = 1e-9


@dataclass(frozen=True)
class Schedule:
    """The schedule that a published document must follow.

    Attributes:
        plan: the budget.
        max_model: largest size of a model's cliques, in megabytes.
        is_bounded: whether the spec bounds the work, so that the rounds may have ended early.
    """

    plan: RoundsPlan
    max_model: Fraction
    is_bounded: bool

    def faults_of_form(self, measured: Measurements) -> Iterator[str]:
        """Faults of tables that do not count values, or are not candidates of the workload."""
        sizes = measured.domain.cardinalities
        if any(
            len(own) != size or own.tolist() != list(range(size))
            for own, size in zip(measured.buckets, sizes, strict=True)
        ):
            yield f"{FILE} must have a bucket for each value"
        known = {*((i,) for i in self.plan.counted), *self.plan.workload.candidates}
        for table in measured.tables:
            if table.attributes not in known or table.differences:
                yield f"{FILE}: the {measured.named(table)} must be counts of a candidate of the workload"

    def faults_of_account(self, measured: Measurements) -> Iterator[str]:
        """Faults where a query is not the next one of the schedule, or has other noise."""
        releases = {
            release.turn: (table.attributes, release) for table in measured.tables for release in table.releases
        }
        plan = self.plan
        law = NoiseLaw("gaussian", plan.one_way_variance) if plan.counted else None
        for turn, i in enumerate(plan.counted, 1):
            attributes, release = releases.pop(turn, (None, None))
            if attributes != (i,) or release is None or release.noise != law or release.multiplier != 1:
                yield f"query {turn} must be the counts of {plan.domain.names[i]} with the noise of their event"
                return
        yield from self._faults_of_rounds(measured, releases)

    def _faults_of_rounds(
        self, measured: Measurements, releases: dict[int, tuple[Attributes, Release]]
    ) -> Iterator[str]:
        plan, choices = self.plan, measured.choices
        asked: list[Attributes] = [(i,) for i in plan.counted]
        left, before = plan.rho_of_rounds, None
        for number, choice in enumerate(choices, 1):
            turn = len(plan.counted) + 2 * number - 1
            attributes, release = releases.pop(turn + 1, (None, None))
            if choice.turn != turn or attributes is None or release is None or choice.attributes != attributes:
                yield f"round {number} must be one choice and one release of the chosen table"
                return
            offered = list(candidates(plan, asked, left, self.max_model))
            if choice.candidates != len(offered) or offered[choice.chosen] != attributes:
                yield f"round {number} must choose among {len(offered)} candidates, and measure the chosen one"
            amounts = self._amounts(before, left, release)
            if amounts is None or choice.purpose != PURPOSE:
                yield f"round {number} must have the noise of the round before, or reduced, or all that was left"
                return
            left, before = left - amounts.rho, amounts
            asked.append(attributes)
        if releases:
            yield "each release must be that of a one-way marginal or of a round"
        wished = before or plan.first
        if plan.has_rounds and not self.is_bounded and plan.next_amounts(wished, left) is not None:
            yield f"rounds must go on until rho is spent, got {len(choices)} with {float(left):.6g} left"
        stated = measured.figures.get("rho_unspent", float(left))
        if not np.isclose(stated, float(left), rtol=_DIGITS, atol=1e-15):
            yield f"rho_unspent must be what tables and choices leave, {float(left):.6g}, got {stated:.6g}"

    def _amounts(self, before: Amounts | None, left: Fraction, release: Release) -> Amounts | None:
        """The amounts of a round whose release has this noise; None if impossible."""
        wished = [self.plan.first] if before is None else [before, before.annealed()]
        found = (self.plan.next_amounts(each, left) for each in wished)
        fitting = (each for each in found if each is not None and release.noise == NoiseLaw("gaussian", each.variance))
        amounts = next(fitting, None)
        return amounts if release.multiplier == 1 else None

    def faults_of_figures(self, measured: Measurements) -> Iterator[str]:
        """Faults of the stated number of rounds, and of the rho spent."""
        spent = float(sum((table.cost for table in measured.tables), Fraction(0)) / 2)
        stated = measured.figures
        if set(stated) != {"rounds", "rho_of_tables", "rho_unspent"}:
            yield f"{FILE} must state the number of rounds, and the rho of tables and unspent"
            return
        if stated["rounds"] != len(measured.choices):
            yield f"{FILE}: rounds are {stated['rounds']}, but there are {len(measured.choices)} choices"
        if not np.isclose(stated["rho_of_tables"], spent, rtol=_DIGITS):
            yield f"{FILE}: rho_of_tables is {stated['rho_of_tables']}, but releases cost {spent}"
