"""Disclosure risk: attacks that measure what a released table discloses about the people in its training data.

Each attack is run on people whose records were used and on people in the holdout, whose records were not: equal
success on both is knowledge about the population, and the excess is disclosure. An attack that fails proves nothing;
the guarantees are in `deniable.privacy` and `deniable.plausible_deniability`. Utility belongs in
`deniable.evaluation.utility`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Codes
from deniable.foundation.errors import InvalidInput
from deniable.foundation.record_keys import Numbers, assign_record_keys, occur_in, those_among


@dataclass(frozen=True)
class Share:
    """The success rate of an attack.

    Attributes:
        hits: number of cases in which it succeeded.
        total: number of cases.
    """

    hits: int
    total: int

    @property
    def value(self) -> float:
        """The share; 0 without cases."""
        return self.hits / self.total if self.total else 0.0

    @property
    def variance(self) -> float:
        """Binomial variance of the share, p (1 - p) / total."""
        return self.value * (1 - self.value) / self.total if self.total else 0.0


@dataclass(frozen=True)
class Contrast:
    """An attack's success on people whose records were used, and on people whose records were not.

    Attributes:
        training: success on records of the training data.
        holdout: success on records of the holdout.
        alike: variance of the excess if equal cases succeed together; 0 if all cases are independent.
    """

    training: Share
    holdout: Share
    alike: float = 0.0

    @property
    def excess(self) -> float:
        """Success on the training data minus success on the holdout: the effect of being used."""
        return self.training.value - self.holdout.value

    @property
    def standard_error(self) -> float:
        """Standard error of the excess: sqrt(variance(training) + variance(holdout)), or more if cases are alike."""
        return math.sqrt(max(self.training.variance + self.holdout.variance, self.alike))

    @property
    def cautious_error(self) -> float:
        """The larger of that and of the standard error if both groups succeed equally often; for few cases.

        Where nobody of a small group succeeds, the first is 0 for it, although some might have.
        """
        cases = self.training.total, self.holdout.total
        if not min(cases):
            return math.inf
        both = (self.training.hits + self.holdout.hits) / sum(cases)
        return max(self.standard_error, math.sqrt(both * (1 - both) * (1 / cases[0] + 1 / cases[1])))


@dataclass(frozen=True)
class Uniqueness:
    """Released records that are unique in their quasi-identifiers, and their relation to population uniques.

    Attributes:
        released: released records that are unique among the released ones.
        released_and_population: unique released records whose combination belongs to exactly one real person.
        found: the share of each part's population uniques whose combination belongs to a unique released record.
    """

    released: Share
    released_and_population: Share
    found: Contrast


@dataclass(frozen=True)
class Inference:
    """The success of guessing a sensitive attribute.

    Attributes:
        attack: success of guesses based on the known attributes and the release.
        marginal: success, on the same training and holdout records, of always guessing the release's modal value.
    """

    attack: Contrast
    marginal: Contrast


@dataclass(frozen=True)
class Tables:
    """A released table, records used to make it, and records not used.

    Attributes:
        released: codes of released records, shape (rows, m).
        training: codes of records that were used, shape (n, m).
        holdout: codes of records of the same population that were not used, shape (h, m).
        cardinalities: number of values of each of the m attributes.
    """

    released: Codes
    training: Codes
    holdout: Codes
    cardinalities: tuple[int, ...]

    def numbered(self, columns: Sequence[int] | None = None) -> tuple[Numbers, Numbers, Numbers]:
        """Number the records of all three tables by some or all columns; equal records get equal numbers."""
        chosen = list(range(len(self.cardinalities)) if columns is None else columns)
        cardinalities = [self.cardinalities[j] for j in chosen]
        tables = [table[:, chosen] for table in (self.released, self.training, self.holdout)]
        released, training, holdout = assign_record_keys(tables, cardinalities)
        return released, training, holdout

    def require_equal_parts(self) -> None:
        """Refuse a comparison of parts with different numbers of records.

        Raises:
            InvalidInput: training and holdout have different numbers of records, or a table is empty.
        """
        if len(self.training) != len(self.holdout) or not len(self.training) or not len(self.released):
            msg = (
                "released records and equal numbers of training and holdout records must be given, got other numbers; "
                "sample the larger part."
            )
            raise InvalidInput(msg)


def exact_matches(tables: Tables) -> Contrast:
    """Share of released records that equal some real record of a part: |{y in released: y in part}| / |released|.

    The number of matches grows with the size of a part, so both parts must have the same number of records; samples of
    equal size suffice. If the sample contains a share s of the training records, and a share c of the release are
    copies, the excess is about s c. All n_y released records with the values y match a part or none of them does, and
    without disclosure either part is as likely to have the only match: the variance of the excess is the sum of n_y^2
    over the values that one part alone has, divided by |released|^2.

    Args:
        tables: the release and equally large parts.

    Returns:
        The two shares; cases are released records.

    Raises:
        InvalidInput: the parts have different numbers of records, or a table is empty.
    """
    tables.require_equal_parts()
    released, training, holdout = tables.numbered()
    matched = [those_among(released, part) for part in (training, holdout)]
    alone = [found[~occur_in(found, other)] for found, other in zip(matched, matched[::-1], strict=True)]
    squares = sum(float((_times(found) ** 2).sum()) for found in alone)
    training_share, holdout_share = (Share(len(found), len(released)) for found in matched)
    return Contrast(training_share, holdout_share, alike=squares / len(released) ** 2)


def reproduced(tables: Tables) -> Contrast:
    """Share of real people of a part whose exact record was released: |{x in part: x in released}| / |part|.

    People in both parts are drawn from one population, so without disclosure both shares have the same expectation
    whatever the sizes of the parts: no sampling is needed.

    Args:
        tables: the release and both parts.

    Returns:
        The two shares; cases are real people.
    """
    released, training, holdout = tables.numbered()
    return Contrast(training=_share_found(training, released), holdout=_share_found(holdout, released))


def reproduced_by_value(tables: Tables, columns: Sequence[int]) -> list[Contrast]:
    """The share of real people of each value of some attributes whose exact record was released, as in `reproduced`.

    Args:
        tables: the release and both parts.
        columns: column numbers of the attributes.

    Returns:
        The two shares for each value of each attribute; cases are real people.
    """
    released, *numbers = tables.numbered()
    known = np.sort(released)
    shares: list[list[Share]] = []
    for people, numbered in zip((tables.training, tables.holdout), numbers, strict=True):
        found = occur_in(numbered, known)
        shares.append(
            [
                Share(int(hits), int(cases))
                for column in columns
                for hits, cases in zip(
                    *(
                        np.bincount(rows[:, column], minlength=tables.cardinalities[column])
                        for rows in (people[found], people)
                    ),
                    strict=True,
                )
            ]
        )
    return [Contrast(training, holdout) for training, holdout in zip(*shares, strict=True)]


def singled_out(tables: Tables, columns: Sequence[int]) -> Contrast:
    """Share of the people with unique values of some attributes whose values occur in the release.

    With V the real people whose values are unique in training and holdout together, it is
    |{x in V and the part: q(x) in q(released)}| / |{x in V and the part}|. A release that draws values without regard
    to whether a person has them finds as many of either part.

    Args:
        tables: the release and both parts.
        columns: column numbers of the attributes.

    Returns:
        The two shares; cases are real people.

    Source:
        Ours; the singling-out attack of Giomi et al. 2023 (Anonymeter), with all values in place of guessed ones.
    """
    released, training, holdout = tables.numbered(columns)
    unique = _uniques(np.concatenate((training, holdout)))
    return Contrast(
        training=_share_found(those_among(training, unique), released),
        holdout=_share_found(those_among(holdout, unique), released),
    )


def nearer_to_training(tables: Tables) -> float:
    """Share of released records whose nearest real record is a training record, ties counted half; 0.5 is harmless.

    The distance is the number of differing attributes, so near copies are detected too. The nearest of more records is
    nearer, so both parts must have the same number of records. Time |released| n m: pass samples.

    Args:
        tables: the release and equally large parts.

    Returns:
        A share in [0, 1].

    Raises:
        InvalidInput: the parts have different numbers of records, or a table is empty.
    """
    from deniable.evaluation.table_kernels import nearest  # noqa: PLC0415 - compiled code, for what compares records

    tables.require_equal_parts()
    to_training = nearest(tables.released, tables.training)
    to_holdout = nearest(tables.released, tables.holdout)
    return float(np.mean(to_training < to_holdout) + np.mean(to_training == to_holdout) / 2)


def nearer_error(tables: Tables) -> float:
    """Standard error of `nearer_to_training` if equal released records, which have the same nearest ones, are alike.

    It is the square root of the sum of (n_y s_y)^2 over the distinct released records y, divided by |released|: n_y is
    how often y was released, and s_y is 1/2 if one part alone has the nearest record, otherwise 0.

    Args:
        tables: the release and equally large parts.
    """
    from deniable.evaluation.table_kernels import nearest  # noqa: PLC0415 - compiled code, for what compares records

    decided = nearest(tables.released, tables.training) != nearest(tables.released, tables.holdout)
    released, _, _ = tables.numbered()
    return float(np.sqrt((_times(np.sort(released[decided])) ** 2).sum())) / (2 * len(released))


def uniqueness(tables: Tables, quasi_identifiers: Sequence[int]) -> Uniqueness:
    """Count released records with unique quasi-identifiers, and those of them that match exactly one real person.

    Let q(x) be the quasi-identifiers of x, U the released records y with unique q(y), and V the real people x with
    q(x) unique in training and holdout together:

        released = |U| / |released|
        released_and_population = |{y in U: q(y) in q(V)}| / |released|
        found = |{x in V and the part: q(x) in q(U)}| / |{x in V and the part}|

    The cases of `found` are people from one population, so equal sizes are not needed.

    Args:
        tables: the release and both parts.
        quasi_identifiers: column numbers.

    Returns:
        The shares.

    Source:
        The usual uniqueness measures of disclosure control; the contrast in `found` is ours.
    """
    released, training, holdout = tables.numbered(quasi_identifiers)
    unique_released = _uniques(released)
    unique_people = _uniques(np.concatenate((training, holdout)))
    return Uniqueness(
        released=Share(len(unique_released), len(released)),
        released_and_population=Share(len(those_among(unique_released, unique_people)), len(released)),
        found=Contrast(
            training=_share_found(those_among(training, unique_people), unique_released),
            holdout=_share_found(those_among(holdout, unique_people), unique_released),
        ),
    )


def infer(tables: Tables, *, known: Sequence[int], sensitive: int) -> Inference:
    """Guess a sensitive attribute of real people from an intruder's knowledge and the released table.

    For a person r with known values a(r), S(r) = {y in released: a(y) = a(r)}. The guess is the mode of the sensitive
    values in S(r), or in all of the release if S(r) is empty; among equally common values the first. The success is
    the share of people guessed correctly; the marginal guess is the mode of the release for everyone.

    Args:
        tables: the release and both parts.
        known: column numbers of the attributes that the intruder knows; the sensitive one is ignored among them.
        sensitive: column number of the sensitive attribute.

    Returns:
        Success of the attack and of the marginal guess, on both parts; cases are real people.

    Raises:
        InvalidInput: nothing was released.

    Source:
        The usual attribute inference attack; ties are broken by value instead of at random.
    """
    if not len(tables.released):
        msg = "an intruder must have released records to learn from, got none."
        raise InvalidInput(msg)
    # The last column is the lowest digit of a number: the sensitive value and what is known follow from it.
    released, training, holdout = tables.numbered([*(j for j in known if j != sensitive), sensitive])
    values = tables.cardinalities[sensitive]
    commonest = int(np.bincount(tables.released[:, sensitive]).argmax())
    guesses = _modes(released, values)
    recognized = guesses // values

    def always_commonest(people: Numbers) -> Share:
        return Share(int(np.count_nonzero(people % values == commonest)), len(people))

    def attack(people: Numbers) -> Share:
        guessed = len(those_among(people, guesses))
        by_default = people[people % values == commonest] // values
        unrecognized = len(by_default) - len(those_among(by_default, recognized))
        return Share(guessed + unrecognized, len(people))

    return Inference(
        attack=Contrast(training=attack(training), holdout=attack(holdout)),
        marginal=Contrast(training=always_commonest(training), holdout=always_commonest(holdout)),
    )


def error_of_guesses(
    tables: Tables, *, known: Sequence[int], sensitive: int, numbers: Sequence[float]
) -> tuple[float, float]:
    """Guess a number of the real people of the training data, and measure how far off the guesses are.

    For a person r with known values a(r), the guess is the mean of the sensitive numbers of the released records with
    the same known values, or of all of them if there is none.

    Args:
        tables: the release and both parts; the holdout is not used.
        known: column numbers of the attributes that the intruder knows; the sensitive one is ignored among them.
        sensitive: column number of the sensitive attribute.
        numbers: the number of each of its values, such as the middle of a bin, shape (values,).

    Returns:
        Mean absolute error of the guesses, and of always guessing the mean of the release, in the unit of the numbers.

    Raises:
        InvalidInput: nothing was released, or there are no real people.

    Source:
        Park, Ghosh, Shankar 2013, section 4.4.
    """
    if not len(tables.released) or not len(tables.training):
        msg = "guesses must be made from released records about real people, got none of these."
        raise InvalidInput(msg)
    released, training, _ = tables.numbered([j for j in known if j != sensitive])
    worth = np.asarray(numbers, np.float64)
    seen, own = worth[tables.released[:, sensitive]], worth[tables.training[:, sensitive]]
    groups, place = np.unique(released, return_inverse=True)
    means = np.bincount(place, weights=seen) / np.bincount(place)
    nearest = np.minimum(np.searchsorted(groups, training), len(groups) - 1)
    guesses = np.where(groups[nearest] == training, means[nearest], seen.mean())
    return float(np.abs(guesses - own).mean()), float(np.abs(seen.mean() - own).mean())


def _share_found(records: Numbers, among: Numbers) -> Share:
    """Share of records that equal some other record."""
    return Share(len(those_among(records, among)), len(records))


def _times(ordered: Numbers) -> NDArray[np.float64]:
    """How often each number of an ascending array occurs."""
    ends = np.flatnonzero(np.concatenate((ordered[1:] != ordered[:-1], np.ones(min(len(ordered), 1), bool)))) + 1
    return np.diff(ends, prepend=0).astype(np.float64)


def _uniques(numbers: Numbers) -> Numbers:
    """The numbers that occur exactly once."""
    ordered = np.sort(numbers)
    differ = np.ones(len(ordered) + 1, bool)
    differ[1:-1] = ordered[1:] != ordered[:-1]
    return np.asarray(ordered[differ[1:] & differ[:-1]])


def _modes(numbers: Numbers, values: int) -> Numbers:
    """The most frequent number among those with the same quotient; the smallest in a tie.

    Args:
        numbers: shape (rows,), at least one.
        values: the divisor.

    Returns:
        One number for each quotient, in order.
    """
    distinct, counts = np.unique(numbers, return_counts=True)
    quotients = distinct // values
    starts = np.flatnonzero(np.diff(quotients, prepend=quotients[0] - 1))
    most = np.repeat(np.maximum.reduceat(counts, starts), np.diff(starts, append=len(counts)))
    modes: Numbers = distinct[counts == most]
    quotients = modes // values
    return modes[np.diff(quotients, prepend=quotients[0] - 1) > 0]
