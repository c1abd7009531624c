"""What the steps of a release cost, one by one and together: one derivation for who states it and for who verifies it.

What a step's events are, and what they cost by themselves, does not belong here (accounting, seed_accounting), nor does
what charges to a ledger add up to (budget).
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import groupby
from operator import attrgetter
from typing import TypeAlias

from deniable.privacy.accounting import best
from deniable.privacy.composition import joint_split, sequential
from deniable.privacy.loss import ApproximateEvent, Guarantee, MechanismEvent, PrivacyTestEvent

Accountant: TypeAlias = Callable[[Sequence[MechanismEvent], float], Guarantee]
"""The tightest guarantee, at a total delta, for events that read the same rows."""

EXACT_COUNTS = ApproximateEvent(
    query="candidates tested by exact counts",
    part="seeds",
    outputs=1,
    epsilon_per_output=Fraction(0),
    delta_per_output=Fraction(1),
)
"""Privacy test 1: all that can be said of it in terms of differential privacy is nothing."""

SHARED = "shared"
"""The part of a split in which all steps read the same records."""

_FINENESS = 1.001
# A part's delta is a decimal number of so many digits, so that every machine arrives at the same one.
_DIGITS = 9


@dataclass(frozen=True, kw_only=True)
class StepCost:
    """What one step of a release does to one part of the data.

    Attributes:
        step: name of the step.
        part: the part that it reads; `shared` where all steps read the same records.
        probability: probability with which a record is in that part.
        events: what is done to it.
        guarantee: what that costs; None for privacy test 1, which has no differential privacy.
        record: cost of the record that one attempt may end with, by the exact form of Theorem 1; only where candidates
            are tested by privacy test 2.
        record_t: the t that Theorem 1 was used with, by versions that did not use its exact form.
    """

    step: str
    part: str
    probability: Fraction
    events: tuple[MechanismEvent, ...]
    guarantee: Guarantee | None
    record: Guarantee | None = None
    record_t: int | None = None

    @property
    def charged(self) -> Guarantee:
        """What a ledger is charged: where nothing is guaranteed, what holds of anything, epsilon 0 at delta 1."""
        return self.guarantee or Guarantee(0.0, 1.0, "trivial")


def part_delta(whole: Fraction, read: Fraction) -> Fraction:
    """The delta that a step may have for the records that it reads, where one is asked for the whole release.

    A joint split has delta = eta * (largest delta of a part), where eta is the probability with which a record is read
    at all (`joint_split`); the deltas of steps that read the same part add up. So whole / eta may be spent by each.
    It is rounded down, so that what comes of it is at most what was asked, in floating point too.

    Args:
        whole: delta asked of the whole release, in [0, 1).
        read: eta, the sum of the probabilities of all parts that anything is spent on, in (0, 1].
    """
    exact = whole / read
    if whole == 0 or exact >= 1:
        return whole
    unit = Fraction(1, 10 ** (_DIGITS + len(str(int(1 / exact)))))
    found = exact // unit * unit
    return found if float(read) * float(found) <= float(whole) else found - unit


def read_probability(split: Mapping[str, Fraction], used: Collection[str]) -> Fraction:
    """The probability with which a record is used for anything that costs.

    Args:
        split: probability of each part.
        used: the parts that anything is learnt or drawn from, where the split has one for each.
    """
    read = (probability for part, probability in split.items() if part in {SHARED, *used})
    return sum(read, Fraction(0))


def combine(steps: Sequence[StepCost], accountant: Accountant = best) -> Guarantee:
    """What steps cost together: within a part they add up, and the parts are those of a joint split.

    A record is in one part at most, drawn for itself and secretly: that is what `joint_split` asks for.

    Args:
        steps: steps that have a guarantee.
        accountant: composes the noise of steps that read the same records.
    """
    composed = [(those[0].probability, _same_records(those, accountant)) for those in _by_part(steps)]
    whole = joint_split(composed)
    inner = sorted({guarantee.accountant for _, guarantee in composed})
    return replace(whole, accountant=" + ".join(["joint_split", *inner]))


def added_up(steps: Sequence[StepCost]) -> Guarantee:
    """What steps cost if those that read the same records simply add up, as a ledger takes them."""
    return joint_split(
        [(those[0].probability, sequential([step.charged for step in those])) for those in _by_part(steps)]
    )


def _by_part(steps: Sequence[StepCost]) -> list[tuple[StepCost, ...]]:
    """The steps that read each part, the parts by name."""
    by_part = groupby(sorted(steps, key=attrgetter("part")), key=attrgetter("part"))
    return [tuple(those) for _, those in by_part]


def _same_records(steps: Sequence[StepCost], accountant: Accountant) -> Guarantee:
    """What steps that read the same records cost together: their sum, or less where their noise is composed as one."""
    guarantees = [step.guarantee for step in steps if step.guarantee is not None]
    if len(steps) == 1:
        return guarantees[0]
    noisy = [step for step in steps if not any(isinstance(event, PrivacyTestEvent) for event in step.events)]
    spent = [step.guarantee for step in noisy if step.guarantee is not None]
    # Noise that is scaled to a sensitivity known later is composed as the finest; a thousandth covers what that makes.
    together = accountant([event for step in noisy for event in step.events], sum(each.delta for each in spent))
    together = replace(together, epsilon=together.epsilon * _FINENESS)
    rest = [step.guarantee for step in steps if step not in noisy and step.guarantee is not None]
    tighter = sequential([together, *rest]) if rest else together
    return min(sequential(guarantees), tighter, key=attrgetter("epsilon"))
