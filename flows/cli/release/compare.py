"""The command `compare`: compares two published releases, on the screen and on an HTML page.

It reads the signed records and the files they describe, and needs neither Prefect nor MLflow. The differences are
computed in `reports.pages.comparison`.
"""

import argparse
from collections.abc import Iterable, Iterator
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console, JustifyMethod
from rich.markup import escape
from rich.table import Table

from deniable.console import show
from deniable.evaluation.metrics import compared_records
from deniable.foundation.errors import InvalidInput, Refused
from flows.cli.contract import StateCommand, add_keys_option
from flows.cli.spinner import at_work
from schemas.provenance import RECORD
from stores.record.folder_verification import verified_release
from stores.record.record_reader import (
    find_release_folder,
    internal_record_of,
    keys_to_trust,
    trusted_record,
    trusted_where,
)
from stores.vault.private_files import PRIVATE_FILE, make_private_folder

if TYPE_CHECKING:
    from reports.pages.comparison import Comparison, Difference, Side
    from reports.plots.graph_plot import Change

DONE = 0
_WIDTH = 80
_DIGEST_CHARACTERS = 64
_SHOWN_OF_DIGEST = 12


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    for letter in ("A", "B"):
        parser.add_argument(letter, metavar=letter, help="name of a release, or the path of its folder")
    parser.add_argument(
        "--all", action="store_true", help="print steps, code, dependences, distances and all figures, too"
    )
    parser.add_argument("--public", action="store_true", help="compare public information only")
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="file for the page (default: in `comparisons` in the state folder; a public page has no default)",
    )
    add_keys_option(parser)


def _run(asked: argparse.Namespace, state: Path) -> int:
    """Compare two releases, print what differs, and write the page.

    Args:
        asked: the parsed arguments.
        state: the state folder.

    Returns:
        0: two releases may differ.

    Raises:
        DeniableError: a release is missing, or its record cannot be trusted.
    """
    with at_work(f"Comparing {asked.A} and {asked.B}"):
        from reports.pages.compare_page import render_comparison, summary  # noqa: PLC0415 - imports pandas and matplotlib
        from reports.pages.comparison import compare  # noqa: PLC0415 - as above

        sides = [_side(name, state, asked.keys, public=asked.public) for name in (asked.A, asked.B)]
        comparison = compare(*sides)
    _show(comparison, summary(comparison), everything=asked.all)
    internal = comparison.figures is not None
    page = asked.out
    if page is None and internal:
        folder = make_private_folder(state / "comparisons")
        page = folder / f"{comparison.one.record.release.id}-{comparison.other.record.release.id}.html"
    if page is None:
        _say(["No page was written; name a file for a public page with --out."])
    else:
        if internal and (page.parent / RECORD).is_file() and page.parent.parent.name != "shelf":
            raise Refused(
                f"an internal page must not be in a release folder, got {page}; name another place with --out."
            )
        _write(page, render_comparison(comparison), internal=internal)
        _say([f"{'internal' if internal else 'public'}  {page}"])
    return DONE


def _side(name: str, state: Path, keys: Path | None, *, public: bool) -> "Side":
    """Return one of the two releases, after checking it against its own record."""
    from reports.pages.comparison import read_side  # noqa: PLC0415 - imports pandas

    folder = find_release_folder(name, state)
    trusted, where = keys_to_trust(state, keys), trusted_where(state, keys)
    signed = trusted_record(folder / RECORD, trusted, where)
    report = verified_release(folder, trusted, where)
    if wrong := [check.line for check in report.checks if not check.holds]:
        raise Refused(f"a release must match its own record to be compared, and {folder} does not: {wrong[0]}.")
    internal = None if public else internal_record_of(signed, state, trusted)
    return read_side(folder, signed, internal)


def _write(page: Path, text: str, *, internal: bool) -> None:
    """Write the page; a page with internal figures is readable by its owner alone."""
    try:
        if internal:
            page.touch(mode=PRIVATE_FILE)
            page.chmod(PRIVATE_FILE)
        page.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InvalidInput(
            f"the page must be writable, got {page}: {error.strerror}; name another with --out."
        ) from None


def _show(comparison: "Comparison", sentences: Iterable[str], *, everything: bool) -> None:
    """Print what changed, the totals and the most important figures; with --all, everything else too."""
    console = Console(width=_WIDTH, highlight=False)
    sides = comparison.one.record, comparison.other.record
    for letter, record in zip("AB", sides, strict=True):
        release = record.release
        console.print(_item(letter, f"{release.id}: {release.title}, {release.records:,} records, {release.published}"))
    console.print()
    for sentence in (*sentences, _apart(comparison)):
        console.print(_item("-", sentence))
    for table in _tables(comparison, everything=everything):
        console.print()
        console.print(table)
    if not everything:
        console.print("\nSteps, code, dependences, distances and all figures: add --all, or ALL=1 to make compare.")


