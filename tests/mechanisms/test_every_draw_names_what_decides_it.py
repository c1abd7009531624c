"""Draws from exact counts: their charge, and their streams, name everything that decides them.

Otherwise a release whose spec was changed in between would be taken for one that is paid for already, or would draw
with the words of the other one.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deniable.foundation.keys import Parameter, ReleaseKey, WordStream
from deniable.learners.registry import draws_of
from deniable.mechanisms import drawn_from
from schemas.spec.release_spec import load_spec
from tests.mechanisms.audit.subjects import Release
from tests.mechanisms.audit.tables import FULL
from tests.mechanisms.table import LEARNERS, ROWS
from tests.small_release import write_small_release

_IN_THE_URNS = {"kind", "key_cells", "orders", "structure", "seed_weights", "people"}
_IN_THE_URNS |= {"destination", "origin", "privacy", "coarsen", "population", "totals", "totals_epsilon"}
"""Settings that the urns' document lists, which is an input of the draws."""
_IN_THE_WEIGHTS = {"epsilon", "division"}
"""Settings that decide prior weights, and nothing else."""
_NO_PART_OF_DRAWS = {"accept_no_differential_privacy", "certificate", "sampling_bound"}
_ONLY_IF_GIVEN = {"seed_file", "alpha_shape", "prior_workers", "sampling_of", "sampling_by_distance"}
"""Settings that are not named at their default, which is that of specs of earlier versions."""
_CHARGED_ONLY = {"learner", "records", "chunk_candidates", "fit_rows", "sets", "shared", "diversity", "sensitive"}
"""What streams need not name: it decides their inputs or other parameters, or the records are not private."""

_SETS, _FLOWS = ROWS["learner multinomial_sets"], ROWS["sampler per_draw of origins whose destinations are public"]
_PURE = ROWS["learner origin_destination"]
_PLACES = {
    name: (number / 10, number % 7)
    for number, name in enumerate([*_FLOWS["learner"]["totals"], *(f"h{home:02d}" for home in range(12))])
}
DRAWN: dict[str, dict[str, Any]] = {
    **{name: row for name, row in ROWS.items() if row["synthesis"]["guarantee"] == "per_draw"},
    "sets of one urn": {**_SETS, "learner": {**_SETS["learner"], "shared": True}},
    "diverse in all attributes": {
        **LEARNERS["diverse"].asked,
        "learner": {**LEARNERS["diverse"].asked["learner"], "sensitive": None},
    },
    "flows with public workers": {**_PURE, "learner": {**_PURE["learner"], "prior_workers": {"h01": 5}}},
    "flows of some origins": {**_FLOWS, "learner": {**_FLOWS["learner"], "sampling": 0.5, "coarsen": False}},
    "flows of pairs": {
        **_FLOWS,
        "learner": {
            **_FLOWS["learner"],
            "sampling": 0.5,
            "coarsen": False,
            "sampling_of": {"mill": {"h01": 0.75}},
        },
    },
    "flows by distance": {
        **_FLOWS,
        "learner": {
            **_FLOWS["learner"],
            "sampling": 0.5,
            "coarsen": False,
            "sampling_by_distance": {"decay_miles": 4, "places": _PLACES},
        },
    },
}


@pytest.fixture(params=DRAWN)
def release(request: pytest.FixtureRequest, tmp_path: Path) -> Release:
    return Release(request.param, load_spec(write_small_release(tmp_path, **DRAWN[request.param])), tmp_path)


def parameters_of(release: Release, **changed: Any) -> Mapping[str, Any]:
    spec = release.spec
    asked = {"records": spec.synthesis.records, "chunk": spec.synthesis.chunk_candidates}
    entry = spec.learner.model_copy(update={name: changed.pop(name) for name in [*changed] if name not in asked})
    return draws_of(entry, release.domain, **{**asked, **changed}).parameters


def plain(value: Any) -> Parameter:
    """A setting as the parameter of a stream."""
    if isinstance(value, Mapping):
        return [[name, plain(entry)] for name, entry in sorted(value.items())]
    return [*map(plain, value)] if isinstance(value, list | tuple) else value


def named(release: Release, name: str) -> Parameter:
    """What a charge says of a setting."""
    value = getattr(release.spec.learner, name)
    if name == "sampling_of":
        return [[work, *pair] for work, pairs in sorted(value.items()) for pair in sorted(pairs.items())]
    if name == "sampling_by_distance":
        return None if value is None else value.parameter
    if name == "seed_file":
        return "" if value is None else str(value.sha256)
    defaults: dict[str, Any] = {"sensitive": release.domain.names, "sampling": Fraction(1)}
    return plain(value or defaults.get(name, value))


