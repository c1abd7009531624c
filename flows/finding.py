"""Finds releases: `python -m flows find --dataset D --since DAY --epsilon-above E --approved-by WHO`.

A thin cover over one search of MLflow's: it prints the filter that it asked with, which MLflow's own search box takes.
"""

import argparse
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from stores.addresses import mlflow_pages, mlflow_shown_when, run_page, search_page
from stores.release_search import APPROVED_BY, EPSILON_TOTAL, PUBLISHED_DAY, release_filter

if TYPE_CHECKING:
    from mlflow.entities import Run

    # The library's own class is generic in its stubs alone.
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]  # noqa: SLF001

_MOST = 1000
_NEWEST_FIRST = (f"metrics.`{PUBLISHED_DAY}` DESC", "attributes.start_time DESC")


def add_find_command(subparsers: "Subparsers", parents: Sequence[argparse.ArgumentParser] = ()) -> None:
    """Add the command `find` to a parser.

    Args:
        subparsers: where commands are added.
        parents: parsers of the options that all commands share.
    """
    find = subparsers.add_parser("find", parents=parents, help="find published releases, and where MLflow shows them")
    find.add_argument("--dataset", metavar="DATASET", help="name of the dataset (default: all)")
    find.add_argument("--since", type=_day, metavar="DAY", help="first day of publication, such as 2026-11-20")
    find.add_argument("--epsilon-above", type=float, metavar="E", help="only what cost more in total")
    find.add_argument("--approved-by", metavar="WHO", help="who approved it; nobody, where no person had to")


def run_find_command(asked: argparse.Namespace, state: Path) -> int:
    """Print the releases that are asked for, the filter that finds them, and where they are shown.

    Args:
        asked: what was asked for.
        state: the state folder, which holds MLflow's database unless MLFLOW_TRACKING_URI names another store.

    Returns:
        0.

    Raises:
        InvalidInput: a name cannot be searched for.
        RecordFailed: MLflow does not answer.
    """
    found_by = release_filter(
        dataset=asked.dataset, since=asked.since, epsilon_above=asked.epsilon_above, approved_by=asked.approved_by
    )
    from stores.lineage import recording  # noqa: PLC0415 - imports MLflow

    with recording(state, patiently=False) as client:
        datasets = [each for each in client.search_experiments() if asked.dataset in {None, each.name}]
        experiments = [each.experiment_id for each in datasets]
        found = client.search_runs(experiments, found_by, max_results=_MOST, order_by=list(_NEWEST_FIRST))
    print(*_lines(found_by, found), sep="\n")  # noqa: T201 - this is what the command is for
    return 0


def _lines(found_by: str, found: "Sequence[Run]") -> Iterator[str]:
    """The filter, the releases that it finds, the newest first, and where they are shown."""
    pages = mlflow_pages()
    yield found_by
    rows = [_row(run) for run in found]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for run, row in zip(found, rows, strict=True):
        yield ""
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        yield f"  {pages}/{run_page(run.info.experiment_id, run.info.run_id)}"
    yield ""
    if found:
        shown_in = list(dict.fromkeys(run.info.experiment_id for run in found))
        yield f"{_number(len(found))}, shown {mlflow_shown_when()}, all of them at"
        yield f"  {pages}/{search_page(shown_in, found_by)}"
    else:
        yield "No published release is like that."


def _number(count: int) -> str:
    return f"{count:,} release{'s' if count > 1 else ''}"


def _row(run: "Run") -> tuple[str, ...]:
    """What is said of one release."""
    from stores.statement import rounded_up  # noqa: PLC0415 - imports what templates need

    tags = run.data.tags
    epsilon = tags.get(EPSILON_TOTAL) or rounded_up(run.data.metrics[EPSILON_TOTAL])
    return (
        str(run.info.run_name),
        tags["published"],
        f"epsilon {epsilon}",
        tags["guarantee"],
        f"started by {tags['started_by']}",
        f"approved by {tags[APPROVED_BY]}",
    )


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        msg = f"a day must be written like 2026-11-20, got {text}."
        raise argparse.ArgumentTypeError(msg) from None
