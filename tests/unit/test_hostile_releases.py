"""A release folder that somebody made up to fill a memory or a day is verified in little of both, to a sentence."""

import io
import json
import os
from base64 import b64encode
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from deniable.cli.dispatch import main
from deniable.cli.files import DOES_NOT_HOLD, UNREADABLE
from deniable.foundation.checks import Check
from deniable.foundation.domain import Attribute, Domain
from deniable.foundation.errors import InvalidInput
from deniable.privacy.loss import from_record
from deniable.record.attestation import PAYLOAD_TYPE, sign, statement
from deniable.record.released_table import check_csv, check_parquet

ANY = Ed25519PrivateKey.from_private_bytes(bytes(32))
DOMAIN = Domain((Attribute("sex", ("f", "m"), "nominal", (0, 1)), Attribute("age", (1, 20), "numeric", (0, 1))))
HUGE = 1 << 42


def fifo(path: Path) -> None:
    os.mkfifo(path)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(HUGE)


def envelope(payload: bytes) -> bytes:
    """An envelope whose payload may be anything."""
    signature = {"keyid": "0" * 64, "sig": b64encode(bytes(64)).decode()}
    content = {"payload": b64encode(payload).decode(), "payloadType": PAYLOAD_TYPE, "signatures": [signature]}
    return (json.dumps(content, sort_keys=True, separators=(",", ":")) + "\n").encode()


def signed(predicate: dict[str, object], *names: str) -> bytes:
    """A record about files of some names."""
    return sign(statement(dict.fromkeys(names, "0" * 64), predicate), ANY).to_text().encode()


def verified(folder: Path, capsys: pytest.CaptureFixture[str], status: int = DOES_NOT_HOLD) -> str:
    """What is said of a folder."""
    assert main(["audit", "verify", str(folder), "--keys", str(trusted(folder.parent))]) == status
    said = capsys.readouterr()
    text = said.out + said.err
    assert "Traceback" not in text
    assert len(text) < 50_000
    assert all(character.isprintable() or character == "\n" for character in text)
    return text


def trusted(folder: Path) -> Path:
    (folder / "trusted.json").write_text('{"keys": []}')
    return folder / "trusted.json"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "release").mkdir()
    return tmp_path / "release"


@pytest.mark.parametrize(("made", "kind"), [(fifo, "thing of another kind"), (device, "link")])
def test_pipes_and_devices_among_the_files_are_named_and_never_opened(
    folder: Path, capsys: pytest.CaptureFixture[str], made: Callable[[Path], None], kind: str
) -> None:
    (folder / "record.dsse.json").write_bytes(signed({}, "privacy.json", "synthetic.csv"))
    for name in ("privacy.json", "synthetic.csv", "stranger"):
        made(folder / name)
    assert f"privacy.json is a {kind}, but a release has only files (and 2 more)" in verified(folder, capsys)
    (folder / "record.dsse.json").unlink()
    made(folder / "record.dsse.json")
    assert "the record must be in the folder, got none" in verified(folder, capsys)


