"""The page on accounting by hand is worked through: its figures are the accountants', and a wrong one is found."""

import re

import pytest

from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "statistician" / "accounting-by-hand.md").read_text(encoding="utf-8")
BLOCKS = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def worked_through(page: str) -> None:
    """Run the blocks of a page one after the other, in one session."""
    session: dict[str, object] = {}
    for block in BLOCKS.findall(page):
        exec(compile(block, "accounting-by-hand.md", "exec"), session)  # noqa: S102 - a page of the project's own


def test_every_figure_of_the_page_is_that_of_the_accountants() -> None:
    assert len(BLOCKS.findall(PAGE)) == 12
    assert PAGE.count("\nassert ") >= 40
    worked_through(PAGE)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("scale=Fraction(5))", "scale=Fraction(4))"),
        ("[1.0, 2.5722, 2.143, 1.0]", "[1.0, 2.5723, 2.143, 1.0]"),
        ('== "0.609681"', '== "0.609682"'),
        ("mechanism.threshold == 28", "mechanism.threshold == 27"),
        ("(1 - 0.01) / 100_000", "1 / 100_000"),
        ("probability=Fraction(3, 10)", "probability=Fraction(2, 10)"),
    ],
)
def test_a_slip_of_the_pen_is_found(right: str, wrong: str) -> None:
    assert PAGE.count(right) == 1
    with pytest.raises(AssertionError):
        worked_through(PAGE.replace(right, wrong))
