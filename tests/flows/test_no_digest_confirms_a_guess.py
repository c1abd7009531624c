"""Anyone who guesses a confidential row or file cannot confirm it: no plain digest of one is outside the vault.

Digests of the usual kinds are looked for, whole and cut off as tools cut them: MLflow's own have 8 characters.
"""

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import mlflow.data
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from deniable.foundation.keys import ReleaseKey
from schemas.provenance import RECORD
from schemas.spec.release_spec import load_spec
from stores.tables.tables import decode, load_codes
from tests.flows.looked_at import LookedAt
from tests.unpacked import files_below, unpacked

KINDS = ("md5", "sha1", "sha256", "sha512", "blake2b")
SHORT, LONG = 8, 16
TABLES = ("codes", "seeds", "structure", "parameters", "holdout")

_HEXADECIMAL = re.compile(rb"[0-9a-f]{16,}")
# By itself: neither the beginning of a UUID nor the end of a word.
_BY_ITSELF = re.compile(rb"(?<![\w-])[0-9a-f]{8}(?![\w-])")
_BASE64 = re.compile(rb"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{16}")


class Digests:
    """Digests to look for.

    Args:
        contents: what they are digests of.
        others: further ones, in hexadecimal.
    """

    def __init__(self, contents: Iterable[bytes] = (), others: Iterable[str] = ()) -> None:
        whole = [hashlib.new(kind, content, usedforsecurity=False).digest() for content in contents for kind in KINDS]
        written = [*(digest.hex() for digest in whole), *others]
        self._long = {text[:LONG].encode() for text in written if len(text) >= LONG}
        self._short = {text[:SHORT].encode() for text in written}
        self._base64 = {base64.b64encode(digest)[:LONG] for digest in whole}

    def __len__(self) -> int:
        return len(self._short)

    def are_in(self, content: bytes) -> bool:
        """Whether any is in a file, however that is packed."""
        return any(self._are_in_text(text) for text in unpacked(content))

    def files(self, *folders: Path) -> set[Path]:
        """The files that hold any."""
        return {path for path in files_below(*folders) if self.are_in(path.read_bytes())}

    def _are_in_text(self, text: bytes) -> bool:
        lower = text.lower()
        long = {
            run[start : start + LONG]
            for run in set(_HEXADECIMAL.findall(lower))
            for start in range(len(run) - LONG + 1)
        }
        return bool(
            long & self._long
            or set(_BY_ITSELF.findall(lower)) & self._short
            or set(_BASE64.findall(text)) & self._base64
        )


def rows_written(frame: pd.DataFrame) -> Iterator[bytes]:
    """The rows of a table in the ways in which a row may be written before it is digested."""
    for row in {tuple(map(str, row)) for row in frame.itertuples(index=False, name=None)}:
        lines = [separator.join(row) for separator in (",", ", ", "|", ";", "\t", " ", "")]
        lines += [json.dumps(row), json.dumps(dict(zip(frame.columns, row, strict=True))), repr(row)]
        for line in lines:
            yield line.encode()
        yield f"{lines[0]}\n".encode()


def tables_of(looked_at: LookedAt) -> Iterator[pd.DataFrame]:
    """The confidential tables: as they were read, as codes, and as what the codes stand for."""
    vault = looked_at.vault / looked_at.name
    domain = load_spec(looked_at.spec).domain
    yield pd.read_csv(looked_at.spec.parent / "people.csv")
    yield pq.read_table(vault / "snapshot.parquet").to_pandas()
    for name in TABLES:
        codes = load_codes(vault / f"{name}.parquet", domain)
        yield pd.DataFrame(codes, columns=list(domain.names))
        yield decode(codes, domain)


@pytest.fixture(scope="module")
def of_files(looked_at: LookedAt) -> Digests:
    """Digests of the source, of all files in the vault, and of the tables in them as other tools would write them."""
    files = [*files_below(looked_at.vault), looked_at.spec.parent / "people.csv"]
    contents = [path.read_bytes() for path in files]
    others = []
    for frame in tables_of(looked_at):
        contents += [frame.to_csv(index=False).encode(), frame.to_csv().encode(), frame.to_numpy().tobytes()]
        others.append(mlflow.data.from_pandas(frame).digest)
        others += [mlflow.data.from_numpy(column.to_numpy()).digest for _, column in frame.items()]
    return Digests([content for content in contents if content], others)


