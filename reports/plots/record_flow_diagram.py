"""Draws the flow from people to released records: how many remain after each step, and what happened to the others.

People and candidates have different scales, because a candidate is a draw and not a person. Nothing is counted here.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reports.plots.shapes import draw_band, draw_bar, draw_ribbon, make_sheet
from reports.plots.theme import HOLDOUT, INK, MUTED, RELEASED, TRAINING

_PURPOSES = {
    "shared": ("shared", "everything is learnt from these"),
    "seeds": ("seeds", "candidates start from these"),
    "structure": ("structure", "for learning the graph"),
    "parameters": ("parameters", "for learning probabilities"),
    "holdout": ("holdout", "for evaluating the release"),
    "unused": ("unused", "not used"),
}

# Inches, which are also the units of the axes.
_WIDTH = 11.0
_TOP = 0.62
_FULL = 2.3
_BAR = 0.13
_GAP = 0.17
_ROOM_FOR_TEXT = 0.3
_FIRST, _PARTS, _CANDIDATES, _UNWANTED, _RELEASED = 0.2, 5.45, 8.2, 9.1, 9.9
_LOST = 0.26
_HALF_A_LINE = 0.09


@dataclass(frozen=True)
class Stage:
    """The number of people left at one stage.

    Attributes:
        title: description of the people at this stage.
        people: their number.
        lost: description of the people lost since the previous stage.
    """

    title: str
    people: int
    lost: str = ""


@dataclass(frozen=True, kw_only=True)
class RecordFlow:
    """The numbers of people and records at each stage.

    Attributes:
        stages: the stages from the source to the table that is split; at least one.
        parts: people in each part, in the order of the parts; people in no part are unused.
        candidates: candidates drawn.
        passed: candidates that may be released; all of them if there is no test.
        released: records released: the first that passed, up to the number requested.
        from_seeds: whether candidates start from seeds; otherwise they come from the model alone.
    """

    stages: tuple[Stage, ...]
    parts: Mapping[str, int]
    candidates: int
    passed: int
    released: int
    from_seeds: bool = True

    @property
    def shares(self) -> dict[str, int]:
        """People in each non-empty part, and people in no part."""
        unused = self.stages[-1].people - sum(self.parts.values())
        return {name: people for name, people in {**self.parts, "unused": unused}.items() if people > 0}


def draw_record_flow(flow: RecordFlow) -> Figure:
    """Draw the flow from the source on the left to the release on the right.

    Args:
        flow: the numbers.

    Returns:
        The picture.
    """
    scale = _FULL / max(flow.stages[0].people, 1)
    tops, bottom = _tops(flow, scale)
    height = max(bottom, _TOP + _FULL + _LOST + 0.2) + 0.15
    figure, axes = make_sheet(_WIDTH, height)
    step = (_PARTS - _FIRST) / len(flow.stages)
    for number, stage in enumerate(flow.stages):
        x = _FIRST + number * step
        if number:
            before, end = flow.stages[number - 1].people, x - step + _BAR
            span = (_TOP, _TOP + stage.people * scale)
            draw_ribbon(axes, (end, *span), (x, *span), MUTED)
            _draw_lost(axes, end, span[1], _TOP + before * scale, f"{before - stage.people:,} {stage.lost}")
        draw_bar(axes, (x, _TOP, _TOP + stage.people * scale), _BAR, MUTED)
        _draw_heading(axes, x, stage.people, stage.title)
    _draw_parts(axes, flow, _PARTS - step + _BAR, tops, scale)
    seeds = tops.get("seeds", _TOP)
    _draw_candidates(axes, flow, (seeds, seeds + flow.parts.get("seeds", 0) * scale))
    return figure


def _tops(flow: RecordFlow, scale: float) -> tuple[dict[str, float], float]:
    """Top of each part's bar, with room for two lines of text each, and the bottom of the last bar."""
    tops, place = {}, _TOP
    for name, people in flow.shares.items():
        tops[name] = place + max(_ROOM_FOR_TEXT - people * scale, 0) / 2
        place += max(people * scale, _ROOM_FOR_TEXT) + _GAP
    return tops, place - _GAP


