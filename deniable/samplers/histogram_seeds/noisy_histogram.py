"""Seeds from a noisy histogram of prefixes: any number of records for a cost that is paid once.

A model that copies the first L attributes of a seed depends on the seeds only through the number that share each
prefix. Noise is added to these counts once, small noisy counts are dropped and the exact counts are discarded; all
records are drawn from the remaining noisy counts. The draws do not belong here (sampling).

Theorem B. Let h(v) be the number of records with prefix v, Z_v independent discrete Laplace noise of scale
1 / epsilon, tau >= 1, and p = Pr[1 + Z >= tau] = e^(-epsilon (tau - 1)) / (1 + e^-epsilon) at most delta. The set of
all (v, h(v) + Z_v) with h(v) > 0 and h(v) + Z_v >= tau is (epsilon, delta)-differentially private for added and
removed records, and (2 epsilon, delta)-differentially private for replaced ones. The same holds for any number of
records drawn from it and from public or noisy numbers alone, by post-processing.

Proof. Adding a record changes the count of its prefix from c to c + 1. Cells are independent, so only the distribution
of this cell matters. If c > 0, the noisy count shifts by 1 and every probability changes by a factor in
[e^-epsilon, e^epsilon]; dropping is a function of the noisy count. If c = 0, the cell is absent with certainty without
the record and present with probability p with it: the distributions differ by a mass of p <= delta. A pair of
neighbouring tables costs epsilon or delta, never both.

Replacing a record by one with another prefix changes the count of cell x from c + 1 to c and that of cell y from b to
b + 1; the two cells are independent. Let P be the distribution before and Q the one after; the other direction is the
same with x and y exchanged. The hockey-stick divergence, the sum of max(P - a Q, 0) over all outcomes, decreases in a;
it is 0 for a = e^(2 epsilon) if b and c are positive. If c = 0, outcomes with x present have mass p under P and 0 under
Q. If x is absent, its factor in P is 1 - p times that in Q; the factor of y in P is at most e^epsilon times that in Q
if b > 0, and that in Q divided by 1 - p if b = 0. Hence P <= e^epsilon Q there, and the divergence is p for
a = e^epsilon. If b = 0 < c, y is absent with certainty under P and with probability 1 - p under Q; the factor of x in P
is at most e^epsilon times that in Q. So each outcome contributes at most P - (1 - p) P for a = e^epsilon, p in total.
(Group privacy for two changes would give (1 + e^epsilon) delta.)

Plausible deniability. A record that copies the prefix v has the same probability given any seed with prefix v: all h(v)
of them are plausible seeds, with ratio 1, so Definition 1 holds for every gamma (Bindschaedler, Shokri, Gunter 2017).
A record that copies nothing has the same probability given any seed. A cell with h(v) < k is kept with probability at
most Pr[k - 1 + Z >= tau], which is at most beta / n_max if
tau >= k - 1 + ln(n_max / (beta (1 + e^-epsilon))) / epsilon. At most n cells are not empty. If n <= n_max then, with
probability 1 - beta over the noise, no record, however many are drawn, copies a prefix of fewer than k people. If the
mass lost to the threshold is restored, records whose prefix was not kept copy nothing: they are drawn from the model,
given noisy numbers alone. No k is guaranteed for them: their prefix may belong to nobody, or to a single person. They
have the differential privacy of the whole, and anyone can recognise them by their prefix. With more than n_max
records, differential privacy is unchanged, and beta grows as n / n_max. (Theorem 1 of the paper states this for one
record at a time, with a noisy threshold.)

Source: thresholds on noisy counts of non-empty cells: Korolova, Kenthapadi, Mishra, Ntoulas 2009; Bun, Nissim, Stemmer
2016. Theorem B in this form, and its proof, are ours.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.foundation.domain import Codes, Domain
from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import StreamOpener
from deniable.foundation.record_keys import assign_record_keys
from deniable.privacy.loss import (
    Guarantee,
    MechanismEvent,
    StabilityHistogramEvent,
    discrete_laplace_tail,
    noisy_integers,
)

if TYPE_CHECKING:
    from deniable.foundation.keys import Parameter
    from deniable.foundation.tables import Counts

FORMAT = "deniable/prefix-histogram/1"


@dataclass
class PrefixCounts:
    """Number of records that share each prefix; counts of chunks sum to counts of the table.

    Attributes:
        domain: the table's domain, m attributes.
        order: the attributes by column number, parents before children.
        length: number of attributes in a prefix, L, from 0 to m.
        rows: number of records counted, n.
        cells: the prefixes that occur, in lexicographic order of their codes, shape (v, L).
        counts: number of records with each of them, shape (v,).
    """

    domain: Domain
    order: tuple[int, ...]
    length: int
    rows: int = field(init=False, default=0)
    cells: Codes = field(init=False, repr=False)
    counts: "Counts" = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Start without records; refuse an impossible prefix length."""
        if not 0 <= self.length <= len(self.order):
            msg = f"a prefix must have 0 to {len(self.order)} attributes, got {self.length}."
            raise InvalidInput(msg)
        self.cells = np.zeros((0, self.length), np.uint16)
        self.counts = np.zeros(0, np.int64)

    @property
    def columns(self) -> tuple[int, ...]:
        """Column numbers of a prefix's attributes."""
        return self.order[: self.length]

    def add(self, codes: Codes) -> None:
        """Count more records.

        Args:
            codes: value codes, shape (rows, m), columns as in the domain.

        Raises:
            InvalidInput: a code is not in its attribute's domain.
        """
        prefixes = codes[:, list(self.columns)]
        (numbers,) = assign_record_keys([prefixes], self._sizes)
        _, first, counts = np.unique(numbers, return_index=True, return_counts=True)
        self._join(prefixes[first], counts)
        self.rows += len(codes)

    def merge(self, other: "PrefixCounts") -> None:
        """Add the counts of other records of the same table.

        Raises:
            InvalidInput: the other prefixes have other attributes.
        """
        if (other.domain, other.columns) != (self.domain, self.columns):
            msg = "counts must be of prefixes of the same attributes to be merged; count with one order and length."
            raise InvalidInput(msg)
        self._join(other.cells, other.counts)
        self.rows += other.rows

    @property
    def arrays(self) -> "dict[str, Codes | Counts]":
        """The counts, as named arrays to be stored."""
        return {"rows": np.asarray([self.rows]), "cells": self.cells, "counts": self.counts}

    def restore(self, arrays: "Mapping[str, Counts]") -> None:
        """Restore the counts from the stored arrays."""
        self.rows, self.cells = int(arrays["rows"][0]), arrays["cells"].astype(np.uint16)
        self.counts = arrays["counts"]

    @property
    def _sizes(self) -> list[int]:
        return [self.domain.cardinalities[column] for column in self.columns]

    def _join(self, cells: Codes, counts: "Counts") -> None:
        """Sum counts of equal cells; cell numbers are in lexicographic order."""
        all_cells = np.concatenate([self.cells, cells])
        (numbers,) = assign_record_keys([all_cells], self._sizes)
        _, first, place = np.unique(numbers, return_index=True, return_inverse=True)
        self.cells = all_cells[first]
        added = np.zeros(len(first), np.int64)
        np.add.at(added, place, np.concatenate([self.counts, counts]))
        self.counts = added


