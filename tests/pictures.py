"""Pictures of releases in tests about other subjects: by day, each is drawn once for the whole test run.

A small release draws fourteen pictures, in two fifths of its time. Within `drawn_once`, the first release draws them,
and all others show these; at night all draw.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from io import BytesIO
from pathlib import Path
from threading import RLock
from typing import Any
from xml.sax.saxutils import escape

from tests.isolation import own_state  # noqa: F401 - before Prefect and MLflow are imported

from markupsafe import Markup  # isort: skip
from matplotlib.figure import Figure  # isort: skip

from reports.pages import evaluation, public_page, report
from reports.pages.pages import picture
from reports.plots import products
from schemas.references import Audience
from stores.locks import locked
from stores.tracking.step_run import StepRecord
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
    """The pictures in a folder shared by all processes, by the function that draws them, for pages and for files."""

    def __init__(self) -> None:
        self.asked = 0
        self._stand_for: dict[str, Figure | dict[str, Figure]] = {}
        self._files: dict[int, Path] = {}
        self._lock = RLock()

    def figures(self, name: str, draw: Callable[[], Any]) -> Any:
        """Return new figures, or empty figures that stand for earlier ones."""
        if not self.asked:
            return draw()
        with self._lock:
            if name not in self._stand_for:
                self._stand_for[name] = self._kept(name, draw)
            return self._stand_for[name]

    def file(self, figure: Figure, ending: str) -> Path | None:
        """Return the file of the earlier figure for which a figure stands, if any."""
        return None if id(figure) not in self._files else self._files[id(figure)].with_suffix(ending)

    def _kept(self, name: str, draw: Callable[[], Any]) -> Figure | dict[str, Figure]:
        listed = FOLDER / f"picture-{name}.txt"
        with locked(FOLDER / "drawing.lock", wait=True):
            if not listed.exists():
                drawn = draw()
                figures = drawn if isinstance(drawn, Mapping) else {"": drawn}
                for title, figure in figures.items():
                    _draw(figure, FOLDER / f"picture-{name}-{title}")
                listed.write_text("\n".join(figures))
        stand_for = {title: Figure() for title in listed.read_text().split("\n")}
        self._files |= {id(figure): FOLDER / f"picture-{name}-{title}" for title, figure in stand_for.items()}
        return stand_for.get("", stand_for)


def _draw(figure: Figure, place: Path) -> None:
    file = BytesIO()
    figure.savefig(file, format="png")
    place.with_suffix(".png").write_bytes(file.getvalue())
    place.with_suffix(".svg").write_text(picture(figure, place.name))


_DRAWN = _Drawn()


@contextmanager
def drawn_once(*, once: bool = True) -> Iterator[None]:
    """Show earlier pictures within the block, in this process and its commands; at night, or on request, draw."""
    _DRAWN.asked += once and repeats()
    try:
        yield
    finally:
        _DRAWN.asked -= once and repeats()


def are_drawn_once() -> bool:
    """Whether earlier pictures are shown."""
    return _DRAWN.asked > 0


def _drawn_once(draw: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(draw)
    def once(*arguments: Any, **named: Any) -> Any:
        return _DRAWN.figures(draw.__qualname__, lambda: draw(*arguments, **named))

    return once


def _shown_once(figure: Figure, words: str) -> Markup:
    if (kept := _DRAWN.file(figure, ".svg")) is None:
        return picture(figure, words)
    shown = escape(words, {'"': "&quot;"})
    return Markup(kept.read_text().replace(f'"{kept.stem}"', f'"{shown}"', 1))  # noqa: S704 - drawn by this program


def _kept_once(plot: Callable[..., None]) -> Callable[..., None]:
    @wraps(plot)
    def once(step: StepRecord, figure: Figure, file_name: str, audience: Audience) -> None:
        if (kept := _DRAWN.file(figure, ".png")) is None:
            plot(step, figure, file_name, audience)
        else:
            step._made(file_name, audience, lambda path: path.write_bytes(kept.read_bytes()))

    return once


for _module, _names in _DRAWN_BY.items():
    for _name in _names:
        setattr(_module, _name, _drawn_once(getattr(_module, _name)))
for _page in (report, public_page):
    _page.picture = _shown_once  # type: ignore[attr-defined]
StepRecord.plot = _kept_once(StepRecord.plot)  # type: ignore[method-assign]
