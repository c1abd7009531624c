"""Binds a plain function to a Prefect task: Prefect stores no result of it, and no failure of it quotes a record."""

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

# What the operator can do about failures of the machine. None of these sentences depends on a record.
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
    """A step met an error whose own message might quote a record; the message of this one does not."""


def as_task(
    function: Callable[Concatenate[Workspace, P], R],
    *,
    kept: bool = True,
    named: Callable[Concatenate[Workspace, P], str] | None = None,
    amount: Callable[Concatenate[Workspace, P], int] | None = None,
    part: Callable[Concatenate[Workspace, P], str] | None = None,
) -> Task[Concatenate[Workspace, P], R]:
    """Bind a step to a Prefect task of the same name, without stored results and without leaking errors.

    The result of the step in an earlier run of the same release is taken from the release's journal, not from a cache
    of Prefect's: the journal is in the vault, and checks that what it names is still there.

    An error that is not a `DeniableError` is written with its traceback into the vault and raised as `StepFailed`. No
    error keeps its cause, its context or its traceback: all three lead back to confidential data.

    Args:
        function: the step; its first argument is the workspace.
        kept: whether its result is kept for a later run of the same release.
        named: returns the name of the step from its arguments, if the function has several steps; else the function's.
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
            # Raised outside the handlers, or Python would attach the original as its context.
            failure.__cause__ = failure.__context__ = None
            raise failure.with_traceback(None)

    def title(parameters: dict[str, Any]) -> str:
        said = (name if named is None else _called(named, parameters)).replace("_", " ")
        return said if part is None else f"{said}, {_called(part, parameters)}"

    return Step(
        guarded,
        name=name,
        # Prefect calls a function that takes `parameters` with them; its own type for that is a wider protocol.
        task_run_name=cast("Callable[[], str]", title),
        persist_result=False,
        cache_policy=NO_CACHE,
    )


def _called(function: Callable[..., S], given: Mapping[str, Any]) -> S:
    """Call a function with a step's arguments, unwrapping those that are hidden from Prefect (data_flow)."""
    return function(**{name: each.unwrap() if isinstance(each, quote) else each for name, each in given.items()})


def amount_of(step: str, arguments: Mapping[str, object]) -> int:
    """Amount of work of a step, or of one part of it, by its arguments; 0 if it is not known."""
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
    """Keep the details in the vault and report only what is safe: a remedy if there is one, else the file."""
    details = _keep(error, step, workspace)
    return StepFailed(f"step {step} failed: {_remedy(error, workspace) or details}")


def _remedy(error: Exception, workspace: Workspace) -> str | None:
    """What the operator can do about the error, if that is known."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno in _REMEDIES:
            return _REMEDIES[cause.errno].format(state=workspace.state)
        if isinstance(cause, MemoryError):
            return _NO_MEMORY
        cause = cause.__cause__ or cause.__context__
    return None


def _keep(error: Exception, step: str, workspace: Workspace) -> str:
    """Write the traceback into the vault and return where it is; a full disk has no room for it."""
    try:
        keep_error(error, path := workspace.vault / "errors" / f"{step}.txt")
    except OSError:
        return "its error may quote confidential values, and could not be written to the vault."
    return f"its error may quote confidential values; cleared staff find it in {path}."
