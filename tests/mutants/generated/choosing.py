"""The tests by which a mutant is tried: those that run the mutated function, the fastest first.

Tests that compare with recorded bytes are left out: they notice any change, also one that breaks nothing, and are
recorded again when something changes on purpose. A mutant that only they would find counts as alive.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tests.mutants.generated.core import MECHANISMS
from tests.mutants.generated.generating import Generated, places
from tests.mutants.generated.operators import Source
from tests.mutants.mutant import ROOT

FOLDERS = ("tests/unit", "tests/privacy", "tests/mechanisms", "tests/property")
FILES = (
    "tests/contracts/test_accounts.py",
    "tests/contracts/test_bins.py",
    "tests/tasks/test_a_person_with_several_records.py",
    "tests/tasks/test_clean.py",
    "tests/tasks/test_only_noisy_answers_depend_on_the_data.py",
    "tests/tasks/test_several_records_of_each_person.py",
    "tests/tasks/test_split.py",
    "tests/tasks/test_survey.py",
)
RECORDED = (
    "tests/unit/test_versions_of_draws.py",
    "tests/unit/test_keys.py::test_a_stream_stays_what_it_is_from_version_to_version",
    "tests/unit/test_noise.py::test_draws_stay_what_they_are_from_version_to_version",
    "tests/mechanisms/test_every_mechanism_keeps_the_contract.py::test_the_release_is_byte_for_byte_what_it_was",
)
"""Tests of recorded bytes."""
ALWAYS = (
    "tests/mechanisms/test_every_draw_names_what_decides_it.py",
    "tests/mechanisms/test_every_mechanism_is_audited.py::test_nothing_is_found_in_a_mechanism",
)
"""Tests of the privacy of every mechanism: tried even if many others run the function."""
OF_FAULTS = ("tests/mechanisms/test_every_mechanism_is_audited.py::test_a_mechanism_with_a_fault_is_found",)
"""Tests of mechanisms that are broken already: they fail if one fault hides the other, which says nothing."""
ELSEWHERE = (
    "tests/mechanisms/test_adding_a_mechanism.py",
    "tests/property/test_any_table_fits_its_data_package.py",
    "tests/property/test_any_text_is_a_spec_or_is_refused.py",
    "tests/property/test_fits_made_fast_are_the_plain_ones.py",
    "tests/property/test_nasty_tables_make_no_catastrophe.py",
    "tests/unit/test_attributes_of_very_many_values.py",
    "tests/unit/test_classifiers.py",
    "tests/unit/test_compared_classifiers.py",
    "tests/unit/test_compared_learners.py",
    "tests/unit/test_generated_mutants.py",
    "tests/unit/test_goals_of_speed.py",
    "tests/unit/test_growth.py",
    "tests/unit/test_inference_benchmark.py",
    "tests/unit/test_intervals_cover.py",
    "tests/unit/test_peers.py",
    "tests/unit/test_wide_tables_benchmark.py",
)
"""Tests of something else, which take long."""

_AT_ONCE_S = 4.0
_AT_MOST_S = 30.0
_MOST_TESTS = 200
_OF_ITS_OWN = 0.02
"""Tests that name the module count as that much shorter."""


@dataclass(frozen=True)
class Reached:
    """What each test runs.

    Attributes:
        functions: functions of the privacy core, `file::function`.
        tests: for each test its seconds, traced, and the places of its functions.
    """

    functions: Sequence[str]
    tests: Mapping[str, tuple[float, Sequence[int]]]

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> "Reached":
        """Read what `reach` wrote."""
        return cls(document["functions"], {name: (each[0], each[1]) for name, each in document["tests"].items()})

    @cached_property
    def by_function(self) -> Mapping[str, Sequence[str]]:
        """The tests that run each function."""
        found: dict[str, list[str]] = defaultdict(list)
        for test, (_, numbers) in self.tests.items():
            if test.startswith((*RECORDED, *OF_FAULTS)):
                continue
            for number in numbers:
                found[self.functions[number]].append(test)
        return found

    def stages(self, mutant: Generated) -> list[list[str]]:
        """Tests that may find a mutant: first a few seconds of them, then the others; those of a file together."""
        module = mutant.file.removesuffix(".py").replace("/", ".")
        own = {file for file in {each.partition("::")[0] for each in self.tests} if module in _text(file)}

        def weight(test: str) -> float:
            return (self.tests[test][0] + 0.02) * (_OF_ITS_OWN if test.partition("::")[0] in own else 1)

        stages: list[list[str]] = [[], []]
        taken = 0.0
        for number, test in enumerate(sorted(self._of(mutant), key=weight)):
            taken += self.tests[test][0]
            if (number < _MOST_TESTS and taken <= _AT_MOST_S) or not stages[0] or test.startswith(ALWAYS):
                stages[0 if taken <= _AT_ONCE_S or not stages[0] else 1].append(test)
        return [_by_file(stage) for stage in stages if stage]

    def seconds(self, tests: Iterable[str]) -> float:
        """How long tests take, traced."""
        return sum(self.tests[test][0] for test in tests if test in self.tests)

    def _of(self, mutant: Generated) -> set[str]:
        """Tests that run the function; if it is compiled or runs at import, those that name it, or run what does."""
        direct = self.by_function.get(f"{mutant.file}::{mutant.function}")
        if direct or not (mutant.is_kernel or mutant.is_at_import):
            return set(direct or ())
        word = re.compile(rf"\b{re.escape(mutant.subject)}\b")
        files = {test.partition("::")[0] for test in self.tests}
        named = {file for file in files if mutant.subject and word.search(_text(file))}
        found = {
            test
            for test in self.tests
            if test.partition("::")[0] in named and not test.startswith((*RECORDED, *OF_FAULTS))
        }
        names = {mutant.subject}
        for _ in range(3):
            naming = [place for name in names for place in _naming().get(name, ())]
            reached = {test for place in naming for test in self.by_function.get(place, ())}
            if reached:
                return found | reached
            names = {place.rpartition("::")[2].rpartition(".")[2] for place in naming}
        return found


def _by_file(tests: Sequence[str]) -> list[str]:
    """The same, those of a file after its first: what a module sets up is set up once."""
    files: dict[str, list[str]] = {}
    for test in tests:
        files.setdefault(test.partition("::")[0], []).append(test)
    return [test for own in files.values() for test in own]


_texts: dict[str, str] = {}
_names: dict[str, list[str]] = {}


def _text(file: str) -> str:
    if file not in _texts:
        _texts[file] = (ROOT / file).read_text(encoding="utf-8")
    return _texts[file]


def _naming() -> Mapping[str, Sequence[str]]:
    """The functions of the privacy core that mention each name."""
    if not _names:
        for file in {part.file for parts in MECHANISMS.values() for part in parts}:
            source, words = Source.of(_text(file)), dict[str, set[str]]()
            for function, node, _ in places(source.tree):
                if isinstance(node, ast.expr | ast.stmt):
                    words.setdefault(function, set()).update(re.findall(r"\w+", source.said(node)))
            for function, found in words.items():
                for word in found:
                    _names.setdefault(word, []).append(f"{file}::{function}")
    return _names
