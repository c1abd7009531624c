"""Logic that nobody declared: patterns that all real records satisfy and no rule states, and who breaks them.

Patterns are found in training and holdout records together, and are internal. A pattern whose attributes a declared
rule relates is left out: records keep the rule.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from deniable.evaluation.contract import Figure, Metric, Scope, Table, Value
from deniable.evaluation.utility import share_error

if TYPE_CHECKING:
    from deniable.evaluation.evidence import UtilityEvidence

BROKEN: Final = "logic_broken_worst"
"""The share of released records that break the pattern that most of them break."""
PATTERNS: Final = "logic_patterns"
"""The number of patterns that all real records satisfy and no rule declares."""
PATTERNS_BROKEN: Final = "logic_patterns_broken"
"""The number of them that some released record breaks."""

WORDS, LINES = "words", "lines"
"""Names of the texts of the patterns: each in words, and the line of a schema that states it."""

MOST_SHOWN: Final = 60
"""Number of patterns that are listed, those broken most first."""

_PAIR: Final = 2
_REAL: Final[tuple[Table, ...]] = ("training", "holdout")


def _figures(_: Scope) -> Iterator[Figure]:
    yield Figure(name=BROKEN, better="low", words="records that break undeclared logic, the worst pattern")
    yield Figure(name=PATTERNS, better="neither", is_count=True, has_error=False)
    yield Figure(name=PATTERNS_BROKEN, better="low", is_count=True, has_error=False)


def _measure(evidence: "UtilityEvidence") -> dict[str, Value]:
    from deniable.evaluation.logic import finding  # noqa: PLC0415 - specs are checked without it

    domain, released = evidence.domain, evidence.table("released")
    if len(domain) < _PAIR:
        return {}
    related = [set(domain.subset(rule.attributes)) for rule in domain.rules]
    found = []
    if _PAIR in evidence.marginals and len(released):
        begun = {name: evidence.counts(_PAIR, name) for name in ("released", *_REAL)}
        counts = {name: counted.result() for name, counted in begun.items()}
        for pair in evidence.marginals[_PAIR]:
            if any(set(pair) <= those for those in related):
                continue
            real = counts["training"].table(pair) + counts["holdout"].table(pair)
            own = counts["released"].table(pair)
            for pattern in finding.patterns_of_pair(domain, (pair[0], pair[1]), real):
                table = own if pattern.columns == pair else own.T
                found.append((finding.breaks(pattern, domain, released, table), pattern))
    found += [
        (finding.breaks(pattern, domain, released, None), pattern)
        for pattern in finding.sums(domain, [evidence.table(name) for name in _REAL])
        if not any(set(pattern.columns) <= those for those in related)
    ]
    if not found:
        return {PATTERNS: Value(0.0), PATTERNS_BROKEN: Value(0.0)}
    found.sort(key=lambda each: -each[0])
    shares = [broken / len(released) for broken, _ in found]
    shown = [pattern for _, pattern in found[:MOST_SHOWN]]
    return {
        BROKEN: Value(
            shares[0],
            # One more that breaks it and one more that does not: the error of a share of 0 is not 0.
            share_error((found[0][0] + 1) / (len(released) + 2), len(released)),
            tuple(shares[:MOST_SHOWN]),
            texts={
                WORDS: tuple(pattern.words(domain) for pattern in shown),
                LINES: tuple(pattern.line(domain) for pattern in shown),
            },
        ),
        PATTERNS: Value(float(len(found))),
        PATTERNS_BROKEN: Value(float(sum(broken > 0 for broken, _ in found))),
    }


METRIC: Final = Metric(figures=_figures, measure=_measure, needs=frozenset({"released", "training", "holdout"}))
