"""Every decision follows the template, fits on a page and stands in the index, and every page it links exists."""

import re
from pathlib import Path

import pytest

DECISIONS = Path(__file__).resolve().parents[2] / "infra" / "decisions"
TEMPLATE = DECISIONS / "0000-template.md"
SECTIONS = ["Status", "Context", "Options", "Decision", "Consequences"]
MOST_WORDS = 550

_STATUS = re.compile(r"(Accepted|Superseded by \[\d+\]\(\d{4}-[\w-]+\.md\)) \d{4}-\d{2}-\d{2}\b")
_INDEXED = re.compile(r"\| (\d+) \| \[(.+)\]\(([\w.-]+)\) \| (accepted|superseded by \d+) \| (\S.+\S) \|")
_LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


def numbered() -> list[Path]:
    """The decisions, in the order of their numbers."""
    return sorted(path for path in DECISIONS.glob("[0-9][0-9][0-9][0-9]-*.md") if path != TEMPLATE)


def faults(number: int, text: str) -> list[str]:
    """Where a decision departs from the template."""
    found = []
    headings = re.findall(r"^(#+) (.+)$", text, flags=re.MULTILINE)
    if not re.match(rf"# {number}\. \S", text):
        found.append("the title")
    if [name for level, name in headings if level == "##"] != SECTIONS:
        found.append("the sections")
    if [level for level, _ in headings].count("#") != 1 or any(len(level) > len("##") for level, _ in headings):
        found.append("other headings")
    found += [f"{name} is empty" for name, content in sections_of(text).items() if not content]
    if not _STATUS.match(sections_of(text).get("Status", "")):
        found.append("the status")
    if words(text) > MOST_WORDS:
        found.append(f"{words(text)} words")
    return found


def sections_of(text: str) -> dict[str, str]:
    """What each section holds, by its name."""
    return {
        part.partition("\n")[0]: part.partition("\n")[2].strip()
        for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    }


def words(text: str) -> int:
    """Words of a decision; bars of tables, marks of lists and headings are none."""
    return sum(any(character.isalnum() for character in word) for word in text.split())


def index() -> list[tuple[str, str, str, str]]:
    """Lines of the index: number, title, file and status."""
    rows = [line for line in (DECISIONS / "README.md").read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    found = [_INDEXED.fullmatch(row) for row in rows[2:]]
    assert all(found), [row for row, match in zip(rows[2:], found, strict=True) if match is None]
    return [(match[1], match[2], match[3], match[4]) for match in found if match is not None]


@pytest.mark.parametrize("path", numbered(), ids=lambda path: path.stem)
def test_a_decision_follows_the_template_on_one_page(path: Path) -> None:
    assert faults(int(path.name[:4]), path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", [*numbered(), TEMPLATE, DECISIONS / "README.md"], ids=lambda path: path.stem)
def test_what_a_decision_links_exists(path: Path) -> None:
    links = [link for link in _LINK.findall(path.read_text(encoding="utf-8")) if link != "NNNN-name.md"]
    assert [link for link in links if not (path.parent / link).is_file()] == []


def test_decisions_are_numbered_without_a_gap() -> None:
    assert [int(path.name[:4]) for path in numbered()] == list(range(1, len(numbered()) + 1))


def test_the_index_names_every_decision_by_number_title_and_status() -> None:
    assert [file for _, _, file, _ in index()] == [path.name for path in numbered()]
    for number, title, file, status in index():
        text = (DECISIONS / file).read_text(encoding="utf-8")
        assert text.partition("\n")[0] == f"# {number}. {title}"
        stated = sections_of(text).get("Status", "").partition(" 2")[0].lower()
        assert re.sub(r"\[(\d+)\]\(.*?\)", r"\1", stated) == status, file


def test_the_template_has_the_sections() -> None:
    assert list(sections_of(TEMPLATE.read_text(encoding="utf-8"))) == SECTIONS


def test_departures_from_the_template_are_found() -> None:
    right = "# 7. Title\n\n" + "\n\n".join(f"## {name}\n\nAccepted 2026-11-20." for name in SECTIONS)
    assert faults(7, right) == []
    assert faults(8, right) == ["the title"]
    assert faults(7, right.replace("## Options", "## Choices")) == ["the sections"]
    assert faults(7, right + "\n\n### More") == ["other headings"]
    assert faults(7, right.replace("## Context\n\nAccepted 2026-11-20.", "## Context")) == ["Context is empty"]
    assert faults(7, right.replace("Accepted", "Agreed")) == ["the status"]
    assert faults(7, right.replace("Accepted 2026", "Superseded by [9](0009-name.md) 2026")) == []
    assert faults(7, right + " word" * MOST_WORDS) == [f"{words(right) + MOST_WORDS} words"]
