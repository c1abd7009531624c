"""An attribute that a mechanism's entry names is checked against the schema when the spec is read, by the contract.

A text of an entry states by its type what it is: the name of an attribute, which is then checked, a value, or one of
listed words. An author cannot forget it.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import pytest
from pydantic import BaseModel, Field
from ruamel.yaml import YAML

from deniable.foundation.errors import InvalidInput
from deniable.foundation.spec_values import AttributeName
from deniable.learners.entry import LearnerEntry
from deniable.learners.registry import entries_in_specs
from deniable.samplers.registry import entries as samplers
from schemas.spec.release_spec import load_spec
from tests.mechanisms.table import ROWS
from tests.mechanisms.test_given_graph import GIVEN
from tests.small_release import write_small_release

UNKNOWN = "an attribute that no schema has"

NAMING: dict[str, dict[str, Any]] = {
    **{f"learner {kind}": ROWS[f"learner {kind}"] for kind in ("diverse", "nist_mst", "origin_destination")},
    "orders of pegs_noisy": ROWS["learner pegs_noisy"],
    "graph of cfs": {**ROWS["learner cfs"], "learner": GIVEN["learner"], "split": GIVEN["split"]},
    "sets of loglinear": {**ROWS["learner loglinear"], "learner__counted_together": [["age", "school"]]},
    "tables of aim": {**ROWS["learner aim"], "learner__workload": [{"attributes": ["age", "school"]}]},
    "seeds of pegs": {**ROWS["learner pegs"], "learner__seed_weights": {"sex": [1, 2]}},
    "shape of pegs": {**ROWS["learner pegs"], "learner__alpha_shape": {"sex": [1, 2]}},
}
"""Specs with an entry that names attributes, for every place where an entry can."""


def changed(document: Any, names: set[str]) -> Iterator[Any]:
    """Copies of a document, in each of which one name of an attribute, or the key that is one, is unknown."""
    if isinstance(document, dict):
        for key, value in document.items():
            if key in names:
                yield {UNKNOWN if other == key else other: kept for other, kept in document.items()}
            yield from ({**document, key: one} for one in changed(value, names))
    elif isinstance(document, list):
        for place, value in enumerate(document):
            yield from ([*document[:place], one, *document[place + 1 :]] for one in changed(value, names))
    elif document in names:
        yield UNKNOWN


def texts_of(model: type[BaseModel]) -> Iterator[str]:
    """The fields of an entry, and of entries within it, that have a text of which nothing is said."""
    for name, field in model.model_fields.items():
        annotation: Any = Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation
        yield from (f"{model.__name__}.{name}{rest}" for rest in _texts_in(annotation))


def _texts_in(annotation: Any) -> Iterator[str]:
    if annotation is str:
        yield ""
    elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield from (f": {text}" for text in texts_of(annotation))
    elif get_origin(annotation) is Annotated:
        if get_args(annotation)[0] is not str:
            yield from _texts_in(get_args(annotation)[0])
    elif get_origin(annotation) is not Literal:
        for part in get_args(annotation):
            yield from _texts_in(part)


@pytest.mark.parametrize("name", NAMING)
def test_an_unknown_attribute_is_refused_wherever_an_entry_names_one(name: str, tmp_path: Path) -> None:
    path = write_small_release(tmp_path, **NAMING[name])
    entry, names = YAML(typ="safe", pure=True).load(path)["learner"], {*load_spec(path).domain.names}
    rest = {key: value for key, value in NAMING[name].items() if not key.startswith("learner")}
    wrong = list(changed(entry, names))
    assert wrong
    for other in wrong:
        with pytest.raises(InvalidInput, match=UNKNOWN):
            load_spec(write_small_release(tmp_path, **rest, learner=other))


def test_every_text_of_an_entry_states_what_it_is() -> None:
    assert [text for entry in [*entries_in_specs(), *samplers()] for text in texts_of(entry)] == []


def test_a_text_of_which_nothing_is_said_is_seen() -> None:
    class Part(BaseModel):
        by: tuple[str, ...]

    class Careless(LearnerEntry):
        kind: Literal["careless"]  # type: ignore[assignment]
        group: str
        groups: Annotated[dict[AttributeName, tuple[str, ...] | None], Field(max_length=3)]
        named: AttributeName
        part: Part

    assert list(texts_of(Careless)) == ["Careless.group", "Careless.groups", "Careless.part: Part.by"]
