"""Notifies the recipient named in the spec that a refresh failed: a POST of JSON to a webhook, with retries.

The message contains no confidential value and no internal figure: only the dataset, the event, and where to look. A
failed notification is not an error of its own, and never hides the failure that it was to report.
"""

import os
from dataclasses import asdict, dataclass
from typing import cast

import requests
from httpx import HTTPError
from prefect.blocks.webhook import Webhook
from pydantic import SecretStr
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

from schemas.spec.refresh import Notify

_RETRY = Retry(
    total=4, backoff_factor=0.5, status_forcelist=(429, 500, 502, 503, 504), allowed_methods=None, redirect=0
)
_TAKEN = range(200, 300)
_PATIENCE_S = (5, 15)


@dataclass(frozen=True)
class Message:
    """The content of a notification.

    Attributes:
        event: `refresh refused`, `refresh failed` or `refresh held`.
        dataset: the dataset's name.
        spec: the spec's name.
        reason: the reason, in a sentence without confidential content.
        run: the Prefect run with details; empty if there is none.
        time: time of the event, in UTC.
    """

    event: str
    dataset: str
    spec: str
    reason: str
    run: str
    time: str


def tell(notify: Notify, message: Message) -> str | None:
    """Post a message.

    Args:
        notify: the recipient.
        message: the message.

    Returns:
        None, or why no notification was sent, in a sentence without the address, which may contain a password.
    """
    hook = _hook(notify.webhook)
    if hook is None:
        return f"no notification was sent: {_named(notify.webhook)} must hold the address of a webhook, and does not."
    try:
        with requests.Session() as session:
            for scheme in ("http://", "https://"):
                session.mount(scheme, HTTPAdapter(max_retries=_RETRY))
            session.headers.update(hook.headers.get_secret_value())
            answer = session.request(
                hook.method,
                hook.url.get_secret_value(),
                json=asdict(message),
                timeout=_PATIENCE_S,
                allow_redirects=False,
                verify=hook.verify,
            )
        if answer.status_code not in _TAKEN:
            return (
                f"no notification was sent: {_named(notify.webhook)} must name a webhook, got the answer "
                f"{answer.status_code}."
            )
    except requests.RequestException as error:
        return (
            f"no notification was sent: {_named(notify.webhook)} must name a webhook that answers, got "
            f"{type(error).__name__}."
        )
    return None


def are_one(webhook: str, other: str) -> bool:
    """Whether two webhooks, as named in a spec, have the same address; false if that cannot be determined."""
    hook, beside = _hook(webhook), _hook(other)
    return hook is not None and beside is not None and hook.url == beside.url


def _hook(webhook: str) -> Webhook | None:
    """The webhook; a Prefect block may specify headers and a different method."""
    if webhook.isupper():
        address = os.environ.get(webhook)
        return Webhook(url=SecretStr(address)) if address else None
    try:
        return cast("Webhook", Webhook.load(webhook))
    except (ValueError, HTTPError):
        return None


def _named(webhook: str) -> str:
    return f"the environment variable {webhook}" if webhook.isupper() else f"Prefect's Webhook block {webhook}"
