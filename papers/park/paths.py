"""Table 3: the path of a record from its seed, and the probabilities of paths worked out in full on a small table."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import product
from math import e, sqrt
from typing import Any, Final

import numpy as np

from deniable.foundation.domain import Attribute, Codes, Domain
from deniable.foundation.tables import FamilyCounts, configuration_strides
from deniable.learners.mapped import stream
from deniable.learners.pegs.draws import keys_of, urns_of
from deniable.learners.pegs.plan import DrawsPlan, key_of, urns_document
from deniable.models.urns import draw_blocks
from deniable.privacy.urn_costs import UNIT
from papers.bindschaedler.people import People, the_people
from papers.findings import Check, Part, Table, between, equal
from papers.park.choices import KEY_CELLS
from papers.park.orders import by_information

EPSILON: Final = 10
"""Epsilon of the record that is shown."""
SMALL: Final = ((0, 0, 0), (0, 0, 1), (0, 1, 1), (1, 0, 1), (1, 1, 1), (1, 1, 2), (0, 1, 2), (1, 1, 1))
"""A table of eight records, with 2, 2 and 3 values."""
WORKED_OUT: Final = {(1, 1, 2): 0.08910868831246402, (0, 0, 0): 0.10345357588099842}
"""Probabilities of records from the seed 000 at epsilon 1, by another program."""
WORST: Final = 1.6495378411299624
"""The largest factor by which one more record changes the probability of a record, by the same program."""
WITHIN: Final = 1e-6
"""Prior weights are rounded up to multiples of 2^-20."""
_DRAWS: Final = 20_000
_ERRORS: Final = 6.2
"""A share is further from its probability by so many standard errors with probability 1e-9."""


@dataclass(frozen=True)
class Counted:
    """The urns of a table without blocks.

    Attributes:
        domain: the domain.
        keys: the key of each attribute.
        tables: the counts of each attribute given its key.
        priors: the prior weight of each value of each attribute, in units of 2^-20 records.
    """

    domain: Domain
    keys: tuple[tuple[int, ...], ...]
    tables: Sequence[Any]
    priors: Sequence[int]


@dataclass(frozen=True)
class Step:
    """The draw of one attribute.

    Attributes:
        key: the key's attributes with their buckets.
        people: number of records in the row.
        alike: number of those with the drawn value.
        chance: probability of the drawn value.
    """

    key: Mapping[int, int]
    people: int
    alike: int
    chance: Fraction


def counted(domain: Domain, codes: Codes, epsilon: int, orders: Sequence[Sequence[int]], key_cells: int) -> Counted:
    """Count a table by keys, and plan draws of single records.

    Args:
        domain: the domain.
        codes: the table, shape (rows, m).
        epsilon: epsilon of one record.
        orders: for each attribute, the others in order.
        key_cells: largest number of combinations of a key.
    """
    keys = tuple(key_of(domain, order, key_cells) for order in orders)
    counts = FamilyCounts(domain, keys)
    counts.add(codes)
    return Counted(domain, keys, counts.tables, DrawsPlan(domain, 1, Fraction(epsilon)).priors)


def path(urns: Counted, seed: Sequence[int], record: Sequence[int]) -> Iterator[Step]:
    """Yield the draws by which a record follows from a seed, with exact probabilities."""
    now, domain = list(seed), urns.domain
    for place, (key, table, prior) in enumerate(zip(urns.keys, urns.tables, urns.priors, strict=True)):
        buckets = {other: int(domain.attributes[other].bucket_of[now[other]]) for other in key}
        strides = configuration_strides(domain, key)
        row = sum(int(stride) * bucket for stride, bucket in zip(strides, buckets.values(), strict=True))
        people, alike = int(table[row].sum()), int(table[row][record[place]])
        chance = Fraction(UNIT * alike + prior, UNIT * people + domain.cardinalities[place] * prior)
        yield Step(buckets, people, alike, chance)
        now[place] = record[place]


def probability(urns: Counted, seed: Sequence[int], record: Sequence[int]) -> Fraction:
    """The probability of a record from a seed."""
    found = Fraction(1)
    for step in path(urns, seed, record):
        found *= step.chance
    return found


def table_3() -> Part:
    """The path of a record."""
    return paths(the_people())


def paths(people: People) -> Part:
    """Table 3 on a table."""
    domain = people.domain
    orders = [domain.subset(others) for others in by_information(domain, people.codes).values()]
    urns = counted(domain, people.codes, EPSILON, orders, KEY_CELLS)
    document = urns_document(domain, urns.keys, {})
    seed = [size // 2 for size in domain.cardinalities]
    record = drawn(urns, document, seed, 1)[0].tolist()
    steps = list(path(urns, seed, record))
    shown = [
        (
            str(number),
            domain.names[place],
            str(domain.attributes[place].values[seed[place]]),
            ", ".join(f"{domain.names[other]} {bucket}" for other, bucket in step.key.items()),
            f"{step.people:,}",
            f"{step.alike:,}",
            f"{urns.priors[place] / UNIT * domain.cardinalities[place]:.1f}",
            f"{float(step.chance):.4f}",
            str(domain.attributes[place].values[record[place]]),
        )
        for number, (place, step) in enumerate(enumerate(steps), start=1)
    ]
    whole = float(probability(urns, seed, record))
    empty = sum(step.people == 0 for step in steps)
    return Part(
        name="Table 3",
        title="the path of one record",
        verdict="demonstrated",
        why="The paper's record is of a patient; ours begins at a public seed, the middle value of each attribute, and "
        f"replaces one attribute after the other, at epsilon {EPSILON} for the record. Each is drawn from the real "
        "people who are alike in the buckets of its key, of which there are at most "
        f"{KEY_CELLS:,} combinations, and from prior people, equally many of every value. The record has probability "
        f"{whole:.2g} from this seed, the product of the column. "
        + (
            f"In {empty} of the rows there is nobody: there, values are drawn evenly, and cost as much as all others. "
            if empty
            else ""
        )
        + "On a table of eight records, the expectations compare such products with those of another program, add "
        "every possible record to it, and count records that are drawn.",
        product=("deniable/learners/pegs/draws.py", "deniable/learners/pegs/plan.py", "deniable/privacy/urn_costs.py"),
        checks=(
            *_on_a_small_table(),
            Check("every attribute of the record has a draw, and a probability above 0",
                  len(steps) == len(domain) and all(step.chance > 0 for step in steps)),
            Check("the keys are those of the document of the urns", keys_of(domain, document) == urns.keys),
        ),
        table=Table(
            ("step", "attribute", "seed", "key, by buckets", "people", "of whom alike", "prior people", "probability",
             "drawn"),
            tuple(shown),
        ),
    )  # fmt: skip


def drawn(urns: Counted, document: Mapping[str, Any], seed: Sequence[int], records: int) -> Codes:
    """Draw records from one seed, by the product's own urns."""
    rows = [np.full(len(table), prior, np.int64) for table, prior in zip(urns.tables, urns.priors, strict=True)]
    made = urns_of(urns.domain, {**document, "seeds": [list(seed)]}, urns.tables, rows)
    return draw_blocks(stream(1, "path", mechanism="urns", parameters={}), made, records)


