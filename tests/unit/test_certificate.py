"""Which pairs a certificate covers, what it states, and how it is compared with what was measured and charged."""

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from deniable.foundation.domain import Attribute, Domain
from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import Parameter, ReleaseKey, WordStream
from deniable.foundation.noise import DiscreteGaussian, DiscreteLaplace
from deniable.foundation.rules import Derived, Impossible
from deniable.learners import certified
from deniable.learners.certificate_costs import CertificateCost, with_certificate
from deniable.learners.registry import LEARNERS, entries, steps_of
from deniable.measurements import certificate as certificates
from deniable.measurements.certificate import (
    Certificate,
    Workload,
    check_certificate,
    largest_error,
    margin,
    records_of,
    scaled,
    workload_of,
)
from deniable.measurements.document import Measurements, Universe
from deniable.measurements.noisy_tables import MeasuredTable, NoiseLaw, Release
from deniable.privacy.common_events import certificate_event
from deniable.privacy.composition import epsilon_to_zcdp
from deniable.privacy.loss import DiscreteGaussianEvent, Guarantee, MechanismEvent
from deniable.privacy.planned import ExpectedStep, Planned
from deniable.privacy.step_costs import StepCost
from deniable.record.schema_document import describe_domain

Document = dict[str, Any]
LAW = NoiseLaw("gaussian", Fraction(400))
SIZES = (2, 3, 4, 1, 2)
DOMAIN = Domain(
    tuple(Attribute(f"a{i}", tuple(range(size)), "nominal", tuple(range(size))) for i, size in enumerate(SIZES))
)
CERTIFYING = {"loglinear", "mst", "nist_mst", "aim", "privbayes", "pegs_noisy"}


def table(*attributes: int, differences: tuple[int, ...] = ()) -> MeasuredTable:
    shape = [1 if i in differences else SIZES[i] for i in attributes]
    released = Release(np.zeros(shape, np.int64), LAW, 1)
    return MeasuredTable(attributes, (released,), attributes, differences)


def measured(*tables: MeasuredTable, records: float = 1000.4) -> Measurements:
    buckets = tuple(np.arange(size) for size in SIZES)
    return Measurements(DOMAIN, "mst", Universe("parameters"), buckets, tables, (), records, (0, 1, 2, 3, 4))


ONES = tuple(table(i) for i in (0, 1, 2, 4))
ALL = ((0, 1), (0, 2), (0, 4), (1, 2), (1, 4), (2, 4))


@pytest.mark.parametrize(
    ("tables", "left"),
    [
        ((), ALL),
        ((table(0, 1),), ALL[1:]),
        ((table(0, 1, 2),), ((0, 4), (1, 4), (2, 4))),
        # Differences of the pair itself determine it, with the single attributes; along a third they say nothing.
        ((table(0, 1, differences=(0,)),), ALL[1:]),
        ((table(0, 1, 2, differences=(0,)),), ((0, 4), (1, 2), (1, 4), (2, 4))),
    ],
)
def test_pairs_are_those_whose_tables_do_not_follow_from_measured_ones(
    tables: tuple[MeasuredTable, ...], left: tuple[tuple[int, int], ...]
) -> None:
    assert workload_of(measured(*ONES, *tables)) == Workload(left)


def test_a_difference_alone_does_not_determine_a_pair() -> None:
    assert workload_of(measured(ONES[0], table(0, 1, differences=(0,)))).pairs == ALL


def test_where_every_pair_was_measured_the_certificate_is_about_all_of_them() -> None:
    whole = measured(*ONES, *(table(*pair) for pair in ALL))
    assert workload_of(whole) == Workload(ALL, is_all=True)
    made = certificate(whole)
    assert made.statement.startswith(
        "Every pair of attributes was measured. With 95% confidence, no count of the 6 pairs"
    )


