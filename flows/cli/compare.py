"""The command `compare`: compares two published releases, on the screen and on an HTML page.

It reads the signed records and the files they describe, and needs neither Prefect nor MLflow. The differences are
computed in `reports.pages.comparison`.
"""

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from deniable.foundation.errors import InvalidInput, Refused
from flows.cli.spinner import at_work
from flows.cli.subcommands import Subcommands
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

DONE = 0
_WIDTH = 118
_DIGEST_CHARACTERS = 64
_SHOWN_OF_DIGEST = 12


def add_compare_command(subparsers: Subcommands, parents: Sequence[argparse.ArgumentParser] = ()) -> None:
    """Add the command `compare` to a parser.

    Args:
        subparsers: the commands of the parser, as `add_subparsers` returns them.
        parents: parsers of the options that all commands share.
    """
    command = subparsers.add_parser(
        "compare",
        parents=parents,
        help="show what changed from one release to another",
        description="Compare two published releases: spec, schema, data commitment, graph, cost, code, and the "
        "records. Utility and risk are compared if the internal records of both are available.",
    )
    for letter in ("A", "B"):
        command.add_argument(letter, metavar=letter, help="name of a release, or the path of its folder")
    command.add_argument("--public", action="store_true", help="compare public information only")
    command.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="file for the page (default: in `comparisons` in the state folder; a public page has no default)",
    )
    command.add_argument(
        "--keys",
        type=Path,
        metavar="TRUSTED",
        help="the agency's trust file (default: DENIABLE_TRUSTED_KEYS, or that of the state folder)",
    )


def run_compare_command(asked: argparse.Namespace, state: Path) -> int:
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
    _show(comparison, summary(comparison))
    internal = comparison.figures is not None
    page = asked.out
    if page is None and internal:
        folder = make_private_folder(state / "comparisons")
        page = folder / f"{comparison.one.record.release.id}-{comparison.other.record.release.id}.html"
    if page is None:
        _say(["No page was written; name a file for a public page by --out."])
    else:
        if internal and (page.parent / RECORD).is_file() and page.parent.parent.name != "shelf":
            raise Refused(f"an internal page must not be in a release folder, got {page}; name another place by --out.")
        _write(page, render_comparison(comparison), internal=internal)
        _say([f"{'internal' if internal else 'public'}  {page}"])
    return DONE


def _side(name: str, state: Path, keys: Path | None, *, public: bool) -> "Side":
    """One of the releases, if it matches its own record."""
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
    """Write the page; only its owner can read one with internal figures."""
    try:
        if internal:
            page.touch(mode=PRIVATE_FILE)
            page.chmod(PRIVATE_FILE)
        page.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"the page must be writable, got {page}: {error.strerror}; name another by --out.") from None


def _show(comparison: "Comparison", said: Iterable[str]) -> None:
    """Print the differences as tables."""
    console = Console(width=_WIDTH, highlight=False)
    sides = comparison.one.record, comparison.other.record
    for letter, record in zip("AB", sides, strict=True):
        release = record.release
        console.print(
            f"{letter}  {release.id}  {release.title}, {release.records:,} records, {release.published}", markup=False
        )
    console.print()
    for sentence in said:
        console.print(f"- {sentence}", markup=False)
    for title, items in (
        ("spec", comparison.spec),
        ("schema", comparison.schema),
        ("code and environment", comparison.made_by),
    ):
        if items:
            console.print(_differences(title, items))
    graph = [
        ("gone", comparison.edges_that("removed")),
        ("added", comparison.edges_that("added")),
        ("turned round", comparison.edges_that("turned")),
    ]
    if any(edges for _, edges in graph):
        table = _table("graph", "in B", "dependence")
        for word, edges in graph:
            for parent, child in edges:
                table.add_row(word, f"{child} on {parent}")
        console.print(table)
    console.print(_costs(comparison))
    if comparison.marginals:
        console.print(_marginals(comparison))
    if comparison.figures is not None:
        console.print(_figures(comparison))


def _table(*heads: str, numbers: Iterable[str] = ()) -> Table:
    """An empty table with plain heads."""
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), title_justify="left", header_style="bold")
    for head in heads:
        table.add_column(head, justify="right" if head in numbers else "left", overflow="fold")
    return table


def _differences(title: str, items: "Iterable[Difference]") -> Table:
    table = _table(title, "A", "B")
    for item in items:
        table.add_row(item.place, *(_shortened(value) for value in (item.one, item.other)))
    return table


def _shortened(value: str | None) -> str:
    """A value; a digest is cut to its beginning."""
    if value is None:
        return "-"
    words = [
        f"{word[:_SHOWN_OF_DIGEST]}…" if len(word) == _DIGEST_CHARACTERS and word.isalnum() else word
        for word in value.split(" ")
    ]
    return " ".join(words)


def _costs(comparison: "Comparison") -> Table:
    from reports.figures.numbers import change, cost  # noqa: PLC0415 - imports matplotlib

    table = _table("epsilon", "A", "B", "B less A", numbers=("A", "B", "B less A"))
    for pair in comparison.costs:
        shown = [
            "-" if spent is None else "∞" if spent.epsilon is None else cost(spent.epsilon)
            for spent in (pair.one, pair.other)
        ]
        table.add_row(pair.title, *shown, "" if pair.more is None else change(pair.more))
    return table


def _marginals(comparison: "Comparison") -> Table:
    table = _table("attribute", "distance of A and B", "by chance", numbers=("distance of A and B", "by chance"))
    for pair in comparison.marginals:
        table.add_row(pair.name, f"{pair.distance:.4f}", f"{pair.by_chance:.4f}")
    return table


def _figures(comparison: "Comparison") -> Table:
    from reports.figures.numbers import change, named_figure  # noqa: PLC0415 - imports matplotlib

    table = _table("figure (internal)", "A", "B", "B less A", numbers=("A", "B", "B less A"))
    for pair in comparison.figures or ():
        shown = ["-" if value is None else named_figure(pair.name, value) for value in (pair.one, pair.other)]
        table.add_row(pair.name, *shown, "" if pair.more is None else change(pair.more))
    return table


def _say(lines: Iterable[str]) -> None:
    print("\n".join(lines))  # noqa: T201 - this is the command line
