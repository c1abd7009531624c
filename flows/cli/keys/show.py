"""Shows the keys that are trusted, or were, and which of them signs."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from deniable.foundation.errors import DeniableError
from flows.cli.contract import StateCommand

if TYPE_CHECKING:
    from rich.table import Table

    from deniable.record.trust import TrustedKey, TrustedKeys

DONE = 0
_SHOWN_DIGITS = 16
_DAY = len("2026-11-20")


def _run(_: argparse.Namespace, state: Path) -> int:
    from rich.console import Console  # noqa: PLC0415 - here and below: only what the command needs

    from flows.cli.keys.hand_out import no_key  # noqa: PLC0415
    from stores.keys.signing_keys import signing_key_place  # noqa: PLC0415
    from stores.keys.trust_file import trusted_keys, trusted_keys_place  # noqa: PLC0415

    console = Console(highlight=False, markup=False, soft_wrap=True)
    keys = trusted_keys(state)
    if not len(keys):
        console.print(f"There is {no_key(trusted_keys_place(state))}")
        return DONE
    keyid, complaint = signing_now(state)
    Console(highlight=False).print(_table(keys, keyid))
    console.print(f"trust file:   {trusted_keys_place(state)}\nprivate key:  {signing_key_place(state)}")
    if complaint:
        console.print(complaint)
    elif keys.get(keyid) is None:
        console.print(f"The private key is that of {keyid}, which is not trusted.")
    return DONE


def _table(keys: "TrustedKeys", current: str) -> "Table":
    """Return a table of the keys, a row each, in the order in which they were entered."""
    from rich import box  # noqa: PLC0415 - as above
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    from stores.keys.signing_keys import signing_time  # noqa: PLC0415

    now = signing_time()
    table = Table(box=box.SIMPLE_HEAD, title="Signing keys", title_justify="left", title_style="bold")
    for name in ("key", "owner", "valid from", "valid until", "state"):
        table.add_column(name, no_wrap=name == "key", overflow="fold")
    for key in keys:
        counts = key.objection_at(now) is None
        signs = key.keyid == current
        table.add_row(
            key.keyid[:_SHOWN_DIGITS],
            Text(key.owner, "bold" if signs else ""),
            key.valid_from[:_DAY],
            key.valid_until[:_DAY],
            Text(_state(key, now, signs=signs), "green" if counts else "red"),
        )
    return table


def _state(key: "TrustedKey", now: str, *, signs: bool) -> str:
    from deniable.record.trust import moment  # noqa: PLC0415 - as above

    if key.revoked is not None:
        return f"{key.revoked.reason} {key.revoked.time[:_DAY]}"
    if key.objection_at(now) is not None:
        return "expired" if moment(now) >= moment(key.valid_until) else "not valid yet"
    return "signs" if signs else "valid"


def signing_now(state: Path) -> tuple[str, str]:
    """Return the id of the signing key and the fault of its file; one of them is empty.

    Args:
        state: the state folder.
    """
    from stores.keys.signing_keys import current_keyid  # noqa: PLC0415 - as above

    try:
        return current_keyid(state), ""
    except DeniableError as error:
        return "", str(error)


COMMAND = StateCommand(run=_run)
