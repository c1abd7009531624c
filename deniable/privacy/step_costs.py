"""The cost of a release's steps, individually and in total; used both to state and to verify it.

The events of a step and their cost (accounting, seed_accounting), and the sum of charges to a ledger (budget), do not
belong here.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import groupby
from math import inf
from operator import attrgetter
from typing import TypeAlias

from deniable.foundation.errors import InvalidInput
from deniable.privacy.accounting import best
from deniable.privacy.composition import joint_split, sequential
from deniable.privacy.group_privacy import delta_of_record, of_person, of_record
from deniable.privacy.loss import TRIVIAL, ApproximateEvent, Guarantee, MechanismEvent, PrivacyTestEvent

Accountant: TypeAlias = Callable[[Sequence[MechanismEvent], float], Guarantee]
"""The tightest guarantee, at a total delta, for events on the same rows."""

EXACT_COUNTS = ApproximateEvent(
    query="candidates tested by exact counts",
    part="seeds",
    outputs=1,
    epsilon_per_output=Fraction(0),
    delta_per_output=Fraction(1),
)
"""The mechanism of privacy test 1, which is not differentially private."""

SHARED = "shared"
"""The name of the part if all steps read the same records."""

FINENESS = 1.001
"""Factor of a composed epsilon: noise scaled to a sensitivity known later is composed as on the finest grid."""
# A part's delta is rounded to this many decimal digits, so that all machines obtain the same value.
_DIGITS = 9


@dataclass(frozen=True)
class JointCost:
    """The cost of a step together with earlier ones, whose noise is composed with its own.

    Attributes:
        guarantee: their cost together, which is less than the sum.
        steps: names of the earlier steps, in order; they read the same part.
    """

    guarantee: Guarantee
    steps: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class StepCost:
    """The mechanisms that one step of a release applies to one part of the data.

    Attributes:
        step: name of the step.
        part: the part that it reads; `shared` if all steps read the same records.
        probability: probability with which a record is in that part.
        events: the mechanism events, for one record.
        guarantee: their cost, for one person if several records of each are read; None for privacy test 1, which has
            no differential privacy.
        record: cost of the record of one attempt, by the exact form of Theorem 1; only if candidates are tested by
            privacy test 2.
        record_t: the t of Theorem 1, in versions that did not use its exact form.
        most_records: the most records of one person that are read; 1 if the privacy unit is one record.
        joint: the cost together with earlier steps, with which it is charged; None if it is charged alone.
    """

    step: str
    part: str
    probability: Fraction
    events: tuple[MechanismEvent, ...]
    guarantee: Guarantee | None
    record: Guarantee | None = None
    record_t: int | None = None
    most_records: int = 1
    joint: JointCost | None = None

    @property
    def charged(self) -> Guarantee:
        """The charge to a ledger; without a guarantee, the trivial one: epsilon 0 at delta 1."""
        return self.guarantee or TRIVIAL

    @property
    def of_record(self) -> "StepCost":
        """The same mechanisms with their cost for one record."""
        if self.guarantee is None or self.most_records == 1:
            return self
        return replace(self, guarantee=of_record(self.guarantee, self.most_records), most_records=1)


def part_delta(whole: Fraction, read: Fraction) -> Fraction:
    """Delta of a step for the records that it reads, given delta of the whole release.

    A joint split has delta = eta * (largest delta of a part), where eta is the probability that a record is read at all
    (`joint_split`); the deltas of steps on the same part are summed. Each part may therefore spend whole / eta,
    rounded down so that the resulting delta is at most the given one, even in floating point.

    Args:
        whole: delta of the whole release, in [0, 1).
        read: eta, the sum of the probabilities of all parts with a cost, in (0, 1].
    """
    exact = whole / read
    if whole == 0 or exact >= 1:
        return whole
    unit = Fraction(1, 10 ** (_DIGITS + len(str(int(1 / exact)))))
    found = exact // unit * unit
    return found if float(read) * float(found) <= float(whole) else found - unit


def read_probability(split: Mapping[str, Fraction], used: Collection[str]) -> Fraction:
    """The probability that a record is read by any step with a cost.

    Args:
        split: probability of each part.
        used: the parts that are read, if the split has one for each.
    """
    read = (probability for part, probability in split.items() if part in {SHARED, *used})
    return sum(read, Fraction(0))


def combine(steps: Sequence[StepCost], accountant: Accountant = best) -> Guarantee:
    """Total cost of steps: composed within a part, and across parts by a joint split.

    A record is in one part at most, drawn independently and secretly, as `joint_split` requires; if several records of
    each person are read, all records of a person are in one part, and the costs of the parts are those for a person.

    Args:
        steps: steps that have a guarantee.
        accountant: composes the noise of steps on the same records.
    """
    composed = [(those[0].probability, _same_records(those, accountant)) for those in _by_part(steps)]
    whole = joint_split(composed)
    inner = sorted({guarantee.accountant for _, guarantee in composed})
    return replace(whole, accountant=" + ".join(["joint_split", *inner]))


def with_paid(total: Guarantee | None, paid: Guarantee | None) -> Guarantee | None:
    """The total of a release with the cost of a model for which an earlier release was charged: their sum.

    The model is public when this release is planned, so the number of its attempts and their law may depend on all that
    was released before. Basic composition holds for costs that are chosen so; the composition of privacy loss
    distributions holds for a law that was fixed before.

    Args:
        total: the total of the release's own steps; None if it has no guarantee.
        paid: the cost of the model; None if the release learns its own.
    """
    return total if paid is None or total is None else sequential([paid, total])


def added_up(steps: Sequence[StepCost]) -> Guarantee:
    """Total cost of steps, by basic composition of steps on the same records, as in a ledger."""
    return joint_split(
        [(those[0].probability, sequential([step.charged for step in those])) for those in _by_part(steps)]
    )


def joint_cost(step: StepCost, earlier: Sequence[StepCost], accountant: Accountant = best) -> JointCost | None:
    """The cost of a step together with all earlier ones on the same part, composed as in the total.

    Args:
        step: the step.
        earlier: the steps before it.
        accountant: composes their noise.

    Returns:
        The cost; None if it is no less than the sum, as where the loss of one of them has no known distribution, or if
        no earlier step reads the part.
    """
    noisy = [each for each in (*earlier, step) if each.part == step.part and _is_noise(each)]
    if len(noisy) == 1 or not _is_noise(step):
        return None
    together = _same_records(noisy, accountant)
    if not together.epsilon < sequential([each.charged for each in noisy]).epsilon:
        return None
    return JointCost(together, tuple(each.step for each in noisy[:-1]))


def _is_noise(step: StepCost) -> bool:
    """Whether a step has a guarantee by noise, which is composed with that of others; candidates tested are not."""
    return step.guarantee is not None and not any(isinstance(event, PrivacyTestEvent) for event in step.events)


def _by_part(steps: Sequence[StepCost]) -> list[tuple[StepCost, ...]]:
    """The steps that read each part, by the part's name."""
    by_part = groupby(sorted(steps, key=attrgetter("part")), key=attrgetter("part"))
    return [tuple(those) for _, those in by_part]


