"""What Prefect is told of the flow of data between steps: an arrow from whatever made a thing to whatever reads it.

Prefect finds arrows by looking for results among arguments, and into them: for each object of a result, down to the
name of an audience that many things share, it remembers the last task that returned it. So arguments are shown to it as
a whole and never looked into, and what they hold of other steps is named beside them.
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

# What no step makes for another to read: it is given to all, or is of the spec.
_GIVEN = (Workspace, Path, str, bytes, int, float, range)
_KEPT = 1000

_results: deque[object] = deque(maxlen=_KEPT)
"""Prefect tells results by their addresses: none may be freed early, and its address given to something else."""


class Step(Task[P, R]):
    """A task whose arrows are those of the data.

    What it reads without being given it, such as a folder that another step has filled, is named by `wait_for`.
    """

    def __call__(self, *args: Any, wait_for: Iterable[Any] | None = None, **kwargs: Any) -> Any:  # type: ignore[override]
        """Do the step here."""
        read, named = _named(args, kwargs, wait_for), {name: _hidden(each) for name, each in kwargs.items()}
        made = super().__call__(*map(_hidden, args), wait_for=read, **named)
        _results.append(made)
        return made

    def submit(self, *args: Any, wait_for: Iterable[Any] | None = None, **kwargs: Any) -> Any:  # type: ignore[override]
        """Have the step done by the flow's task runner."""
        read, named = _named(args, kwargs, wait_for), {name: _hidden(each) for name, each in kwargs.items()}
        return super().submit(*map(_hidden, args), wait_for=_waited_for(read), **named)

    def map(self, *args: Any, wait_for: Iterable[Any] | None = None, **kwargs: Any) -> Any:
        """Have the parts of the step done by the flow's task runner; what is the same for all is `unmapped`."""
        read, named = _named(args, kwargs, wait_for), {name: _same(each) for name, each in kwargs.items()}
        return super().map(*map(_same, args), wait_for=_waited_for(read), **named)


def _hidden(argument: Any) -> Any:
    """An argument that is not to be looked into."""
    return quote(argument)


def _same(argument: Any) -> Any:
    """An argument of all parts, hidden; those that are mapped over are of the spec, and stay as they are."""
    return unmapped(_hidden(argument.unwrap())) if isinstance(argument, unmapped) else argument


def _named(args: Iterable[Any], kwargs: Mapping[str, Any], wait_for: Iterable[Any] | None) -> list[Any]:
    """All that a step reads which other steps may have made."""
    return list(_read(*args, *kwargs.values(), *(wait_for or ())))


def _waited_for(read: list[Any]) -> list[Any]:
    """What the flow's task runner is told that a step reads; a pool of processes takes futures alone."""
    flow = FlowRunContext.get()
    if flow is not None and isinstance(flow.task_runner, ProcessPoolTaskRunner):
        return [thing for thing in read if isinstance(thing, PrefectFuture)]
    return read


def _read(*things: object) -> Iterator[Any]:
    """What may be the result of a step, or a part of one, among some things."""
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
