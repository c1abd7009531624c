"""What a mechanism spends, as data: events that say what was done, and guarantees that say what it costs.

An event is a fact of the ledger and must be readable in ten years: kinds of events and their fields are only ever
added, a new field always with a default. How costs add up does not belong here (accounting, seed_accounting).
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from math import ceil, exp, isnan
from typing import Any, ClassVar, Literal

from deniable.foundation.errors import InvalidInput
from deniable.foundation.exact_numbers import exact_number
from deniable.foundation.exact_probabilities import exp_probability

VACUOUS_DELTA = 0.01
"""Beyond this delta a guarantee may fail for one person in a hundred, whatever epsilon is."""

VACUOUS_EPSILON = 5.0
"""Beyond this epsilon a guarantee says nothing of use: it lets even odds on a person's presence become 148 to 1."""

_LARGEST_EXPONENT = 700.0
_FARTHEST_TAIL = Fraction(1 << 15)
_LARGEST_COUNT = 10**18

Record = dict[str, str | int | float | bool]


@dataclass(frozen=True)
class Guarantee:
    """Differential privacy that holds, and how it was proved.

    Attributes:
        epsilon: bound on the privacy loss, at least 0; infinite where nothing can be said.
        delta: probability mass outside that bound, in [0, 1].
        accountant: name of the theorem or accountant that gives the numbers.
    """

    epsilon: float
    delta: float
    accountant: str

    def __post_init__(self) -> None:
        """Refuse numbers that are no guarantee."""
        if isnan(self.epsilon) or self.epsilon < 0:
            raise InvalidInput(f"the epsilon of a guarantee must be at least 0, got {self.epsilon}.")
        if not 0 <= self.delta <= 1:
            raise InvalidInput(f"the delta of a guarantee must be in [0, 1], got {self.delta}.")

    @property
    def is_vacuous(self) -> bool:
        """Whether epsilon or delta is so large that whoever states the guarantee must call it vacuous."""
        return self.epsilon > VACUOUS_EPSILON or self.delta >= VACUOUS_DELTA

    @property
    def guessing_bound(self) -> float:
        """How often, at most, whoever sees what came out is right about whether one record went in, from even odds.

        Of any guess, false alarms and misses are at least 2 (1 - delta) / (1 + e^epsilon) together (Kairouz, Oh,
        Viswanath 2015, Theorem 2.1).
        """
        return 1 - (1 - self.delta) / (1 + exp(min(self.epsilon, _LARGEST_EXPONENT)))


NOTHING = Guarantee(0.0, 0.0, "basic")
"""What nothing costs."""


@dataclass(frozen=True, kw_only=True)
class MechanismEvent:
    """What every event says.

    Attributes:
        query: what was asked of the data, in words such as `counts of age given sex`.
        part: the part of the data that was read, such as `structure` or `seeds`.
        outputs: how many of the released numbers (or choices, or candidates) one record can influence.
        sampling_rate: probability with which a record is in that part. Recorded, not used by the accountants of one
            part: amplification is a property of the whole split (composition.joint_split).
    """

    mechanism: ClassVar[str]

    query: str
    part: str
    outputs: int
    sampling_rate: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        """Refuse an event that cannot have happened."""
        if self.outputs < 1:
            raise InvalidInput(
                f"an event must have at least 1 output, got {self.outputs}; leave out what was not done."
            )
        if not 0 < self.sampling_rate <= 1:
            raise InvalidInput(f"the sampling rate must be in (0, 1], got {self.sampling_rate}.")

    @property
    def epsilon(self) -> Fraction | None:
        """Epsilon of one output, or None where no finite epsilon holds at this event's delta."""
        return None

    @property
    def delta(self) -> Fraction:
        """Delta of one output that goes with its epsilon."""
        return Fraction(0)

    @property
    def rho(self) -> Fraction | None:
        """Concentrated privacy (rho-zCDP) of one output, up to its delta, or None where none holds."""
        return None if self.epsilon is None else self.epsilon**2 / 2

    def to_record(self) -> Record:
        """The event as plain values for a ledger: text, whole numbers, exact fractions as `numerator/denominator`."""
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
        """Refuse noise that is none."""
        super().__post_init__()
        _require_noise(self.sensitivity, "scale", self.scale)

    @property
    def epsilon(self) -> Fraction:
        """Sensitivity over scale."""
        return self.sensitivity / self.scale


@dataclass(frozen=True, kw_only=True)
class DiscreteGaussianEvent(MechanismEvent):
    """Integers released with discrete Gaussian noise, Pr[z] proportional to exp(-z^2 / (2 variance)).

    One record changes at most `outputs` of the integers, each by at most `sensitivity`; the L2 sensitivity of all of
    them together is sensitivity * sqrt(outputs).

    Attributes:
        sensitivity: largest change of one integer.
        variance: the parameter sigma squared, exact.
    """

    mechanism: ClassVar[str] = "discrete_gaussian"

    sensitivity: int
    variance: Fraction

    def __post_init__(self) -> None:
        """Refuse noise that is none."""
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
        """Refuse a choice that ignores the data or hides nothing."""
        super().__post_init__()
        _require_positive("epsilon_per_choice", self.epsilon_per_choice)

    @property
    def epsilon(self) -> Fraction:
        """Epsilon of one choice."""
        return self.epsilon_per_choice

    @property
    def rho(self) -> Fraction:
        """An eighth of epsilon squared, by bounded range (Cesar and Rogers 2021, Lemma 3)."""
        return self.epsilon_per_choice**2 / 8


