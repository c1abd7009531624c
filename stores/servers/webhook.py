"""Tells whoever is named in the spec that a refresh did not succeed: a POST of JSON to a webhook, tried several times.

What is sent holds no confidential value and no internal figure: which dataset, what happened, and where to look. That
nobody could be told is not a failure of its own, and never hides the one that was to be told.
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
    """What is told.

    Attributes:
        event: `refresh refused`, `refresh failed` or `refresh held`.
        dataset: the dataset's name.
        spec: the spec's name.
        reason: why, in a sentence that holds nothing confidential.
        run: the Prefect run that says more; empty where there is none.
        time: when, in UTC.
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
        notify: whom to tell.
        message: what.

    Returns:
        None, or why nobody could be told, in a sentence that does not say the address: it may hold a password.
    """
    hook = _hook(notify.webhook)
    if hook is None:
        return f"nobody was told: {_named(notify.webhook)} must hold the address of a webhook, and does not."
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
                f"nobody was told: {_named(notify.webhook)} must name a webhook, got the answer {answer.status_code}."
            )
    except requests.RequestException as error:
        return f"nobody was told: {_named(notify.webhook)} must name a webhook that answers ({type(error).__name__})."
    return None


def are_one(webhook: str, other: str) -> bool:
    """Whether two webhooks, called as a spec calls them, have one address; where that cannot be said, they have not."""
    hook, beside = _hook(webhook), _hook(other)
    return hook is not None and beside is not None and hook.url == beside.url


def _hook(webhook: str) -> Webhook | None:
    """What is posted to; a block of Prefect's may ask for headers and another method."""
    if webhook.isupper():
        address = os.environ.get(webhook)
        return Webhook(url=SecretStr(address)) if address else None
    try:
        return cast("Webhook", Webhook.load(webhook))
    except (ValueError, HTTPError):
        return None


def _named(webhook: str) -> str:
    return f"the environment variable {webhook}" if webhook.isupper() else f"Prefect's Webhook block {webhook}"
