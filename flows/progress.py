"""Shows the progress of a release, its steps and their durations, on a terminal or as plain lines in a log."""

import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TaskID, TextColumn
from rich.table import Column
from rich.text import Text


class _BarWhereCounted(BarColumn):
    """A progress bar for steps with a known amount of work."""

    def render(self, task: Task) -> Text:  # type: ignore[override]
        return super().render(task) if task.fields["counted"] else Text()  # type: ignore[return-value]


class _Seconds(ProgressColumn):
    """The time that a step has taken."""

    def render(self, task: Task) -> Text:
        taken = task.finished_time if task.finished else task.elapsed
        return Text(f"{taken or 0:.1f} s")


class StepLines:
    """A watcher of the steps that reports a line at the end of each step, and at every tenth of a long one.

    Args:
        say: reports a line.
        amounts: amount of work of the steps for which it is known, in the unit in which they advance.
    """

    def __init__(self, say: Callable[[str], None], amounts: Mapping[str, int]) -> None:
        self._say, self._amounts = say, amounts
        self._steps: dict[str, _Counted] = {}

    def started(self, step: str) -> None:
        """A step, or one part of it, begins."""
        self._steps.setdefault(step, _Counted(self._amounts.get(step))).parts += 1

    def advanced(self, step: str, amount: int) -> None:
        """A step has done an amount of work."""
        state = self._steps[step]
        if state.amount is None:
            return
        before, state.done = state.done, state.done + amount
        if 10 * state.done // state.amount != 10 * before // state.amount:
            self._say(f"{_title(step)}: {state.done:,} of {state.amount:,}")

    def ended(self, step: str, *, well: bool) -> None:
        """A step, or one part of it, is over."""
        state = self._steps[step]
        state.ended += 1
        if not well:
            self._say(f"{_title(step)}: did not end well, {state.seconds}")
        elif state.is_whole:
            self._say(f"{_title(step)}: {state.seconds}")


class Screen:
    """A watcher of the steps, on a terminal or in a log; prints to standard error.

    Args:
        amounts: amount of work of the steps for which it is known, in the unit in which they advance.
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
        self._plain = None if self._console.is_terminal else StepLines(self._console.print, amounts)

    def __enter__(self) -> Self:
        """Start to show the steps."""
        self._lines.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the last state on the screen."""
        self._lines.stop()

    def started(self, step: str) -> None:
        """A step, or one part of it, begins."""
        if self._plain is not None:
            self._plain.started(step)
        if step not in self._steps:
            amount = self._amounts.get(step)
            line = self._lines.add_task(_title(step), total=amount or 1, counted="")
            self._steps[step] = _Step(line, amount)
        self._steps[step].parts += 1
        self._show_parts(self._steps[step])

    def advanced(self, step: str, amount: int) -> None:
        """A step has done an amount of work."""
        if self._plain is not None:
            self._plain.advanced(step, amount)
        state = self._steps[step]
        if state.amount is None:
            return
        state.done += amount
        self._lines.update(state.line, advance=amount, counted=f"{state.done:,} of {state.amount:,}")

    def ended(self, step: str, *, well: bool) -> None:
        """A step, or one part of it, is over."""
        if self._plain is not None:
            self._plain.ended(step, well=well)
        state = self._steps[step]
        state.ended += 1
        if not well:
            self._lines.update(state.line, description=f"[red]{_title(step)}")
            self._lines.stop_task(state.line)
        else:
            self._show_parts(state)
            if state.is_whole:
                self._lines.update(state.line, completed=state.amount or state.parts)

    def _show_parts(self, state: "_Step") -> None:
        """Show progress by parts for a step that has several, if nothing else is counted."""
        if state.amount is None and state.parts > 1:
            counted = f"{state.ended:,} of {state.parts:,} parts"
            self._lines.update(state.line, total=state.parts, completed=state.ended, counted=counted)


class _Counted:
    """The progress of one step."""

    def __init__(self, amount: int | None) -> None:
        self.amount = amount
        self.done = 0
        self.parts = 0
        self.ended = 0
        self._began = time.monotonic()

    @property
    def is_whole(self) -> bool:
        """Whether all of the step is done, as far as is known."""
        return self.ended >= self.parts and (self.amount is None or self.done >= self.amount)

    @property
    def seconds(self) -> str:
        """The time that the step has taken, in words."""
        return f"{time.monotonic() - self._began:.1f} s"


class _Step(_Counted):
    """One step, and its line on the screen."""

    def __init__(self, line: TaskID, amount: int | None) -> None:
        super().__init__(amount)
        self.line = line


def _title(step: str) -> str:
    return step.replace("_", " ")
