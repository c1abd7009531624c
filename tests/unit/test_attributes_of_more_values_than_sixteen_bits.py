"""Attributes of more than 65,535 values, such as blocks of a country: 32-bit codes where needed, and nowhere else."""

import base64
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from deniable.foundation.domain import MAX_CARDINALITY, MOST_VALUES, Attribute, Domain
from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import ReleaseKey
from deniable.learners import registry
from deniable.learners.origin_destination.draws import FlowCounts, area_of_origins, draws
from deniable.learners.origin_destination.plan import FlowsPlan, plan_of, urns_document
from deniable.learners.origin_destination.spec import Entry
from deniable.learners.origin_destination.verification import check_urns
from deniable.library.schema import Schema
from deniable.measurements import from_others
from reports.pages.explorer import bits_of, pack
from schemas.spec.release_spec import load_spec
from stores.tables.tables import CodesWriter, decode, encode, load_codes
from tests.mechanisms.table import LEARNERS
from tests.small_release import QUICK, write_small_release

MANY = MAX_CARDINALITY + 5000
WORK = Attribute("work", ("mill", "port"), "nominal", (0, 1))
ROWS = np.array([[0, MANY - 1], [0, MANY - 1], [0, 3], [1, MAX_CARDINALITY + 1]], np.uint32)
SCHEMA = """
from schemas.table import nominal, table

schema = table({"work": nominal(["mill", "port"]), "home": nominal([f"h{n}" for n in range(70_000)])}, target="work")
"""


