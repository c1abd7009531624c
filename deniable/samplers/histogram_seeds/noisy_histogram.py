"""Seeds from a noisy histogram of prefixes: any number of records for a price that is paid once.

A model that copies the first L attributes of a seed needs to know of the seeds only how many share each prefix. These
counts are noised once, the small ones dropped and the true ones forgotten; all records are drawn from what is left.
How they are drawn does not belong here (histogram_sampling).

Theorem B. Let h(v) be the number of records with prefix v, Z_v independent discrete Laplace noise of scale
1 / epsilon, tau >= 1, and p = Pr[1 + Z >= tau] = e^(-epsilon (tau - 1)) / (1 + e^-epsilon) at most delta. The set of
all (v, h(v) + Z_v) with h(v) > 0 and h(v) + Z_v >= tau is (epsilon, delta)-differentially private for added and
removed records, and (2 epsilon, delta)-differentially private for replaced ones. So is any number of records drawn
from it and from public or noisy numbers alone, which is post-processing.

Proof. A record more changes the count of its own prefix from c to c + 1. Cells are independent, so that only the law of
this cell counts. If c > 0, the noisy count moves by 1 and every probability by a factor in [e^-epsilon, e^epsilon];
what is dropped depends on the noisy count alone. If c = 0, the cell is surely absent without the record and present
with probability p with it: the laws differ by a mass of p <= delta. Two tables cost epsilon or delta, never both.

A record replaced by one of another prefix takes the cell x from c + 1 to c and the cell y from b to b + 1, independent
of each other. Let P be the law before and Q the one after; the way back is the same with x and y exchanged. The excess
is the sum of max(P - a Q, 0) over all outcomes, which falls in a; it is 0 for a = e^(2 epsilon) if b and c are above 0.
If c = 0, the outcomes with x present have mass p under P and none under Q. Where x is absent, P has 1 - p of what Q has
of x; of y it has at most e^epsilon times what Q has if b > 0, and if b = 0 what Q has divided by 1 - p. Hence
P <= e^epsilon Q there, and the excess is p for a = e^epsilon. If b = 0 < c, y is surely absent under P, and Q has 1 - p
of that; of x, P has at most e^epsilon times what Q has. The excess of an outcome is at most P - (1 - p) P for
a = e^epsilon, p in all. (Two changes, one after the other, would have been charged (1 + e^epsilon) delta.)

Plausible deniability. A record that copies the prefix v has one probability given any seed with prefix v: all h(v) of
them are plausible seeds, with ratio 1, as Definition 1 asks for every gamma (Bindschaedler, Shokri, Gunter 2017). A
record that copies nothing has one probability given any seed whatever. A cell with h(v) < k survives with probability
at most Pr[k - 1 + Z >= tau], which is at most beta / n_max if
tau >= k - 1 + ln(n_max / (beta (1 + e^-epsilon))) / epsilon. At most n cells are not empty. If n <= n_max then, with
probability 1 - beta over the noise, no record ever drawn, however many are, copies a prefix of fewer than k people.
Where the mass that the threshold took is given back, records that begin with a prefix that was not kept copy nothing:
they are made of the model, given noisy numbers alone. Of those this says nothing; perhaps nobody has their prefix, or
one person. They have differential privacy, as all of it has, and anybody can tell them by their prefix.
Should there be more than n_max records, differential privacy is what it was, and beta grows as n / n_max. (Theorem 1 of
the paper says this of one record at a time, and with a threshold that is noisy.)

Source: thresholds on noisy counts of non-empty cells: Korolova, Kenthapadi, Mishra, Ntoulas 2009; Bun, Nissim, Stemmer
2016. Theorem B as it stands here, and its proof, are ours.
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
    """How many records share each prefix. Counts of chunks add up to the counts of the whole.

    Attributes:
        domain: the table's domain, m attributes.
        order: the attributes by column number, parents before children.
        length: number of attributes in a prefix, L, from 0 to m.
        rows: number of records counted, n.
        cells: the prefixes that are, in lexicographic order of their codes, shape (v, L).
        counts: number of records with each of them, shape (v,).
    """

    domain: Domain
    order: tuple[int, ...]
    length: int
    rows: int = field(init=False, default=0)
    cells: Codes = field(init=False, repr=False)
    counts: "Counts" = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Start with no record; refuse a prefix that no record has."""
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
            msg = "counts must be of prefixes of the same attributes to be added up; count with one order and length."
            raise InvalidInput(msg)
        self._join(other.cells, other.counts)
        self.rows += other.rows

    @property
    def arrays(self) -> "dict[str, Codes | Counts]":
        """What was counted, to be stored by name."""
        return {"rows": np.asarray([self.rows]), "cells": self.cells, "counts": self.counts}

    def restore(self, arrays: "Mapping[str, Counts]") -> None:
        """Take what was counted from what was stored of it."""
        self.rows, self.cells = int(arrays["rows"][0]), arrays["cells"].astype(np.uint16)
        self.counts = arrays["counts"]

    @property
    def _sizes(self) -> list[int]:
        return [self.domain.cardinalities[column] for column in self.columns]

    def _join(self, cells: Codes, counts: "Counts") -> None:
        """Add up counts of cells; a cell's number grows with its place in lexicographic order."""
        all_cells = np.concatenate([self.cells, cells])
        (numbers,) = assign_record_keys([all_cells], self._sizes)
        _, first, place = np.unique(numbers, return_index=True, return_inverse=True)
        self.cells = all_cells[first]
        added = np.zeros(len(first), np.int64)
        np.add.at(added, place, np.concatenate([self.counts, counts]))
        self.counts = added