def _tables(comparison: "Comparison", *, everything: bool) -> Iterator[Table]:
    """Yield what changed, the totals and the most important figures; with --all, everything else too."""
    if comparison.spec:
        yield _differences("spec", comparison.spec)
    if comparison.schema:
        yield _differences("schema", comparison.schema)
    if everything and comparison.made_by:
        yield _differences("code and environment", comparison.made_by)
    yield _costs(comparison, everything=everything)
    if everything and any(change != "kept" for change in comparison.edges.values()):
        yield _dependences(comparison)
    if everything and comparison.marginals:
        yield _marginals(comparison)
    if comparison.figures is not None:
        yield _figures(comparison, everything=everything)


def _dependences(comparison: "Comparison") -> Table:
    table = _table("dependence", "in B")
    changes: tuple[tuple[str, Change], ...] = (("gone", "removed"), ("added", "added"), ("reversed", "turned"))
    for word, change in changes:
        for parent, child in comparison.edges_that(change):
            table.add_row(f"{child} on {parent}", word)
    return table


def _item(label: str, text: str) -> Table:
    """Return a line with a label; continuation lines are indented to match."""
    item = Table.grid(padding=(0, 2, 0, 0))
    item.add_column(no_wrap=True)
    item.add_column(overflow="fold")
    item.add_row(label, escape(text))
    return item


def _apart(comparison: "Comparison") -> str:
    """Return which attributes differ by more than chance alone explains."""
    pairs = comparison.marginals
    if not pairs:
        return "No attribute has the same values in both, so no distributions are compared."
    apart = [pair.name for pair in pairs if pair.beyond_chance]
    if not apart:
        return f"No distribution of the {len(pairs)} attributes compared differs beyond chance."
    verb = "differs" if len(apart) == 1 else "differ"
    return f"Of {len(pairs)} attributes compared, the distribution of {', '.join(apart)} {verb} beyond chance."


def _table(*heads: str, numbers: Iterable[str] = ()) -> Table:
    """Return an empty table with plain headings; the first column, which names the rows, is never wrapped."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), title_justify="left", header_style="bold")
    for place, head in enumerate(heads):
        justify: JustifyMethod = "right" if head in numbers else "left"
        table.add_column(head, justify=justify, overflow="fold", no_wrap=place == 0 or head in numbers)
    return table


def _differences(title: str, items: "Iterable[Difference]") -> Table:
    table = _table(title, "A", "B")
    for item in items:
        table.add_row(item.place, *(escape(_shortened(value)) for value in (item.one, item.other)))
    return table


def _shortened(value: str | None) -> str:
    """Return a value as text; a digest is cut to its first digits."""
    if value is None:
        return "-"
    words = [
        f"{word[:_SHOWN_OF_DIGEST]}…" if len(word) == _DIGEST_CHARACTERS and word.isalnum() else word
        for word in value.split(" ")
    ]
    return " ".join(words)


def _costs(comparison: "Comparison", *, everything: bool) -> Table:
    from reports.figures.numbers import change, cost  # noqa: PLC0415 - imports matplotlib

    table = _table("epsilon", "A", "B", "B less A", numbers=("A", "B", "B less A"))
    for pair in comparison.costs if everything else comparison.costs[-1:]:
        shown = [
            "-" if spent is None else "∞" if spent.epsilon is None else cost(spent.epsilon)
            for spent in (pair.one, pair.other)
        ]
        table.add_row(pair.title, *shown, "" if pair.more is None else change(pair.more))
    return table


def _marginals(comparison: "Comparison") -> Table:
    from reports.figures.numbers import rounded  # noqa: PLC0415 - imports matplotlib

    numbers = ("distance of A and B", "by chance", "by chance at most")
    table = _table("attribute", *numbers, numbers=numbers)
    for pair in comparison.marginals:
        shown = [rounded(value, pair.by_chance) for value in (pair.distance, pair.by_chance, pair.at_most)]
        table.add_row(pair.name, *shown)
    return table


def _figures(comparison: "Comparison", *, everything: bool) -> Table:
    """Return figures measured on real records; a share of n records has a standard error of at most 1 / (2 sqrt(n))."""
    from reports.figures.numbers import change, figure, rounded  # noqa: PLC0415 - imports matplotlib

    pairs = {pair.name: pair for pair in comparison.figures or ()}
    table = _table("figure (internal)", "A", "B", "B less A", numbers=("A", "B", "B less A"))
    records = pairs.get(compared_records.NAME)
    smallest = min((each for each in (records.one, records.other) if each), default=None) if records else None
    deviation = 0.5 / sqrt(smallest) if smallest else None
    for name, pair in pairs.items():
        if not (everything or pair.words):
            continue
        is_share = all(abs(value) <= 1 for value in (pair.one, pair.other) if value is not None)
        shown = [
            "-" if value is None else rounded(value, deviation) if is_share else figure(value, pair.is_count)
            for value in (pair.one, pair.other)
        ]
        table.add_row(name, *shown, "" if pair.more is None else change(pair.more, deviation if is_share else None))
    return table


def _say(lines: Iterable[str]) -> None:
    show(lines)


COMMAND = StateCommand(
    arguments=_add_arguments,
    run=_run,
    description="Compare two published releases: spec, schema, data commitment, graph, cost, code, and the "
    "records. Utility and risk are compared if the internal records of both are available.",
)