def test_files_with_more_bytes_than_a_release_can_have_are_not_read(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ("privacy.json", "synthetic.csv", "synthetic.parquet")
    (folder / "record.dsse.json").write_bytes(signed({"release": {"records": 1000}}, *names))
    for name in names:
        sparse(folder / name)
    assert "privacy.json is larger than it can be in a release of 1,000 records, and was not read (and 2 m" in verified(
        folder, capsys
    )
    sparse(folder / "record.dsse.json")
    assert "record.dsse.json must have at most 67,108,864 bytes, got more" in verified(folder, capsys)


@pytest.mark.parametrize(
    ("record", "said"),
    [
        (b"[" * 1_000_000, "the envelope must be JSON"),
        (b"{}", "the envelope must have payload, payloadType, signatures and nothing else"),
        (b"9" * 1_000_000, "got a number of more than 300 digits"),
        (b"[" + b"1," * 6_000_000 + b"1]", "the envelope must have at most 5,000,000 values"),
        (envelope(b"[" * 100_000), "the statement must be JSON"),
        (envelope(b'{"a":' * 200 + b"1" + b"}" * 200), "nested more than 100 deep"),
        (envelope(b'{"a":"1e999999999"}'), "a number with more digits than are read"),
        (envelope(b'{"a":1e999}'), "a number beyond all that is read"),
        (signed({"release": {"records": 10**200}}, "x\x1b[2J\u202e"), "FAILED"),
        (signed({"release": [], "signed": 5, "rendering": []}, "x" * 10_000), "FAILED"),
    ],
    ids=range(10),
)
def test_a_record_that_is_none_is_refused_in_a_line(
    folder: Path, capsys: pytest.CaptureFixture[str], record: bytes, said: str
) -> None:
    (folder / "record.dsse.json").write_bytes(record)
    assert said in verified(folder, capsys)
    main(["audit", "record", str(folder)])
    shown = capsys.readouterr().out
    assert all(character.isprintable() or character == "\n" for character in shown)


def test_names_of_files_that_were_made_to_mislead_are_shown_as_they_are(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "record.dsse.json").write_bytes(signed({}, "privacy.json"))
    (folder / "a\x1b[2J").write_text("")
    (folder / os.fsdecode(b"b\xff")).write_text("")
    assert r"a\x1b[2J is not among the files that were signed" in verified(folder, capsys)
    assert Check("it", (os.fsdecode(b"\xff\n") + "x" * 10_000,)).line.startswith(r"FAILED  it: \udcff\nxxx")
    assert len(Check("it", ("x" * 10_000,)).line) < 3000


@pytest.mark.slow
@pytest.mark.parametrize("made", [fifo, device, sparse, Path.mkdir])
@pytest.mark.parametrize("command", ["--keys", "--ledger", "verify-ledger"])
def test_what_is_named_beside_a_release_must_be_a_regular_file(
    folder: Path, capsys: pytest.CaptureFixture[str], made: Callable[[Path], None], command: str
) -> None:
    made(folder / "it")
    other = ["verify", str(folder), "--keys", str(trusted(folder.parent))]
    arguments = {"--keys": [*other[:3], str(folder / "it")], "verify-ledger": [command, str(folder / "it")]}
    assert main(arguments.get(command, [*other, command, str(folder / "it")])) == UNREADABLE
    said = capsys.readouterr().err
    assert "must be a readable file, got" in said or "must have at most 268,435,456 bytes" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("made", [fifo, device])
def test_what_is_no_folder_is_no_release(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], made: Callable[[Path], None]
) -> None:
    made(tmp_path / "release")
    assert "a release must be a readable folder" in verified(tmp_path / "release", capsys, UNREADABLE)


class Endless(io.RawIOBase):
    """A file that says one thing again and again; whoever reads more of it than a limit is told so."""

    def __init__(self, beginning: bytes, again: bytes, most: int = 1 << 22) -> None:
        self._text, self._again, self._most, self._read = beginning, again, most, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        while len(self._text) < len(view):
            self._text += self._again * (1 + len(view) // len(self._again))
        self._read += len(view)
        assert self._read < self._most, "it was read on and on"
        view[:], self._text = self._text[: len(view)], self._text[len(view) :]
        return len(view)


@pytest.mark.parametrize(
    ("beginning", "again"),
    [(b"", b"\0"), (b"sex,age\n", b"f"), (b"sex,age\n", b'"\n",'), (b'sex,age\n"', b"f\n"), (b"sex,age\n", b"f,")],
)
def test_a_text_without_end_is_left_at_its_first_row(beginning: bytes, again: bytes) -> None:
    findings = check_csv(io.BufferedReader(Endless(beginning, again)), DOMAIN)  # type: ignore[arg-type]
    assert findings.records == 0
    assert findings.faults


def test_a_table_that_says_that_it_has_more_records_is_not_read() -> None:
    file = io.BytesIO()
    pq.write_table(pa.table({"sex": ["f"] * 3, "age": [1] * 3}), file)
    read: list[int] = []

    class Counting:
        """Counts the row groups that are read."""

        class ParquetFile(pq.ParquetFile):  # type: ignore[misc]
            def iter_batches(self, *arguments: object, **named: object) -> object:
                read.append(1)
                return super().iter_batches(*arguments, **named)

    assert check_parquet(file, DOMAIN, Counting, 2).records == 3
    assert not read
    assert check_parquet(file, DOMAIN, Counting, 3).records == 3
    assert read


@pytest.mark.parametrize(
    "change",
    [
        {"scale": "1e999999999"},
        {"scale": "9" * 5000},
        {"sensitivity": 10**30},
        {"outputs": 10**30},
        {"sampling_rate": "1e-999999999"},
    ],
)
def test_an_event_with_numbers_without_end_is_refused(change: dict[str, object]) -> None:
    event = {"mechanism": "discrete_laplace", "query": "q", "part": "p", "outputs": 1, "sensitivity": 1, "scale": "2"}
    assert from_record(event).epsilon
    with pytest.raises(InvalidInput, match="must have the fields"):
        from_record({**event, **change})


def test_a_threshold_that_no_noise_reaches_has_a_tail_at_once() -> None:
    event = {"mechanism": "stability_histogram", "query": "q", "part": "p", "outputs": 1, "scale": "1"}
    assert 0 < from_record({**event, "threshold": 10**15}).delta < Fraction(1, 1 << 40_000)
