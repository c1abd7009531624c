"""Writes a schema and a spec from what the files of SGF describe, for a person to read and correct.

The tool's mechanism is `tested_seeds` with a graph that is given. What the tool asks for when records are extracted (k,
eps0), and what it does not know of (a public number of seeds, dropped attempts), is stated by the user.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context
from fractions import Fraction
from math import ceil
from typing import Final

from deniable.foundation.errors import InvalidInput
from deniable.plausible_deniability.seed_accounting import record_guarantee
from deniable.privacy.common_events import tested_candidates
from deniable.privacy.loss import PrivacyTestEvent
from schemas.codebooks.codebook import one_line
from schemas.codebooks.sgf_files import Configuration, Described

_SPLIT_WITH_SEEDS: Final = "{seeds: 0.4, parameters: 0.4, holdout: 0.2}"
_SPLIT: Final = "{parameters: 0.8, holdout: 0.2}"
_DROP = Fraction(1, 100)
_DELTA = "1.0e-9"
_CHUNK = 65_536
_WIDEST = 116
_MORE_CANDIDATES = Fraction(3, 2)


@dataclass(frozen=True, kw_only=True)
class Extraction:
    """What SGF needs when records are extracted, and a public number of seeds.

    Attributes:
        records: number of records to release.
        k: number of plausible seeds that a record must have.
        eps0: budget of the noise on k, as written.
        public_rows: a number of seeds that is known to be exceeded; None if it is not stated.
    """

    records: int
    k: int
    eps0: str
    public_rows: int | None


def imported_schema(described: Described, *, sources: Sequence[str], description: str) -> str:
    """The text of a schema.

    Args:
        described: the table.
        sources: names of the files that it was made from.
        description: description of the table.
    """
    columns = [_column(described, i) for i in range(len(described.names))]
    functions = [name for name in ("nominal", "ordered") if any(f": {name}(" in column for column in columns)]
    return "\n".join(
        [
            f'"""Imported from {_listed(sources)}:',
            "read it, and correct what is wrong.",
            "",
            "Values are the numbers that SGF uses; replace a list by a mapping to give them labels.",
            '"""',
            "",
            f"from schemas.table import {', '.join([*functions, 'table'])}",
            "",
            "schema = table(",
            "    {",
            *columns,
            "    },",
            f"    description={json.dumps(description, ensure_ascii=False)},",
            ")",
            "",
        ]
    )


def _listed(sources: Sequence[str]) -> str:
    """Names of files in a comment or a docstring."""
    return ", ".join(one_line(source).replace('"', "'").replace("\\", "/") for source in sources)


def _column(described: Described, i: int) -> str:
    """The line of a column; it is ordered if its bins are runs of neighbouring values, of which some has several."""
    bins, size = described.bins[i], described.sizes[i]
    groups: list[list[int]] = [[] for _ in range(max(bins) + 1)]
    for value, own in enumerate(bins, 1):
        groups[own].append(value)
    several = [group for group in groups if len(group) > 1]
    ordered = bool(several) and all(group == list(range(group[0], group[-1] + 1)) for group in groups)
    buckets = f", buckets=[{', '.join(map(_run, several))}]" if several else ""
    name = json.dumps(described.names[i], ensure_ascii=False)
    line = f"        {name}: {'ordered' if ordered else 'nominal'}(range(1, {size + 1}){buckets}),"
    if len(line) <= _WIDEST:
        return line
    inside = "".join(f"                {_run(group)},\n" for group in several)
    head = f"        {name}: {'ordered' if ordered else 'nominal'}(\n            range(1, {size + 1}),\n"
    return f"{head}            buckets=[\n{inside}            ],\n        ),"


def _run(group: Sequence[int]) -> str:
    """A bin, as a range if its values are neighbours."""
    whole = list(group) == list(range(group[0], group[-1] + 1))
    return f"range({group[0]}, {group[-1] + 1})" if whole else str(list(group))


