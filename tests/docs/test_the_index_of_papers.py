"""The index of the papers has every theorem, algorithm, figure and table, with a link that works and a verdict."""

import re
from pathlib import Path

import pytest

from papers.registry import PAPERS, paper_of

PAGES = Path(__file__).resolve().parents[2] / "docs" / "papers"
INDEX = (PAGES / "index.md").read_text(encoding="utf-8")
HEADS = ["part", "subject", "in the project", "verdict", "what is corrected"]
_LINK = re.compile(r"\[[^\]]+\]\(([^)#]+)(?:#([^)]+))?\)")


def numbered(name: str, *numbers: int | str) -> list[str]:
    """Parts of one kind."""
    return [f"{name} {number}" for number in numbers]


PARTS = {
    "000": [
        *numbered("Definition", 1),
        *numbered("Mechanism", 1),
        *numbered("Privacy Test", 1, 2),
        *numbered("Theorem", *range(1, 5)),
        *("Synthesis", "Marginals", "Structure", "Entropies", "Parameters", "Early end"),
        *numbered("Figure", *range(1, 7)),
        *numbered("Table", *range(1, 6)),
        "Controls",
    ],
    "001": [
        *("PeGS", "PeGS.rs", "PMI", "Hashing", "Prior weight", "Measures", "l-diversity"),
        *numbered("Figure", *range(1, 10)),
        *numbered("Table", *range(1, 4)),
    ],
    "002": [
        *numbered("Algorithm", 1, 2),
        *numbered("Definition", 4, 5, 6),
        *numbered("Theorem", "4.1", "4.2", "4.3", "4.4", "5.1", "5.2"),
        *numbered("Lemma", "5.1", "5.2"),
        *numbered("Figure", *range(1, 5)),
        *("Data", "Attributes"),
    ],
    "003": [name for name, _ in paper_of("003").parts],
    "004": ["MST", "NIST-MST", *(name for name, _ in paper_of("004").parts)],
}


def cells(line: str) -> list[str]:
    """The cells of a row of a table."""
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def rows_of(number: str, text: str = INDEX) -> dict[str, list[str]]:
    """The rows of a document, by part."""
    (section,) = [each for each in text.split("\n## ") if each.startswith(f"{number}: ")]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    assert cells(lines[0]) == HEADS
    rows = [cells(line) for line in lines[2:]]
    assert len({row[0] for row in rows}) == len(rows)
    return {row[0]: row for row in rows}


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings."""
    headings = re.findall(r"^#{1,3} (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    kept = ("".join(each for each in heading.lower() if each.isalnum() or each in " -_") for heading in headings)
    return {each.replace(" ", "-") for each in kept}


def broken(cell: str) -> list[str]:
    """The links of a cell that lead nowhere; a cell without links is broken itself."""
    links = _LINK.findall(cell)
    if not links:
        return [cell]
    return [
        f"{path}#{anchor}"
        for path, anchor in links
        if not (PAGES / path).is_file() or (anchor and anchor not in anchors(PAGES / path))
    ]


@pytest.mark.parametrize("number", PARTS)
def test_every_part_of_a_document_has_its_row(number: str) -> None:
    assert sorted(rows_of(number)) == sorted(PARTS[number])


@pytest.mark.parametrize("number", PARTS)
def test_every_row_has_a_link_that_works_and_a_verdict_of_one_word(number: str) -> None:
    known = {
        cells(line)[0]
        for line in INDEX.partition("\n## ")[0].splitlines()
        if line.startswith("|") and "---" not in line
    }
    for part, row in rows_of(number).items():
        assert len(row) == len(HEADS), part
        assert row[1], part
        assert broken(row[2]) == [], part
        assert row[3] in known - {"verdict"}, part
        links = _LINK.findall(row[4])
        assert not links or broken(row[4]) == [], part


@pytest.mark.parametrize("number", PAPERS)
def test_the_index_gives_the_verdicts_of_the_pages(number: str) -> None:
    page = (PAGES / f"{number}.md").read_text(encoding="utf-8")
    stated = dict(re.findall(r"^\| \[([^\]]+)\]\(#[^)]*\) \| .* \| ([a-z-]+) \|$", page, flags=re.MULTILINE))
    run = {name for name, _ in paper_of(number).parts}
    assert stated == {part: row[3] for part, row in rows_of(number).items() if part in run}
    assert not {part for part, row in rows_of(number).items() if row[3] == "pending"} & run


def test_a_link_that_leads_nowhere_and_a_row_that_is_missing_are_found() -> None:
    assert broken("`deniable/privacy/loss.py`") != []
    assert broken("[page](004.md#no-such-part)") != []
    assert broken("[page](005.md)") != []
    assert broken("[page](../statistician/learners.md#pegs)") == []
    without = "\n".join(line for line in INDEX.splitlines() if not line.startswith("| Theorem 3 |"))
    assert sorted(rows_of("000", without)) != sorted(PARTS["000"])
