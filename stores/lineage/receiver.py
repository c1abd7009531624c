"""The lineage server to which events are sent: named by OpenLineage's own variables.

OPENLINEAGE_URL is its address, OPENLINEAGE_ENDPOINT the path (`api/v1/lineage`), OPENLINEAGE_API_KEY a bearer token,
and OPENLINEAGE_DISABLED=true sends nothing. No release fails because of it, and none waits long: after a first failure,
which takes seven seconds at most, a process sends no more events of that release. The file of events has them all.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from threading import Lock
from typing import Any
from urllib.parse import urlsplit

import requests

from deniable.foundation.errors import InvalidInput

URL, ENDPOINT, API_KEY, DISABLED = (f"OPENLINEAGE_{name}" for name in ("URL", "ENDPOINT", "API_KEY", "DISABLED"))
_USUAL_ENDPOINT = "api/v1/lineage"
_HERE = ("localhost", "127.0.0.1", "::1")
_PATIENCE_S = (2, 5)
_TAKEN = range(200, 300)
_RELEASES = 64


@dataclass
class Receiver:
    """A lineage server.

    Attributes:
        address: where events are posted.
        token: its bearer token; empty if it needs none.
        fault: why it takes no events, without the address, which may contain a password; empty if it does.
    """

    address: str
    token: str
    fault: str = ""
    _turn: Lock = field(default_factory=Lock, repr=False)

    def send(self, events: Iterable[dict[str, Any]]) -> int:
        """Post events in order until one is not taken; return how many were."""
        sent = 0
        with self._turn, requests.Session() as session:
            # No proxy and no password of a file of this account.
            session.trust_env = False
            if self.token:
                session.headers["Authorization"] = f"Bearer {self.token}"
            for event in events:
                if self.fault:
                    break
                self.fault = self._posted(session, event)
                sent += not self.fault
        return sent

    def _posted(self, session: requests.Session, event: dict[str, Any]) -> str:
        try:
            answer = session.post(self.address, json=event, timeout=_PATIENCE_S, allow_redirects=False)
        except requests.RequestException as error:
            return f"{URL} must name a lineage server that answers, got {type(error).__name__}"
        if answer.status_code not in _TAKEN:
            return f"{URL} must name a lineage server that takes events, got the answer {answer.status_code}"
        return ""


def receiver(release_id: str = "") -> Receiver | None:
    """The lineage server that is configured; None if there is none.

    Args:
        release_id: the release whose events are sent. A server that failed once takes no more of them from this
            process; without a release, it is tried again.

    Raises:
        InvalidInput: the address is not that of a server by https, or on this machine.
    """
    if os.environ.get(DISABLED, "").lower() in {"true", "1"}:
        return None
    address = os.environ.get(URL, "")
    if not address:
        return None
    endpoint = os.environ.get(ENDPOINT) or _USUAL_ENDPOINT
    make = _of_release if release_id else _receiver
    return make(address, endpoint, os.environ.get(API_KEY, ""), release_id)


def _receiver(address: str, endpoint: str, token: str, _: str) -> Receiver:
    try:
        scheme, host = urlsplit(address).scheme, urlsplit(address).hostname
    except ValueError:  # its message would quote the address
        scheme, host = "", None
    if not host or not (scheme == "https" or (scheme == "http" and host in _HERE)):
        raise InvalidInput(
            f"{URL} must be an address that begins with https://, or with http:// on this machine, got another; times "
            "and digests of steps must not be sent where others may read them."
        )
    return Receiver(f"{address.rstrip('/')}/{endpoint.lstrip('/')}", token)


_of_release = lru_cache(_RELEASES)(_receiver)
