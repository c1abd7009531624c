"""The flow of data between steps, as shown by Prefect: an arrow from the maker of an object to each reader.

Prefect finds arrows by searching arguments for results recursively. For each object in a result, down to the name of an
audience, which many objects share, it remembers the last task that returned it. So arguments are hidden from Prefect as
a whole, and the results of other steps in them are named separately.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from prefect import Task, unmapped
from prefect.client.schemas.objects import State
from prefect.context import FlowRunContext
from prefect.futures import PrefectFuture
from prefect.task_runners import ProcessPoolTaskRunner
from prefect.utilities.annotations import BaseAnnotation, opaque, quote

from stores.vault.workspace import Workspace

P = ParamSpec("P")
R = TypeVar("R")

# Types that no step makes for another: they are given to all steps, or come from the spec.
_GIVEN = (Workspace, Path, str, bytes, int, float, range)
_KEPT = 1000

_results: deque[object] = deque(maxlen=_KEPT)
"""Prefect identifies results by their addresses, so none may be freed early and its address reused."""


class Step(Task[P, R]):
    """A task whose arrows are those of the data flow.

    Inputs that are not arguments, such as a folder that another step has filled, are named by `wait_for`.
    """

    def __call__(self, *args: Any, wait_for: Iterable[Any] | None = None, **kwargs: Any) -> Any:  # type: ignore[override]
        """Run the step here."""
        read, named = _named(args, kwargs, wait_for), {name: _hidden(each) for name, each in kwargs.items()}
        made = super().__call__(*map(_hidden, args), wait_for=read, **named)
        _results.append(made)
        return made

    def submit(self, *args: Any, wait_for: Iterable[Any] | None = None, **kwargs: Any) -> Any:  # type: ignore[override]
        """Run the step by the flow's task runner."""
        read, named = _named(args, kwargs, wait_for), {name: _hidden(each) for name, each in kwargs.items()}
        return super().submit(*map(_hidden, args), wait_for=_waited_for(read), **named)

    def map(self, *args: Any, wait_for: Iterable[Any] | None = None, **kwargs: Any) -> Any:
        """Run the parts of the step by the flow's task runner; arguments that are the same for all are `unmapped`."""
        read, named = _named(args, kwargs, wait_for), {name: _same(each) for name, each in kwargs.items()}
        return super().map(*map(_same, args), wait_for=_waited_for(read), **named)


def _hidden(argument: Any) -> Any:
    """An argument that Prefect must not search."""
    return quote(argument)


def _same(argument: Any) -> Any:
    """Hide an argument that is the same for all parts; mapped arguments come from the spec, and stay unchanged."""
    return unmapped(_hidden(argument.unwrap())) if isinstance(argument, unmapped) else argument


def _named(args: Iterable[Any], kwargs: Mapping[str, Any], wait_for: Iterable[Any] | None) -> list[Any]:
    """Return everything that a step reads and other steps may have made."""
    return list(_read(*args, *kwargs.values(), *(wait_for or ())))


def _waited_for(read: list[Any]) -> list[Any]:
    """Return what a step reads, in the form for the flow's task runner; a pool of processes accepts only futures."""
    flow = FlowRunContext.get()
    if flow is not None and isinstance(flow.task_runner, ProcessPoolTaskRunner):
        return [thing for thing in read if isinstance(thing, PrefectFuture)]
    return read


def _read(*things: object) -> Iterator[Any]:
    """Yield the objects that may be the result of a step, or a part of one."""
    for thing in things:
        if isinstance(thing, PrefectFuture | State):
            yield thing
        elif isinstance(thing, Mapping):
            yield from _read(*thing.values())
        elif isinstance(thing, list | tuple):
            yield from _read(*thing)
            if isinstance(thing, tuple) and thing and not isinstance(thing, BaseAnnotation):
                yield opaque(thing)
        elif thing is not None and not isinstance(thing, _GIVEN):
            yield opaque(thing)
