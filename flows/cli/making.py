"""Runs a release, shows its progress, and prints a summary that fits on one screen."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import Any

from prefect.task_runners import TaskRunner, ThreadPoolTaskRunner
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from deniable.command_names import command_line
from flows.interruption import is_of_a_signal
from flows.progress import Screen
from flows.release import release, told_later
from flows.released import Released
from flows.summary import internal_lines, public_lines, unsent_events
from infra.cluster.choosing import cluster_runner
from infra.environment import default_state_folder
from schemas.spec.plan import plan_release
from schemas.spec.release_spec import ReleaseSpec
from stores.keys.custodian_key import CUSTODIAN_MADE, custodian_key_place
from stores.keys.signing_keys import signing_key
from stores.keys.trust_file import trusted_keys_place
from stores.ledger.remembered_costs import remember_costs
from stores.releases.resumable_releases import note_reported
from tasks.running.progress import watching


def run_release(path: Path, spec: ReleaseSpec, state: Path, *, anew: bool = False) -> None:
    """Run the release of a spec with progress on standard error, and print a summary.

    Args:
        path: the spec's file.
        spec: the spec.
        state: the state folder.
        anew: whether to begin another release even if one of this spec is unfinished.

    Raises:
        DeniableError: the release failed; nothing was published, or what was published lacks its report or seal.
        KeyboardInterrupt: it was interrupted; the message says whether that came too late.
    """
    aside = Console(stderr=True, highlight=False)
    if told := signing_key(state).to_tell:
        aside.print(told, soft_wrap=True)
    had_custodian = custodian_key_place(state).exists()
    with watched(spec, state) as runner:
        # The release counts as reported only once its summary has been printed.
        released = release.with_options(task_runner=runner, on_completion=[told_later])(path, state, anew=anew)
    if not had_custodian and custodian_key_place(state).exists():
        aside.print(CUSTODIAN_MADE.format(place=custodian_key_place(state)), soft_wrap=True)
    print_summary(released, Console(highlight=False))
    sys.stdout.flush()
    note_reported(state, released.workspace.release_id)


@contextmanager
def watched(spec: ReleaseSpec, state: Path) -> Iterator[TaskRunner[Any]]:
    """Show the progress of a release on standard error.

    Args:
        spec: the spec.
        state: the state folder.

    Yields:
        The runner for its tasks.

    Raises:
        KeyboardInterrupt: it was interrupted; the message says whether that came too late.
    """
    before = _published(state)
    remember_costs(state)
    try:
        with Screen(plan_release(spec).work) as screen, watching(screen):
            yield cluster_runner(state) or ThreadPoolTaskRunner(max_workers=os.cpu_count() or 1)
    except (KeyboardInterrupt, Exception) as error:
        if not is_of_a_signal(error):
            raise
        late = sorted(str(folder) for folder in _published(state) - before)
        said = (
            f"interrupted too late: {' and '.join(late)} is published." if late else "interrupted, nothing published."
        )
        raise KeyboardInterrupt(said) from None


def print_summary(released: Released, console: Console) -> None:
    """Print what was released, its cost and quality, and the paths.

    Args:
        released: what the release made.
        console: where to print. A path stays on one line even on a narrow console, so that it can be copied.
    """
    console.print(Panel(_summary(released), title=released.workspace.release_id, expand=False))
    for name, text in _places(released):
        console.print(Text(f"{name:<15}{text}"), soft_wrap=True)


def _published(state: Path) -> set[Path]:
    return set((state / "releases").glob("*"))


def _summary(released: Released) -> Table:
    lines = Table.grid(padding=(0, 2))
    lines.add_column(style="dim")
    lines.add_column(overflow="fold")
    for name, text in public_lines(released):
        lines.add_row(name, text)
    for number, line in enumerate(internal_lines(released)):
        lines.add_row("" if number else "internal", line)
    return lines


def _places(released: Released) -> Iterator[tuple[str, str]]:
    """Yield the paths of the results, and the commands that verify and show them."""
    workspace = released.workspace
    yield "public", str(workspace.release_folder)
    yield "internal", str(released.report.path)
    yield from unsent_events(released)
    own = workspace.state == default_state_folder()
    keys = quote(str(trusted_keys_place(workspace.state)))
    elsewhere = f"{command_line('audit verify')} {quote(str(workspace.release_folder))} --keys {keys}"
    yield "to verify it", f"make verify RELEASE={workspace.release_id}" if own else elsewhere
    yield "to view it", "make ui" if own else f"{command_line('servers ui')} --state {quote(str(workspace.state))}"
