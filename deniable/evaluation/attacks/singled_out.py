"""Singling out: people whose value of an attribute, or of a pair, is unique, and occurs in the released records.

An attribute that identifies people, or a pair without noise, gives them away even if no whole record is copied.
Attributes and pairs with many values come first; the one with the largest certain excess is reported.

Source: the singling-out attack of Giomi et al. 2023, A unified framework for quantifying privacy risk in synthetic data
(Anonymeter), on all unique values in place of guessed ones.
"""

from itertools import combinations
from math import prod
from typing import TYPE_CHECKING, Final

from deniable.evaluation.attacks.contrasts import figures_of_contrast, worst_of
from deniable.evaluation.contract import Attack, Value
from deniable.evaluation.disclosure import singled_out

if TYPE_CHECKING:
    from deniable.evaluation.evidence import AttackEvidence

NAME: Final = "singled_out"
MOST_RECORDS, MOST_SETS = 100_000, 100
"""The largest number of records of each table, and of attributes and pairs of attributes that are tried."""

_FEWEST_VALUES: Final = 100


def _measure(evidence: "AttackEvidence") -> dict[str, Value]:
    tables = evidence.first(released=MOST_RECORDS, real=MOST_RECORDS)
    sizes = tables.cardinalities
    columns = range(len(sizes))
    sets = [chosen for order in (1, 2) for chosen in combinations(columns, order)]
    cells = {chosen: prod(sizes[column] for column in chosen) for chosen in sets}
    tried = [chosen for chosen in sets if cells[chosen] >= _FEWEST_VALUES]
    tried = sorted(tried, key=lambda chosen: (len(chosen), -cells[chosen]))[:MOST_SETS]
    attempts = [evidence.pool.submit(singled_out, tables, chosen) for chosen in tried]
    names = [" and ".join(evidence.domain.names[column] for column in chosen) for chosen in tried]
    return worst_of(NAME, [attempt.result() for attempt in attempts], names)


ATTACK: Final = Attack(
    figures=lambda _: figures_of_contrast(
        NAME, words="people singled out by one or two attributes, in excess of people not used, the worst attributes"
    ),
    measure=_measure,
    knows="some attributes",
    seeks="presence",
)
