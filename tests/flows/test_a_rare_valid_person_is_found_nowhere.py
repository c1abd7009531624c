"""One valid record that is like no other is found nowhere but in the vault: not its row, and no two of its rare values.

Its labels are public by themselves, for the domain is. What must not be found is that they occur together: neither
after the release nor after it was verified, audited, replayed and compared.
"""

import base64
import csv
import gzip
import io
import json
import re
import sqlite3
import struct
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.flows.looked_at import look_at
from tests.small_release import write_small_release
from tests.unpacked import files_below, unpacked

LABELS = 600
RARE = {"village": (517, "quetzalfield"), "trade": (283, "xolotlwright"), "illness": (541, "tlalocpox")}
NAMES = [*RARE, "sex", "employed"]
# Within a row, a list or an object of JSON, or a key made of two values, labels are this near.
NEAR = 48
# The text of the schema is public and stands in the record. Its labels must not be near each other by themselves.
_LABELS = "\n".join(f"    {name!r}: {rare!r},  # {'.' * NEAR}" for name, rare in RARE.items())
SCHEMA = f"""
from schemas.table import nominal, table

RARE = {{
{_LABELS}
}}


def labels(name):
    code, rare = RARE[name]
    return [rare if number == code else f"{{name}} {{number}}" for number in range({LABELS})]


schema = table(
    {{
        **{{name: nominal(labels(name), buckets=[labels(name)[:300], labels(name)[300:]]) for name in RARE}},
        "sex": nominal(["f", "m"]),
        "employed": nominal(["no", "yes"]),
    }},
    description="Made-up people.",
    target="employed",
)
"""
CODES = tuple(code for code, _ in RARE.values())
WORDS = tuple(word for _, word in RARE.values())
PERSON = [*WORDS, "m", "yes"]
ROW_OF_CODES = (*CODES, 1, 1)

EVALUATION = {
    "classifiers": ["tree"],
    "train_rows": 400,
    "quasi_identifiers": ["village", "sex"],
    "sensitive": ["illness"],
    "known": ["village", "sex"],
}
WAYS: dict[str, dict[str, Any]] = {
    "seedless": {"guarantee": "seedless", "records": 400, "chunk_candidates": 128},
    "histogram": {
        "guarantee": "histogram_seeds",
        "omega": 2,
        "epsilon": 1,
        "delta": 1e-6,
        "k": 10,
        "beta": 1e-3,
        "max_rows": 10_000,
        "records": 400,
        "chunk_candidates": 128,
    },
}


def people() -> list[list[str]]:
    """3,000 people of three common villages, trades and illnesses, and one who shares none of them with anybody."""
    draw = np.random.default_rng(list(b"a rare valid person"))
    common = [[f"{name} {number}" for number in draw.integers(0, 3, 3000)] for name in RARE]
    rest = [["fm"[number] for number in draw.integers(0, 2, 3000)]]
    rest += [[["no", "yes"][number] for number in draw.integers(0, 2, 3000)]]
    rows = [list(row) for row in zip(*common, *rest, strict=True)]
    return [*rows[:1234], PERSON, *rows[1234:]]


_SEPARATOR = rb"[\s,;|\[\]\"']{1,6}"
_CODES_AS_TEXT = re.compile(
    rb"(?<![\d.])" + _SEPARATOR.join(str(code).encode() for code in ROW_OF_CODES) + rb"(?![\d.])"
)


def traces(content: bytes) -> set[str]:
    """What of the person is in a file: two labels near each other, or all codes in a row."""
    found = set()
    for text in unpacked(content):
        for first, second in combinations([word for word in WORDS if word.encode() in text], 2):
            one, other = first.encode(), second.encode()
            near = rb"[\s\S]{0,%d}" % NEAR
            if re.search(one + near + other + rb"|" + other + near + one, text):
                found.add(f"{first} and {second}")
        has_codes = all(str(code).encode() in text for code in CODES)
        if (has_codes and _CODES_AS_TEXT.search(text)) or any(
            struct.pack(f"<{len(ROW_OF_CODES)}{kind}", *ROW_OF_CODES) in text for kind in "Hiqd"
        ):
            found.add("row of codes")
    return found


def found_in(folder: Path) -> dict[Path, set[str]]:
    """What of the person is in which files below a folder."""
    found = {path: traces(path.read_bytes()) for path in files_below(folder)}
    return {path: what for path, what in found.items() if what}


def by_chance(table: pd.DataFrame) -> set[str]:
    """Pairs of the labels that records have of which nobody is the model."""
    words = dict(zip(RARE, WORDS, strict=True))
    return {
        f"{words[one]} and {words[other]}"
        for one, other in combinations(RARE, 2)
        if ((table[one] == words[one]) & (table[other] == words[other])).any()
    }


