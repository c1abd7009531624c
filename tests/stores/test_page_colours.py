"""People with low vision can read the pages: the theme's colours contrast enough, in light and in dark."""

import re
from pathlib import Path

import pytest

import reports
from reports.plots import theme

CSS = (Path(reports.__path__[0]) / "templates" / "page.css").read_text(encoding="utf-8")
TEXT = [
    *[("ink", ground) for ground in ("paper", "page", "tint")],
    *[("muted", ground) for ground in ("paper", "page", "tint")],
    *[("released", ground) for ground in ("paper", "page", "tint", "public-tint")],
    ("good", "good-tint"),
    ("bad", "bad-tint"),
    ("bad", "paper"),
    ("bad", "tint"),
    ("baseline", "warn-tint"),
    *[(colour, "paper") for colour in ("training", "baseline", "target")],
    *[("paper", ground) for ground in ("released", "target", "muted")],
]
"""What is written, and on what."""

SHAPES = [(colour, "paper") for colour in ("released", "training", "baseline", "holdout", "target", "muted")]
"""What is drawn, and on what."""


def colours(css: str) -> dict[str, str]:
    return dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", css))


def luminance(colour: str) -> float:
    """Relative luminance (WCAG 2.2)."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


LIGHT = colours(CSS[: CSS.index("@media")])
DARK = colours(CSS[CSS.index("@media") : CSS.index("* {")])


def test_contrast_is_what_it_is_known_to_be() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("scheme", [LIGHT, {**LIGHT, **DARK}], ids=["light", "dark"])
def test_what_is_written_can_be_read(scheme: dict[str, str]) -> None:
    faint = [(text, ground) for text, ground in TEXT if contrast(scheme[text], scheme[ground]) < 4.5]
    assert not faint


@pytest.mark.parametrize("scheme", [LIGHT, {**LIGHT, **DARK}], ids=["light", "dark"])
def test_what_is_drawn_can_be_seen(scheme: dict[str, str]) -> None:
    faint = [(shape, ground) for shape, ground in SHAPES if contrast(scheme[shape], scheme[ground]) < 3]
    assert not faint


def test_both_schemes_have_all_colours() -> None:
    assert LIGHT.keys() == DARK.keys()
    assert {name.strip("-") for name in theme._VARIABLES.values()} <= LIGHT.keys()
    assert not re.findall(r"#[0-9a-f]{3,6}\b", CSS[CSS.index("* {") :]), "every colour is a variable of both schemes"
