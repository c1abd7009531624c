"""The page of a rehearsal: what releases of public records are good for, by epsilon, for those who choose it."""

from typing import Final

from deniable.evaluation.uses import USES
from reports.pages.pages import picture, render_page
from reports.plots.curves.rehearsal_ladder import draw_ladder
from schemas.rehearsal import Grade, Rehearsal

_TONES: Final[dict[Grade, tuple[str, str, str]]] = {
    "good": ("met", "✓", "good"),
    "with caution": ("open", "!", "with caution"),
    "do not": ("missed", "✗", "do not"),
    "not decided": ("open", "?", "not decided"),
}
"""Class, mark and words of each grade."""


def cannot_tell(shown: Rehearsal) -> tuple[str, ...]:
    """What a rehearsal cannot tell about the confidential records, in sentences.

    Args:
        shown: the rehearsal.
    """
    said = {
        "release": "The records of an earlier release lack whatever its noise hid, so that rare values and weak "
        "associations may be lost in the real release although they are well kept here.",
        "table": "Other people may differ from those of the confidential table in number, in rare values and in "
        "associations.",
        "schema": "Records drawn from the schema have neither associations nor rare values: they show how much the "
        "noise adds to shares and tables, and nothing else.",
    }[shown.stand_in.kind]
    size = (
        f"With another number of records than {shown.stand_in.rows:,}, the same epsilon gives other errors: noise does "
        "not grow with the table, so that errors fall about as the number of records grows."
    )
    return (said, size, "Time and memory are those of this machine.")


def sentence_of(shown: Rehearsal) -> str:
    """The least epsilon at which most uses are good, in a sentence."""
    best = max(_good(rung.uses) for rung in shown.rungs)
    if not best:
        return "No use was good at any epsilon that was tried."
    least = next(rung for rung in shown.rungs if _good(rung.uses) == best)
    names = {use.name: use.words for use in USES}
    good = [names[name] for name, grade in least.uses.items() if grade == "good"]
    return (
        f"At epsilon {least.epsilon}, {best} of {len(shown.used)} uses were good ({', '.join(good)}); no larger "
        "epsilon that was tried made more of them good."
    )


def _good(uses: dict[str, Grade]) -> int:
    return sum(grade == "good" for grade in uses.values())


def render_rehearsal(shown: Rehearsal) -> str:
    """Make the page; everything on it is public.

    Args:
        shown: the rehearsal.

    Returns:
        HTML that loads nothing from outside itself.
    """
    words = "What releases of public records were good for, by epsilon of the whole release; the table below says it."
    return render_page(
        "rehearsal.html.jinja",
        {
            "shown": shown,
            "drawn": picture(draw_ladder(shown), words),
            "names": {use.name: use.words for use in USES},
            "tones": _TONES,
            "said": sentence_of(shown),
            "cannot_tell": cannot_tell(shown),
        },
    )
