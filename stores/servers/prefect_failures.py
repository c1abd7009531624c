"""Messages for failures of Prefect's server.

Failures of MLflow's server are handled in stores.tracking.client.
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

# At the end, it logs the number of events that it could not send to a missing server.
logging.getLogger("EventsWorker").setLevel(logging.CRITICAL)


class PrefectDown(ServerDown):
    """Prefect's server does not answer, or does not answer correctly."""


def asking_prefect(work: Callable[[], T]) -> T:
    """Send a request to Prefect's server, and repeat it while the server does not answer, up to the waiting time.

    Prefect's own client waits only for a server that has answered before.

    Args:
        work: sends the request; sending it twice does no harm.

    Returns:
        The result of the request.

    Raises:
        PrefectDown: the server did not answer in time, or refused; the message explains what to do.
    """
    address = _address()
    for pause in (*pauses(address), None):
        try:
            done = work()
        except Exception as error:  # noqa: BLE001 - Prefect wraps the errors of its client
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
    """Whether a later request may get a different answer."""
    return not any(
        isinstance(cause, HTTPStatusError) and cause.response.status_code < HTTPStatus.INTERNAL_SERVER_ERROR
        for cause in _causes(error)
    )


def _address() -> str:
    return os.environ.get("PREFECT_API_URL", "its address").rpartition("@")[2]


def prefect_failure(error: BaseException) -> str | None:
    """One sentence for an error of Prefect's server; None for any other error.

    Args:
        error: the error.
    """
    return next((said for cause in _causes(error) if (said := _sentence(cause)) is not None), None)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error, and the errors that caused it."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__


def _sentence(error: BaseException) -> str | None:
    address = _address()
    if isinstance(error, HTTPStatusError):
        if error.response.status_code == HTTPStatus.UNAUTHORIZED:
            return f"Prefect at {address} must accept its password, got a refusal; correct PREFECT_API_AUTH_STRING."
        return (
            f"Prefect at {address} must handle the request, and answers {error.response.status_code}; check that its "
            "database runs (make stack starts it; its log has details), and run the same command again."
        )
    if isinstance(error, RuntimeError) and str(error).startswith(_OTHER_VERSION):
        return (
            f"Prefect at {address} must have the version that is installed here, and has not; use one version for both."
        )
    if isinstance(error, HTTPError | InvalidURL) or (isinstance(error, RuntimeError) and _UNREACHED in str(error)):
        return (
            f"Prefect must answer at {address}, and does not; start its server (make stack starts it), and "
            "run the same command again."
        )
    return None
