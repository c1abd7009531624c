"""Draws how a release is made: confidential data on the left, published data on the right, and what lies between.

The diagram is public: it shows the probabilities of the split, the parameters and the guarantees. It does not show how
many people there are or how many candidates passed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from deniable.privacy.loss import Guarantee
from deniable.privacy.step_costs import SHARED, StepCost
from deniable.roles import Role
from deniable.samplers.registry import words_of
from deniable.samplers.words import Box
from reports.figures.numbers import cost
from reports.plots.shapes import Place, draw_arrow, draw_bar, draw_box, draw_ribbon, make_sheet
from reports.plots.theme import GRID, HOLDOUT, INK, MUTED, RELEASED, TARGET, TRAINING
from schemas.spec.accounts import Accounts
from schemas.spec.plan import plan_release
from schemas.spec.release_spec import ReleaseSpec

_PURPOSES = {
    "shared": "everything is learnt from these",
    "seeds": "records start from these",
    "structure": "the graph is learnt from these",
    "parameters": "probabilities learnt from these",
    "holdout": "for internal evaluation only",
    "unused": "not used",
}
_LEARNT: dict[str, str] = {Role.STRUCTURE: "Graph"}
_READ = ("shared", "structure", "parameters", "seeds")

# Inches, which are also the units of the drawing.
_WIDTH = 11.0
_TOP = 0.95
_FULL = 2.5
_BAR = 0.13
_GAP = 0.2
_ROOM_FOR_TEXT = 0.36
_TABLE, _PARTS, _NOISE, _BOXES, _MODEL, _RECORDS = 0.15, 2.2, 4.75, 5.15, 8.0, 9.65
_BOX_WIDTH, _BOX_HEIGHT, _BOX_GAP = 2.15, 0.72, 0.28
_MODEL_SIZE = (1.15, 0.72)
_RECORDS_SIZE = (1.2, 0.72)


@dataclass(frozen=True)
class _Taken:
    """Something taken from a part of the table, with noise.

    Attributes:
        title: its title.
        lines: its cost.
        part: the part.
        learnt: whether it becomes part of the model; otherwise records start from it.
    """

    title: str
    lines: tuple[str, ...]
    part: str
    learnt: bool = True


def draw_method_diagram(spec: ReleaseSpec, accounts: Accounts, records: int) -> Figure:
    """Draw how a release is made.

    Args:
        spec: the specification of the release.
        accounts: its privacy costs.
        records: its number of records.

    Returns:
        The picture.
    """
    shares = _shares(spec)
    taken = _taken(spec, accounts)
    # A model that reads no records has its own place, above what is taken for the records.
    above = 0 if accounts.from_counts or any(item.learnt for item in taken) else 1
    boxes = (len(taken) + above) * (_BOX_HEIGHT + _BOX_GAP) - _BOX_GAP
    spans, bottom = _spans(shares)
    height = max(bottom, _TOP + boxes) + 0.25
    figure, axes = make_sheet(_WIDTH, height)
    is_public = bool(accounts.relation.why_none)
    between = "chance of the draws" if accounts.from_counts else "no noise" if is_public else "noise"
    whose = "public" if is_public else "confidential"
    _draw_sides(axes, height, "noise and privacy test" if accounts.tested else between, whose)
    draw_bar(axes, (_TABLE, _TOP, _TOP + _FULL), _BAR, MUTED)
    axes.text(_TABLE, _TOP - 0.09, f"the {whose} table", color=INK, fontsize=10, fontweight="bold", va="bottom")
    _draw_parts(axes, shares, spans)
    first = _TOP + max(bottom - _TOP - boxes, 0) / 2
    middles = {}
    for number, item in enumerate(taken, start=above):
        y = first + number * (_BOX_HEIGHT + _BOX_GAP)
        top, end = spans[item.part]
        draw_ribbon(
            axes, (_PARTS + _BAR, top, end), (_BOXES, y + 0.08, y + _BOX_HEIGHT - 0.08), TRAINING, opacity=0.1, bend=0.7
        )
        draw_box(axes, (_BOXES, y), (_BOX_WIDTH, _BOX_HEIGHT), item.title, item.lines, colour=TRAINING)
        middles[item.title] = y + _BOX_HEIGHT / 2
    learnt = [middles[item.title] for item in taken if item.learnt]
    others = [middles[item.title] for item in taken if not item.learnt]
    _draw_records(axes, accounts, records, (learnt, others), first + _BOX_HEIGHT / 2)
    return figure


def method_in_words(spec: ReleaseSpec, accounts: Accounts, records: int) -> str:
    """Describe the diagram in a few sentences."""
    shares = ", ".join(f"{_chance(share)} to {name}" for name, share in _shares(spec).items())
    taken = _taken(spec, accounts)
    learnt = "; ".join(
        f"{item.title.lower()} from {item.part}, {', '.join(item.lines)}" for item in taken if item.learnt
    )
    started = "; ".join(f"from {item.part}: {', '.join(item.lines)}" for item in taken if not item.learnt)
    box = _box(spec)
    begun = "" if box is None else " " + box.begun.format(started=started)
    is_public = bool(accounts.relation.why_none)
    learnt = f"Learnt without noise: {learnt}" if is_public else f"Learnt with noise: {learnt}" if learnt else ""
    return (
        f"Each record of the {'public' if is_public else 'confidential'} table is assigned at random to one part: "
        f"{shares}. {learnt or 'Nothing is learnt'}.{begun} {records:,} records are made."
    )


def _shares(spec: ReleaseSpec) -> dict[str, Fraction]:
    """Probability of each part that a record may be assigned to, and of none."""
    shares = {name: share for name, share in spec.split.probabilities.items() if share > 0}
    unused = Fraction(1) - sum(shares.values(), Fraction(0))
    return {**shares, **({"unused": unused} if unused > 0 else {})}


def _taken(spec: ReleaseSpec, accounts: Accounts) -> list[_Taken]:
    """Everything that is taken from the table."""
    taken = [
        _Taken(_LEARNT.get(step.step, "Probabilities"), _spent(step.guarantee), step.part) for step in accounts.learnt
    ]
    if accounts.relation.why_none:
        counted = [step for step in plan_release(spec).learning if step.counts is not None]
        read = spec.split.probabilities
        taken += [
            _Taken("Probabilities", ("exact counts",), str(step.counts) if step.counts in read else SHARED)
            for step in counted
        ]
    box = _box(spec)
    if box is not None:
        taken += [
            _Taken(box.title, (*box.lines, *_spent(_cost_of(step, accounts))), step.part, learnt=False)
            for step in accounts.drawn
        ]
    probabilities = spec.split.probabilities
    order = [name for name in (*_READ,) if name in probabilities]
    return sorted(taken, key=lambda item: order.index(item.part))


def _cost_of(step: StepCost, accounts: Accounts) -> Guarantee | None:
    """What the records that start from a step cost."""
    return accounts.charged_draws if accounts.from_counts else step.guarantee


def _chance(share: Fraction) -> str:
    """A probability in percent."""
    return f"{100 * float(share):.3g}%"


def _box(spec: ReleaseSpec) -> Box | None:
    """The part that the sampler takes from the seeds."""
    return words_of(spec.synthesis.guarantee).box(spec.synthesis.model_dump(mode="json", fallback=str))


def _spent(guarantee: Guarantee | None) -> tuple[str, ...]:
    if guarantee is None:
        return ("no DP",)
    return (f"ε = {cost(guarantee.epsilon)}, δ = {cost(guarantee.delta)}",)


def _spans(shares: Mapping[str, Fraction]) -> tuple[dict[str, Place], float]:
    """Top and bottom of each part's bar, with room for two lines of text, in reading order."""
    spans, place = {}, _TOP
    for name in sorted(shares, key=lambda name: _READ.index(name) if name in _READ else len(_READ)):
        height = float(shares[name]) * _FULL
        top = place + max(_ROOM_FOR_TEXT - height, 0) / 2
        spans[name] = (top, top + height)
        place += max(height, _ROOM_FOR_TEXT) + _GAP
    return spans, place - _GAP


