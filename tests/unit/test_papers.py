"""Papers that are run again: what a part, a page and the command do, and the parts that take little time."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from papers import __main__ as command
from papers.findings import VERDICTS, Check, Paper, Part, Picture, Table, between, equal
from papers.registry import PAPERS, paper_of
from papers.writing import PAGES, ROOT, html_page, markdown_page
from reports.plots.theme import make_figure

QUICK = {
    "003": ("Synthesizer", "Combining rules", "Table 1", "Markov chain"),
    "004": (
        "Differencing",
        "Query auditing",
        "Block of seven",
        "Two coins",
        "Sensitivities",
        "Composition",
        "Consistency",
    ),
}
MEASURED: dict[str, set[str]] = {"000": {"Figure 5"}}
TIMED = ("figure-5.svg",)
_COMMIT = re.compile(r"its result at .+?\. The")


def part(*, holds: bool = True) -> Part:
    """A part of a paper that does not exist."""
    figure = make_figure(2, 1)
    figure.subplots().plot([0, 1])
    return Part(
        name="Figure 7",
        title="a line",
        verdict="reproduced",
        why="It is `straight`.",
        product=("deniable/privacy/loss.py",),
        checks=(Check("a line is straight", holds),),
        table=Table(("published", "ours"), (("1 < 2", "1"),)),
        picture=Picture(figure, "A line"),
    )


def paper(*parts: Callable[[], Part]) -> Paper:
    """A paper of such parts."""
    return Paper("999", "Nobody 2000: a line", "Nowhere.", "Nothing.", [("Figure 7", each) for each in parts])


def without_commit(text: str) -> str:
    """A page without the commit that wrote it."""
    assert _COMMIT.search(text)
    return _COMMIT.sub("its result at a commit. The", text)


def without_measured(text: str, measured: set[str]) -> str:
    """A page without the sections of parts whose figures are times."""
    kept = [each for each in text.split("\n## ") if each.partition(": ")[0] not in measured]
    return "\n## ".join(kept)


def section(text: str, heading: str) -> str:
    """The section of a page that has a heading."""
    found = [each for each in text.split("\n## ") if each.startswith(f"{heading}: ")]
    assert len(found) == 1, heading
    return found[0].strip()


def test_a_page_has_the_figures_the_verdict_and_its_reason() -> None:
    page = markdown_page(paper(part), [part()], "commit 0", 12.3)
    assert "this is its result at commit 0, after 12 s of CPU time. The command fails" in page
    assert "| published | ours |\n| --- | --- |\n| 1 < 2 | 1 |" in page
    assert "![A line](999/figure-7.svg)" in page
    assert "**Verdict: reproduced.** It is `straight`." in page
    assert "[Figure 7](#figure-7-a-line)" in page
    html = html_page(paper(part), [part(holds=False)], "commit 0", 12.3)
    assert "<td>1 &lt; 2</td>" in html
    assert "<code>straight</code>" in html
    assert "1 expectations, 1 of which do not hold" in html
    assert "Figure 7: a line is straight" in html.partition("<main")[0]
    assert "Not as expected" not in html_page(paper(part), [part()], "commit 0", 12.3)
    assert "all parts: it takes at most 1200 s" in html_page(paper(part), [part()], "commit 0", 1201)


@pytest.mark.parametrize("holds", [True, False])
def test_the_page_of_the_documentation_is_written_only_if_every_expectation_holds(
    *, holds: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "PAPERS", {"999": "nowhere"})
    monkeypatch.setattr(command, "paper_of", lambda _: paper(lambda: part(holds=holds)))
    given = ["999", "--to", str(tmp_path / "var"), "--pages", str(tmp_path / "pages")]
    assert command.main(given) == (0 if holds else 1)
    said = capsys.readouterr().out
    assert ("NOT AS EXPECTED: a line is straight" in said) != holds
    assert (tmp_path / "pages/999.md").exists() == (tmp_path / "pages/999/figure-7.svg").exists() == holds
    names = {path.name for path in (tmp_path / "var/999").iterdir()}
    assert names == {"expectations.csv", "figure-7.csv", "figure-7.svg", "report.html"}
    assert (tmp_path / "var/999/figure-7.csv").read_text() == "published,ours\n1 < 2,1\n"


def test_a_paper_that_is_not_there_is_refused_with_those_that_are(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        command.main(["017"])
    assert refused.value.code != 0
    assert "there is no paper 017 here; name one of 000" in capsys.readouterr().err


def test_expectations_fail_beyond_their_bounds() -> None:
    assert equal("x", 1.0, 1.1, 0.2).holds
    assert not equal("x", 1.0, 1.3, 0.2).holds
    assert not equal("x", float("nan"), 1.0, 0.2).holds
    assert between("x", 0, 1, 1).holds
    assert not between("x", 0, 1.01, 1).holds
    assert not between("x", 0, float("nan"), 1).holds


@pytest.mark.parametrize("number", PAPERS)
def test_every_paper_has_its_page_its_command_and_code_that_exists(number: str) -> None:
    found = paper_of(number)
    assert found.number == number
    assert re.search(rf"^[\w\s-]*\bpaper-{number}\b.*:", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    page = (PAGES / f"{number}.md").read_text(encoding="utf-8")
    assert [each.partition(":")[0] for each in re.findall(r"^## (.+)$", page, flags=re.MULTILINE)] == [
        name for name, _ in found.parts
    ]
    assert set(re.findall(r"\*\*Verdict: (.+?)\.\*\*", page)) <= set(VERDICTS)
    named = {
        path for line in re.findall(r"^In the project: (.+)\.$", page, flags=re.MULTILINE) for path in line.split(", ")
    }
    assert named
    assert [path for path in named if not (ROOT / path.strip("`")).exists()] == []


@pytest.mark.slow
@pytest.mark.parametrize(("number", "name"), [(number, name) for number, names in QUICK.items() for name in names])
def test_a_part_that_takes_little_time_is_as_its_page_states(number: str, name: str) -> None:
    found = paper_of(number)
    made = dict(found.parts)[name]()
    assert [check.words for check in made.checks if not check.holds] == []
    page = (PAGES / f"{number}.md").read_text(encoding="utf-8")
    assert section(markdown_page(found, [made], "commit 0", 1), name) == section(page, name)


@pytest.mark.nightly
@pytest.mark.parametrize("number", PAPERS)
def test_the_page_of_a_paper_is_what_its_command_writes(number: str, tmp_path: Path) -> None:
    assert command.main([number, "--to", str(tmp_path / "var"), "--pages", str(tmp_path)]) == 0
    if paper_of(number).stand_in():
        assert not (tmp_path / f"{number}.md").exists()
        return
    written, page = (
        without_measured((folder / f"{number}.md").read_text(encoding="utf-8"), MEASURED.get(number, set()))
        for folder in (tmp_path, PAGES)
    )
    assert without_commit(written) == without_commit(page)
    pictures = [
        {path.name: path.read_text() for path in (folder / number).iterdir() if path.name not in TIMED}
        for folder in (tmp_path, PAGES)
    ]
    assert pictures[0] == pictures[1]


def test_a_page_is_left_as_it_is_if_made_up_data_stand_in_for_real_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made_up = replace(paper(part), stand_in=lambda: "The lines are made up.")
    monkeypatch.setattr(command, "PAPERS", {"999": "nowhere"})
    monkeypatch.setattr(command, "paper_of", lambda _: made_up)
    assert command.main(["999", "--to", str(tmp_path / "var"), "--pages", str(tmp_path / "pages")]) == 0
    said = capsys.readouterr().out
    assert "The lines are made up." in said
    assert "unchanged, because it is about real data" in said
    assert not (tmp_path / "pages").exists()
    assert "<strong>The lines are made up.</strong>" in (tmp_path / "var/999/report.html").read_text()
    assert "**The lines are made up.**" in markdown_page(made_up, [part()], "commit 0", 1)
    assert "<strong>" not in html_page(paper(part), [part()], "commit 0", 1).partition("<main")[0]


def test_a_paper_that_takes_too_long_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "PAPERS", {"999": "nowhere"})
    monkeypatch.setattr(command, "paper_of", lambda _: paper(part))
    given = ["999", "--to", str(tmp_path / "var"), "--pages", str(tmp_path / "pages")]
    for after, failed in ((1199, 0), (1201, 1)):
        times = iter([0.0, float(after)])
        monkeypatch.setattr(command, "process_time", lambda times=times: next(times))
        assert command.main(given) == failed
        said = capsys.readouterr().out
        assert ("NOT AS EXPECTED: it takes at most 1200 s of CPU time, so 10 min on two cores: 1201 s" in said) == bool(
            failed
        )
        assert f"{after} s of CPU time" in said
        rows = (tmp_path / "var/999/expectations.csv").read_text().splitlines()
        assert rows[1].endswith(",NO" if failed else ",yes")
