"""Each secret is in one file, whatever is done with a release: its key, the signing key, that of Prefect's blocks."""

import base64
from pathlib import Path

import pytest

from stores.keys.private_key_file import load_private_key
from stores.keys.signing_keys import signing_key_place
from tests.flows.looked_at import LookedAt
from tests.unpacked import files_with, forms_of_secret

SECRET = bytes(range(7, 39))


def secrets_of(looked_at: LookedAt) -> dict[Path, bytes]:
    """The secrets, by the one file that may hold each."""
    key, signing = looked_at.vault / looked_at.name / "key", signing_key_place(looked_at.state)
    blocks = looked_at.state / "keys" / "prefect-blocks.key"
    return {
        key: key.read_bytes(),
        signing: load_private_key(signing).private_bytes_raw(),
        blocks: base64.urlsafe_b64decode(blocks.read_bytes()),
    }


def test_every_secret_is_in_its_file_alone(looked_at: LookedAt) -> None:
    for place, secret in secrets_of(looked_at).items():
        assert len(secret) == len(SECRET)
        assert files_with(secret, looked_at.state, looked_at.home) == {place}
        assert place.stat().st_mode & 0o777 == 0o600


def test_no_command_prints_a_secret(looked_at: LookedAt) -> None:
    for secret in secrets_of(looked_at).values():
        for command, said in looked_at.said.items():
            assert [form for form in forms_of_secret(secret) if form in said.encode()] == [], command


@pytest.mark.parametrize(
    "written",
    [
        SECRET,
        SECRET.hex().encode(),
        SECRET.hex().upper().encode(),
        str(list(SECRET)).encode(),
        repr(SECRET).encode(),
        *(base64.b64encode(b"x" * before + SECRET + b"yz") for before in range(5)),
        base64.urlsafe_b64encode(SECRET),
        base64.b64encode(b"x" * 60 + SECRET.hex().encode()),
    ],
)
def test_the_search_finds_a_secret_however_it_is_written(written: bytes, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"before " + written + b" after")
    assert files_with(SECRET, tmp_path) == {tmp_path / "file"}
    (tmp_path / "file").write_bytes(b"before " + written[1:-1].swapcase() + b" after")
    other = files_with(bytes(reversed(SECRET)), tmp_path)
    assert other == set()