@dataclass(frozen=True, kw_only=True)
class ApproximateEvent(MechanismEvent):
    """Outputs of any mechanism that is known only to be (epsilon, delta)-differentially private.

    Attributes:
        epsilon_per_output: epsilon of one output.
        delta_per_output: delta of one output.
    """

    mechanism: ClassVar[str] = "approximate"

    epsilon_per_output: Fraction
    delta_per_output: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        """Refuse numbers that are no guarantee."""
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

    Each candidate is dropped with probability `drop_probability`; else its seed is drawn among max(rows, public_rows)
    places, of which those beyond the rows give no output, and it is released if it passes the test. A candidate that is
    not released is an output too: what is charged is what was tested, not what was released.

    Attributes:
        k: number of plausible seeds that the test asks for.
        gamma: base of the geometric buckets of the test.
        eps0: the noise on k is discrete Laplace of scale 1 / eps0, fresh for each candidate.
        public_rows: number of places the seed is drawn from where the rows are fewer. A public number.
        drop_probability: probability with which a candidate is dropped whatever the data.
        equal_probabilities: whether the plausible seeds of a candidate all give it the same probability, as with a
            model that copies a fixed prefix of the seed; the accounting then takes gamma = 1.
    """

    mechanism: ClassVar[str] = "privacy_test"

    k: int
    gamma: Fraction
    eps0: Fraction
    public_rows: int
    drop_probability: Fraction
    equal_probabilities: bool = False

    def __post_init__(self) -> None:
        """Refuse a test that Mechanism 1* does not know."""
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
        """Largest ratio between the probabilities that two plausible seeds give one candidate."""
        return Fraction(1) if self.equal_probabilities else self.gamma


@dataclass(frozen=True, kw_only=True)
class StabilityHistogramEvent(MechanismEvent):
    """Counts of a histogram's non-empty cells, released with discrete Laplace noise where they reach a threshold.

    One record is in `outputs` of the cells, one of each histogram. In a cell that others are in it costs epsilon and no
    delta. A cell that it is alone in costs delta and no epsilon: without it the cell cannot be released, with it the
    cell is with probability Pr[1 + noise >= threshold].

    Attributes:
        scale: scale of the noise, exact.
        threshold: smallest noisy count that is released.
    """

    mechanism: ClassVar[str] = "stability_histogram"

    scale: Fraction
    threshold: int

    def __post_init__(self) -> None:
        """Refuse noise that is none, and a threshold that lets counts below 1 through."""
        super().__post_init__()
        _require_positive("scale", self.scale)
        _require_positive("threshold", self.threshold)

    @property
    def epsilon(self) -> Fraction:
        """One over the scale."""
        return 1 / self.scale

    @property
    def delta(self) -> Fraction:
        """Probability of releasing a cell that one record is in."""
        return discrete_laplace_tail(1 / self.scale, self.threshold - 1)


def noisy_integers(
    noise: Literal["laplace", "gaussian"], amount: Fraction, *, query: str, part: str, outputs: int
) -> MechanismEvent:
    """Integers that one record changes by 1 at most, released with discrete noise.

    Args:
        noise: the kind of noise.
        amount: its scale (Laplace) or variance (Gaussian).
        query: what was asked of the data.
        part: the part of the data that was read.
        outputs: how many of the integers one record can influence.
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
        ApproximateEvent,
        PrivacyTestEvent,
        StabilityHistogramEvent,
    )
}


def from_record(record: Mapping[str, Any]) -> MechanismEvent:
    """Read an event back from the plain values that `MechanismEvent.to_record` wrote.

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
    """A field of an event: as it is, or the exact number that a text says; no number is longer than numbers are."""
    if isinstance(value, int) and not exact:
        if abs(value) > _LARGEST_COUNT:
            raise ValueError(f"a whole number of more than {len(str(_LARGEST_COUNT)) - 1} digits")
        return value
    return exact_number(str(value)) if exact else value


def discrete_laplace_tail(epsilon: Fraction, z: int) -> Fraction:
    """Probability that discrete Laplace noise of scale 1 / epsilon is z or more: e^(-epsilon z) / (1 + e^-epsilon).

    It is no fraction; what is returned is above it by less than a part in 10^30, and is at most 2^-47000 where z /
    scale is above 32,768, for as many bits as it has zeros take long to work out.

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
    """Which noise was added, and how it was drawn."""
    return f"discrete {noise.capitalize()}, drawn exactly in integers"