@dataclass(frozen=True, eq=False)
class PrefixHistogram:
    """The released histogram: noisy counts of the prefixes that reached the threshold.

    Attributes:
        domain: the table's domain.
        columns: column numbers of a prefix's attributes, in topological order, L of them.
        cells: codes of the prefixes, in lexicographic order, shape (v, L).
        counts: their noisy counts, at least 1, shape (v,).
        rows: the noisy total number of records, if requested.
    """

    domain: Domain
    columns: tuple[int, ...]
    cells: Codes
    counts: "Counts"
    rows: int | None = None

    def __post_init__(self) -> None:
        """Refuse an invalid histogram of prefixes."""
        if self.cells.shape != (len(self.counts), len(self.columns)) or bool((self.counts < 1).any()):
            msg = "a histogram must have a count of at least 1 for each of its prefixes, got another; learn it again."
            raise InvalidInput(msg)
        sizes = [self.domain.cardinalities[column] for column in self.columns]
        (numbers,) = assign_record_keys([self.cells], sizes)
        if bool((np.diff(numbers) <= 0).any()):
            msg = "the prefixes of a histogram must be distinct and in order, got others; learn it again."
            raise InvalidInput(msg)

    @property
    def length(self) -> int:
        """Number of attributes in a prefix, L."""
        return len(self.columns)

    @property
    def seedless_weight(self) -> int:
        """Weight of the model outside the kept prefixes, on the scale of the noisy counts.

        All of the weight if no prefix is left. Otherwise the noisy number of records minus the sum of the noisy
        counts, which estimates the number with a dropped prefix: post-processing, at no cost beyond that of the number
        of records.
        """
        if not len(self.counts):
            return 1
        return 0 if self.rows is None else max(0, self.rows - int(self.counts.sum()))

    def document(self) -> dict[str, Any]:
        """The histogram in names and values, ready for JSON."""
        attributes = [self.domain.attributes[column] for column in self.columns]
        return {
            "format": FORMAT,
            "attributes": [attribute.name for attribute in attributes],
            "cells": [
                [attribute.values[code] for attribute, code in zip(attributes, cell, strict=True)]
                for cell in self.cells.tolist()
            ],
            "counts": self.counts.tolist(),
            "rows": self.rows,
        }

    @classmethod
    def from_document(cls, domain: Domain, document: Mapping[str, Any]) -> "PrefixHistogram":
        """The histogram that a document describes.

        Raises:
            InvalidInput: the format is different, or the document does not describe a histogram over this domain.
        """
        if document.get("format") != FORMAT:
            got = document.get("format")
            msg = f"a histogram must have the format {FORMAT}, got {got}; read it with the version that wrote it."
            raise InvalidInput(msg)
        columns = domain.subset(document["attributes"])
        code_of = [{value: code for code, value in enumerate(domain.attributes[column].values)} for column in columns]
        try:
            cells = [[codes[value] for codes, value in zip(code_of, cell, strict=True)] for cell in document["cells"]]
        except (KeyError, ValueError):
            msg = "the prefixes of a histogram must have values of the domain, got another; read it with its domain."
            raise InvalidInput(msg) from None
        return cls(
            domain=domain,
            columns=columns,
            cells=np.asarray(cells, np.uint16).reshape(len(cells), len(columns)),
            counts=np.asarray(document["counts"], np.int64),
            rows=document["rows"],
        )


