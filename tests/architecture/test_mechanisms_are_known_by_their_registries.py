"""Flows, tasks, stores, infrastructure and reports name no learner and no sampler: they follow the registries."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from deniable.learners.registry import LEARNERS
from deniable.samplers.registry import SAMPLERS

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ["flows", "tasks", "stores", "infra", "reports"]
# Words of statistics that are a mechanism's name only where they stand alone, as text of the code.
WORDS = {"marginals", "independent", "uniform"}
NAMES = sorted({*LEARNERS, *SAMPLERS} - WORDS)
SPELT = re.compile(
    rf"(?i)(?<![a-z])({'|'.join(name.replace('_', '[_ -]') for name in [*NAMES, 'log-linear'])})(?![a-z])"
)
FOLDERS = re.compile(rf"\b(learners|samplers)[./]({'|'.join([*LEARNERS, *SAMPLERS])})\b")
# What is spelt as a mechanism is, and is something else.
KNOWN = {
    ("stores/tracking/model_code.py", "seedless"): "the label of public draws from a model, which stay as they were",
    ("reports/pages/evaluation.py", "marginals"): "the name of a picture",
    ("reports/plots/plots.py", "independent"): "what the baseline's records are",
    ("tasks/mapping/points.py", "independent"): "the same",
}

ABOUT_ONE = {
    "flows/cli/release/design.py": "the command designs releases with one guarantee, as a person asked for it",
    "reports/plots/curves/design_curves.py": "its picture",
}


def sources() -> list[str]:
    """Code and templates, by their paths."""
    kinds = {".py", ".jinja", ".js", ".css", ".html"}
    return sorted(
        name
        for room in ROOMS
        for path in (ROOT / room).rglob("*")
        if path.suffix in kinds and (name := str(path.relative_to(ROOT))) not in ABOUT_ONE
    )


def named(text: str, *, is_python: bool) -> Iterator[str]:
    """The mechanisms that a text names."""
    yield from (found.group(1).lower() for found in SPELT.finditer(text))
    yield from (found.group(2) for found in FOLDERS.finditer(text))
    if is_python:
        texts = (node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant))
        yield from (value for value in texts if value in WORDS & {*LEARNERS, *SAMPLERS})


@pytest.mark.parametrize("source", sources())
def test_nothing_beside_the_registries_names_a_mechanism(source: str) -> None:
    found = named((ROOT / source).read_text(encoding="utf-8"), is_python=source.endswith(".py"))
    assert [name for name in found if (source, name) not in KNOWN] == []


@pytest.mark.parametrize(("source", "name"), KNOWN)
def test_what_is_known_is_still_there(source: str, name: str) -> None:
    assert name in named((ROOT / source).read_text(encoding="utf-8"), is_python=True)


@pytest.mark.parametrize("source", ABOUT_ONE)
def test_what_is_about_one_mechanism_names_it(source: str) -> None:
    assert "poisson_seeds" in named((ROOT / source).read_text(encoding="utf-8"), is_python=True)


@pytest.mark.parametrize(
    "text",
    [
        "from deniable.learners.cfs.steps import steps",
        "from deniable.learners.marginals import steps",
        'kind = "tested_seeds"',
        'if kind == "marginals": pass',
        "# only for the log-linear learner",
        "def of_tested_seeds(): ...",
    ],
)
def test_a_mechanism_that_is_named_is_found(text: str) -> None:
    assert list(named(text, is_python=True)) != []


@pytest.mark.parametrize("text", ["marginals = count_marginals(codes)", "# a uniform draw of each", "take(seeds)"])
def test_words_of_statistics_are_no_names(text: str) -> None:
    assert list(named(text, is_python=True)) == []
