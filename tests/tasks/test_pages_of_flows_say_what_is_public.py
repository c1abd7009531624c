"""The rendered pages of a release of flows say that numbers of workers are assumed public, where they are."""

from pathlib import Path
from typing import Any

import pytest

from tests.mechanisms.table import ROWS
from tests.relation_words import texts_of
from tests.whole_release import drawn_release

_TOTALS = ROWS["sampler per_draw of origins whose destinations are public"]
_LEARNER = _TOTALS["learner"]
_PURE = {**{name: value for name, value in _LEARNER.items() if name != "delta"}, "privacy": "pure"}
_MEASURED = {**{name: value for name, value in _PURE.items() if name != "totals"}, "totals_epsilon": 1}
_OWN_BUDGET: dict[str, Any] = {"budget": {"epsilon": 10, "delta": 0.01}}
RELEASES: dict[str, tuple[dict[str, Any], dict[str, tuple[str, ...]]]] = {
    "pdp with domain sampling": (
        {**_TOTALS, "learner": {**_LEARNER, "sampling": 0.5, "coarsen": False}},
        {
            "index.html": ("number of workers of each destination, is public",),
            "report": ("number of workers of each destination, is public",),
            "PRIVACY.md": ("The number of workers of each destination is published exactly", "by theorem D"),
        },
    ),
    "pure": (
        {**_TOTALS, **_OWN_BUDGET, "learner": _PURE},
        dict.fromkeys(
            ("index.html", "report", "PRIVACY.md"), ("the guarantee holds only if it was not counted in that table",)
        ),
    ),
    "pure with measured totals": ({**_TOTALS, **_OWN_BUDGET, "learner": _MEASURED}, {}),
}
"""A release, and what each of its texts must say of the numbers of workers."""
_SAID = ("number of workers of each destination, is public", "published exactly", "holds only if")


@pytest.mark.parametrize("name", RELEASES)
def test_pages_say_that_numbers_of_workers_are_public_and_only_where_they_are(tmp_path: Path, name: str) -> None:
    asked, expected = RELEASES[name]
    drawn = drawn_release(tmp_path, "flows-1", bytes(range(32)), **asked)
    drawn.publish()
    folder = drawn.workspace.release_folder
    files = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    texts = {part: " ".join(text.split()) for part, text in texts_of(drawn, files)}
    assert {"index.html", "report", "PRIVACY.md"} <= set(texts)
    for part, sentences in expected.items():
        assert [sentence for sentence in sentences if sentence not in texts[part]] == [], part
    if not expected:
        found = {part: sentence for part, text in texts.items() for sentence in _SAID if sentence in text}
        assert found == {}, "noisy totals are not assumed to be public"
