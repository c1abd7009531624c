"""Custody of a release's key, which is generated from the operating system's randomness at the start of the release.

The key is in a file of mode 0600 in the vault or in a secret block of Prefect, or it is destroyed after publication.
For an agency with its own key management, the key is derived from a secret that exists only in an environment variable.
"""

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol, cast

from prefect.blocks.system import Secret
from pydantic import SecretStr

from deniable.command_names import command_line
from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import ReleaseKey
from schemas.references import Audience
from schemas.spec.release_spec import ReleaseSpec
from stores.own_files import read_own
from stores.vault.scratch import is_scratch

_SECRET_BYTES = 32


class KeyedRelease(Protocol):
    """What a custodian must know about a release; a workspace provides it."""

    @property
    def state(self) -> Path:
        """The state folder."""

    @property
    def release_id(self) -> str:
        """The release's name."""

    @property
    def spec(self) -> ReleaseSpec:
        """The specification of the release."""

    @property
    def vault(self) -> Path:
        """Folder of restricted files."""

    @property
    def writing(self) -> Callable[[str, Audience], AbstractContextManager[Path]]:
        """Writes a file completely, or not at all."""


def keep_key(workspace: KeyedRelease, key: ReleaseKey | None = None) -> None:
    """Generate a key, or use the one given for the replay of a release, and pass it to the custodian.

    Raises:
        InvalidInput: the custodian is the environment, which has no secret or a different key.
    """
    custodian = workspace.spec.key.custodian
    if custodian == "environment":
        if key is not None and key.commitment() != _derived(workspace).commitment():
            msg = "a key that the environment keeps must not also be given in a file, got one; leave the file out."
            raise InvalidInput(msg)
        _derived(workspace)
    elif custodian == "prefect_secret":
        made = key or ReleaseKey.generate()
        Secret(value=SecretStr(made.secret.hex())).save(_block_name(workspace), overwrite=True)
    else:
        with workspace.writing("key", Audience.RESTRICTED) as path:
            path.write_bytes((key or ReleaseKey.generate()).secret)


def fetch_key(workspace: KeyedRelease) -> ReleaseKey:
    """The release's key, from its custodian.

    Raises:
        InvalidInput: the custodian has none.
    """
    # A replay has its own copy, whatever the custodian.
    custodian = "file" if is_scratch(workspace.state) else workspace.spec.key.custodian
    if custodian == "environment":
        return _derived(workspace)
    if custodian == "prefect_secret":
        try:
            block = cast("Secret[str]", Secret.load(_block_name(workspace)))
        except ValueError:
            msg = f"the key of {workspace.release_id} must be in Prefect's block {_block_name(workspace)}, and is not."
            raise InvalidInput(msg) from None
        return ReleaseKey(bytes.fromhex(str(block.get())))
    try:
        return ReleaseKey(read_own(workspace.vault / "key"))
    except FileNotFoundError:
        msg = f"the key of {workspace.release_id} must be in its vault, and is not; it may have been destroyed."
        raise InvalidInput(msg) from None


def end_custody(workspace: KeyedRelease) -> None:
    """Destroy the key if the spec requires it: the release is public and finished, and can no longer be replayed."""
    if workspace.spec.key.custodian == "destroyed":
        (workspace.vault / "key").unlink(missing_ok=True)


def require_same_key(workspace: KeyedRelease, commitment: str) -> None:
    """Refuse to resume a release under a different key than it was started with: it would draw and be charged again.

    Args:
        workspace: the release.
        commitment: commitment to the key that it was started with.

    Raises:
        InvalidInput: the custodian has no key, or a different one.
    """
    if fetch_key(workspace).commitment() != commitment:
        msg = (
            f"the key of {workspace.release_id} must be the one that it started with, and its custodian has another; "
            f"restore that key, or abandon the release with {command_line('release discard')}."
        )
        raise InvalidInput(msg)


def _derived(workspace: KeyedRelease) -> ReleaseKey:
    """The release's own key, derived from the agency's secret."""
    variable = workspace.spec.key.variable or ""
    try:
        secret = ReleaseKey(bytes.fromhex(os.environ[variable]))
    except (KeyError, ValueError):
        msg = (
            f"the environment variable {variable} must hold the agency's secret, 64 hexadecimal digits of the system's "
            f"randomness, and does not; set it to the output of `openssl rand -hex {_SECRET_BYTES}`."
        )
        raise InvalidInput(msg) from None
    return ReleaseKey(bytes.fromhex(secret.digest("release key", workspace.release_id.encode())))


def _block_name(workspace: KeyedRelease) -> str:
    """Prefect allows lower-case letters, digits and dashes."""
    return "release-key-" + "".join(c if c.isalnum() else "-" for c in workspace.release_id.lower())
