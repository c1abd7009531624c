"""Binds a plain function to a Prefect task, such that Prefect stores no result, and no failure quotes a record."""

import errno
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar, cast, get_type_hints

from prefect import Task
from prefect.cache_policies import NO_CACHE
from prefect.utilities.annotations import quote
from pydantic import TypeAdapter

from deniable.foundation.errors import DeniableError
from stores.servers.prefect_failures import PrefectDown, prefect_failure
from stores.vault.disk import DISK_FULL
from stores.vault.journal import Journal
from stores.vault.private_files import keep_error
from stores.vault.workspace import Workspace
from tasks.running.data_flow import Step
from tasks.running.progress import announced

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")

# Remedies for failures of the machine. None of these sentences depends on a record.
_REMEDIES = {
    errno.ENOSPC: DISK_FULL,
    errno.EDQUOT: DISK_FULL,
    errno.EFBIG: "a file in {state} reached this user's size limit; raise it (ulimit -f) and run the release again.",
    errno.EROFS: "{state} is on a read-only disk; set DENIABLE_STATE to a folder that can be written.",
    errno.EACCES: "a file may not be opened by this user; check who owns the source and {state}.",
    errno.EPERM: "a file may not be opened by this user; check who owns the source and {state}.",
    errno.EMFILE: "too many files are open; raise this user's limit (ulimit -n) and run the release again.",
}
_NO_MEMORY = "the machine has too little free memory; lower chunk_rows in the spec, or run it on a larger machine."


_amounts: dict[str, Callable[..., int]] = {}


class StepFailed(DeniableError):
    """A step met an error whose own message might quote a record; this error's message does not."""


def as_task(
    function: Callable[Concatenate[Workspace, P], R],
    *,
    kept: bool = True,
    named: Callable[Concatenate[Workspace, P], str] | None = None,
    amount: Callable[Concatenate[Workspace, P], int] | None = None,
    part: Callable[Concatenate[Workspace, P], str] | None = None,
) -> Task[Concatenate[Workspace, P], R]:
    """Bind a step to a Prefect task of the same name, without stored results and without errors that leak.

    The result of the step in an earlier run of the same release is taken from the release's journal, not from Prefect's
    cache: the journal is in the vault, and checks that the files it names still exist.

    An error that is not a `DeniableError` is written with its traceback to the vault, and raised as `StepFailed`. No
    error keeps its cause, its context or its traceback, since all three lead to confidential data.

    Args:
        function: the step; its first argument is the workspace.
        kept: whether the result is kept for a later run of the same release.
        named: returns the name of the step from the arguments, if the function serves several steps; by default the
            function's name.
        amount: returns the amount of work from the arguments, in the unit in which the step advances.
        part: returns the part of the step from the arguments, if the step is mapped.

    Returns:
        The task; `.fn` is the guarded function.
    """
    name: str = function.__name__
    if amount is not None:
        _amounts[name] = amount
    gives: TypeAdapter[R] | None = TypeAdapter(get_type_hints(function)["return"]) if kept else None

    @wraps(function)
    def guarded(workspace: Workspace, /, *args: P.args, **kwargs: P.kwargs) -> R:
        step = name if named is None else named(workspace, *args, **kwargs)
        with announced(step, workspace.release_id):
            try:
                return _do_once(function, step, gives, workspace, *args, **kwargs)
            except DeniableError as error:
                failure = error
            except Exception as error:  # noqa: BLE001 - whatever it is, its message may quote a record
                said = prefect_failure(error)
                failure = PrefectDown(said) if said is not None else _redacted(error, step, workspace)
            # Raised outside the handlers, because Python would attach the original as its context.
            failure.__cause__ = failure.__context__ = None
            raise failure.with_traceback(None)

    def title(parameters: dict[str, Any]) -> str:
        said = (name if named is None else _called(named, parameters)).replace("_", " ")
        return said if part is None else f"{said}, {_called(part, parameters)}"

    return Step(
        guarded,
        name=name,
        # Prefect passes `parameters` to a function that accepts them; its own type for that is a wider protocol.
        task_run_name=cast("Callable[[], str]", title),
        persist_result=False,
        cache_policy=NO_CACHE,
    )


def _called(function: Callable[..., S], given: Mapping[str, Any]) -> S:
    """Call a function with a step's arguments, after unwrapping those hidden from Prefect (data_flow)."""
    return function(**{name: each.unwrap() if isinstance(each, quote) else each for name, each in given.items()})


def amount_of(step: str, arguments: Mapping[str, object]) -> int:
    """Return the amount of work of a step, or of one part of it, from its arguments; 0 if unknown."""
    amount = _amounts.get(step)
    return _called(amount, arguments) if amount is not None else 0


def _do_once(
    function: Callable[Concatenate[Workspace, P], R],
    step: str,
    gives: TypeAdapter[R] | None,
    workspace: Workspace,
    /,
    *args: P.args,
    **kwargs: P.kwargs,
) -> R:
    """Run the step, unless an earlier run of the same release did so with the same arguments."""
    if gives is None:
        return function(workspace, *args, **kwargs)
    journal, given = Journal(workspace), [args, kwargs]
    done = journal.recall(step, given, gives)
    if done is not None:
        return done
    made = function(workspace, *args, **kwargs)
    journal.note(step, given, gives, made)
    return made


def _redacted(error: Exception, step: str, workspace: Workspace) -> StepFailed:
    """Keep the details in the vault, and return only what is safe: a remedy if there is one, otherwise the file."""
    details = _keep(error, step, workspace)
    return StepFailed(f"step {step} failed: {_remedy(error, workspace) or details}")


def _remedy(error: Exception, workspace: Workspace) -> str | None:
    """Return what the operator can do about the error, if known."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno in _REMEDIES:
            return _REMEDIES[cause.errno].format(state=workspace.state)
        if isinstance(cause, MemoryError):
            return _NO_MEMORY
        cause = cause.__cause__ or cause.__context__
    return None


def _keep(error: Exception, step: str, workspace: Workspace) -> str:
    """Write the traceback to the vault, unless the disk is full, and return a sentence on where it is."""
    try:
        keep_error(error, path := workspace.vault / "errors" / f"{step}.txt")
    except OSError:
        return "its error may quote confidential values, and could not be written to the vault."
    return f"its error may quote confidential values; cleared staff find it in {path}."
