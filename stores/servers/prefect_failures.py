"""What to say where Prefect's server does not do its part.

What to do where MLflow's does not is for stores.tracking.client.
"""

import logging
import os
import time
from collections.abc import Callable, Iterator
from http import HTTPStatus
from typing import TypeVar

from httpx import HTTPError, HTTPStatusError, InvalidURL

from stores.servers.patience import ServerDown, note_answer, pauses

T = TypeVar("T")

_UNREACHED, _OTHER_VERSION = "Failed to reach API", "Found incompatible versions"

# It counts, after all else was said, what it could not tell a server that is gone.
logging.getLogger("EventsWorker").setLevel(logging.CRITICAL)


class PrefectDown(ServerDown):
    """Prefect's server does not answer, or not as it should."""


def asking_prefect(work: Callable[[], T]) -> T:
    """Ask Prefect's server for something, and again while it does not answer, as long as servers are waited for.

    Prefect's own client waits only where it was answered before.

    Args:
        work: asks; asking twice does no harm.

    Returns:
        What it was asked for.

    Raises:
        PrefectDown: it did not answer in that time, or refuses; the message says what to do.
    """
    address = _address()
    for pause in (*pauses(address), None):
        try:
            done = work()
        except Exception as error:  # noqa: BLE001 - Prefect has its own around those of its client
            failure = error
        else:
            note_answer(address, answered=True)
            return done
        said = prefect_failure(failure)
        if said is None:
            raise failure
        if pause is None or not _may_answer(failure):
            break
        time.sleep(pause)
    note_answer(address, answered=False)
    raise PrefectDown(said)


def _may_answer(error: BaseException) -> bool:
    """Whether it may be another answer in a moment."""
    return not any(
        isinstance(cause, HTTPStatusError) and cause.response.status_code < HTTPStatus.INTERNAL_SERVER_ERROR
        for cause in _causes(error)
    )


def _address() -> str:
    return os.environ.get("PREFECT_API_URL", "its address").rpartition("@")[2]


def prefect_failure(error: BaseException) -> str | None:
    """One sentence for an error that is of Prefect's server; None for any other.

    Args:
        error: what was raised.
    """
    return next((said for cause in _causes(error) if (said := _sentence(cause)) is not None), None)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error, and what it was raised from."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__


def _sentence(error: BaseException) -> str | None:
    address = _address()
    if isinstance(error, HTTPStatusError):
        if error.response.status_code == HTTPStatus.UNAUTHORIZED:
            return f"Prefect at {address} must accept its password, and refuses it; correct PREFECT_API_AUTH_STRING."
        return (
            f"Prefect at {address} must do its part, and answers {error.response.status_code}; see that its database "
            "runs (make stack starts what is down; its log says more), and give the same command again."
        )
    if isinstance(error, RuntimeError) and str(error).startswith(_OTHER_VERSION):
        return (
            f"Prefect at {address} must be of the version that is installed here, and is not; run them of one version."
        )
    if isinstance(error, HTTPError | InvalidURL) or (isinstance(error, RuntimeError) and _UNREACHED in str(error)):
        return (
            f"Prefect must answer at {address}, and does not; start its server (make stack starts what is down), and "
            "give the same command again."
        )
    return None
