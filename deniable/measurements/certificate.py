"""`certificate.json`: one noisy number that bounds the error of a sample of a model over all pairs not measured.

**What is released.** After the model is fixed, c~ = max over cells c of |T_c - M_c| + Z. T_c are the counts of the rows
in the cells of two-way tables, by the buckets of `measured.json`; M_c are whole numbers, the counts of a population
drawn from the model, scaled to the estimated number of rows and rounded; Z is discrete Gaussian or Laplace noise.
The tables are those of all pairs that were not measured; if all were, those of all pairs.

**Sensitivity.** The pairs, their buckets, and M follow from integers released earlier and from the release key alone.
With these fixed, adding or removing one record changes one cell of each table by 1, so |T_c - M_c| changes by at most
1 in every cell, and so does the maximum: a maximum of functions that change by at most 1 changes by at most 1.
Everything is an integer until Z is added.

**What follows.** With q the smallest integer for which Pr[Z > q] <= 1 - level, c~ + q bounds all |T_c - M_c|
simultaneously with probability at least the level, whatever the data: Z is symmetric, and c~ + q < max |T_c - M_c|
only where Z < -q.

This is about the counts M of the sample. The model's own probabilities differ from them by the chance of a million
draws, about which nothing is stated with this confidence. Without assumptions, nothing more follows about a model.
Drawing the number (learners.certified) and its cost (learners.certificate_costs) do not belong here.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import ceil, exp, log, sqrt
from statistics import NormalDist
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.checks import Check, found
from deniable.foundation.domain import Domain
from deniable.foundation.errors import InvalidInput
from deniable.measurements.document import Measurements
from deniable.measurements.noisy_tables import NoiseLaw
from deniable.privacy.common_events import CERTIFICATE
from deniable.privacy.loss import DiscreteGaussianEvent, DiscreteLaplaceEvent, from_record
from deniable.roles import Role

FILE: Final = "certificate.json"
FORMAT: Final = "deniable/certificate/2"
FIRST_FORMAT: Final = "deniable/certificate/1"
"""The format whose statement spoke of the model where the number bounds a sample of it."""
LEVEL: Final = 0.95
"""Probability with which the stated bound holds."""
POPULATION: Final = 1_000_000
"""Number of records of the population whose counts represent the model."""
LARGEST: Final = 2_000_000
"""Largest total number of cells of all tables; the largest tables are omitted, and named."""

Counts = NDArray[np.int64]
Pair = tuple[int, int]

_FOLLOWS = "certificate.json bounds the model's error by a number that was paid for, over the pairs that it names"
_ENTRIES = {
    "format",
    "part",
    "of",
    "records",
    "population",
    "pairs",
    "left_out",
    "released",
    "noise",
    "level",
    "bound",
    "bound_share",
    "statement",
}
_UNMEASURED, _ALL = "pairs that were not measured", "all pairs, each of which was measured"
# Wider noise is not tabulated; its tail agrees with the normal distribution's to less than a thousandth of a step.
_WIDEST = 1 << 24
_REACH = 40
_FINE_SHARE = 0.01


class Workload(NamedTuple):
    """The tables over which the maximum error is taken; a function of earlier releases.

    Attributes:
        pairs: column numbers of each pair's attributes, ascending.
        is_all: whether every pair was measured, so that these are all pairs.
        left_out: pairs omitted because their tables are too large.
    """

    pairs: tuple[Pair, ...]
    is_all: bool = False
    left_out: tuple[Pair, ...] = ()


def workload_of(measured: Measurements) -> Workload:
    """The pairs that were not measured by buckets; all pairs if there are none.

    A pair was measured if its table is a function of measured ones: if each of its components (total, both attributes,
    and their interaction) is a component of a measured table that was not released as a difference along another
    attribute.
    """
    counted = [i for i, size in enumerate(measured.sizes) if size > 1]
    every = list(combinations(counted, 2))
    unmeasured = [pair for pair in every if not _is_measured(measured, pair)]
    asked = unmeasured or every
    kept, cells = [], 0
    for pair in sorted(asked, key=lambda pair: (_cells(measured, pair), pair)):
        cells += _cells(measured, pair)
        if cells > LARGEST:
            break
        kept.append(pair)
    return Workload(tuple(sorted(kept)), not unmeasured, tuple(pair for pair in asked if pair not in set(kept)))


def _cells(measured: Measurements, pair: Pair) -> int:
    return measured.sizes[pair[0]] * measured.sizes[pair[1]]


def _is_measured(measured: Measurements, pair: Pair) -> bool:
    parts = ((), pair[:1], pair[1:], pair)
    return all(
        any(set(part) <= set(table.attributes) and set(table.differences) <= set(part) for table in measured.tables)
        for part in parts
    )


def records_of(measured: Measurements) -> int:
    """The estimated number of rows, rounded to an integer of at least 1."""
    return max(1, int(measured.records + 0.5))


def scaled(drawn: Counts, records: int, population: int) -> Counts:
    """Scale the counts of a population to a number of records, rounded half up, in integer arithmetic.

    Args:
        drawn: counts of the population.
        records: the number of records.
        population: the number of records of the population.
    """
    return np.asarray((2 * records * drawn.astype(np.int64) + population) // (2 * population), np.int64)


def largest_error(tables: Sequence[Counts], model: Sequence[Counts]) -> int:
    """The largest absolute difference between the counts and the model's; an integer of sensitivity 1.

    It is 0 if there are no tables, because all are too large.

    Args:
        tables: counts of the rows, confidential.
        model: the model's counts, of the same shapes, which may depend on the rows only through earlier releases.
    """
    if not tables:
        return 0
    return max(int(np.abs(counted - own).max()) for counted, own in zip(tables, model, strict=True))


def margin(law: NoiseLaw, level: float) -> int:
    """The smallest integer q >= 0 that noise exceeds with probability at most 1 - level.

    Args:
        law: the law of the noise.
        level: in (0, 1).

    Raises:
        InvalidInput: the level is not in (0, 1).
    """
    if not 0 < level < 1:
        raise InvalidInput(f"the level of a bound must be in (0, 1), got {level}; give a probability such as 0.95.")
    rest = 1 - level
    if law.law == "laplace":
        # Pr[Z >= k] = p^k / (1 + p).
        p = exp(-float(1 / law.amount))
        k = max(1, ceil(float(law.amount) * -log(rest * (1 + p))))
        return k if p**k / (1 + p) > rest else k - 1
    sd = sqrt(law.amount)
    if law.amount > _WIDEST:
        return max(0, ceil(sd * NormalDist().inv_cdf(level)) + 1)
    z = np.arange(1, 2 + int(_REACH * sd) + 1, dtype=np.float64)
    density = np.exp(-(z**2) / (2 * float(law.amount)))
    tails = np.cumsum(density[::-1])[::-1] / (1 + 2 * float(density.sum()))
    # The tail probabilities Pr[Z >= z], z = 1, 2 ...; the last ones are practically 0.
    return int(np.argmax(tails <= rest))


@dataclass(frozen=True, eq=False)
class Certificate:
    """A released certificate.

    Attributes:
        domain: the public domain of the modelled attributes.
        part: the part of the rows that was counted.
        workload: the pairs.
        records: the number of records to which the model's counts are scaled: the estimated number of rows.
        population: the number of records of the population that represents the model.
        model: the model's counts of each pair, by buckets, as integers.
        released: the noisy number.
        noise: the law of its noise.
        form: the format, which decides the wording of the statement.
    """

    domain: Domain
    part: str
    workload: Workload
    records: int
    population: int
    model: tuple[Counts, ...]
    released: int
    noise: NoiseLaw
    form: str = FORMAT

    def bound(self, level: float = LEVEL) -> int:
        """Simultaneous bound, in records, on all differences between the rows' counts and the model's.

        Args:
            level: confidence level.
        """
        return max(0, self.released + margin(self.noise, level))

    @property
    def cells(self) -> int:
        """Number of cells of all pairs."""
        return sum(own.size for own in self.model)

    @property
    def statement(self) -> str:
        """The publishable statement on the quality of the model: what is bounded are the counts of a sample of it."""
        bound, pairs = self.bound(), len(self.workload.pairs)
        held = f"the {pairs:,} pairs of attributes" if pairs > 1 else "the one pair of attributes"
        which = held if self.workload.is_all else f"{held} that {'were' if pairs > 1 else 'was'} not measured"
        begins = "Every pair of attributes was measured. " if self.workload.is_all else ""
        left = len(self.workload.left_out)
        ends = f" It says nothing about {left:,} more, whose tables are too large." if left else ""
        if not pairs:
            return f"{begins}The certificate says nothing about any pair of attributes: all tables are too large."
        if bound >= self.records:
            return (
                f"{begins}The certificate says nothing about {which}: its bound is {bound:,} records, of an estimated "
                f"{self.records:,} that were counted. A larger share of the budget makes it stronger."
                f"{ends}"
            )
        of_what = (
            "the model"
            if self.form == FIRST_FORMAT
            else f"a sample of {self.population:,} records of the model, scaled to as many as were counted"
        )
        return (
            f"{begins}With {LEVEL:.0%} confidence, no count of {which} is off by more than {bound:,} records in "
            f"{of_what}, which is {_points(bound / self.records)} percentage points of the estimated {self.records:,} "
            f"records that were counted.{ends}"
        )

    def document(self) -> dict[str, Any]:
        """The document, ready for JSON."""
        names = self.domain.names
        return {
            "format": self.form,
            "part": self.part,
            "of": _ALL if self.workload.is_all else _UNMEASURED,
            "records": self.records,
            "population": self.population,
            "pairs": [
                {"attributes": [names[i] for i in pair], "model": own.tolist()}
                for pair, own in zip(self.workload.pairs, self.model, strict=True)
            ],
            "left_out": [[names[i] for i in pair] for pair in self.workload.left_out],
            "released": self.released,
            "noise": self.noise.document(),
            "level": LEVEL,
            "bound": self.bound(),
            "bound_share": self.bound() / self.records,
            "statement": self.statement,
        }

    @classmethod
    def from_document(cls, domain: Domain, document: Mapping[str, Any]) -> "Certificate":
        """Read a certificate; figures that follow from the released number are not read.

        Args:
            domain: the public domain of the modelled attributes.
            document: the content of `certificate.json`.

        Raises:
            InvalidInput: it has another format, or is malformed.
            KeyError, TypeError, ValueError: it is not such a document.
        """
        if document["format"] not in (FIRST_FORMAT, FORMAT):
            raise InvalidInput(f"{FILE} must be of the format {FORMAT}, got {document['format']}; take a later version")
        if set(document) != _ENTRIES or document["of"] not in (_UNMEASURED, _ALL):
            raise InvalidInput(f"{FILE} must have the entries of its format, got {', '.join(sorted(document))}")
        numbers = (document["records"], document["population"], document["released"])
        if not all(type(number) is int for number in numbers) or min(numbers[:2]) < 1:
            raise InvalidInput(f"{FILE} must state records, population and the released number as whole numbers")
        if not isinstance(document["part"], str):
            raise InvalidInput(f"{FILE} must name the part of the rows that was counted")
        pairs, model = [], []
        for each in document["pairs"]:
            if set(each) != {"attributes", "model"}:
                raise InvalidInput(f"{FILE} must have attributes and the model's counts of each pair")
            pairs.append(_pair(domain, each["attributes"]))
            model.append(_whole(each["model"]))
        return cls(
            domain=domain,
            part=document["part"],
            workload=Workload(
                tuple(pairs),
                document["of"] == _ALL,
                tuple(_pair(domain, names) for names in document["left_out"]),
            ),
            records=document["records"],
            population=document["population"],
            model=tuple(model),
            released=document["released"],
            noise=NoiseLaw.from_document(document["noise"]),
            form=document["format"],
        )


def check_certificate(
    record: Mapping[str, Any],
    described: Mapping[str, Any],
    measured: Mapping[str, Any],
    document: Mapping[str, Any],
    step: str = Role.PARAMETERS,
) -> Check:
    """Check a certificate against the measurements and the charges.

    The model's counts come from a population drawn under the release key; only replay can draw it again.

    Args:
        record: the record's predicate, in the shape of records.
        described: `schema.json`.
        measured: `measured.json`.
        document: `certificate.json`; empty if it cannot be read.
        step: the step that made it.
    """

    def faults() -> Iterator[str]:
        if not document:
            yield f"{FILE} is missing, or is not a JSON document"
            return
        known = Measurements.from_document(Domain.from_document(described).modelled, measured)
        certificate = Certificate.from_document(known.domain, document)
        yield from _faults_of_workload(certificate, known)
        yield from _faults_of_noise(certificate, record, step)
        right = certificate.document()
        for entry in ("level", "bound", "bound_share", "statement"):
            if document[entry] != right[entry]:
                yield f"{FILE}: {entry} is {document[entry]}, but its released number gives {right[entry]}"

    pairs = document.get("pairs")
    return Check(_FOLLOWS, found(faults), f"{len(pairs) if isinstance(pairs, list) else 0} pairs")


def _faults_of_workload(certificate: Certificate, measured: Measurements) -> Iterator[str]:
    right = workload_of(measured)
    if certificate.part != measured.universe.part:
        yield f"{FILE} must be of the part that was measured, {measured.universe.part}, got {certificate.part}"
    if certificate.workload != right:
        yield f"{FILE} must have the pairs that were not measured, or all if every one was, in the order of the schema"
        return
    if certificate.records != records_of(measured):
        yield f"{FILE}: records is {certificate.records}, but measured.json gives {records_of(measured)}"
    if certificate.population != POPULATION:
        yield f"{FILE}: population must be {POPULATION}, got {certificate.population}"
    for pair, own in zip(right.pairs, certificate.model, strict=True):
        shape = tuple(measured.sizes[i] for i in pair)
        named = " and ".join(measured.domain.names[i] for i in pair)
        if own.shape != shape or bool((own < 0).any()):
            yield f"{FILE}: the model's counts of {named} must be whole numbers of the shape {shape}, none below 0"
        elif 2 * abs(int(own.sum()) - certificate.records) > own.size:
            # Each was rounded by at most half a record.
            yield f"{FILE}: the model's counts of {named} must sum to {certificate.records}, but for rounding"


def _faults_of_noise(certificate: Certificate, record: Mapping[str, Any], step: str) -> Iterator[str]:
    stated = [event for each in record["cost"]["steps"] if each["step"] == step for event in each["events"]]
    events = [from_record(event) for event in stated if event["query"] == CERTIFICATE]
    for event in events:
        if isinstance(event, DiscreteGaussianEvent):
            paid = NoiseLaw("gaussian", event.variance)
        elif isinstance(event, DiscreteLaplaceEvent):
            paid = NoiseLaw("laplace", event.scale)
        else:
            continue
        if (certificate.noise, event.sensitivity, event.outputs) == (paid, 1, 1) and len(events) == 1:
            return
    yield f"{FILE}: its noise must be that of the one event {CERTIFICATE}, of sensitivity 1"


def _pair(domain: Domain, names: Sequence[str]) -> Pair:
    first, second = domain.subset(names)
    return first, second


def _whole(listed: Any) -> Counts:
    table = np.asarray(listed)
    if table.dtype != np.int64:
        raise InvalidInput(f"{FILE} must have whole numbers as the model's counts")
    return table


def _points(share: float) -> str:
    """A share in percentage points, rounded up."""
    digits = 1 if share >= _FINE_SHARE else 2
    return f"{ceil(Fraction(share) * 100 * 10**digits) / 10**digits:.{digits}f}"