@dataclass(frozen=True, eq=False)
class PrefixHistogram:
    """What is left of the seeds: noisy counts of the prefixes that reached the threshold.

    Attributes:
        domain: the table's domain.
        columns: column numbers of a prefix's attributes, in topological order, L of them.
        cells: codes of the prefixes, in lexicographic order, shape (v, L).
        counts: their noisy counts, at least 1, shape (v,).
        rows: a noisy number of all records, if it was asked for.
    """

    domain: Domain
    columns: tuple[int, ...]
    cells: Codes
    counts: "Counts"
    rows: int | None = None

    def __post_init__(self) -> None:
        """Refuse what is no histogram of prefixes."""
        if self.cells.shape != (len(self.counts), len(self.columns)) or bool((self.counts < 1).any()):
            msg = "a histogram must have a count of at least 1 for each of its prefixes, got another; learn it again."
            raise InvalidInput(msg)
        sizes = [self.domain.cardinalities[column] for column in self.columns]
        (numbers,) = assign_record_keys([self.cells], sizes)
        if bool((np.diff(numbers) <= 0).any()):
            msg = "the prefixes of a histogram must differ and stand in order, got others; learn it again."
            raise InvalidInput(msg)

    @property
    def length(self) -> int:
        """Number of attributes in a prefix, L."""
        return len(self.columns)

    @property
    def seedless_weight(self) -> int:
        """How much the model counts for beside the noisy counts of the prefixes, elsewhere than where these are.

        All, if no prefix is left. Else what the noisy number of records exceeds the noisy counts by, about as many as
        had a prefix that was dropped: made of noisy numbers alone, it costs nothing beyond that number of records.
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
            InvalidInput: it is of another format, or describes no histogram over this domain.
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
    """What the histogram may cost, and how many people must share a prefix.

    Attributes:
        epsilon: epsilon of the histogram, that of the number of records included.
        delta: delta of the histogram, above 0.
        k: how many people at least share each prefix that is kept; given with `beta` and `max_rows` or not at all.
        beta: probability with which fewer may.
        max_rows: a public bound on the number of records, n_max.
        epsilon_rows: epsilon of a noisy number of records, less than `epsilon`. Where it is given, the mass that the
            threshold took is given back: so many records are the model's own, of those that begin with a prefix that
            was not kept. Else such prefixes do not occur at all.
    """

    epsilon: Fraction
    delta: Fraction
    k: int | None = None
    beta: Fraction | None = None
    max_rows: int | None = None
    epsilon_rows: Fraction | None = None

    def __post_init__(self) -> None:
        """Refuse a budget that is none, and half a promise."""
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
            msg = f"max_rows must be at least 1, got {self.max_rows}; give a bound that is known without looking."
            raise InvalidInput(msg)

    @property
    def epsilon_cells(self) -> Fraction:
        """Epsilon of the noisy counts."""
        return self.epsilon - (self.epsilon_rows or 0)

    def calibrate(self) -> "HistogramMechanism":
        """Choose the threshold: the smallest that keeps delta, and where k is given keeps prefixes of fewer away.

        tau = 1 + ceil(ln(1 / (delta (1 + e^-epsilon))) / epsilon), or if that is larger
        tau_k = k - 1 + ceil(ln(n_max / (beta (1 + e^-epsilon))) / epsilon). See Theorem B above.
        """
        threshold = 1 + least_excess(self.epsilon_cells, self.delta)
        if self.k is not None and self.beta is not None and self.max_rows is not None:
            floor = self.k - 1 + least_excess(self.epsilon_cells, self.beta / self.max_rows)
            threshold = max(threshold, floor)
        return HistogramMechanism(self, threshold)


def least_excess(epsilon: Fraction, probability: Fraction) -> int:
    """Smallest z >= 0 that discrete Laplace noise of scale 1 / epsilon reaches with at most some probability.

    Decided by whole numbers; the logarithm only says where to begin.

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
    """Noise on the count of every prefix that some record has; only what reaches the threshold is ever seen.

    Attributes:
        recipe: the budget.
        threshold: smallest noisy count that is kept.
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
        """What is done to the data, known before it is read."""
        if self.recipe.epsilon_rows is None:
            return (self._cells_event,)
        rows = noisy_integers(
            "laplace", 1 / self.recipe.epsilon_rows, query="number of records", part="seeds", outputs=1
        )
        return self._cells_event, rows

    @property
    def guarantee(self) -> Guarantee:
        """What the histogram costs, and with it any number of records, for added and removed records."""
        return Guarantee(float(self.recipe.epsilon), float(self._cells_event.delta), "theorem_b")

    def failure_probability(self, k: int, rows: int) -> float:
        """Bound on the probability that any prefix is kept that fewer than k people share; at most 1.

        Args:
            k: number of people, at least 1.
            rows: number of records, or a bound on it.
        """
        if k > self.threshold:
            return 1.0
        return min(1.0, float(rows * discrete_laplace_tail(self.recipe.epsilon_cells, self.threshold - (k - 1))))

    def run(self, counts: PrefixCounts, open_stream: StreamOpener) -> PrefixHistogram:
        """Noise the counts and keep those that reach the threshold; nothing else of `counts` is in the result.

        Noise goes to the cells in their lexicographic order, so that it does not depend on the order of the rows.

        Args:
            counts: counts of the seeds' prefixes.
            open_stream: opens the streams of this step.
        """
        # Compiled code, which whoever verifies what a histogram costs may not have.
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
            rows = counts.rows + int(DiscreteLaplace(1 / recipe.epsilon_rows).sample(stream, 1)[0])
        return PrefixHistogram(counts.domain, counts.columns, counts.cells[kept], noisy[kept], rows)
