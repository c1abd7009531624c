"""Finds releases and discoveries: `deniable release find --dataset D --since DAY --epsilon-above E --approved-by WHO`.

It searches MLflow, and prints the filter that it used, which also works in MLflow's search box. Releases are shown as
their signed records state them; where MLflow disagrees with a record, that is reported.
"""

import argparse
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deniable.console import show
from deniable.foundation.checks import printable
from flows.cli.contract import StateCommand, add_keys_option
from stores.servers.ui_links import mlflow_pages, mlflow_shown_when, run_page, search_page
from stores.tracking.release_search import (
    APPROVED_BY,
    DISCOVERY,
    EPSILON_TOTAL,
    GUARANTEE,
    PUBLISHED_DAY,
    release_filter,
)

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

    from stores.record.found_release import FoundRelease

AS_SIGNED, NOT_AS_SIGNED = 0, 1
_PAGE = 1000
_WIDEST = 80
_NOT_AUDITED = (
    "Not audited: the values above are MLflow's, and anyone who may write there can change them. Name the agency's "
    "trust file with --keys or DENIABLE_TRUSTED_KEYS to compare them with the signed records."
)
_NEWEST_FIRST = (f"metrics.`{PUBLISHED_DAY}` DESC", "attributes.start_time DESC")


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dataset", metavar="DATASET", help="name of the dataset (default: all)")
    parser.add_argument("--since", type=_day, metavar="DAY", help="first day of publication, such as 2026-11-20")
    parser.add_argument("--epsilon-above", type=float, metavar="E", help="only releases that cost more in total")
    parser.add_argument("--approved-by", metavar="WHO", help="who approved it; `nobody` if no approval was needed")
    add_keys_option(parser)


def _run(asked: argparse.Namespace, state: Path) -> int:
    """Print the releases that match, the filter that finds them, and the addresses of their pages.

    Args:
        asked: the parsed arguments.
        state: the state folder, which holds MLflow's database unless MLFLOW_TRACKING_URI names another store.

    Returns:
        0; 1 if MLflow disagrees with a signed record, or a record cannot be trusted.

    Raises:
        InvalidInput: a name cannot be searched for, or the trust file is invalid.
        RecordFailed: MLflow does not answer.
    """
    wanted = {name: getattr(asked, name) for name in ("dataset", "since", "epsilon_above", "approved_by")}
    found_by = release_filter(**wanted)
    from stores.tracking.client import recording  # noqa: PLC0415 - imports MLflow

    with recording(state, patiently=False) as client:
        datasets = [each for each in client.search_experiments() if asked.dataset in {None, each.name}]
        experiments = [each.experiment_id for each in datasets]
        runs = list(_all_runs(client, experiments, found_by))
        found, warning = _held_against_records(client, state, runs, asked.keys, wanted)
    show([*_lines(found_by, found), *warning])
    wrong = not warning and any(each.doubt or each.otherwise for each in found)
    return NOT_AS_SIGNED if wrong else AS_SIGNED


def _all_runs(client: "MlflowClient", experiments: list[str], found_by: str) -> "Iterator[Run]":
    """Yield the runs that match a search, page by page."""
    token = None
    while True:
        page = client.search_runs(
            experiments, found_by, max_results=_PAGE, order_by=list(_NEWEST_FIRST), page_token=token
        )
        yield from page
        token = page.token
        if not token:
            return


def _held_against_records(
    client: "MlflowClient", state: Path, runs: "Sequence[Run]", keys: Path | None, wanted: dict[str, Any]
) -> "tuple[list[FoundRelease], list[str]]":
    """Return the releases found, compared with their signed records, and a warning if there is no trust file."""
    from stores.keys.trust_file import TRUSTED_KEYS_VARIABLE, named_place, trusted_keys_place  # noqa: PLC0415
    from stores.record.found_release import Wanted, found_release, not_held, unseen_releases  # noqa: PLC0415 - as above
    from stores.record.record_reader import keys_to_trust  # noqa: PLC0415

    if keys is None and named_place(TRUSTED_KEYS_VARIABLE) is None and not trusted_keys_place(state).exists():
        found = [not_held(run, "no trust file") for run in runs]
        return found, ["", _NOT_AUDITED] if runs else []
    trusted = keys_to_trust(state, keys)
    found = [found_release(client, state, run, trusted) for run in runs]
    unseen = unseen_releases(client, state, Wanted(**wanted), {run.info.run_id for run in runs}, trusted)
    return [*found, *unseen], []


def _lines(found_by: str, found: "Sequence[FoundRelease]") -> Iterator[str]:
    """Yield the filter, the releases found, the newest first, and the addresses of their pages."""
    pages = mlflow_pages()
    yield found_by
    rows = [_row(each) for each in found]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for each, row in zip(found, rows, strict=True):
        yield ""
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        yield from (f"  NOT AS SIGNED in MLflow: {printable(phrase)}" for phrase in each.otherwise)
        yield f"  {pages}/{run_page(*each.page)}" if each.page else "  MLflow has no run for it."
    yield ""
    if found:
        shown_in = list(dict.fromkeys(each.page[0] for each in found if each.page))
        yield f"{_numbers(found)}, shown {mlflow_shown_when()}, all of them at"
        yield f"  {pages}/{search_page(shown_in, found_by)}"
    else:
        yield "No published release or discovery matches."


def _numbers(found: "Sequence[FoundRelease]") -> str:
    """Return the numbers of releases and discoveries found, in words."""
    discoveries = sum(each.told[GUARANTEE] == DISCOVERY for each in found)
    counts = (("release", "releases", len(found) - discoveries), ("discovery", "discoveries", discoveries))
    return " and ".join(f"{count:,} {one if count == 1 else many}" for one, many, count in counts if count)


def _row(found: "FoundRelease") -> tuple[str, ...]:
    """Return the facts about one release, and whether its record confirms them."""
    told = {name: printable(value, _WIDEST) for name, value in found.told.items()}
    return (
        told["release"],
        told["published"],
        told["dataset"],
        f"epsilon {told[EPSILON_TOTAL]}",
        told[GUARANTEE],
        f"started by {told['started_by']}",
        f"approved by {told[APPROVED_BY]}",
        f"NOT AUDITED: {printable(found.doubt)}" if found.doubt else "as signed",
    )


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        msg = f"a day must be written like 2026-11-20, got {text}."
        raise argparse.ArgumentTypeError(msg) from None


COMMAND = StateCommand(
    arguments=_add_arguments,
    run=_run,
    imports=("mlflow", "pandas", "pyarrow", "scipy"),
)
