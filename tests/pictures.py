"""Pictures of releases in tests about other subjects: by day, each is drawn once for the whole test run.

A small release draws eight pictures. Within `drawn_once`, the first release draws them,
and all others show these; at night all draw.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from threading import RLock
from typing import Any

from tests.isolation import own_state  # noqa: F401 - before Prefect and MLflow are imported

from matplotlib.figure import Figure  # isort: skip

from reports.pages import evaluation, public_page, report
from reports.plots import products, theme
from stores.locks import locked
from tasks.evaluation import evaluate_risk
from tasks.publication import report as report_task
from tests.extent import repeats
from tests.made_once import FOLDER

_DRAWN_BY = {
    report: ("draw_budget_line", "draw_record_flow", "draw_graph", "comparison_pictures", "risk_pictures"),
    public_page: ("draw_graph", "draw_method_diagram"),
    products: ("draw_graph",),
    evaluation: ("comparison_pictures",),
    evaluate_risk: ("risk_pictures",),
    report_task: ("draw_budget_line",),
}


class _Drawn:
    """The pictures in a folder shared by all processes, by the function that draws them."""

    def __init__(self) -> None:
        self.asked = 0
        self._stand_for: dict[str, Figure | dict[str, Figure]] = {}
        self._lock = RLock()

    def figures(self, name: str, draw: Callable[[], Any]) -> Any:
        """Return new figures, or empty figures that stand for earlier ones, as which they are shown."""
        if not self.asked:
            return draw()
        with self._lock:
            if name not in self._stand_for:
                self._stand_for[name] = self._kept(name, draw)
            return self._stand_for[name]

    def _kept(self, name: str, draw: Callable[[], Any]) -> Figure | dict[str, Figure]:
        place = FOLDER / f"picture-{name}.json"
        with locked(FOLDER / "drawing.lock", wait=True):
            if not place.exists():
                made = draw()
                figures = made if isinstance(made, Mapping) else {"": made}
                place.write_text(json.dumps({title: vars(theme._drawn(figure)) for title, figure in figures.items()}))
        drawings = json.loads(place.read_text())
        stand_for = {title: Figure() for title in drawings}
        for title, figure in stand_for.items():
            theme._kept[figure] = theme._Drawing(**drawings[title])
        return stand_for.get("", stand_for)


_DRAWN = _Drawn()


@contextmanager
def drawn_once(*, once: bool = True) -> Iterator[None]:
    """Show earlier pictures within the block, in this process and its commands; at night, or on request, draw."""
    _DRAWN.asked += once and repeats()
    theme._last.clear()
    try:
        yield
    finally:
        _DRAWN.asked -= once and repeats()
        theme._last.clear()


def are_drawn_once() -> bool:
    """Whether earlier pictures are shown."""
    return _DRAWN.asked > 0


def _drawn_once(draw: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(draw)
    def once(*arguments: Any, **named: Any) -> Any:
        return _DRAWN.figures(draw.__qualname__, lambda: draw(*arguments, **named))

    return once


for _module, _names in _DRAWN_BY.items():
    for _name in _names:
        setattr(_module, _name, _drawn_once(getattr(_module, _name)))