def made_of_noise(state: Path) -> set[str]:
    """Pairs that may be found since the records released, or the baseline's, have them by chance."""
    pairs: set[str] = set()
    codes = dict(zip(RARE, CODES, strict=True))
    for path in (*state.glob("releases/*/synthetic.parquet"), *state.glob("shelf/*/baseline.parquet")):
        table = pd.read_parquet(path)
        if path.name == "baseline.parquet":
            words = dict(zip(RARE, WORDS, strict=True))
            table = pd.DataFrame({name: table[name].map({codes[name]: words[name]}) for name in RARE})
        assert not (table[list(RARE)] == list(WORDS)).all(axis=1).any()
        pairs |= by_chance(table)
    return pairs


def joint_counts(value: Any) -> Iterator[list[int]]:
    """Tables of whole numbers in a JSON document that have a cell for each pair of values of two attributes."""
    if isinstance(value, dict):
        for inner in value.values():
            yield from joint_counts(inner)
    elif isinstance(value, list):
        flat = [cell for row in value for cell in (row if isinstance(row, list) else [row])]
        if len(flat) >= LABELS * 2 and len(flat) % (LABELS * 2) == 0 and all(isinstance(cell, int) for cell in flat):
            yield flat
        for inner in value:
            yield from joint_counts(inner)


def documents(folder: Path) -> Iterator[tuple[Path, Any]]:
    """The JSON documents below a folder."""
    for path in folder.rglob("*.json"):
        yield path, json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "way", [pytest.param(way, marks=[] if way == "histogram" else [pytest.mark.nightly]) for way in WAYS]
)
@pytest.mark.nightly
def test_a_person_who_is_like_nobody_is_found_in_the_vault_alone(way: str, tmp_path: Path) -> None:
    spec = write_small_release(
        tmp_path / "spec", people=people(), names=NAMES, synthesis=WAYS[way], evaluation=EVALUATION, thresholds={}
    )
    (spec.parent / "people.py").write_text(SCHEMA)
    looked_at = look_at(spec, tmp_path)
    state, home = looked_at.state, looked_at.home
    assert {command for command, said in looked_at.said.items() if traces(said.encode())} == set()

    everywhere = found_in(state) | found_in(home)
    in_the_vault = {path.name: what for path, what in everywhere.items() if path.is_relative_to(state / "vault")}
    chance = made_of_noise(state)
    outside = {path: what - chance for path, what in everywhere.items() if not path.is_relative_to(state / "vault")}
    assert {path: what for path, what in outside.items() if what} == {}
    # Were the person not found there either, the search would be worth nothing.
    assert in_the_vault["codes.parquet"] == {"row of codes"}
    assert len(in_the_vault["snapshot.parquet"]) == 3

    counted = [(path, cells) for path, document in documents(state) for cells in joint_counts(document)]
    assert [path for path, cells in counted if path.name != "model.json" and 1 in cells] == []
    for path in state.glob("releases/*/seeds.json"):
        noisy = json.loads(path.read_text(encoding="utf-8"))
        assert set(noisy["attributes"]) & set(RARE)
        assert min(noisy["counts"]) > 1
        assert not {label for cell in noisy["cells"] for label in cell} & set(WORDS)


def csv_row(values: list[Any]) -> bytes:
    file = io.StringIO()
    csv.writer(file).writerow(values)
    return file.getvalue().encode()


def test_the_search_finds_a_person_however_packed(tmp_path: Path) -> None:
    row = csv_row(PERSON)
    parquet = io.BytesIO()
    pd.DataFrame([ROW_OF_CODES], columns=NAMES).to_parquet(parquet)
    database = sqlite3.connect(tmp_path / "database")
    database.execute("CREATE TABLE t (a, b)")
    database.execute("INSERT INTO t VALUES (?, ?)", WORDS[:2])
    database.commit()
    array = io.BytesIO()
    np.savez_compressed(array, codes=np.array([ROW_OF_CODES], np.uint16))
    page = b'<img src="data:;base64,' + base64.b64encode(gzip.compress(row)) + b'">'
    forms = {
        "csv": row,
        "json": json.dumps(dict(zip(NAMES, PERSON, strict=True)), indent=1).encode(),
        "key": f'{{"{WORDS[2]}|{WORDS[0]}": 1}}'.encode(),
        "list": json.dumps([ROW_OF_CODES]).encode(),
        "gzip": gzip.compress(row),
        "parquet": parquet.getvalue(),
        "npz": array.getvalue(),
        "page": page,
        "domain": json.dumps([f"village {number}" for number in range(9)] + [WORDS[0]]).encode(),
    }
    for name, content in forms.items():
        (tmp_path / name).write_bytes(content)
    assert {path.name for path in found_in(tmp_path)} == {*forms, "database"} - {"domain"}


def test_counts_of_pairs_are_told_from_other_numbers() -> None:
    pairs = [[0, 1]] * LABELS
    assert len(list(joint_counts({"counts": {"village, sex": pairs}}))) == 1
    assert list(joint_counts({"counts": [1] * LABELS, "shares": [[0.5, 0.5]] * LABELS})) == []