@cache
def domain_of(homes: int) -> Domain:
    areas = tuple(n // 100 for n in range(homes))
    return Domain((WORK, Attribute("home", tuple(f"h{n}" for n in range(homes)), "nominal", areas)), target="work")


def entry(**asked: Any) -> Entry:
    shown = {
        "kind": "origin_destination",
        "destination": "work",
        "origin": "home",
        "totals": {"mill": 300, "port": 100},
    }
    return Entry.model_validate({**shown, **asked}, context={"domain": domain_of(MANY)})


@pytest.mark.parametrize(("homes", "kind"), [(MAX_CARDINALITY, np.uint16), (MAX_CARDINALITY + 1, np.uint32)])
def test_columns_of_files_have_the_bits_that_they_need(homes: int, kind: type, tmp_path: Path) -> None:
    domain, place = domain_of(homes), tmp_path / "codes.parquet"
    codes = np.array([[0, homes - 1], [1, 0], [1, homes - 2]], domain.code_type)
    with CodesWriter(place, domain, group_rows=2) as writer:
        writer.write(codes[:1])
        writer.write(codes[1:])
    types = [str(field.type) for field in pq.read_schema(place)]
    assert types == ["uint16", np.dtype(kind).name]
    read = load_codes(place, domain)
    assert read.dtype == kind
    assert read.tolist() == codes.tolist()
    assert encode(decode(read, domain), domain).tolist() == codes.tolist()
    assert domain.attributes[1].bucket_of.dtype == np.uint16, "areas are few"


def test_an_attribute_has_at_most_a_million_values() -> None:
    with pytest.raises(InvalidInput, match=r"home must have 1 to 1,000,000 values, got 1,000,001"):
        Attribute("home", tuple(range(MOST_VALUES + 1)), "nominal", ())


@pytest.mark.parametrize("coarsen", [True, False])
def test_origins_of_more_than_sixteen_bits_are_drawn_as_the_law_says(*, coarsen: bool) -> None:
    """At a large epsilon the urns are nearly the workers, so that each drawn origin must be one of theirs."""
    domain, asked = domain_of(MANY), entry(epsilon=25, coarsen=coarsen)
    counted = FlowCounts(0, 1, area_of_origins(asked, domain))
    counted.add(ROWS)
    plan = plan_of(dict(asked), domain)
    document = urns_document(dict(asked), domain, plan, plan.totals or ())
    assert document["origins"] == (MANY // 100 + 1 if coarsen else MANY)
    key = ReleaseKey(bytes(range(32)))
    draw = draws(asked, domain, records=400, chunk=150).open(
        document,
        [counted.pairs, counted.numbers],
        lambda **how: key.stream(step="test", inputs="", **how),
    )
    found = np.concatenate([draw(0, 150), draw(1, 150), draw(2, 100)])
    assert found.dtype == np.uint32
    real = {(work, home // 100 if coarsen else home) for work, home in ROWS.tolist()}
    assert {(work, home // 100 if coarsen else home) for work, home in found.tolist()} == real
    spec = {"learner": {**asked.model_dump(), "epsilon": Fraction(25)}, "synthesis": {"records": 400}}
    described = domain_document(domain)
    record = {"spec": {"document": spec}}
    assert all(check.holds for check in check_urns(record, described, document))
    assert not all(check.holds for check in check_urns(record, described, {**document, "origins": MANY + 1}))


def domain_document(domain: Domain) -> dict[str, Any]:
    return {
        "target": domain.target,
        "attributes": [
            {
                "name": each.name,
                "kind": each.kind,
                "values": [
                    {"value": value, "bucket": bucket} for value, bucket in zip(each.values, each.buckets, strict=True)
                ],
            }
            for each in domain.attributes
        ],
    }


@pytest.mark.parametrize("kind", [kind for kind in registry.KINDS if kind != "origin_destination"])
def test_learners_with_codes_of_sixteen_bits_refuse_them(kind: str) -> None:
    """Such a code would become another value's without a word."""
    asked = registry.entry_of(kind).model_construct(kind=kind)
    for plan in (
        lambda domain: registry.steps_of(asked, domain, lambda _: Fraction(0)),
        lambda domain: registry.draws_of(asked, domain, records=1, chunk=1),
    ):
        with pytest.raises(InvalidInput, match=rf"kind {kind} takes attributes of at most 65,535 values, got 70,535"):
            plan(domain_of(MANY))


def test_a_spec_of_another_learner_is_refused_for_them(tmp_path: Path) -> None:
    changes = {**LEARNERS["origin_destination"].asked, "schema": SCHEMA}
    assert load_spec(write_small_release(tmp_path / "one", **changes)).domain.code_type is np.uint32
    with pytest.raises(InvalidInput, match=r"learner.*at most 65,535 values, got 70,000 of home; group them"):
        load_spec(write_small_release(tmp_path / "other", **{**changes, **QUICK}))


def test_the_library_and_files_of_others_tables_refuse_them() -> None:
    with pytest.raises(InvalidInput, match="the library takes attributes of at most 65,535 values"):
        Schema({"home": [f"h{n}" for n in range(MANY)]})
    with pytest.raises(InvalidInput, match="the library takes attributes of at most 65,535 values"):
        Schema.from_document(domain_document(domain_of(MANY)))
    home = {"name": "home", "kind": "nominal", "values": list(range(MANY))}
    with pytest.raises(InvalidInput, match="a file of noisy tables takes attributes of at most 65,535 values"):
        from_others._read({"format": from_others.FORMAT, "attributes": [home], "tables": []})


def test_the_explorer_packs_all_their_bits() -> None:
    attribute = domain_of(MANY).attributes[1]
    codes = np.array([MANY - 1, 0, MAX_CARDINALITY + 1], np.uint32)
    bits = np.unpackbits(np.frombuffer(base64.b64decode(pack(codes, bits_of(attribute))), np.uint8), bitorder="little")
    read = bits[: 3 * bits_of(attribute)].reshape(3, -1).astype(np.int64) @ (1 << np.arange(bits_of(attribute)))
    assert read.tolist() == codes.tolist()


def test_the_prior_weight_at_the_papers_scale_is_that_of_its_formula() -> None:
    """15 workers, 233,726 blocks, epsilon 4.6, delta 1e-5: computed beforehand with another program, .0304617."""
    plan = FlowsPlan(1, 233_726, Fraction(46, 10), Fraction(1, 10**5))
    assert plan.prior(15, 15) / (1 << 20) == pytest.approx(0.0304617, rel=1e-4)
