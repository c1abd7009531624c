"""Privacy losses as data: events that describe mechanisms, and guarantees that state their cost.

Events are stored in the ledger and must remain readable for ten years: kinds of events and fields are added but never
removed, and a new field has a default. Composition does not belong here (accounting, seed_accounting).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from itertools import pairwise
from math import ceil, exp, isnan
from typing import Any, ClassVar, Final, Literal

from deniable.foundation.errors import InvalidInput
from deniable.foundation.exact_numbers import exact_number
from deniable.foundation.exact_probabilities import exp_probability

VACUOUS_DELTA = 0.01
"""Above this delta a guarantee may fail for one person in a hundred, for any epsilon."""

VACUOUS_EPSILON = 5.0
"""Above this epsilon a guarantee is vacuous: even odds on a person's presence may become 148 to 1."""

_LARGEST_EXPONENT = 700.0
_FARTHEST_TAIL = Fraction(1 << 15)
_LARGEST_COUNT = 10**18
PASSES_OUT_OF = 1 << 64
"""A probability of passing is a multiple of one over this."""
_LONGEST_LAW = 1 << 20

Record = dict[str, str | int | float | bool]


WITHOUT_NOISE: Final = "none"
"""What a spec states as `noise` if it adds none, to a public table."""


@dataclass(frozen=True)
class Guarantee:
    """A differential privacy guarantee, and how it was derived.

    Attributes:
        epsilon: bound on the privacy loss, at least 0; infinite if there is no bound.
        delta: probability mass outside that bound, in [0, 1].
        accountant: name of the theorem or accountant from which the numbers follow.
    """

    epsilon: float
    delta: float
    accountant: str

    def __post_init__(self) -> None:
        """Refuse numbers that are not a guarantee."""
        if isnan(self.epsilon) or self.epsilon < 0:
            raise InvalidInput(f"the epsilon of a guarantee must be at least 0, got {self.epsilon}.")
        if not 0 <= self.delta <= 1:
            raise InvalidInput(f"the delta of a guarantee must be in [0, 1], got {self.delta}.")

    @property
    def is_vacuous(self) -> bool:
        """Whether epsilon or delta is so large that every statement of the guarantee must call it vacuous."""
        return self.epsilon > VACUOUS_EPSILON or self.delta >= VACUOUS_DELTA

    @property
    def guessing_bound(self) -> float:
        """Largest probability of inferring correctly from the output whether a record is in the data, at prior 1/2.

        For any test, the sum of false alarm and miss probabilities is at least 2 (1 - delta) / (1 + e^epsilon)
        (Kairouz, Oh, Viswanath 2015, Theorem 2.1).
        """
        return 1 - (1 - self.delta) / (1 + exp(min(self.epsilon, _LARGEST_EXPONENT)))


NOTHING = Guarantee(0.0, 0.0, "basic")
"""The guarantee of a mechanism that reads nothing."""

TRIVIAL = Guarantee(0.0, 1.0, "trivial")
"""The guarantee that holds for any mechanism, and so claims nothing."""


