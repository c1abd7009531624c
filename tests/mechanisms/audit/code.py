"""Faults in loaded modules: one replacement in one source, as in `tests.mutants`, without a copy of the project."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from tests.mechanisms.audit.doors import replaced
from tests.mutants.mutant import ROOT, Replacement


@contextmanager
def broken(*faults: Replacement) -> Iterator[None]:
    """Run a module's source with a fault in its place, under every name that other modules have for what is in it.

    Several faults must be in one file.
    """
    (file,) = {fault.file for fault in faults}
    name = file.removesuffix(".py").replace("/", ".")
    module, source = import_module(name), (ROOT / file).read_text(encoding="utf-8")
    for fault in faults:
        assert source.count(fault.before) == 1, fault.fault() or fault.before
        source = fault.mutated(source)
    honest: dict[str, Any] = dict(vars(module))
    # Dataclasses look for their module by its name.
    vars(module).pop("__annotations__", None)
    try:
        exec(compile(source, str(ROOT / file), "exec"), vars(module))  # noqa: S102 - the project's own source
        own = {each: value for each, value in honest.items() if getattr(value, "__module__", None) == name}
        by = {id(value): vars(module)[each] for each, value in own.items()}
        with replaced({id(value): value for value in own.values()}, by):
            yield
    finally:
        vars(module).clear()
        vars(module).update(honest)
        assert sys.modules[name] is module
