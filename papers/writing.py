"""Writes what was found: tables as CSV, pictures as SVG, a page as HTML, and the same page for the documentation."""

import csv
import io
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup, escape

from papers.findings import MEANINGS, Check, Paper, Part, Table
from reports.pages.pages import picture, render_page
from reports.plots.theme import svg_file
from stores.vault.runtime_environment import state_of

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "docs/papers"
_CODE = re.compile(r"`([^`]+)`")


def commit_of_this_run() -> str:
    """The commit of this checkout in words; the pages of papers themselves do not count as changes."""
    commit, dirty = state_of(ROOT, without="docs/papers")
    if commit is None:
        return "an unknown commit"
    return f"commit {commit[:12]}{' with changes' if dirty else ''}"


def write_results(paper: Paper, parts: Sequence[Part], folder: Path, commit: str, spent: float) -> None:
    """Write tables, pictures and an HTML page into a folder, whose earlier content is replaced.

    Args:
        paper: the paper.
        parts: its parts.
        folder: the folder.
        commit: the commit in words.
        spent: CPU seconds of the run.
    """
    new = folder.with_name(f"{folder.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    for part in parts:
        if part.table is not None:
            (new / f"{part.slug}.csv").write_text(as_csv(part.table), encoding="utf-8")
    named = _named(paper, parts, spent)
    checks = [(name, check.words, "yes" if check.holds else "NO") for name, check in named]
    (new / "expectations.csv").write_text(as_csv(Table(("part", "expectation", "holds"), tuple(checks))), "utf-8")
    _write_pictures(parts, new)
    (new / "report.html").write_text(html_page(paper, parts, commit, spent), encoding="utf-8")
    shutil.rmtree(folder, ignore_errors=True)
    new.rename(folder)


def write_page(paper: Paper, parts: Sequence[Part], pages: Path, commit: str, spent: float) -> None:
    """Write the page of the documentation, and its pictures into a folder beside it; arguments as of `markdown_page`.

    Args:
        paper: the paper.
        parts: its parts.
        pages: folder of the pages.
        commit: the commit in words.
        spent: CPU seconds of the run.
    """
    pictures = pages / paper.number
    shutil.rmtree(pictures, ignore_errors=True)
    if any(part.picture for part in parts):
        pictures.mkdir(parents=True)
        _write_pictures(parts, pictures)
    (pages / f"{paper.number}.md").write_text(markdown_page(paper, parts, commit, spent), encoding="utf-8")


def _write_pictures(parts: Sequence[Part], folder: Path) -> None:
    for part in parts:
        if part.picture is not None:
            text = svg_file(part.picture.figure, title=part.picture.words)
            (folder / f"{part.slug}.svg").write_text(text, encoding="utf-8")


def _named(paper: Paper, parts: Sequence[Part], spent: float) -> list[tuple[str, Check]]:
    """All expectations, each with the name of its part."""
    of_parts = ((part.name, check) for part in parts for check in part.checks)
    return [("all parts", paper.in_time(spent)), *of_parts]


def as_csv(table: Table) -> str:
    """A table as comma-separated values."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows([table.heads, *table.rows])
    return text.getvalue()


def markdown_page(paper: Paper, parts: Sequence[Part], commit: str, spent: float) -> str:
    """The page of the documentation.

    Args:
        paper: the paper.
        parts: its parts.
        commit: the commit in words.
        spent: CPU seconds of the run.
    """
    used = [verdict for verdict in MEANINGS if any(part.verdict == verdict for part in parts)]
    made = (
        f"`make paper-{paper.number}` writes this page; this is its result at {commit}, after {spent:.0f} s of CPU "
        "time. The command fails if an expectation does not hold, and lists all of them in "
        f"`var/papers/{paper.number}/expectations.csv`."
    )
    blocks = [
        f"# {paper.title}",
        paper.source,
        paper.lead,
        *([f"**{missing}**"] if (missing := paper.stand_in()) else []),
        made,
        _rows(
            ("part", "subject", "verdict"),
            [(f"[{each.name}](#{_anchor(each)})", each.title, each.verdict) for each in parts],
        ),
        "\n".join(f"- **{verdict}**: {MEANINGS[verdict]}" for verdict in used),
    ]
    for part in parts:
        blocks.append(f"## {_heading(part)}")
        if part.picture is not None:
            blocks.append(f"![{part.picture.words}]({paper.number}/{part.slug}.svg)")
        if part.table is not None:
            blocks.append(_rows(part.table.heads, part.table.rows))
        blocks += [
            f"**Verdict: {part.verdict}.** {part.why}",
            "In the project: " + ", ".join(f"`{path}`" for path in part.product) + ".",
            f"Expectations: {len(part.checks)}, all of which hold.",
        ]
    return "\n\n".join(blocks) + "\n"


def _heading(part: Part) -> str:
    return f"{part.name}: {part.title}"


def _anchor(part: Part) -> str:
    """The anchor of a heading, as GitHub and the documentation make it."""
    kept = "".join(each for each in _heading(part).casefold() if each.isalnum() or each in " -_")
    return kept.replace(" ", "-")


def _rows(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in (heads, ["---"] * len(heads), *rows))


def html_page(paper: Paper, parts: Sequence[Part], commit: str, spent: float) -> str:
    """The page by itself, in the style of the pages of releases; it loads nothing from outside itself.

    Expectations that do not hold are at its top. Arguments are as of `markdown_page`.
    """
    shown = [
        {
            "name": part.name,
            "slug": part.slug,
            "title": part.title,
            "verdict": part.verdict,
            "why": _with_code(part.why),
            "product": part.product,
            "checks": [{"words": _with_code(check.words), "holds": check.holds} for check in part.checks],
            "table": part.table,
            "words": part.picture.words if part.picture else "",
            "drawn": picture(part.picture.figure, part.picture.words) if part.picture else None,
        }
        for part in parts
    ]
    lead, missing = _with_code(paper.lead), paper.stand_in()
    missed = [_with_code(f"{name}: {check.words}") for name, check in _named(paper, parts, spent) if not check.holds]
    values = {
        "paper": paper,
        "lead": lead,
        "missing": missing,
        "missed": missed,
        "commit": commit,
        "seconds": f"{spent:.0f}",
        "parts": shown,
    }
    return render_page("paper.html.jinja", values)


def _with_code(text: str) -> Markup:
    """Text in which single backticks mark code."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704 - escaped here