@dataclass(frozen=True)
class HistogramRecipe:
    """The budget of the histogram, and the number of people who must share a prefix.

    Attributes:
        epsilon: epsilon of the histogram, including the number of records.
        delta: delta of the histogram, above 0.
        k: smallest number of people who share a kept prefix; given with `beta` and `max_rows` or not at all.
        beta: probability that some kept prefix is shared by fewer.
        max_rows: public upper bound on the number of records, n_max.
        epsilon_rows: epsilon of a noisy number of records, less than `epsilon`. If given, the mass lost to the
            threshold is restored: that share of the records is drawn from the model, with prefixes that were not kept.
            Otherwise such prefixes do not occur.
    """

    epsilon: Fraction
    delta: Fraction
    k: int | None = None
    beta: Fraction | None = None
    max_rows: int | None = None
    epsilon_rows: Fraction | None = None

    def __post_init__(self) -> None:
        """Refuse an invalid budget, and an incomplete guarantee of k."""
        if not 0 < self.delta < 1:
            msg = f"delta must be in (0, 1), got {self.delta}; give a probability such as 1e-9."
            raise InvalidInput(msg)
        if self.epsilon_rows is not None and self.epsilon_rows <= 0:
            msg = f"epsilon_rows must be above 0, got {self.epsilon_rows}; leave it out to count no records."
            raise InvalidInput(msg)
        if self.epsilon_cells <= 0:
            got = f"{self.epsilon} and {self.epsilon_rows}"
            msg = f"epsilon must be above 0 and above epsilon_rows, got {got}; raise epsilon."
            raise InvalidInput(msg)
        if len({self.k is None, self.beta is None, self.max_rows is None}) > 1:
            msg = "k, beta and max_rows must be given together or not at all; give what is missing."
            raise InvalidInput(msg)
        if self.k is not None and self.k < 1:
            msg = f"k must be at least 1, got {self.k}."
            raise InvalidInput(msg)
        if self.beta is not None and not 0 < self.beta < 1:
            msg = f"beta must be in (0, 1), got {self.beta}; give a probability such as 1e-6."
            raise InvalidInput(msg)
        if self.max_rows is not None and self.max_rows < 1:
            msg = f"max_rows must be at least 1, got {self.max_rows}; give a bound that is known without the data."
            raise InvalidInput(msg)

    @property
    def epsilon_cells(self) -> Fraction:
        """Epsilon of the noisy counts."""
        return self.epsilon - (self.epsilon_rows or 0)

    def calibrate(self) -> "HistogramMechanism":
        """Choose the threshold: the smallest that satisfies delta and, if k is given, the guarantee of k.

        tau = 1 + ceil(ln(1 / (delta (1 + e^-epsilon))) / epsilon), or if that is larger
        tau_k = k - 1 + ceil(ln(n_max / (beta (1 + e^-epsilon))) / epsilon). See Theorem B above.
        """
        threshold = 1 + least_excess(self.epsilon_cells, self.delta)
        if self.k is not None and self.beta is not None and self.max_rows is not None:
            floor = self.k - 1 + least_excess(self.epsilon_cells, self.beta / self.max_rows)
            threshold = max(threshold, floor)
        return HistogramMechanism(self, threshold)


