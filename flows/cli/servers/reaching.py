"""Reaches Prefect's server, or says that it cannot be reached."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from deniable.foundation.errors import DeniableError, InvalidInput

_GRACE_S = 30


class PrefectSilent(DeniableError):
    """Prefect's server does not answer, or denies access."""


def become_prefect(arguments: Sequence[str], state: Path) -> NoReturn:
    """Replace this process by one of Prefect's own commands.

    Args:
        arguments: its arguments.
        state: the state folder.

    Raises:
        InvalidInput: the address of Prefect's server is not known.
    """
    require_prefect(state)
    os.execv(sys.executable, [sys.executable, "-m", "prefect", *arguments])  # noqa: S606 - in place of this process


def require_answer(address: str) -> None:
    """Require that Prefect's server answers; otherwise Prefect's own command would print pages of text.

    Args:
        address: of its API.

    Raises:
        PrefectSilent: the server does not answer, or denies access.
    """
    import httpx  # noqa: PLC0415 - Prefect's own, and slow to import

    from stores.servers.prefect_failures import prefect_failure  # noqa: PLC0415

    user, _, password = os.environ.get("PREFECT_API_AUTH_STRING", "").partition(":")
    try:
        answer = httpx.get(f"{address}/admin/version", auth=(user, password) if password else None, timeout=_GRACE_S)
        answer.raise_for_status()
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise PrefectSilent(prefect_failure(error)) from None


def require_prefect(state: Path) -> None:
    """Require the address of Prefect's server.

    Args:
        state: the state folder.

    Raises:
        InvalidInput: it is not known.
    """
    if "PREFECT_API_URL" not in os.environ:
        msg = (
            f"this needs Prefect's server, and neither DENIABLE_PREFECT_API_URL nor a stack in {state} names one; "
            "make stack starts one."
        )
        raise InvalidInput(msg)
