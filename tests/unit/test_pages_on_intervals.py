"""The pages for R and Stata name columns of files, entries of answers and questions that there are."""

import argparse
import csv
import io
import re
import shlex
from fractions import Fraction
from typing import Final

import pytest

from deniable.data_user import add_infer_arguments
from deniable.inference.comparisons import compare
from deniable.inference.estimation import Inference
from deniable.inference.interval_table import interval_table
from deniable.inference.regression import regress
from tests.conftest import ROOT
from tests.inferred import measured, people

PAGES: Final = {
    language: (ROOT / f"docs/data-user/inference-in-{language}.md").read_text(encoding="utf-8")
    for language in ("r", "stata")
}
COLUMNS: Final = r"\b(?:count|share)_(?:low|high|sd)\b|\b(?:values|attribute)_\d\b"


@pytest.fixture(scope="module")
def release() -> Inference:
    return Inference(measured(people(1, 2000)), probability=Fraction(1))


def code(language: str) -> str:
    return "\n".join(re.findall(rf"^```{language}\n(.*?)^```", PAGES[language], re.MULTILINE | re.DOTALL))


@pytest.mark.parametrize("language", PAGES)
def test_columns_are_those_of_the_file(language: str, release: Inference) -> None:
    head = set(next(csv.reader(io.StringIO(interval_table(release.measured, Fraction(1))))))
    named = set(re.findall(COLUMNS, PAGES[language]))
    assert len(named) >= 8
    assert named <= head
    assert {"table", "count", "share", "level", "of", "grade"} <= head


def test_entries_are_those_of_answers(release: Inference) -> None:
    told = code("r")
    share = release.share("income=>50K")
    assert set(re.findall(r"answer\$(\w+)", told)) <= set(share.document())
    groups, fit = compare(release, "income=>50K", "sex", test=True), regress(release, "income=>50K", ["sex"])
    entries = {*groups.document()["cells"][0], "of"}
    for variable, found in (("groups", groups), ("fit", fit)):
        [wanted] = re.findall(rf"{variable}\[c\((.*?)\)\]", told)
        assert set(re.findall(r'"(\w+)"', wanted)) <= entries
        [column] = found.columns
        assert re.findall(rf"{variable}\$of\$(\w+)", told) == ["trade" if variable == "groups" else column]


def test_columns_of_answers_in_stata_are_those_that_the_command_writes(release: Inference) -> None:
    compared = compare(release, "income=>50K", "sex", test=True)
    written = {*compared.rows()[0], "question", "trade", "coefficient", "values_1", "values_2", "share", "count"}
    written |= {"share_low", "share_high"}
    listed = [line.split()[1:] for line in code("stata").splitlines() if line.startswith("list ")]
    assert len(listed) >= 4
    assert {name for names in listed for name in names} <= written


@pytest.mark.parametrize("language", PAGES)
def test_questions_are_understood(language: str) -> None:
    parser = argparse.ArgumentParser()
    add_infer_arguments(parser, "none")
    if language == "r":
        asked = [re.findall(r'"([^"]*)"', each) for each in re.findall(r"^.*?\binfer\((.*)\)", code("r"), re.MULTILINE)]
        questions = [["FOLDER", *words] for words in asked if words]
    else:
        questions = [line.split()[4:] for line in code("stata").splitlines() if line.startswith("shell ")]
    assert len(questions) >= 3
    for words in questions:
        assert parser.parse_args(words).question in {"share", "compare", "regress"}


def test_the_ten_questions_are_understood() -> None:
    """They are answered by night, by a release of the village; by day they must be questions that the command has."""
    text = (ROOT / "docs/data-user/inference.md").read_text(encoding="utf-8").replace("\\\n>", "")
    parser = argparse.ArgumentParser()
    add_infer_arguments(parser, "none")
    asked = re.findall(r"/deniable data infer (\$FOLDER .*?)(?: \|\| true)?$", text, re.MULTILINE)
    kinds = {parser.parse_args(shlex.split(words)).question for words in asked}
    assert len(asked) >= len(re.findall(r"^\*\*\d+\. ", text, re.MULTILINE)) >= 10
    assert kinds == {"count", "share", "mean", "quantile", "table", "compare", "regress"}