def _draw_sides(axes: Axes, height: float, between: str, whose: str) -> None:
    """Label the side of the table and the published side, and draw the line between them."""
    axes.plot([_NOISE, _NOISE], [0.5, height - 0.05], color=TARGET, linewidth=1.6, linestyle=(0, (2, 2)), zorder=2)
    away = 0.16 + 0.048 * len(between)
    axes.text(_NOISE, 0.26, between, color=TARGET, fontsize=10, fontweight="bold", ha="center", va="center")
    for x, side, words in ((_NOISE - away, "right", whose), (_NOISE + away, "left", "published")):
        axes.text(x, 0.26, words, color=MUTED, fontsize=9, ha=side, va="center")
    for start, end in ((_TABLE, _NOISE - away - 1.0), (_NOISE + away + 0.85, _RECORDS + _RECORDS_SIZE[0])):
        axes.plot([start, end], [0.26, 0.26], color=GRID, linewidth=1)


def _draw_parts(axes: Axes, shares: Mapping[str, Fraction], spans: Mapping[str, Place]) -> None:
    """Draw the parts below each other, with the probability and the purpose of each."""
    source = _TOP
    for name, (top, bottom) in spans.items():
        colour = TRAINING if name in _READ else HOLDOUT
        draw_ribbon(axes, (_TABLE + _BAR, source, source + bottom - top), (_PARTS, top, bottom), colour)
        draw_bar(axes, (_PARTS, top, bottom), _BAR, colour)
        x, middle = _PARTS + _BAR + 0.1, (top + bottom) / 2
        axes.text(x, middle - 0.02, f"{_chance(shares[name])} {name}", color=INK, fontsize=9.5, va="bottom")
        axes.text(x, middle + 0.03, _PURPOSES.get(name, ""), color=MUTED, fontsize=8.5, va="top")
        source += bottom - top


def _draw_records(
    axes: Axes, accounts: Accounts, released: int, taken: tuple[list[float], list[float]], first: float
) -> None:
    """Draw the model and the records made from it, next to what is learnt and what records start from."""
    learnt, others = taken
    model = sum(learnt) / len(learnt) if learnt else first
    records = (model + others[0]) / 2 if others else model
    if not accounts.from_counts:
        stated = accounts.model_stated
        lines = ("no guarantee",) if stated is None else (f"ε = {cost(stated.epsilon)}", f"δ = {cost(stated.delta)}")
        draw_box(axes, (_MODEL, model - _MODEL_SIZE[1] / 2), _MODEL_SIZE, "Model", lines, colour=RELEASED)
        for middle in learnt:
            draw_arrow(axes, (_BOXES + _BOX_WIDTH, middle), (_MODEL, model), MUTED)
        draw_arrow(axes, (_MODEL + _MODEL_SIZE[0], model), (_RECORDS, records), RELEASED)
    for middle in others:
        draw_arrow(axes, (_BOXES + _BOX_WIDTH, middle), (_RECORDS, records + 0.12), MUTED)
    draw_box(
        axes,
        (_RECORDS, records - _RECORDS_SIZE[1] / 2),
        _RECORDS_SIZE,
        f"{released:,}",
        ("synthetic records",),
        colour=RELEASED,
        filled=True,
    )
