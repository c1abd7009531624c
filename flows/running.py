"""Runs a release for somebody who watches, and sums it up on one screen."""

import os
from collections.abc import Iterator
from pathlib import Path

from prefect.task_runners import ThreadPoolTaskRunner
from rich.console import Console
from rich.panel import Panel
from rich.table import Table

from deniable.loss import Guarantee
from flows.environment import default_state_folder
from flows.progress import Screen
from flows.release import Released, release
from schemas.recipes import is_seedless
from schemas.release_spec import ReleaseSpec
from stores.statement import in_words
from tasks.progress import watching

# The figures that say most, where they were measured.
_HEADLINES = {
    "tvd_2way": "distance of all pairs of attributes",
    "distinguished": "told from real records (0.5: not at all)",
    "accuracy_loss_forest": "accuracy that a forest loses",
    "exact_match_excess": "more exact matches than with people not used",
    "inferred_excess_worst": "more inferred about people used",
}


def run_release(path: Path, spec: ReleaseSpec, state: Path) -> None:
    """Run the release of a spec with progress on standard error, and print a summary.

    Args:
        path: the spec's file.
        spec: the spec.
        state: the state folder.

    Raises:
        DeniableError: the release failed; nothing was published.
        KeyboardInterrupt: it was interrupted; the message says whether that came too late.
    """
    before = _published(state)
    runner = ThreadPoolTaskRunner(max_workers=os.cpu_count() or 1)
    attempts = spec.synthesis.records if is_seedless(spec) else spec.synthesis.candidates
    try:
        with Screen({"synthesize": attempts}) as screen, watching(screen):
            released = release.with_options(task_runner=runner)(path, state)
    except KeyboardInterrupt:
        late = sorted(str(folder) for folder in _published(state) - before)
        said = (
            f"interrupted too late: {' and '.join(late)} is published." if late else "interrupted, nothing published."
        )
        raise KeyboardInterrupt(said) from None
    Console(highlight=False).print(Panel(_summary(released), title=released.workspace.release_id, expand=False))


def _published(state: Path) -> set[Path]:
    return set((state / "releases").glob("*"))


def _summary(released: Released) -> Table:
    lines = Table.grid(padding=(0, 2))
    lines.add_column(style="dim")
    lines.add_column(overflow="fold")
    for name, text in _lines(released):
        lines.add_row(name, text)
    return lines


def _lines(released: Released) -> Iterator[tuple[str, str]]:
    """What the summary says, line by line."""
    workspace, accounts = released.workspace, released.accounts
    synthesis = workspace.spec.synthesis
    yield "released", f"{released.published.rows or 0:,} records"
    if accounts.seeds:
        rate = released.passed / synthesis.candidates
        yield "", f"{rate:.1%} of {synthesis.candidates:,} candidates passed the privacy test (internal)"
    yield "model", _words(accounts.model)
    if accounts.seeds:
        yield "one record", _words(accounts.record)
        yield "all candidates", _words(accounts.candidates)
        yield "whole release", _words(accounts.total)
    figures = {**released.utility.figures, **released.risk.figures}
    for name, meaning in _HEADLINES.items():
        if name in figures:
            yield f"{name}", f"{figures[name]:.4f}  {meaning} (internal)"
    missed = [verdict for verdict in released.verdicts if not verdict.met]
    yield "thresholds", f"{len(released.verdicts) - len(missed)} of {len(released.verdicts)} met (internal)"
    for verdict in missed:
        yield "", f"missed: {verdict.threshold} {verdict.bound:g}, got {verdict.value:.4g} (internal)"
    yield "for everyone", str(workspace.release_folder)
    yield "for cleared staff", str(released.report.path)
    own = workspace.state == default_state_folder()
    yield "to look at it", "make ui" if own else f"python -m flows ui --state {workspace.state}"


def _words(guarantee: Guarantee | None) -> str:
    if guarantee is None:
        return "no differential privacy"
    return f"{in_words(guarantee)}{'  vacuous' if guarantee.is_vacuous else ''}"
