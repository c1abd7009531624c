"""Who keeps a release's key, which is made of the operating system's randomness at the start of the release.

A file of mode 0600 in the vault, a secret block of Prefect's, or nobody after publication. For an agency with a key
management of its own the key is derived from a secret that stands in an environment variable and nowhere else.
"""

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol, cast

from prefect.blocks.system import Secret
from pydantic import SecretStr

from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import ReleaseKey
from schemas.references import Audience
from schemas.spec.release_spec import ReleaseSpec
from stores.vault.scratch import is_scratch

_SECRET_BYTES = 32


class KeyedRelease(Protocol):
    """What a custodian must know of a release: a workspace has it."""

    @property
    def state(self) -> Path:
        """The state folder."""

    @property
    def release_id(self) -> str:
        """The release's name."""

    @property
    def spec(self) -> ReleaseSpec:
        """What is to be released."""

    @property
    def vault(self) -> Path:
        """Folder of restricted things."""

    @property
    def writing(self) -> Callable[[str, Audience], AbstractContextManager[Path]]:
        """Writes a file whole, or not at all."""


def keep_key(workspace: KeyedRelease, key: ReleaseKey | None = None) -> None:
    """Make a key, or take the one that is given to replay a release, and hand it to the custodian.

    Raises:
        InvalidInput: the custodian is the environment, which has no secret or another key.
    """
    custodian = workspace.spec.key.custodian
    if custodian == "environment":
        if key is not None and key.commitment() != _derived(workspace).commitment():
            msg = "a key that the environment keeps must not be given in a file too; leave the file out."
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
    # A replay has a copy of its own, whoever keeps the key.
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
        return ReleaseKey((workspace.vault / "key").read_bytes())
    except FileNotFoundError:
        msg = f"the key of {workspace.release_id} must be in its vault, and is not; it may have been destroyed."
        raise InvalidInput(msg) from None


def end_custody(workspace: KeyedRelease) -> None:
    """Destroy the key where the spec says so: the release is public and finished, and nobody can replay it."""
    if workspace.spec.key.custodian == "destroyed":
        (workspace.vault / "key").unlink(missing_ok=True)


def require_same_key(workspace: KeyedRelease, commitment: str) -> None:
    """Refuse to go on with a release under another key than it was begun with: it would draw and pay anew.

    Args:
        workspace: the release.
        commitment: commitment to the key that it was begun with.

    Raises:
        InvalidInput: the custodian has no key, or another one.
    """
    if fetch_key(workspace).commitment() != commitment:
        msg = (
            f"the key of {workspace.release_id} must be the one that it was begun with, and its custodian has another; "
            "bring that one back, or give the release up by python -m flows discard."
        )
        raise InvalidInput(msg)


def _derived(workspace: KeyedRelease) -> ReleaseKey:
    """A key of the release's own, from the agency's secret."""
    variable = workspace.spec.key.variable or ""
    try:
        secret = ReleaseKey(bytes.fromhex(os.environ[variable]))
    except (KeyError, ValueError):
        msg = (
            f"the environment variable {variable} must hold the agency's secret, 64 hexadecimal digits of the system's "
            f"randomness, and does not; set it as `openssl rand -hex {_SECRET_BYTES}` gives it."
        )
        raise InvalidInput(msg) from None
    return ReleaseKey(bytes.fromhex(secret.digest("release key", workspace.release_id.encode())))


def _block_name(workspace: KeyedRelease) -> str:
    """Prefect allows lower-case letters, digits and dashes."""
    return "release-key-" + "".join(c if c.isalnum() else "-" for c in workspace.release_id.lower())
