"""What stands in one person's record is found nowhere but in the vault, whether the release succeeds or fails."""

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.flows.command import run
from tests.small_release import NAMES, SCHEMA, made_up_people, write_small_release

WORD = "canary-quetzalcoatl"
NUMBER = 48_151_623
NAME = "canary-xochiquetzal"

# A schema whose author did not know that an error's message may be read by anyone.
CARELESS = SCHEMA.replace('target="employed",', 'target="employed", recode=careless,').replace(
    "schema =",
    '''
def careless(rows):
    """Fails on a school that it does not know, and says which."""
    for school in rows["school"].unique():
        if school not in ("none", "some", "degree"):
            raise ValueError(f"cannot recode school {school}")
    return rows


schema =''',
)


def people_with_canaries() -> list[list[str]]:
    """Two invalid records with canaries, and in every record a name, which no schema asks for."""
    people = [[*person, f"{NAME}-{number}"] for number, person in enumerate(made_up_people())]
    people[17][NAMES.index("school")] = WORD
    people[23][NAMES.index("age")] = str(NUMBER)
    return people


def traces(path: Path) -> Iterator[str]:
    """The canaries in a file: as text, and the number as databases and arrays write it."""
    content = path.read_bytes()
    wanted = {WORD: [WORD.encode()], NAME: [NAME.encode()]}
    wanted[str(NUMBER)] = [
        str(NUMBER).encode(),
        f"{NUMBER:,}".encode(),
        struct.pack("<q", NUMBER),
        struct.pack(">q", NUMBER),
        struct.pack("<d", NUMBER),
        struct.pack(">d", NUMBER),
    ]
    yield from (name for name, forms in wanted.items() if any(form in content for form in forms))


def found_in(folder: Path) -> dict[str, set[str]]:
    """What canaries are in which files below a folder."""
    found = {str(path): set(traces(path)) for path in folder.rglob("*") if path.is_file()}
    return {path: names for path, names in found.items() if names}


@pytest.mark.parametrize("way", ["published", "too many invalid", "careless schema"])
def test_a_value_of_one_record_is_found_only_in_the_vault(way: str, tmp_path: Path) -> None:
    changes = {"max_invalid_share": 0} if way == "too many invalid" else {}
    spec = write_small_release(tmp_path / "spec", people=people_with_canaries(), names=[*NAMES, "name"], **changes)
    if way == "careless schema":
        (spec.parent / "people.py").write_text(CARELESS)
    state, home = tmp_path / "state", tmp_path / "home"
    done = run("release", spec, "--state", state, home=home, PREFECT_LOGGING_LEVEL="DEBUG")

    assert done.returncode == (0 if way == "published" else 1), done.stderr
    for canary in (WORD, str(NUMBER), NAME):
        assert canary not in done.stdout + done.stderr
    everywhere = found_in(state) | found_in(home)
    vault = str(state / "vault")
    assert {path: names for path, names in everywhere.items() if not path.startswith(vault)} == {}
    in_the_vault = {name for path, names in everywhere.items() if path.startswith(vault) for name in names}
    assert NAME not in in_the_vault  # it never left the source
    # Were they looked for in vain everywhere, the search would be worth nothing.
    assert in_the_vault == {"published": {WORD, str(NUMBER)}, "too many invalid": set(), "careless schema": {WORD}}[way]


def test_the_search_finds_what_it_is_for(tmp_path: Path) -> None:
    forms = {
        "text": f"school {WORD}".encode(),
        "integer": b"\0" + struct.pack("<q", NUMBER),
        "float": struct.pack("<d", float(NUMBER)),
        "nothing": b"degree",
    }
    for name, content in forms.items():
        (tmp_path / name).write_bytes(content)
    found = {Path(path).name: names for path, names in found_in(tmp_path).items()}
    assert found == {"text": {WORD}, "integer": {str(NUMBER)}, "float": {str(NUMBER)}}