def least_excess(epsilon: Fraction, probability: Fraction) -> int:
    """Smallest z >= 0 that discrete Laplace noise of scale 1 / epsilon reaches with at most the given probability.

    It is determined in integers; the logarithm only provides the starting point.

    Args:
        epsilon: above 0.
        probability: above 0.
    """
    log_odds = math.log(probability.denominator) - math.log(probability.numerator)
    z = max(0, math.ceil((log_odds - math.log1p(math.exp(-epsilon))) / epsilon))
    while discrete_laplace_tail(epsilon, z) > probability:
        z += 1
    while z > 0 and discrete_laplace_tail(epsilon, z - 1) <= probability:
        z -= 1
    return z


@dataclass(frozen=True)
class HistogramMechanism:
    """Noise on the count of every prefix that occurs; only noisy counts that reach the threshold are released.

    Attributes:
        recipe: the budget.
        threshold: smallest noisy count to keep.
    """

    recipe: HistogramRecipe
    threshold: int

    @property
    def _cells_event(self) -> StabilityHistogramEvent:
        return StabilityHistogramEvent(
            query="counts of the prefixes that records have",
            part="seeds",
            outputs=1,
            scale=1 / self.recipe.epsilon_cells,
            threshold=self.threshold,
        )

    @property
    def events(self) -> tuple[MechanismEvent, ...]:
        """The mechanisms applied to the data, fixed before any row is read."""
        if self.recipe.epsilon_rows is None:
            return (self._cells_event,)
        rows = noisy_integers(
            "laplace", 1 / self.recipe.epsilon_rows, query="number of records", part="seeds", outputs=1
        )
        return self._cells_event, rows

    @property
    def guarantee(self) -> Guarantee:
        """Cost of the histogram, and of any number of records drawn from it, for add/remove neighbours."""
        return Guarantee(float(self.recipe.epsilon), float(self._cells_event.delta), "theorem_b")

    def failure_probability(self, k: int, rows: int) -> float:
        """Bound on the probability that any kept prefix is shared by fewer than k people; at most 1.

        Args:
            k: number of people, at least 1.
            rows: number of records, or a bound on it.
        """
        if k > self.threshold:
            return 1.0
        return min(1.0, float(rows * discrete_laplace_tail(self.recipe.epsilon_cells, self.threshold - (k - 1))))

    def run(self, counts: PrefixCounts, open_stream: StreamOpener) -> PrefixHistogram:
        """Add noise to the counts and keep those that reach the threshold; the result depends on nothing else.

        Noise is assigned to cells in lexicographic order, so it does not depend on the order of the rows.

        Args:
            counts: counts of the seeds' prefixes.
            open_stream: opens the streams of this step.
        """
        # Compiled code, which may be absent if only the cost of a histogram is verified.
        from deniable.foundation.noise import DiscreteLaplace  # noqa: PLC0415

        recipe = self.recipe
        parameters: dict[str, Parameter] = {
            "epsilon": recipe.epsilon_cells,
            "threshold": self.threshold,
            "columns": " ".join(map(str, counts.columns)),
            "domain": counts.domain.digest,
        }
        law = DiscreteLaplace(1 / recipe.epsilon_cells)
        noise = law.sample(open_stream(mechanism="prefix_histogram", parameters=parameters), len(counts.counts))
        noisy = counts.counts + noise
        kept = noisy >= self.threshold
        rows = None
        if recipe.epsilon_rows is not None:
            stream = open_stream(mechanism="row_count", parameters={"epsilon": recipe.epsilon_rows})
            rows = int((counts.rows + DiscreteLaplace(1 / recipe.epsilon_rows).sample(stream, 1))[0])
        return PrefixHistogram(counts.domain, counts.columns, counts.cells[kept], noisy[kept], rows)
