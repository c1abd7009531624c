"""Whatever text a spec is, loading it gives a spec, or refuses it in words that can be shown."""

from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from deniable.foundation.errors import InvalidInput
from schemas.spec.plan import plan_release
from schemas.spec.release_spec import ReleaseSpec, load_spec
from tests.extent import drawn
from tests.small_release import QUICK, SCHEMA, SPEC

PLACES = sorted(
    {(key,) for key in SPEC}
    | {(key, inner) for key, value in SPEC.items() if isinstance(value, dict) for inner in value}
)
# What YAML may make of a few characters, and what a person may write where something else is meant.
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(10**900), 10**900),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from(["1e999999999", "1/0", "-1/3", "nan", "\0", "~", "=1", "[/bold]", "s3://", "9" * 5000]),
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(SCALARS, inner, max_size=3), max_leaves=6
)
YAMLISH = st.text("-:?!&*[]{}|>%@`'\"#,~=<. \t\n0123456789abcdefxoe+_é\x07\u2028", max_size=60)


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with TemporaryDirectory() as place:
        (Path(place) / "people.py").write_text(SCHEMA)
        yield Path(place)


def taken(folder: Path, text: str | bytes) -> ReleaseSpec | None:
    """The spec that a text is; none if it is refused, in a few lines that a screen can show."""
    path = folder / "spec.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
    try:
        return load_spec(path)
    except InvalidInput as refusal:
        said = str(refusal)
    assert "must" in said or "is wrong" in said
    assert len(said) < 100_000
    assert all(each.isprintable() or each == "\n" for each in said)
    return None


def written(document: dict[str, Any]) -> str:
    """A document as YAML."""
    out = StringIO()
    YAML(typ="safe", pure=True).dump(document, out)
    return out.getvalue()


@given(st.binary(max_size=60) | YAMLISH | st.text(max_size=60))
@example(b"\xff\xfe")
@example("a: &a [*a]")
@example("!!binary '='")
@example("%TAG ! x\n--- !y z")
def test_any_text_is_taken_or_refused(folder: Path, text: str | bytes) -> None:
    assert taken(folder, text) is None


@given(st.integers(0), YAMLISH)
def test_a_spec_with_some_text_in_its_middle_is_taken_or_refused(folder: Path, place: int, text: str) -> None:
    whole = written(SPEC)
    place %= len(whole)
    taken(folder, whole[:place] + text + whole[place:])


@pytest.mark.slow
@settings(max_examples=drawn(200))
@given(st.sampled_from(PLACES), VALUES, st.sampled_from([{}, QUICK]))
@example(("budget",), {"\x1b": None}, {})
def test_a_spec_with_any_value_in_any_place_is_taken_with_its_cost_or_refused(
    folder: Path, place: tuple[str, ...], value: Any, changes: dict[str, Any]
) -> None:
    document = {**SPEC, **changes}
    *outer, last = place
    if outer and outer[0] in document:
        document = {**document, outer[0]: {**document[outer[0]], last: value}}
    else:
        document[last] = value
    try:
        text = written(document)
    except Exception:  # noqa: BLE001 - no YAML is written of it, so that none can be read
        return
    spec = taken(folder, text)
    if spec is not None:
        assert plan_release(spec).accounts.steps
