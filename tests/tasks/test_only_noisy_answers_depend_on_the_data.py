"""Of all that is published only noisy answers, and digests under a key, depend on the data: two tables show it."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from deniable.foundation.domain import Codes
from deniable.record.attestation import Envelope
from schemas.provenance import RECORD
from schemas.spec.flow_steps import flow_steps
from stores.keys.signing_keys import signing_key
from stores.publication.release_folder import CSV, PARQUET
from stores.tables.tables import encode, load_codes
from stores.vault.step_log import noted_steps
from tests.published import leaves
from tests.small_release import SPEC, made_up_people
from tests.whole_release import GUARANTEES, Drawn, drawn_release

KEY = bytes(range(32))
# More than pass in a chunk, so that what is published is put together of several; no number that a count may come near.
SYNTHESIS = {"records": 1200, "candidates": 1900}
SIX_SIGMA = 6.0
ENOUGH_DIGITS = 5

# What may differ where the data do, by file; a number in a list stands as `#`.
NOISY = {
    "graph.json": {"parents", "order"},
    "model.json": {"graph", "weights"},
    "seeds.json": {"attributes", "cells", "counts"},
    "datapackage.json": {"created", "resources.#.bytes", "resources.#.hash"},
}
NOISY_AS_A_WHOLE = {CSV, PARQUET, "explore.html", "index.html"}
DIGESTS = {
    "input.commitment",
    "steps.#.inputs.#.digest",
    "steps.#.outputs.#.digest",
    "steps.#.artifacts.#.sha256",
    "ledger.before.digest",
    "ledger.head.digest",
    "ledger.entries.#.digest",
    "ledger.entries.#.previous",
    *(f"ledger.entries.#.content.{name}" for name in ("identity", "inputs", "output", "split")),
}
# What no two releases share, whatever their data are: salts, ids, keys, and the clock.
OF_THE_OCCASION = {
    "ledger.entries.#.salt",
    "ledger.entries.#.time",
    "runs.mlflow_run",
    "signed.keyid",
    "signed.time",
    "release.begun",
    "release.published",
    "code.commit",
    "code.dirty",
}


def sorted_people() -> list[list[str]]:
    """People in the order of what is copied from seeds, were it not for chance."""
    return sorted(made_up_people(3019), key=lambda person: (person[1], person[2], person[3], person[0]))


def other_people() -> list[list[str]]:
    """Fewer people, who have nothing to do with the others."""
    return [["30", "m", "degree", "no"] if n % 5 == 0 else [str(18 + n % 3), "f", "some", "yes"] for n in range(2311)]


@dataclass(frozen=True)
class Two:
    """Releases by one spec and one key of two tables."""

    kind: str
    one: Drawn
    other: Drawn

    @property
    def both(self) -> tuple[Drawn, Drawn]:
        return self.one, self.other

    def of_both(self, name: str) -> tuple[bytes, bytes]:
        one, other = (opened(drawn.workspace.release_folder / name) for drawn in self.both)
        return one, other

    @cached_property
    def records(self) -> Codes:
        """The published records of the people who were sorted."""
        frame = pq.read_table(self.one.workspace.release_folder / PARQUET).to_pandas()
        return encode(frame, self.one.workspace.spec.domain)


@pytest.fixture(scope="module", params=GUARANTEES)
def two(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Two:
    changes = dict(GUARANTEES[request.param])
    synthesis = changes.pop("synthesis", SPEC["synthesis"])
    synthesis = {**synthesis, **{name: value for name, value in SYNTHESIS.items() if name in synthesis}}
    made = []
    for name, people in {"sorted": sorted_people(), "others": other_people()}.items():
        folder = tmp_path_factory.mktemp(name)
        drawn = drawn_release(folder, "people-2026", KEY, people=people, thresholds={}, synthesis=synthesis, **changes)
        drawn.publish()
        made.append(drawn)
    return Two(request.param, *made)


def opened(path: Path) -> bytes:
    """A published file; of the record what is signed, without the wrapping."""
    content = path.read_bytes()
    return Envelope.from_text(content).payload if path.name == RECORD else content


def places(one: Any, other: Any) -> set[str]:
    """Where two documents differ."""
    first, second = dict(of_leaves(one)), dict(of_leaves(other))
    absent = object()
    return {
        ".".join("#" if isinstance(key, int) else key for key in place)
        for place in {*first, *second}
        if first.get(place, absent) != second.get(place, absent)
    }


def of_leaves(document: Any) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    for place in leaves(document):
        value = document
        for key in place:
            value = value[key]
        yield place, value


def beyond(found: set[str], allowed: set[str]) -> set[str]:
    """Places that do not lie within any that is allowed."""
    return {place for place in found if not any(f"{place}.".startswith(f"{name}.") for name in allowed)}


def test_every_file_but_the_noisy_ones_is_the_same_whatever_the_data_are(two: Two) -> None:
    names = {path.name for path in two.one.workspace.release_folder.iterdir()}
    assert names == {path.name for path in two.other.workspace.release_folder.iterdir()}
    for name in names - NOISY_AS_A_WHOLE - {RECORD}:
        one, other = two.of_both(name)
        if one != other:
            assert name in NOISY
            assert beyond(places(json.loads(one), json.loads(other)), NOISY[name]) == set()
    assert two.of_both("privacy.json")[0] == two.of_both("privacy.json")[1]
    assert two.of_both("PRIVACY.md")[0] == two.of_both("PRIVACY.md")[1]
    # Were the data alike, all of this would hold for nothing.
    assert two.of_both("model.json")[0] != two.of_both("model.json")[1]
    assert two.of_both(CSV)[0] != two.of_both(CSV)[1]


def test_of_the_record_only_digests_depend_on_the_data(two: Two) -> None:
    one, other = (json.loads(payload)["predicate"] for payload in two.of_both(RECORD))
    found = places(one, other)
    assert beyond(found, DIGESTS | OF_THE_OCCASION) == set()
    assert {"input.commitment", "steps.#.outputs.#.digest", "ledger.entries.#.content.inputs"} <= found
    digest = re.compile(r"[0-9a-f]{64}( [0-9a-f]{64})*")
    for place, value in of_leaves(one):
        if ".".join("#" if isinstance(key, int) else key for key in place) in DIGESTS:
            assert digest.fullmatch(value), place


def test_the_columns_and_the_metadata_of_the_table_are_the_same_whatever_the_data_are(two: Two) -> None:
    one, other = (pq.ParquetFile(drawn.workspace.release_folder / PARQUET) for drawn in two.both)
    assert one.schema_arrow.equals(other.schema_arrow, check_metadata=True)
    assert tuple(one.schema_arrow.names) == two.one.workspace.spec.domain.names
    assert json.loads(one.schema_arrow.metadata[b"pandas"])["index_columns"] == []
    header, _, _ = two.of_both(CSV)[0].partition(b"\n")
    assert tuple(header.decode().split(",")) == two.one.workspace.spec.domain.names


def groups(path: Path) -> list[int]:
    """Rows of each row group of a Parquet file."""
    metadata = pq.read_metadata(path)
    return [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]


def test_the_row_groups_of_the_table_do_not_tell_how_many_candidates_passed(two: Two) -> None:
    """What is in the vault does tell, chunk by chunk, where candidates are tested."""
    for drawn in two.both:
        assert groups(drawn.workspace.release_folder / PARQUET) == [1000, 200]
        candidates = drawn.workspace.vault / "candidates-000000.parquet"
        size = drawn.workspace.spec.synthesis.chunk_candidates
        assert (groups(candidates)[0] < size) == (two.kind == "tested_seeds")


def measured(drawn: Drawn) -> set[str]:
    """Internal figures that are like no other number, as JSON writes them."""
    notes = noted_steps(drawn.workspace, tuple(flow_steps(drawn.workspace.spec)))
    figures = {
        value
        for note in notes
        for name, value in (note.figures or {}).items()
        if name.startswith("internal/") and len(f"{value:.12g}".replace(".", "").strip("0")) >= ENOUGH_DIGITS
    }
    tables = [*drawn.workspace.vault.glob("*.parquet"), *drawn.workspace.shelf.glob("baseline.parquet")]
    rows = {pq.read_metadata(path).num_rows for path in tables} - {SYNTHESIS["records"]}
    return {str(value) for value in figures} | {str(count) for count in rows if count >= 10 ** (ENOUGH_DIGITS - 2)}


NUMBER = re.compile(rb"(?<![\w.-])\d{1,3}(?:,\d{3})+(?![\w.-])|(?<![\w.-])-?\d+(?:\.\d+)?(?:e-?\d+)?(?![\w-])")


def numbers(content: bytes) -> set[str]:
    """All numbers that stand in a text."""
    return {found.group().decode().replace(",", "") for found in NUMBER.finditer(content)}


def test_no_internal_figure_is_in_any_file(two: Two) -> None:
    for drawn in two.both:
        figures = measured(drawn)
        assert len(figures) >= 15
        for path in drawn.workspace.release_folder.iterdir():
            assert numbers(opened(path)) & figures == set(), path.name
        # They are found where they may be.
        notes = b"\n".join(path.read_bytes() for path in (drawn.workspace.vault / "record").iterdir())
        assert len(numbers(notes) & figures) >= 10


def test_numbers_are_found_however_they_are_written() -> None:
    assert numbers(b'{"rows": 3019, "a":[0.12345],"b":-1.5e-07} of 12,007, 4711.') == {
        "3019",
        "0.12345",
        "-1.5e-07",
        "12007",
        "4711",
    }
    assert numbers(b"7c0d3019-3019-ab12 #3019a people-2026 v1.2.3") == set()


TIME_TO_THE_SECOND = re.compile(rb"\d\d:\d\d:(?!00)\d\d|\d\d:\d\d:\d\d\.(?=\d*[1-9])")
A_DAY_S = 24 * 60 * 60


def test_nothing_tells_how_long_the_steps_took(two: Two) -> None:
    """Neither what stands in the files, nor when they were written; in the vault both can be read."""
    folder, vault = two.one.workspace.release_folder, two.one.workspace.vault
    # A key that is this young signs at the moment that it was made at, which is in the trust file.
    born = signing_key(two.one.workspace.state).trusted.valid_from.encode()
    for path in (folder, *folder.iterdir()):
        assert path.stat().st_mtime % A_DAY_S == 0, path.name
        if path.is_file():
            assert TIME_TO_THE_SECOND.search(opened(path).replace(born, b"")) is None, path.name
    notes = list((vault / "record").iterdir())
    assert any(TIME_TO_THE_SECOND.search(path.read_bytes()) for path in notes)
    assert all(path.stat().st_mtime % A_DAY_S for path in notes)


def told_by_order(codes: Codes) -> set[str]:
    """What the order of records tells: that attributes rise or fall with it, or that neighbours are alike.

    Each is the distance from what chance gives, in standard deviations.
    """
    told = set()
    rows = len(codes)
    places_of = np.arange(rows)
    for number, column in enumerate(codes.T):
        if np.ptp(column) and abs(np.corrcoef(places_of, column)[0, 1]) * np.sqrt(rows - 1) > SIX_SIGMA:
            told.add(f"attribute {number} goes with the order")
    _, shares = np.unique(codes, axis=0, return_counts=True)
    expected = float(np.square(shares / rows).sum())
    alike = float((codes[1:] == codes[:-1]).all(axis=1).mean())
    if (alike - expected) / np.sqrt(expected * (1 - expected) / (rows - 1)) > SIX_SIGMA:
        told.add("neighbours are alike")
    return told


def test_the_order_of_the_records_is_not_that_of_the_people(two: Two) -> None:
    assert told_by_order(two.records) == set()
    workspace = two.one.workspace
    seeds = load_codes(workspace.vault / "codes.parquet", workspace.spec.domain)
    assert "attribute 1 goes with the order" in told_by_order(seeds)


def test_an_order_that_tells_something_is_noticed(two: Two) -> None:
    in_order = two.records[np.lexsort(two.records.T)]
    assert len(told_by_order(in_order)) >= 2
    twice_each = np.repeat(two.records, 2, axis=0)[: len(two.records)]
    assert told_by_order(twice_each) == {"neighbours are alike"}
    half_in_order = np.concatenate([in_order[: len(in_order) // 2], two.records[len(in_order) // 2 :]])
    assert told_by_order(half_in_order)