def _same_records(steps: Sequence[StepCost], accountant: Accountant) -> Guarantee:
    """Total cost of steps on the same records: the sum of their costs, or less if their noise is composed together."""
    guarantees = [step.guarantee for step in steps if step.guarantee is not None]
    if len(steps) == 1:
        return guarantees[0]
    noisy = [step for step in steps if not any(isinstance(event, PrivacyTestEvent) for event in step.events)]
    together = _noise_together(noisy, accountant)
    rest = [step.guarantee for step in steps if step not in noisy and step.guarantee is not None]
    tighter = sequential([together, *rest]) if rest else together
    return min(sequential(guarantees), tighter, key=attrgetter("epsilon"))


def _noise_together(steps: Sequence[StepCost], accountant: Accountant) -> Guarantee:
    """Total cost of steps by their noise together, at the sum of their deltas; infinite if only their sum is certified.

    For one record, epsilon together is at most the sum of the epsilons. At the delta for one record that goes with this
    sum, the delta for a person is therefore at most the sum of the deltas.
    """
    events = [event for step in steps for event in step.events]
    most = max((step.most_records for step in steps), default=1)
    delta = sum(step.charged.delta for step in steps)
    largest = sum(step.of_record.charged.epsilon for step in steps)
    try:
        found = accountant(events, delta_of_record(largest, delta, most))
    except InvalidInput:
        # As where one mechanism is known by its loss distribution alone, and another has none.
        return Guarantee(inf, delta, "none")
    found = replace(found, epsilon=found.epsilon * FINENESS)
    if most == 1:
        return found
    return replace(of_person(found, most), delta=delta) if found.epsilon <= largest else Guarantee(inf, delta, "none")
