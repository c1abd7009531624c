"""Which functions of the privacy core each test runs, so that a mutant is tried by tests that can find it.

A plugin of pytest: `-p tests.mutants.generated.reach`, with the file to write in the variable REACHED. What a fixture
runs belongs to every test that asks for it, although only the first one sets it up. Compiled code is not seen; what
calls it is (`choosing`).
"""

import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

from tests.mutants.generated.core import MECHANISMS
from tests.mutants.mutant import ROOT

_FILES = {str(Path.cwd() / part.file): part.file for parts in MECHANISMS.values() for part in parts}
assert str(ROOT) == str(Path.cwd())


class _Reach:
    """What runs now, and what ran in each fixture and each test."""

    def __init__(self) -> None:
        self.codes: set[CodeType] = set()
        self.fixtures: dict[str, set[CodeType]] = defaultdict(set)
        self.tests: dict[str, tuple[float, set[CodeType], list[str]]] = {}

    def trace(self, frame: FrameType, *_: Any) -> None:
        """Note a call; lines are not traced."""
        self.codes.add(frame.f_code)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Note what runs while a test is set up and run."""
        self.codes, begun = set(), time.process_time()
        sys.settrace(self.trace)  # type: ignore[arg-type]
        try:
            yield
        finally:
            sys.settrace(None)
        asked = [_fixture_key(item, name) for name in getattr(item, "fixturenames", ())]
        self.tests[item.nodeid] = (time.process_time() - begun, self.codes, asked)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Iterator[None]:
        """Note what runs while a fixture is set up."""
        outside, self.codes = self.codes, set()
        yield
        self.fixtures[_fixture_key(request.node, fixturedef.argname, request)] |= self.codes
        self.codes = outside | self.codes

    def pytest_sessionfinish(self) -> None:
        """Write all of it."""
        numbers: dict[str, int] = {}
        tests = {}
        for name, (seconds, codes, asked) in self.tests.items():
            own = codes.union(*(self.fixtures[key] for key in asked if key in self.fixtures))
            reached = {function for code in own if (function := _function(code)) is not None}
            if reached:
                tests[name] = [round(seconds, 2), sorted(numbers.setdefault(each, len(numbers)) for each in reached)]
        written = {"functions": list(numbers), "tests": tests}
        Path(os.environ["REACHED"]).write_text(json.dumps(written), encoding="utf-8")


def _fixture_key(node: Any, name: str, request: Any = None) -> str:
    """A fixture, with its parameter if it has any."""
    number = request.param_index if request is not None else None
    if request is None and hasattr(node, "callspec"):
        number = node.callspec.indices.get(name, 0)
    return f"{name} {number or 0}"


def _function(code: CodeType) -> str | None:
    file = _FILES.get(code.co_filename)
    return None if file is None else f"{file}::{code.co_qualname.partition('.<locals>')[0]}"


def pytest_configure(config: pytest.Config) -> None:
    """Begin."""
    config.pluginmanager.register(_Reach(), "reach")