@pytest.mark.parametrize("largest", [16, 23])
def test_the_largest_tables_are_left_out_and_named(largest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those kept have 4 + 6 + 6 cells, and the next has 8."""
    monkeypatch.setattr(certificates, "LARGEST", largest)
    assert workload_of(measured(*ONES)) == Workload(((0, 1), (0, 4), (1, 4)), left_out=((0, 2), (1, 2), (2, 4)))


def test_counts_of_a_population_are_rounded_in_integers() -> None:
    assert scaled(np.array([0, 1, 2, 3, 1000]), 500, 1000).tolist() == [0, 1, 1, 2, 500]
    assert scaled(np.array([10**6]), 10**9, 10**6).tolist() == [10**9]
    assert [records_of(measured(records=own)) for own in (0.2, 1000.4, 1000.5)] == [1, 1000, 1001]


def test_margins_are_those_worked_out_by_hand() -> None:
    """A normal quantile of 1.645 standard deviations; scale times the logarithm of 1 over twice the rest."""
    assert margin(NoiseLaw("gaussian", Fraction(10**4)), 0.95) == 164
    assert margin(NoiseLaw("laplace", Fraction(100)), 0.95) == 230
    # The widest noise that is summed, and wider noise by the normal quantile 1.644854, which it must not fall below.
    assert margin(NoiseLaw("gaussian", Fraction(1 << 24)), 0.95) == 6737
    assert 164_485.4 < margin(NoiseLaw("gaussian", Fraction(10**10)), 0.95) <= 164_487
    assert margin(NoiseLaw("gaussian", Fraction(1, 20)), 0.95) == 0
    for level in (0.0, 1.0, 1.5):
        with pytest.raises(InvalidInput, match="level"):
            margin(LAW, level)


def certificate(known: Measurements, released: int = 20) -> Certificate:
    workload = workload_of(known)
    model = []
    for i, j in workload.pairs:
        cells = SIZES[i] * SIZES[j]
        own = np.full(cells, 1000 // cells)
        own[: 1000 % cells] += 1
        model.append(own.reshape(SIZES[i], SIZES[j]))
    return Certificate(DOMAIN, "parameters", workload, 1000, certificates.POPULATION, tuple(model), released, LAW)


def test_the_statement_says_what_may_be_published() -> None:
    made = certificate(measured(*ONES, table(0, 1)))
    assert made.bound() == 20 + margin(LAW, 0.95) == 53
    assert made.statement == (
        "With 95% confidence, no count of the 5 pairs of attributes that were not measured is off by more than 53 "
        "records in a sample of 1,000,000 records of the model, scaled to as many as were counted, which is 5.3 "
        "percentage points of the estimated 1,000 records that were counted."
    )
    assert certificate(measured(*ONES), -500).bound() == 0
    assert "says nothing" in certificate(measured(*ONES), 2_000).statement
    again = Certificate.from_document(DOMAIN, json.loads(json.dumps(made.document())))
    assert again.document() == made.document()


def test_a_certificate_of_the_first_format_holds_with_its_own_sentence_and_with_no_other() -> None:
    made = certificate(queried()).document()
    first = replace(certificate(queried()), form=certificates.FIRST_FORMAT).document()
    assert "in the model, which is" in first["statement"]
    assert check(RECORD, first) == ()
    assert "statement" in " ".join(check(RECORD, {**first, "statement": made["statement"]}))
    assert "statement" in " ".join(check(RECORD, {**made, "statement": first["statement"]}))


EVENT = {
    "mechanism": "discrete_gaussian",
    "query": "largest error of the model's two-way counts",
    "part": "parameters",
    "outputs": 1,
    "sampling_rate": "1",
    "sensitivity": 1,
    "variance": "400",
}
RECORD: Document = {"cost": {"steps": [{"step": "learn_parameters", "events": [EVENT]}]}}
DESCRIBED = describe_domain(DOMAIN, {}, {})


def queried() -> Measurements:
    """What was measured, with a turn for each table."""
    tables = (*ONES, table(0, 1))
    numbered = [
        MeasuredTable(own.attributes, (Release(own.releases[0].sums, LAW, turn),), own.by_values)
        for turn, own in enumerate(tables, 1)
    ]
    return measured(*numbered, records=1000.0)


def check(record: Document, document: Document) -> tuple[str, ...]:
    return check_certificate(record, DESCRIBED, queried().document(), json.loads(json.dumps(document))).faults


def test_a_certificate_as_it_was_made_holds() -> None:
    assert check(RECORD, certificate(queried()).document()) == ()


CHANGES: list[tuple[str, Callable[[Document], object]]] = [
    ("bound is 51", lambda own: own.update(bound=51)),
    ("bound_share", lambda own: own.update(bound_share=0.01)),
    ("statement", lambda own: own.update(statement="The model is perfect.")),
    ("level", lambda own: own.update(level=0.99)),
    ("bound is 53", lambda own: own.update(released=10)),
    ("whole numbers", lambda own: own.update(released=10.0)),
    ("noise", lambda own: own.update(noise={"law": "gaussian", "variance": "100"})),
    ("noise", lambda own: own.update(noise={"law": "laplace", "scale": "400"})),
    ("the pairs that were not measured", lambda own: own["pairs"].pop()),
    ("the pairs that were not measured", lambda own: own["pairs"].reverse()),
    ("the pairs that were not measured", lambda own: own.update(left_out=[["a0", "a1"]])),
    ("entries of its format", lambda own: own.update(of="some pairs")),
    ("records is", lambda own: own.update(records=1_001)),
    ("population", lambda own: own.update(population=10)),
    ("part", lambda own: own.update(part="seeds")),
    ("the shape", lambda own: own["pairs"][0].update(model=[[1, 2]])),
    ("must sum to", lambda own: own["pairs"][0]["model"][0].__setitem__(0, 600)),
    ("none below 0", lambda own: own["pairs"][0]["model"][0].__setitem__(0, -1)),
    ("whole numbers", lambda own: own["pairs"][0]["model"][0].__setitem__(0, 0.5)),
    ("format", lambda own: own.update(format="deniable/certificate/3")),
    ("entries of its format", lambda own: own.update(more=1)),
]


@pytest.mark.parametrize(("fault", "change"), CHANGES)
def test_what_was_changed_is_found(fault: str, change: Callable[[Document], object]) -> None:
    document = json.loads(json.dumps(certificate(queried()).document()))
    change(document)
    found = check(RECORD, document)
    assert found
    assert fault in " ".join(found)


@pytest.mark.parametrize(
    "events",
    [
        [],
        [EVENT, EVENT],
        [{**EVENT, "sensitivity": 2}],
        [{**EVENT, "outputs": 2}],
        [{**EVENT, "query": "counts of a0"}],
    ],
)
def test_a_certificate_that_was_not_paid_for_is_found(events: list[Document]) -> None:
    record = copy.deepcopy(RECORD)
    record["cost"]["steps"][0]["events"] = events
    assert "must be that of the one event" in " ".join(check(record, certificate(queried()).document()))
    assert check(RECORD, {}) == ("certificate.json is missing, or is not a JSON document",)


def test_learners_without_noisy_tables_and_a_model_refuse_it_by_name() -> None:
    assert {kind for kind, own in zip(LEARNERS, entries(), strict=True) if own.certifies} == CERTIFYING
    for kind, entry in zip(LEARNERS, entries(), strict=True):
        if kind not in CERTIFYING:
            with pytest.raises(ValidationError, match=f"must be left out for a learner of kind {kind}"):
                entry.model_validate({"kind": kind, "certificate": {"share": 0.01}})


def entry_of(share: Any = "0.01") -> Any:
    mst = dict(zip(LEARNERS, entries(), strict=True))["mst"]
    return mst.model_validate(
        {"kind": "mst", "parameters": {"epsilon": 1, "delta": 1e-6}, "certificate": {"share": share}}
    )


def test_an_impossible_share_and_a_table_without_pairs_are_refused() -> None:
    for share in (0, 0.6, -1, "much"):
        with pytest.raises(ValidationError):
            entry_of(share)
    alone = Domain((DOMAIN.attributes[1], DOMAIN.attributes[3]))
    with pytest.raises(InvalidInput, match="no pair"):
        steps_of(entry_of(), alone, lambda delta: delta)


def test_a_spec_without_it_is_written_as_before() -> None:
    written = entry_of().model_copy(update={"certificate": None}).model_dump(mode="json", fallback=str)
    assert "certificate" not in written
    assert entry_of().model_dump(mode="json", fallback=str)["certificate"] == {"share": "1/100"}


@pytest.mark.slow
@pytest.mark.parametrize("largest", [certificates.LARGEST, 1])
def test_a_step_makes_what_is_verified(largest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its cost was reserved before anybody knew which pairs remain: it must not fail where all are too large."""
    monkeypatch.setattr(certificates, "LARGEST", largest)
    monkeypatch.setattr(certified, "POPULATION", 4_000)
    monkeypatch.setattr(certificates, "POPULATION", 4_000)
    [step] = steps_of(entry_of("0.1"), DOMAIN, lambda delta: delta)
    draw = np.random.default_rng(list(b"certified people"))
    codes = np.stack([draw.integers(size, size=3_000) for size in SIZES], axis=1).astype(np.uint16)

    class Rows:
        def count(self, empty: Callable[[], Any], _: str) -> Any:
            tally = empty()
            tally.add(codes)
            return tally

        def advance(self, amount: int) -> None:
            pass

    open_stream = partial(ReleaseKey(bytes(range(32))).stream, step="learn", inputs="people")
    made = step.run(Rows(), {}, open_stream).products
    assert {product.name for product in step.makes} == set(made)
    record = {"cost": {"steps": [{"step": step.name, "events": [event.to_record() for event in step.events]}]}}
    found = check_certificate(record, DESCRIBED, made["measured"], json.loads(json.dumps(made["certificate"])))
    assert found.faults == ()
    worst = 0
    for each in made["certificate"]["pairs"]:
        i, j = DOMAIN.subset(each["attributes"])
        own = np.zeros((SIZES[i], SIZES[j]), np.int64)
        np.add.at(own, (codes[:, i], codes[:, j]), 1)
        worst = max(worst, int(np.abs(own - np.array(each["model"])).max()))
    noise = float(step.events[-1].variance) ** 0.5  # type: ignore[attr-defined]
    assert abs(made["certificate"]["released"] - worst) < 6 * noise


def test_the_model_is_certified_as_records_are_drawn_from_it_under_the_rules_of_the_table(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A column that others determine is not modelled, and has no pair; what never occurs has no count in the model."""
    monkeypatch.setattr(certified, "POPULATION", 4_000)
    determined = Attribute("sum", tuple(range(6)), "numeric", tuple(range(6)))
    values = tuple(i + j for i in range(2) for j in range(3))
    ruled = Domain(
        (determined, *DOMAIN.attributes),
        rules=(
            Derived("codebook", "sum", ("a0", "a1"), values),
            Impossible("codebook", (("a0", (0,)), ("a2", (3,)))),
        ),
    )
    draw = np.random.default_rng(list(b"ruled people"))
    codes = np.stack([draw.integers(size, size=3_000) for size in SIZES], axis=1)
    codes = codes[(codes[:, 0] != 0) | (codes[:, 2] != 3)]
    codes = np.concatenate([(codes[:, :1] + codes[:, 1:2]), codes], axis=1).astype(np.uint16)

    class Rows:
        def count(self, empty: Callable[[], Any], _: str) -> Any:
            tally = empty()
            tally.add(codes)
            return tally

        def advance(self, amount: int) -> None:
            pass

    [step] = steps_of(entry_of("0.1"), ruled, lambda delta: delta)
    open_stream = partial(ReleaseKey(bytes(range(32))).stream, step="learn", inputs="people")
    made = step.run(Rows(), {}, open_stream).products["certificate"]
    pairs = {tuple(each["attributes"]): np.array(each["model"]) for each in made["pairs"]}
    assert pairs
    assert not any("sum" in names for names in pairs)
    if ("a0", "a2") in pairs:
        assert pairs["a0", "a2"][0, 3] == 0
    assert Certificate.from_document(ruled.modelled, json.loads(json.dumps(made))).document() == made


def test_a_certificate_of_no_table_is_the_noise_alone_and_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certificates, "LARGEST", 1)
    found = workload_of(measured(*ONES))
    assert (found.pairs, found.left_out) == ((), ALL)
    made = replace(certificate(measured(*ONES)), workload=found, model=())
    assert largest_error((), ()) == 0
    assert made.statement == "The certificate says nothing about any pair of attributes: all tables are too large."


def test_pairs_that_are_left_out_are_not_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certificates, "LARGEST", 18)
    assert certificate(measured(*ONES)).statement.endswith(" It says nothing about 3 more, whose tables are too large.")


@pytest.mark.parametrize("law", [NoiseLaw("laplace", Fraction(7, 2)), NoiseLaw("gaussian", Fraction(50))])
def test_a_certificate_has_the_noise_that_is_charged_from_a_stream_that_says_of_what(law: NoiseLaw) -> None:
    opened: list[dict[str, Any]] = []

    def open_stream(*, mechanism: str, parameters: dict[str, Parameter]) -> WordStream:
        opened.append({"mechanism": mechanism, **parameters})
        return ReleaseKey(bytes(32)).stream(step="learn", mechanism=mechanism, inputs="", parameters=parameters)

    counts = [np.arange(24).reshape(4, 6)]
    found = certified.noisy_error(counts, [counts[0] + 3], law, open_stream, DOMAIN, Workload(((0, 4),)))
    named = {"law": law.law, "amount": law.amount, "domain": DOMAIN.digest, "pairs": [["a0", "a4"]]}
    assert opened == [{"mechanism": "certificate", **named}]
    stream = ReleaseKey(bytes(32)).stream(step="learn", mechanism="certificate", inputs="", parameters=named)
    drawn = DiscreteLaplace(law.amount) if law.law == "laplace" else DiscreteGaussian(law.amount)
    assert found == 3 + int(drawn.sample(stream, 1)[0])


def verified(events: tuple[MechanismEvent, ...], budget: dict[str, Any]) -> Planned:
    """What verification expects of a step with a certificate, and with such events of it."""
    own = DiscreteGaussianEvent(query="tables", part="parameters", outputs=1, sensitivity=1, variance=Fraction(900))
    plan = Planned((own,) if "delta" in budget else (), lambda: iter(()), lambda _: iter(()))
    step = ExpectedStep(part="parameters", makes={"measured": "measured.json"}, plan=lambda *_: plan)
    expected = with_certificate({"learn": step})["learn"]
    spec = {"learner": {"kind": "mst", "certificate": {"share": "1/100"}, "parameters": budget}}
    cost = StepCost(
        step="learn",
        part="parameters",
        probability=Fraction(1),
        events=(own, *events),
        guarantee=Guarantee(1, 0, "basic"),
    )
    return expected.plan(spec, DOMAIN, cost, lambda delta: delta)


def test_the_variance_that_a_record_states_is_expected_if_it_is_close_and_named_if_it_is_not() -> None:
    """Logarithms on two machines may differ in the last digits."""
    budget = {"epsilon": "1", "delta": "1e-9"}
    right = CertificateCost(Fraction(1), Fraction("1e-9"), Fraction(1, 100)).amount("gaussian")
    for factor, faults in ((Fraction(1), 0), (Fraction(1001, 1000), 0), (Fraction(99, 100), 1)):
        stated = certificate_event("gaussian", right * factor)
        planned = verified((stated,), budget)
        assert planned.events[-1] == stated
        assert len(list(planned.amounts())) == faults
    assert verified((), budget).events[-1] == certificate_event("gaussian", right)


def test_a_budget_without_delta_is_verified_with_laplace_noise() -> None:
    right = certificate_event("laplace", Fraction(100))
    for stated in ((right,), (certificate_event("laplace", Fraction(50)),)):
        planned = verified(stated, {"epsilon": "1"})
        assert (planned.events, list(planned.amounts())) == ((right,), [])
        assert list(planned.claim(Guarantee(0.01, 0, "basic"))) == []
        assert len(list(planned.claim(Guarantee(0.01, 0.5, "basic")))) == 1


@pytest.mark.parametrize("epsilon", ["1/50", "1/3", "1", "20"])
def test_the_variance_of_a_certificate_is_rounded_up_to_four_digits(epsilon: str) -> None:
    cost = CertificateCost(Fraction(epsilon), Fraction(1, 10**9), Fraction(1, 100))
    variance = cost.amount("gaussian")
    exact = 1 / (2 * 0.01 * epsilon_to_zcdp(float(Fraction(epsilon)), 1e-9))
    assert exact < variance <= exact * 1.001
    assert float(f"{float(variance):.3e}") == pytest.approx(float(variance), rel=1e-15)
