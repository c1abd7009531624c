"""Binds a comparison of an audit to a Prefect task: its result is not stored, and an error counts as a failed check."""

from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from typing import TypeAlias

from prefect import Task, task
from prefect.cache_policies import NO_CACHE

from deniable.foundation.checks import Check
from deniable.foundation.errors import DeniableError
from stores.ledger.database import LedgerUnreachable
from stores.record.audit_target import AuditTarget
from stores.tracking.run_tree import RunsUnreachable

Checks: TypeAlias = tuple[Check, ...]


def as_check(function: Callable[[AuditTarget], Checks], what: str) -> Task[[AuditTarget], Checks]:
    """Bind a comparison to a Prefect task of the same name.

    Args:
        function: the comparison.
        what: what it compares, for the message if the comparison cannot be made.

    Returns:
        The task; `.fn` is the guarded function, which never raises.
    """

    @wraps(function)
    def guarded(sealed: AuditTarget) -> Checks:
        try:
            return function(sealed)
        except DeniableError as error:
            return (not_compared(f"{what} can be compared", error),)
        except Exception as error:  # noqa: BLE001 - whatever it is, its message may quote what is internal
            fault = f"{type(error).__name__}, whose message may quote what is internal"
        return (Check(f"{what} can be compared", (fault,)),)

    return task(name=function.__name__, persist_result=False, cache_policy=NO_CACHE)(guarded)


def differences(stated: Mapping[str, str], now: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the names whose present values differ from those stated, in order, with `deleted`, `added` or `changed`."""
    for name in sorted(stated.keys() | now.keys()):
        if name not in now:
            yield name, "deleted"
        elif name not in stated:
            yield name, "added"
        elif stated[name] != now[name]:
            yield name, "changed"


def out_of_reach(name: str, why: str) -> Check:
    """Return a check that cannot be made from the auditor's place, which is not evidence against the release."""
    return Check(name, note=why, made=False)


def not_compared(name: str, error: DeniableError) -> Check:
    """Return a check that ended with an error; a server that does not answer is not evidence of a change."""
    return Check(name, (str(error),), made=not isinstance(error, LedgerUnreachable | RunsUnreachable))