def test_a_charge_names_every_setting_that_decides_its_draws(release: Release) -> None:
    spec, parameters = release.spec, parameters_of(release)
    assert parameters["learner"] == spec.learner.kind
    assert parameters["records"] == spec.synthesis.records
    assert parameters["chunk_candidates"] == spec.synthesis.chunk_candidates
    for name in {*type(spec.learner).model_fields} - _IN_THE_URNS - _IN_THE_WEIGHTS - _NO_PART_OF_DRAWS:
        if (name in _ONLY_IF_GIVEN and not named(release, name)) or (name, named(release, name)) == ("sweeps", 1):
            assert name not in parameters
        else:
            assert parameters[name] == named(release, name), name


def test_a_charge_names_what_decides_the_weights(release: Release) -> None:
    entry: Any = release.spec.learner
    if entry.kind != "diverse":
        assert parameters_of(release, epsilon=entry.epsilon / 2) != parameters_of(release)


class Openings:
    """Opens streams, and keeps what each was opened with."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, dict[str, Any], int]] = []

    def __call__(self, *, mechanism: str, parameters: dict[str, Parameter], chunk: int) -> WordStream:
        self.seen.append((mechanism, dict(parameters), chunk))
        key = ReleaseKey(bytes(range(32)))
        return key.stream(step="records", mechanism=mechanism, inputs="", parameters=parameters, chunk=chunk)


def openings_of(release: Release) -> Sequence[tuple[str, dict[str, Any], int]]:
    made, _ = release._made(release.tables[FULL], ReleaseKey(bytes(range(32))), with_counts=True)
    prepare, opened = release.sampler.prepare, Openings()
    assert prepare is not None
    draw = release.sampler.open(drawn_from(made), made[prepare.makes[0].name], opened)
    chunk = release.spec.synthesis.chunk_candidates
    for number in range(release.spec.synthesis.records // chunk):
        draw(number, chunk)
    return opened.seen


def test_a_stream_of_records_names_what_decides_their_weights(release: Release) -> None:
    spec, opened = release.spec, openings_of(release)
    entry: Any = spec.learner
    charged = {name: value for name, value in parameters_of(release).items() if name not in _CHARGED_ONLY}
    workers, staying = charged.pop("prior_workers", []), {pair[0] for pair in charged.pop("sampling_of", [])}
    if charged.pop("sampling_by_distance", None):
        staying = {*release.domain.attributes[0].values}
    of_records = [parameters for mechanism, parameters, _ in opened if mechanism != "order"]
    assert of_records
    for parameters in of_records:
        assert {name: parameters.get(name) for name in charged} == charged
        assert ("public_workers" in parameters) == bool(workers)
        destination = release.domain.attributes[0].values[parameters.get("destination", 0)]
        assert ("staying" in parameters) == (destination in staying)
    for mechanism, parameters, _ in opened:
        if mechanism == "order":
            assert parameters == {"records": spec.synthesis.records}
    if entry.kind == "multinomial_sets":
        sets, records = entry.sets, spec.synthesis.records
        urns = 1 if entry.shared else sets
        assert {parameters["urn"] for parameters in of_records} == {*range(urns)}
        assert {parameters["draws"] for parameters in of_records} == {records // urns}
    if entry.kind == "origin_destination":
        assert {parameters["destination"] for parameters in of_records} == {*range(4)}
        assert all(parameters["draws"] for parameters in of_records)


@pytest.mark.parametrize("name", ["learner multinomial_sets", "sets of one urn", "learner origin_destination"])
def test_records_do_not_depend_on_the_size_of_chunks(name: str, tmp_path: Path) -> None:
    """Where an urn is for all chunks: draws of one that are in several chunks are made once."""
    drawn = Release(name, load_spec(write_small_release(tmp_path, **DRAWN[name])), tmp_path)
    made, _ = drawn._made(drawn.tables[FULL], ReleaseKey(bytes(32)), with_counts=True)
    records, found = drawn.spec.synthesis.records, []
    for chunk in (records, 128, 57):
        planned = draws_of(drawn.spec.learner, drawn.domain, records=records, chunk=chunk)
        prepare = drawn.sampler.prepare
        assert prepare is not None
        draw = planned.open(drawn_from(made), made[prepare.makes[0].name], Openings())
        parts = [draw(number, min(chunk, records - first)) for number, first in enumerate(range(0, records, chunk))]
        found.append(np.concatenate(parts).tolist())
    assert found[0] == found[1] == found[2]
