"""Draws how a release goes: steps that tick, with their durations, or plain lines where nobody sits at a terminal."""

import time
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TaskID, TextColumn
from rich.table import Column
from rich.text import Text


class _BarWhereCounted(BarColumn):
    """A bar for the steps whose amount of work is known."""

    def render(self, task: Task) -> Text:  # type: ignore[override]
        return super().render(task) if task.fields["counted"] else Text()  # type: ignore[return-value]


class _Seconds(ProgressColumn):
    """How long a step has taken so far, or took."""

    def render(self, task: Task) -> Text:
        taken = task.finished_time if task.finished else task.elapsed
        return Text(f"{taken or 0:.1f} s")


class Screen:
    """A watcher of the steps, on a terminal or in a log; prints to standard error.

    Args:
        amounts: amount of work of the steps where it is known, in the unit in which they advance.
    """

    def __init__(self, amounts: Mapping[str, int]) -> None:
        self._amounts = amounts
        self._console = Console(stderr=True, highlight=False)
        self._lines = Progress(
            SpinnerColumn(finished_text="[green]✓"),
            TextColumn("{task.description}", table_column=Column(min_width=22)),
            _Seconds(table_column=Column(min_width=8, justify="right")),
            _BarWhereCounted(bar_width=30),
            TextColumn("{task.fields[counted]}"),
            console=self._console,
            disable=not self._console.is_terminal,
        )
        self._steps: dict[str, _Step] = {}

    def __enter__(self) -> Self:
        """Begin to draw."""
        self._lines.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the last picture where it is."""
        self._lines.stop()

    def started(self, step: str) -> None:
        """A step, or one part of it, begins."""
        if step not in self._steps:
            amount = self._amounts.get(step)
            line = self._lines.add_task(_title(step), total=amount or 1, counted="")
            self._steps[step] = _Step(line, amount)
        self._steps[step].parts += 1
        self._show_parts(self._steps[step])

    def advanced(self, step: str, amount: int) -> None:
        """A step has done an amount of work."""
        state = self._steps[step]
        if state.amount is None:
            return
        before, state.done = state.done, state.done + amount
        counted = f"{state.done:,} of {state.amount:,}"
        self._lines.update(state.line, advance=amount, counted=counted)
        tenth = 10 * state.done // state.amount
        if not self._console.is_terminal and tenth != 10 * before // state.amount:
            self._console.print(f"{_title(step)}: {counted}")

    def ended(self, step: str, *, well: bool) -> None:
        """A step, or one part of it, is over."""
        state = self._steps[step]
        state.ended += 1
        running = state.ended < state.parts
        whole = state.amount is None or state.done >= state.amount
        if not well:
            self._lines.update(state.line, description=f"[red]{_title(step)}")
            self._lines.stop_task(state.line)
        else:
            self._show_parts(state)
            if whole and not running:
                self._lines.update(state.line, completed=state.amount or state.parts)
                if not self._console.is_terminal:
                    self._console.print(f"{_title(step)}: {state.seconds}")

    def _show_parts(self, state: "_Step") -> None:
        """Count the parts of a step that has several, where nothing else is counted."""
        if state.amount is None and state.parts > 1:
            counted = f"{state.ended:,} of {state.parts:,} parts"
            self._lines.update(state.line, total=state.parts, completed=state.ended, counted=counted)


class _Step:
    """What is known of one step."""

    def __init__(self, line: TaskID, amount: int | None) -> None:
        self.line = line
        self.amount = amount
        self.done = 0
        self.parts = 0
        self.ended = 0
        self._began = time.monotonic()

    @property
    def seconds(self) -> str:
        """How long it has taken."""
        return f"{time.monotonic() - self._began:.1f} s"


def _title(step: str) -> str:
    return step.replace("_", " ")