def _draw_parts(axes: Axes, flow: RecordFlow, start: float, tops: Mapping[str, float], scale: float) -> None:
    """Draw the parts below each other, with the purpose of each."""
    source = _TOP
    for name, people in flow.shares.items():
        top, height = tops[name], people * scale
        colour = HOLDOUT if name in {"holdout", "unused"} else TRAINING
        draw_ribbon(axes, (start, source, source + height), (_PARTS, top, top + height), colour)
        draw_bar(axes, (_PARTS, top, top + height), _BAR, colour)
        label, purpose = _PURPOSES.get(name, (name, ""))
        x, middle = _PARTS + _BAR + 0.1, top + height / 2
        axes.text(x, middle - 0.02, f"{people:,} {label}", color=INK, fontsize=9.5, va="bottom")
        axes.text(x, middle + 0.02, purpose, color=MUTED, fontsize=8.5, va="top")
        source += height


def _draw_candidates(axes: Axes, flow: RecordFlow, seeds: tuple[float, float]) -> None:
    """Draw the candidates, on their own scale, the released ones, and what happened to the others."""
    height = 0.8 * _FULL
    scale = height / max(flow.candidates, 1)
    kept, passed = _TOP + flow.released * scale, _TOP + flow.passed * scale
    x, end = _CANDIDATES, _CANDIDATES + _BAR
    if flow.from_seeds:
        draw_ribbon(axes, (_PARTS + _BAR, *seeds), (x, _TOP, _TOP + height), RELEASED, opacity=0.08, bend=0.82)
    draw_bar(axes, (x, _TOP, _TOP + height), _BAR, RELEASED, opacity=0.45)
    _draw_heading(axes, x, flow.candidates, "candidates drawn")
    draw_ribbon(axes, (end, _TOP, kept), (_RELEASED, _TOP, kept), RELEASED)
    if failed := flow.candidates - flow.passed:
        _draw_lost(axes, end, passed, _TOP + height, f"{failed:,} did not pass")
    if unwanted := flow.passed - flow.released:
        _draw_unwanted(axes, end, kept, passed, f"{unwanted:,} passed, not needed")
    draw_bar(axes, (_RELEASED, _TOP, kept), _BAR, RELEASED)
    _draw_heading(axes, _RELEASED, flow.released, "released", colour=RELEASED)


def _draw_heading(axes: Axes, x: float, number: int, title: str, *, colour: str = INK) -> None:
    """A number and its description, above a bar."""
    axes.text(x, _TOP - 0.25, f"{number:,}", color=colour, fontsize=12, fontweight="bold", va="bottom")
    axes.text(x, _TOP - 0.09, title, color=MUTED, fontsize=8.5, va="bottom")


def _draw_lost(axes: Axes, x: float, top: float, bottom: float, label: str) -> None:
    """A band that bends down and ends: people or candidates that are dropped."""
    if bottom - top <= 0:
        return
    inner, outer, floor = x + 0.3, x + 0.3 + min(bottom - top, 0.5), bottom + _LOST
    there = [(x, top), (outer, top), (outer, top), (outer, floor)]
    back = [(inner, floor), (inner, bottom), (inner, bottom), (x, bottom)]
    draw_band(axes, there, back, MUTED, 0.16)
    axes.text(x + 0.12, floor + 0.05, label, color=MUTED, fontsize=8.5, va="top")


def _draw_unwanted(axes: Axes, x: float, top: float, bottom: float, label: str) -> None:
    """A band that continues for a while and ends: candidates that passed when there were already enough."""
    draw_ribbon(axes, (x, top, bottom), (_UNWANTED, top, bottom), RELEASED, opacity=0.1)
    middle = max((top + bottom) / 2, top + _HALF_A_LINE)
    axes.text(_UNWANTED + 0.1, middle, label, color=MUTED, fontsize=8.5, va="center")