@dataclass(frozen=True, kw_only=True)
class MechanismEvent:
    """The fields common to all events.

    Attributes:
        query: the query in words, such as `counts of age given sex`.
        part: the part of the data that was read, such as `structure` or `seeds`.
        outputs: number of released numbers (or choices, or candidates) that one record can influence.
        sampling_rate: probability with which a record is in that part. It is recorded, but not used by the accountants
            of one part: amplification is a property of the whole split (composition.joint_split).
    """

    mechanism: ClassVar[str]

    query: str
    part: str
    outputs: int
    sampling_rate: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        """Refuse an impossible event."""
        if self.outputs < 1:
            raise InvalidInput(
                f"an event must have at least 1 output, got {self.outputs}; leave out what was not done."
            )
        if not 0 < self.sampling_rate <= 1:
            raise InvalidInput(f"the sampling rate must be in (0, 1], got {self.sampling_rate}.")

    @property
    def epsilon(self) -> Fraction | None:
        """Epsilon of one output; None if no finite epsilon holds at this event's delta."""
        return None

    @property
    def delta(self) -> Fraction:
        """Delta of one output, at its epsilon."""
        return Fraction(0)

    @property
    def rho(self) -> Fraction | None:
        """Rho of zero-concentrated differential privacy of one output, up to its delta; None if none holds."""
        return None if self.epsilon is None else self.epsilon**2 / 2

    def to_record(self) -> Record:
        """The event as plain values for a ledger: text, integers, exact fractions as `numerator/denominator`."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        plain = {name: str(value) if isinstance(value, Fraction) else value for name, value in values.items()}
        return {"mechanism": self.mechanism, **plain}


@dataclass(frozen=True, kw_only=True)
class DiscreteLaplaceEvent(MechanismEvent):
    """Integers released with discrete Laplace noise, Pr[z] proportional to exp(-|z| / scale).

    One record changes at most `outputs` of the integers, each by at most `sensitivity`.

    Attributes:
        sensitivity: largest change of one integer.
        scale: scale of the noise, exact.
    """

    mechanism: ClassVar[str] = "discrete_laplace"

    sensitivity: int
    scale: Fraction

    def __post_init__(self) -> None:
        """Refuse noise of no amount."""
        super().__post_init__()
        _require_noise(self.sensitivity, "scale", self.scale)

    @property
    def epsilon(self) -> Fraction:
        """Sensitivity over scale."""
        return self.sensitivity / self.scale


@dataclass(frozen=True, kw_only=True)
class DiscreteGaussianEvent(MechanismEvent):
    """Integers released with discrete Gaussian noise, Pr[z] proportional to exp(-z^2 / (2 variance)).

    One record changes at most `outputs` of the integers, each by at most `sensitivity`; their joint L2 sensitivity is
    sensitivity * sqrt(outputs).

    Attributes:
        sensitivity: largest change of one integer.
        variance: the parameter sigma squared, exact.
    """

    mechanism: ClassVar[str] = "discrete_gaussian"

    sensitivity: int
    variance: Fraction

    def __post_init__(self) -> None:
        """Refuse noise of no amount."""
        super().__post_init__()
        _require_noise(self.sensitivity, "variance", self.variance)

    @property
    def rho(self) -> Fraction:
        """Sensitivity squared over twice the variance (Canonne, Kamath, Steinke 2020, Theorem 4)."""
        return self.sensitivity**2 / (2 * self.variance)


@dataclass(frozen=True, kw_only=True)
class ExponentialEvent(MechanismEvent):
    """Choices made by the exponential mechanism, Pr[choice] proportional to exp(epsilon * score / (2 sensitivity)).

    Attributes:
        epsilon_per_choice: epsilon of one choice, which is also its bounded range.
    """

    mechanism: ClassVar[str] = "exponential"

    epsilon_per_choice: Fraction

    def __post_init__(self) -> None:
        """Refuse an epsilon that is not positive."""
        super().__post_init__()
        _require_positive("epsilon_per_choice", self.epsilon_per_choice)

    @property
    def epsilon(self) -> Fraction:
        """Epsilon of one choice."""
        return self.epsilon_per_choice

    @property
    def rho(self) -> Fraction:
        """epsilon^2 / 8, by bounded range (Cesar and Rogers 2021)."""
        return self.epsilon_per_choice**2 / 8


@dataclass(frozen=True, kw_only=True)
class ConcentratedEvent(MechanismEvent):
    """zCDP (zero-concentrated) mechanisms whose number and amounts of noise depend on earlier answers.

    The rho of each mechanism is known before it is run, and their sum never exceeds a rho fixed in advance. Together
    they then satisfy zCDP with that rho. Proof: let V(r) be the largest E[(P / Q)^(a - 1)] under P over all
    continuations with r left. The next mechanism has some rho s <= r that earlier answers determine, and contributes a
    factor of at most e^((a - 1) a s) whatever they are, so that V(r) <= max over s of e^((a - 1) a s) V(r - s); by
    induction over the remaining mechanisms V(r) <= e^((a - 1) a r). This holds for every order a > 1, and for both
    directions.

    Source: Feldman, Zrnic 2021, Theorem 3.1 (a filter of Renyi divergence); Whitehouse, Ramdas, Rogers, Wu 2023.

    Attributes:
        rho_per_output: the largest sum of rho of the mechanisms, exact.
    """

    mechanism: ClassVar[str] = "concentrated"

    rho_per_output: Fraction

    def __post_init__(self) -> None:
        """Refuse a rho that is not positive."""
        super().__post_init__()
        _require_positive("rho", self.rho_per_output)

    @property
    def rho(self) -> Fraction:
        """The largest sum of rho."""
        return self.rho_per_output


@dataclass(frozen=True, kw_only=True)
class ApproximateEvent(MechanismEvent):
    """Outputs of a mechanism known only to be (epsilon, delta)-differentially private.

    Attributes:
        epsilon_per_output: epsilon of one output.
        delta_per_output: delta of one output.
    """

    mechanism: ClassVar[str] = "approximate"

    epsilon_per_output: Fraction
    delta_per_output: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        """Refuse numbers that are not a guarantee."""
        super().__post_init__()
        if self.epsilon_per_output < 0 or not 0 <= self.delta_per_output <= 1:
            raise InvalidInput(
                "an event must have epsilon_per_output >= 0 and delta_per_output in [0, 1], "
                f"got {self.epsilon_per_output} and {self.delta_per_output}."
            )

    @property
    def epsilon(self) -> Fraction:
        """Epsilon of one output."""
        return self.epsilon_per_output

    @property
    def delta(self) -> Fraction:
        """Delta of one output."""
        return self.delta_per_output


@dataclass(frozen=True, kw_only=True)
class PrivacyTestEvent(MechanismEvent):
    """Candidates tested by Mechanism 1* with the randomized privacy test; `outputs` counts the candidates tested.

    Each candidate is dropped with probability `drop_probability`; otherwise its seed is drawn from max(rows,
    public_rows) places, of which those beyond the rows yield no output, and it is released if it passes the test. A
    candidate that is not released is an output too: candidates tested are charged, not candidates released.

    Attributes:
        k: number of plausible seeds that the test requires.
        gamma: base of the geometric buckets of the test.
        eps0: the noise on k is discrete Laplace of scale 1 / eps0, fresh for each candidate.
        public_rows: public number of places from which the seed is drawn if there are fewer rows.
        drop_probability: data-independent probability of dropping a candidate.
        equal_probabilities: whether a candidate has the same probability given each of its plausible seeds, as for a
            model that copies a prefix of fixed length; the accounting then uses gamma = 1.
    """

    mechanism: ClassVar[str] = "privacy_test"

    k: int
    gamma: Fraction
    eps0: Fraction
    public_rows: int
    drop_probability: Fraction
    equal_probabilities: bool = False

    def __post_init__(self) -> None:
        """Refuse parameters for which Mechanism 1* is undefined."""
        super().__post_init__()
        _require_positive("k", self.k)
        _require_positive("eps0", self.eps0)
        _require_positive("public_rows", self.public_rows)
        if self.gamma <= 1:
            raise InvalidInput(f"gamma must be above 1, got {self.gamma}.")
        if not 0 <= self.drop_probability < 1:
            raise InvalidInput(f"the drop probability must be in [0, 1), got {self.drop_probability}.")

    @property
    def ratio(self) -> Fraction:
        """Largest ratio between the probabilities of a candidate given two of its plausible seeds."""
        return Fraction(1) if self.equal_probabilities else self.gamma


@dataclass(frozen=True, kw_only=True)
class SampledTestEvent(PrivacyTestEvent):
    """Candidates tested by Mechanism 1* whose plausible seeds are counted in a random sample of the rows.

    Each row is scored with probability `check_probability`, independently across rows and candidates. The seed itself
    counts only if it is scored. Of the seeds found, at most `max_plausible` are counted.

    Attributes:
        check_probability: public probability with which a row is scored, in (0, 1).
        max_plausible: largest number of seeds to count, at least k; 0 for no limit.
    """

    mechanism: ClassVar[str] = "sampled_privacy_test"

    check_probability: Fraction
    max_plausible: int = 0

    def __post_init__(self) -> None:
        """Refuse a probability that selects all rows or none, and a limit at which no candidate could pass."""
        super().__post_init__()
        if not 0 < self.check_probability < 1:
            raise InvalidInput(f"the probability of scoring a row must be in (0, 1), got {self.check_probability}.")
        if self.max_plausible and self.max_plausible < self.k:
            raise InvalidInput(f"max_plausible must be at least k = {self.k}, got {self.max_plausible}.")


@dataclass(frozen=True, kw_only=True)
class StabilityHistogramEvent(MechanismEvent):
    """Counts of a histogram's non-empty cells with discrete Laplace noise, released if they reach a threshold.

    One record is in `outputs` of the cells, one in each histogram. A cell with other records costs epsilon and no
    delta. A cell with only this record costs delta and no epsilon: without the record the cell cannot be released, and
    with it, the prefix is released with probability Pr[1 + noise >= threshold].

    Attributes:
        scale: scale of the noise, exact.
        threshold: smallest noisy count to be released.
    """

    mechanism: ClassVar[str] = "stability_histogram"

    scale: Fraction
    threshold: int

    def __post_init__(self) -> None:
        """Refuse a scale that is not positive, and a threshold below 1."""
        super().__post_init__()
        _require_positive("scale", self.scale)
        _require_positive("threshold", self.threshold)

    @property
    def epsilon(self) -> Fraction:
        """One over the scale."""
        return 1 / self.scale

    @property
    def delta(self) -> Fraction:
        """Probability of releasing a cell that has one record."""
        return discrete_laplace_tail(1 / self.scale, self.threshold - 1)


@dataclass(frozen=True, kw_only=True)
class PoissonAttemptsEvent(MechanismEvent):
    """Records released by the Poisson form of Mechanism 1 (Theorem P, `plausible_deniability.poisson_attempts`).

    Each row makes a Poisson number of attempts. An attempt copies its row's prefix, and its record is released with a
    public probability q(c), where c is the number of rows with that prefix. One row changes c of one prefix by one.

    Attributes:
        attempts_per_row: tau, the mean number of attempts of a row, exact.
        plausible: the floor: q(c) = 0 for every c below it.
        passes: q(c) out of 2^64 for c from the floor on, as integers separated by spaces; q(c) = 1 for every larger c.
    """

    mechanism: ClassVar[str] = "poisson_attempts"

    attempts_per_row: Fraction
    plausible: int
    passes: str

    def __post_init__(self) -> None:
        """Refuse a law of passing that is not one."""
        super().__post_init__()
        _require_positive("attempts_per_row", self.attempts_per_row)
        _require_positive("plausible", self.plausible)
        if len(self.passes) > _LONGEST_LAW or not re.fullmatch(r"([0-9]{1,20}( [0-9]{1,20})*)?", self.passes):
            raise InvalidInput("passes must be integers separated by single spaces.")
        law = self.law
        if any(below > above for below, above in pairwise([0, *law, PASSES_OUT_OF])):
            raise InvalidInput("passes must rise, from 0 or more to 2^64 at most.")

    @property
    def law(self) -> tuple[int, ...]:
        """The pass probabilities out of 2^64, from the floor on."""
        return tuple(int(each) for each in self.passes.split())


def noisy_integers(
    noise: Literal["laplace", "gaussian"], amount: Fraction, *, query: str, part: str, outputs: int
) -> MechanismEvent:
    """The event of integers of sensitivity 1, released with discrete noise.

    Args:
        noise: the kind of noise.
        amount: its scale (Laplace) or variance (Gaussian).
        query: the query in words.
        part: the part of the data that was read.
        outputs: number of integers that one record can influence.
    """
    if noise == "laplace":
        return DiscreteLaplaceEvent(query=query, part=part, outputs=outputs, sensitivity=1, scale=amount)
    return DiscreteGaussianEvent(query=query, part=part, outputs=outputs, sensitivity=1, variance=amount)


KINDS: dict[str, type[MechanismEvent]] = {
    kind.mechanism: kind
    for kind in (
        DiscreteLaplaceEvent,
        DiscreteGaussianEvent,
        ExponentialEvent,
        ConcentratedEvent,
        ApproximateEvent,
        PrivacyTestEvent,
        SampledTestEvent,
        StabilityHistogramEvent,
        PoissonAttemptsEvent,
    )
}


def from_record(record: Mapping[str, Any]) -> MechanismEvent:
    """Read an event from the plain values of `MechanismEvent.to_record`.

    Args:
        record: `mechanism` and the fields of that kind of event.

    Raises:
        InvalidInput: the mechanism is unknown, or a field is missing, unknown or unreadable.
    """
    kind = KINDS.get(str(record.get("mechanism")))
    if kind is None:
        raise InvalidInput(
            f"the mechanism of an event must be one of {', '.join(KINDS)}, got {record.get('mechanism')}; "
            "read the ledger with the version that wrote it, or a later one."
        )
    types = {field.name: field.type for field in fields(kind)}
    try:
        values: dict[str, Any] = {
            name: _read(value, exact=types[name] is Fraction) for name, value in record.items() if name != "mechanism"
        }
        return kind(**values)
    except (KeyError, TypeError, ValueError) as unreadable:
        raise InvalidInput(
            f"an event of the mechanism {kind.mechanism} must have the fields {', '.join(types)} and no other; "
            f"got {unreadable}."
        ) from None


def _read(value: object, *, exact: bool) -> Any:
    """Read a field of an event: unchanged, or as the exact number denoted by text of limited length."""
    if isinstance(value, int) and not exact:
        if abs(value) > _LARGEST_COUNT:
            raise ValueError(f"an integer of more than {len(str(_LARGEST_COUNT)) - 1} digits")
        return value
    return exact_number(str(value)) if exact else value


def discrete_laplace_tail(epsilon: Fraction, z: int) -> Fraction:
    """Probability that discrete Laplace noise of scale 1 / epsilon is z or more: e^(-epsilon z) / (1 + e^-epsilon).

    The probability is irrational; the result exceeds it by less than a part in 10^30. For z / scale above 32,768 it is
    only an upper bound of at most 2^-47000, because exact digits would take long to compute.

    Args:
        epsilon: above 0.
        z: 0 or more.
    """
    bits = 128 + ceil(min(z * epsilon, _FARTHEST_TAIL) * Fraction(3, 2))
    above = exp_probability(z * epsilon, bits) + 1
    return Fraction(above, (1 << bits) + exp_probability(epsilon, bits))


def _require_positive(name: str, value: Fraction | int) -> None:
    if value <= 0:
        raise InvalidInput(f"{name} must be above 0, got {value}.")


def _require_noise(sensitivity: int, name: str, amount: Fraction) -> None:
    _require_positive("sensitivity", sensitivity)
    _require_positive(name, amount)


def noise_in_words(noise: str) -> str:
    """The kind of noise, and the method of drawing it."""
    if noise == WITHOUT_NOISE:
        return "none: the counts are exact"
    return f"discrete {noise.capitalize()}, drawn exactly in integers"