@pytest.fixture(scope="module")
def of_rows(looked_at: LookedAt) -> Digests:
    """Digests of all confidential rows."""
    lines = {line for frame in tables_of(looked_at) for line in rows_written(frame)}
    codes = load_codes(looked_at.vault / looked_at.name / "codes.parquet", load_spec(looked_at.spec).domain)
    arrays = {row.astype(kind).tobytes() for row in np.unique(codes, axis=0) for kind in (np.uint16, np.int64)}
    return Digests(lines | arrays)


def test_no_digest_of_a_confidential_file_or_table_is_outside_the_vault(looked_at: LookedAt, of_files: Digests) -> None:
    assert len(of_files) > 200
    assert of_files.files(looked_at.state, looked_at.home) == set()
    assert [command for command, said in looked_at.said.items() if of_files.are_in(said.encode())] == []


def test_no_digest_of_a_confidential_row_is_outside_the_vault(looked_at: LookedAt, of_rows: Digests) -> None:
    assert len(of_rows) > 5000
    assert of_rows.files(looked_at.state, looked_at.home) == set()
    assert [command for command, said in looked_at.said.items() if of_rows.are_in(said.encode())] == []


def test_no_digest_of_an_internal_file_is_published(looked_at: LookedAt) -> None:
    """An internal figure has few possible values, so that a digest of it is as good as the figure."""
    shelf = looked_at.state / "shelf" / looked_at.name
    internal = [*looked_at.state.glob("mlflow/artifacts/**/internal/*"), *filter(Path.is_file, shelf.iterdir())]
    assert {"report.html", "validation.json", "utility.json", "released.parquet", RECORD} <= {
        path.name for path in internal
    }
    assert Digests(path.read_bytes() for path in internal).files(looked_at.release) == set()


def test_digests_under_the_release_key_are_where_they_belong(looked_at: LookedAt) -> None:
    """The same search finds them: in the record, on the pages and in MLflow's database, where they are cut off."""
    vault = looked_at.vault / looked_at.name
    key = ReleaseKey((vault / "key").read_bytes())
    keyed = Digests(others=[key.digest("artifact", (vault / "snapshot.parquet").read_bytes())])
    found = keyed.files(looked_at.state)
    assert {path.name for path in found} >= {RECORD, "mlflow.db", "index.html"}


CONTENT = b"18,f,none,no"
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.mark.parametrize(
    "written",
    [
        *(f'"digest": "{hashlib.new(kind, CONTENT, usedforsecurity=False).hexdigest()}"'.encode() for kind in KINDS),
        f"sha256:{SHA256.upper()}".encode(),
        f"{SHA256[:36]}\t".encode(),
        f"x{SHA256[:LONG]}x".encode(),
        f"[{SHA256[:SHORT]}]".encode(),
        base64.b64encode(hashlib.sha256(CONTENT).digest()),
        b"\x1f\x8b" + gzip.compress(SHA256.encode(), mtime=0)[2:],
        base64.b64encode(f"{{'sha256': '{SHA256}'}}".encode()),
    ],
)
def test_the_search_finds_a_digest_however_it_is_written(written: bytes) -> None:
    assert Digests([CONTENT]).are_in(written)
    assert not Digests([b"18,f,none,yes"]).are_in(written)


def test_what_begins_like_a_digest_by_chance_is_not_one() -> None:
    identifier = f"{SHA256[:SHORT]}-9d1c-4a55-b1f0-8c2a7d0e4f11 v{SHA256[:SHORT]} {SHA256[:12]}".encode()
    assert not Digests([CONTENT]).are_in(identifier)


def test_the_digests_are_those_that_mlflow_would_have_shown(looked_at: LookedAt, of_files: Digests) -> None:
    frame = pq.read_table(looked_at.vault / looked_at.name / "snapshot.parquet").to_pandas()
    shown = mlflow.data.from_pandas(frame).to_dict()
    assert len(str(shown["digest"])) == SHORT
    assert of_files.are_in(json.dumps(shown).encode())