def imported_spec(
    asked: Configuration,
    described: Described,
    extraction: Extraction,
    *,
    name: str,
    schema: str,
    source: str,
    title: str,
    sources: Sequence[str],
    budget: tuple[str, str] | None = None,
) -> str:
    """The text of a spec.

    Args:
        asked: the configuration.
        described: the table and the graph.
        extraction: what the tool needs when records are extracted.
        name: the release's name.
        schema: file of the schema.
        source: file of the records.
        title: title of the release.
        sources: names of the files that it was made from.
        budget: epsilon and delta of the dataset's budget, if known.

    Raises:
        InvalidInput: something that the mechanism needs is missing, or cannot be met.
    """
    lines = [
        f"# Imported from {_listed(sources)}:",
        "# read it, and correct what is wrong.",
        f"name: {name if name[0].isalpha() else json.dumps(name)}",
        *([f"title: {json.dumps(title, ensure_ascii=False)}"] if title else []),
        f"dataset: {json.dumps(schema)}",
        f"source: {json.dumps(source, ensure_ascii=False)}",
        "# Disjoint parts, as SGF's files of records and statistics; the source has the rows of both.",
        f"split: {_SPLIT_WITH_SEEDS if asked.has_seeds else _SPLIT}",
        *_learner(asked, described),
        *(_tested(asked, extraction) if asked.has_seeds else _seedless(extraction)),
    ]
    if budget is not None:
        lines += [
            "# What this release costs in total, so that there is room for it alone; the custodian decides.",
            f"budget: {{epsilon: {budget[0]}, delta: {budget[1]}}}",
        ]
    return "\n".join(lines) + "\n"


def _learner(asked: Configuration, described: Described) -> Iterator[str]:
    yield "learner:"
    yield f"  kind: {'cfs' if asked.uses_graph else 'marginals'}"
    yield f"  noise: {asked.noise}"
    if asked.uses_graph:
        names = [json.dumps(each, ensure_ascii=False) for each in described.names]
        yield "  graph: # it must be public: the guarantee does not hold if it was made from the confidential table"
        yield "    parents:" if any(described.parents) else "    parents: {}"
        for child, parents in enumerate(described.parents):
            if parents:
                yield f"      {names[child]}: [{', '.join(names[parent] for parent in parents)}]"
        yield f"    order: [{', '.join(names[i] for i in described.order)}]"
    delta = Context(prec=6, rounding=ROUND_FLOOR).power(2, -asked.security)
    prior = f", prior: {asked.prior.normalize():f}" if asked.prior else ", prior: 1.0e-6"
    yield f"  parameters: {{epsilon: {asked.epsilon.normalize():f}, delta: {delta:.5e}{prior}}}"


def _seedless(extraction: Extraction) -> Iterator[str]:
    yield "synthesis:"
    yield "  guarantee: seedless"
    yield f"  records: {extraction.records}"
    yield f"  chunk_candidates: {_CHUNK}"


def _tested(asked: Configuration, extraction: Extraction) -> Iterator[str]:
    """The lines of the sampler that tests candidates."""
    rows = extraction.public_rows
    if rows is None:
        raise InvalidInput(
            "records that start from seeds need a public number that the seeds are known to exceed, which SGF does not "
            "ask for, got none; state it with --public-rows, for instance 10000."
        )
    candidates = max(asked.count or 0, ceil(extraction.records * _MORE_CANDIDATES))
    plausible = asked.most_plausible or None
    checked = asked.most_checked if 0 < asked.most_checked < rows else None
    if plausible is not None and plausible < extraction.k:
        raise InvalidInput(
            f"max_ps must be at least k = {extraction.k}, or 0 for no limit, for candidates could not pass otherwise, "
            f"got {plausible}; correct it, or give another --k."
        )
    event = tested_candidates(
        candidates=candidates,
        k=extraction.k,
        gamma=Fraction(asked.gamma),
        eps0=Fraction(extraction.eps0),
        public_rows=rows,
        drop_probability=_DROP,
        prefixes=1,
        max_plausible=plausible,
        max_check_plausible=checked,
    )
    yield "synthesis:"
    yield "  guarantee: tested_seeds"
    yield f"  omega: {asked.omega}"
    yield f"  k: {extraction.k}"
    yield f"  gamma: {asked.gamma.normalize():f}"
    yield f"  eps0: {extraction.eps0}"
    yield "  test: 2"
    yield f"  epsilon: {_met(event)} # of one attempt for its own record"
    yield f"  delta: {_DELTA}"
    yield f"  records: {extraction.records}"
    yield f"  candidates: {candidates} # all of them are charged"
    yield f"  drop_probability: {float(_DROP):g}"
    yield f"  public_rows: {rows}"
    if plausible is not None:
        yield f"  max_plausible: {plausible}"
    if checked is not None:
        yield f"  max_check_plausible: {checked}"
    yield f"  chunk_candidates: {_CHUNK}"
    yield f"  total_delta: {_DELTA}"


def _met(event: PrivacyTestEvent) -> str:
    """The epsilon of one attempt for its own record, rounded up."""
    return f"{ceil(record_guarantee(event, float(_DELTA)).epsilon * 10_000) / 10_000:g}"