def _on_a_small_table() -> Iterator[Check]:
    sizes = (2, 2, 3)
    domain = Domain(
        tuple(
            Attribute(name, tuple(range(size)), "nominal", tuple(range(size)))
            for name, size in zip("abc", sizes, strict=True)
        )
    )
    orders = [[1], [0], [1, 0]]
    of = partial(counted, domain, epsilon=1, orders=orders, key_cells=4)
    urns = of(np.array(SMALL, np.uint16))
    records = list(product(*map(range, sizes)))
    seed = (0, 0, 0)
    for record, right in WORKED_OUT.items():
        words = f"probability of {''.join(map(str, record))} from 000, of eight records at epsilon 1"
        yield equal(words, float(probability(urns, seed, record)), right, WITHIN)
    yield Check(
        "the probabilities of all records sum to 1", sum(probability(urns, seed, each) for each in records) == 1
    )
    before = {pair: probability(urns, *pair) for pair in product(records, records)}
    worst = max(
        max(after / before[pair], before[pair] / after)
        for added in records
        for more in [of(np.array((*SMALL, added), np.uint16))]
        for pair in before
        for after in [probability(more, *pair)]
    )
    yield equal("largest factor by which one more record changes a probability", float(worst), WORST, WITHIN)
    yield Check(f"it is within e: {float(worst):.3f} <= {e:.3f}", worst <= e)
    made = drawn(urns, urns_document(domain, urns.keys, {}), seed, _DRAWS)
    numbers = np.ravel_multi_index(tuple(made.T.astype(np.int64)), sizes)
    seen = np.bincount(numbers, minlength=len(records)) / _DRAWS
    expected = [float(probability(urns, seed, each)) for each in records]
    off = max(abs(own - one) / sqrt(one * (1 - one) / _DRAWS) for own, one in zip(seen, expected, strict=True))
    yield between(
        f"standard errors between shares of {_DRAWS:,} records drawn and their probabilities", 0, off, _ERRORS
    )
