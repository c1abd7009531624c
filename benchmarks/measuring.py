"""Shows results as tables, keeps figures, inserts them into a page, and measures memory."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import stdev
from typing import Any

_FORGET_THE_MOST = "5"
_END = "<!-- figures: end -->"


@dataclass(frozen=True)
class Result:
    """One line of the table.

    Attributes:
        what: what was measured.
        measured: the figure with its unit.
        goal: the goal for the figure.
    """

    what: str
    measured: str
    goal: str = ""


def spread(values: Sequence[float]) -> float:
    """Return the standard deviation of values; 0 for a single value."""
    return stdev(values) if len(values) > 1 else 0.0


def require(verdicts: Iterable[tuple[str, bool]], refusal: str) -> None:
    """Print verdicts, and require that all are as expected.

    Args:
        verdicts: each verdict in words, and whether it is as expected.
        refusal: what must hold.

    Raises:
        SystemExit: a verdict is not as expected.
    """
    said = list(verdicts)
    for words, holds in said:
        print(f"{'as expected' if holds else 'NOT AS EXPECTED'}: {words}")
    if not all(holds for _, holds in said):
        raise SystemExit(refusal)


def rewrite(path: Path, text: str) -> None:
    """Write a file; a run that is interrupted while it writes leaves the earlier one."""
    new = path.with_suffix(".new")
    new.write_text(text, encoding="utf-8")
    new.replace(path)


def kept_figures(path: Path) -> dict[str, Any]:
    """Return the figures that a file has kept; none if there is no file."""
    kept: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return kept


def keep_figures(path: Path, figures: Mapping[str, Any]) -> None:
    """Write figures to a file, one on each line."""
    rewrite(path, json.dumps(figures, indent=1, sort_keys=True) + "\n")


def in_page(text: str, command: str, figures: str) -> str:
    """Return a page with figures between the two lines that mark their place.

    Args:
        text: the page.
        command: the make target that writes the figures, named in the first line.
        figures: the text to insert.

    Raises:
        ValueError: the page has no place for them.
    """
    begin = f"<!-- figures: begin; written by make {command} -->"
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(_END)
    if not rest or not after:
        raise ValueError(f"the page must have the lines {begin} and {_END}.")
    return f"{before}{begin}\n\n{figures}\n\n{_END}{after}"


def table(results: list[Result]) -> str:
    """Return the results as a Markdown table."""
    return markdown(("what", "measured", "goal"), [(each.what, each.measured, each.goal) for each in results])


def markdown(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table.

    Args:
        heads: the column headings.
        rows: the cells of each row.
    """
    return "\n".join(f"| {' | '.join(row)} |" for row in (heads, ["---"] * len(heads), *rows))


def most_held_gib(process: int | str = "self") -> float:
    """Return the peak memory of a process since its peak was last reset, in GiB.

    Args:
        process: its id; by default this process.
    """
    (line,) = [line for line in Path(f"/proc/{process}/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) / 2**20


def forget_the_most() -> None:
    """Reset this process's peak memory."""
    Path("/proc/self/clear_refs").write_text(_FORGET_THE_MOST)
