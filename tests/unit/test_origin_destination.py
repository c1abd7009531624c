"""Flows: what a spec may ask for, how draws are divided among destinations, and how chunks meet."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from math import ceil, exp, expm1, log1p
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError
from scipy import stats

from deniable.evaluation.commutes import miles
from deniable.foundation.domain import Attribute, Domain
from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import Parameter, ReleaseKey, WordStream
from deniable.foundation.noise import DiscreteLaplace
from deniable.foundation.tables import FamilyCounts
from deniable.learners.origin_destination import bounds
from deniable.learners.origin_destination.domain_sampling import _growth, added_by_theorem_d, log_above
from deniable.learners.origin_destination.draws import FlowCounts, Within, draws, staying_by_distance, staying_origins
from deniable.learners.origin_destination.plan import (
    FlowsPlan,
    _probabilistic_prior,
    apportioned,
    draws_of,
    kept_probability,
    plan_of,
    urns_document,
)
from deniable.learners.origin_destination.spec import Entry
from deniable.learners.origin_destination.steps import steps
from deniable.learners.origin_destination.verification import check_urns, expected_draws, relation
from deniable.privacy.composition import joint_split
from deniable.privacy.loss import Guarantee
from deniable.privacy.neighbours import ORIGIN, RECORD
from deniable.privacy.urn_costs import UNIT, prior_for
from tests.drawn_noise import OneStream

WORK = Attribute("work", ("mill", "port", "farm"), "nominal", (0, 1, 2))
HOME = Attribute("home", tuple(f"h{n}" for n in range(6)), "nominal", (0, 0, 0, 1, 1, 2))
DOMAIN = Domain((WORK, HOME))
TOTALS = {"mill": 5, "port": 0, "farm": 3}
PUBLIC: dict[str, Any] = {"kind": "origin_destination", "destination": "work", "origin": "home", "totals": TOTALS}
SPLIT, WHOLE = {"shared": "4/5", "holdout": "1/5"}, {"shared": "1"}
ROWS = np.array([[0, 0], [0, 0], [0, 1], [0, 4], [0, 5], [2, 3], [2, 3], [2, 5]], np.uint16)


def entry(**asked: Any) -> Entry:
    return Entry.model_validate({**PUBLIC, **asked}, context={"domain": DOMAIN})


def opener(*, mechanism: str, parameters: Mapping[str, Parameter], chunk: int) -> WordStream:
    key = ReleaseKey(bytes(range(32)))
    return key.stream(step="test", mechanism=mechanism, inputs="", parameters=parameters, chunk=chunk)


def drawn(asked: Entry, *, records: int, chunk: int) -> np.ndarray:
    """All records of a table, drawn in chunks."""
    charged = draws(asked, DOMAIN, records=records, chunk=chunk)
    tally = FlowCounts(0, 1, HOME.buckets if asked.coarsen else tuple(range(6)))
    tally.add(ROWS[:3])
    other = FlowCounts(0, 1, tally.area_of)
    other.add(ROWS[3:])
    tally.merge(other)
    plan = plan_of(dict(asked), DOMAIN)
    document = urns_document(dict(asked), DOMAIN, plan, plan.totals or (4, 1, 3))
    draw = charged.open(document, (tally.pairs, tally.numbers), opener)
    sizes = [min(chunk, records - first) for first in range(0, records, chunk)]
    return np.concatenate([draw(number, size) for number, size in enumerate(sizes)])


@pytest.mark.parametrize("coarsen", [True, False])
@pytest.mark.parametrize("chunk", [1, 3, 5, 8])
def test_records_are_the_same_in_chunks_of_any_size(chunk: int, coarsen: bool) -> None:  # noqa: FBT001
    asked = entry(coarsen=coarsen)
    whole = drawn(asked, records=8, chunk=100)
    assert drawn(asked, records=8, chunk=chunk).tolist() == whole.tolist()
    assert np.bincount(whole[:, 0], minlength=3).tolist() == [5, 0, 3]
    assert sorted(whole[:, 0].tolist()) != whole[:, 0].tolist(), "records are not in the order of destinations"


def test_pairs_are_counted_as_a_dense_table_counts_them() -> None:
    tally = FlowCounts(0, 1, tuple(range(6)))
    for part in (ROWS[:1], ROWS[1:6], ROWS[6:]):
        more = FlowCounts(0, 1, tuple(range(6)))
        more.add(part)
        stored = FlowCounts(0, 1, tuple(range(6)))
        stored.restore(more.arrays)
        tally.merge(stored)
    dense = np.zeros(18, np.int64)
    np.add.at(dense, ROWS[:, 0].astype(int) * 6 + ROWS[:, 1], 1)
    assert np.flatnonzero(dense).tolist() == tally.pairs.tolist()
    assert dense[dense > 0].tolist() == tally.numbers.tolist()


def test_origins_within_an_area_have_the_public_weights() -> None:
    asked = entry(population={"h0": 1, "h1": 2, "h2": 5})
    within = Within.of(asked, DOMAIN)
    stream = opener(mechanism="within", parameters={}, chunk=0)
    found = np.bincount(within.draw(stream, np.repeat([0, 1, 2], [8000, 2000, 500])), minlength=6)
    assert stats.chisquare(found[:3], [1000, 2000, 5000]).pvalue > 1e-9
    assert stats.chisquare(found[:3], [2667, 2667, 2666]).pvalue < 1e-9
    assert stats.chisquare(found[3:5], [1000, 1000]).pvalue > 1e-9
    assert found[5] == 500


def test_measured_totals_have_the_noise_that_is_charged() -> None:
    """The noise of the totals has the law of its event, and a law that is a tenth narrower is rejected."""
    asked = entry(totals=None, totals_epsilon=Fraction(1, 2))
    (step,) = steps(asked, DOMAIN, lambda delta: delta)
    (event,) = step.events
    tally = FamilyCounts(DOMAIN, ((), ()))
    tally.add(ROWS)
    truth = np.bincount(ROWS[:, 0], minlength=3)

    class OneCounter:
        def count(self, empty: Any, name: str) -> FamilyCounts:  # noqa: ARG002
            return tally

    stream, found = OneStream("totals"), []
    for _ in range(12_000):
        made = step.run(OneCounter(), {}, stream)
        found += [urn["workers"] for urn in made.products["urns"]["urns"]]
    noise = np.array(found).reshape(-1, 3) - truth
    law = DiscreteLaplace(event.scale)  # type: ignore[attr-defined]
    assert event.epsilon == Fraction(1, 2)

    def p_value(expected: DiscreteLaplace) -> float:
        places = np.arange(-8, 9)
        counts = [int((noise == z).sum()) for z in places]
        chances = [expected.probability(int(z)) for z in places]
        rest = (noise.size - sum(counts), 1 - sum(chances))
        return float(stats.chisquare([*counts, rest[0]], np.array([*chances, rest[1]]) * noise.size).pvalue)

    assert p_value(law) > 1e-9
    assert p_value(DiscreteLaplace(law.scale * Fraction(9, 10))) < 1e-9


def test_draws_are_apportioned_to_noisy_totals_and_add_up() -> None:
    assert apportioned([5, -3, 3], 16) == (10, 0, 6)
    assert sum(apportioned([7, 7, 7], 100)) == 100
    assert apportioned([-1, -2], 3) == (2, 1)
    # Remainders of 5/7, 3/7 and 6/7: the first and the last place have one more.
    assert apportioned([1, 2, 4], 5) == (1, 1, 3)
    plan = FlowsPlan(3, 6, Fraction(1))
    assert draws_of(plan, [4, 1, 3], 8) == (4, 1, 3)


def test_totals_measured_with_another_scale_have_noise_of_their_own() -> None:
    opened = []

    class Noting(OneStream):
        def __call__(self, *, mechanism: str, parameters: Mapping[str, Parameter], **rest: Any) -> WordStream:
            opened.append(parameters)
            return super().__call__(mechanism=mechanism, parameters=parameters, **rest)

    class OneCounter:
        def count(self, empty: Any, name: str) -> FamilyCounts:  # noqa: ARG002
            tally = FamilyCounts(DOMAIN, ((), ()))
            tally.add(ROWS)
            return tally

    for epsilon in (Fraction(1, 2), Fraction(1, 3)):
        (step,) = steps(entry(totals=None, totals_epsilon=epsilon), DOMAIN, lambda delta: delta)
        step.run(OneCounter(), {}, Noting("totals"))
    assert opened[0] != opened[1]


def test_records_are_in_the_order_of_64_random_bits() -> None:
    """The first word of each record decides, and the second where the first are equal."""
    charged = draws(entry(), DOMAIN, records=8, chunk=8)
    tally = FlowCounts(0, 1, HOME.buckets)
    tally.add(ROWS)
    (urns,) = steps(entry(), DOMAIN, lambda delta: delta)
    document = urns.run(None, {}, opener).products["urns"]  # type: ignore[arg-type]

    class Words:
        def __init__(self, words: Sequence[int]) -> None:
            self.words = np.array(words, np.uint32)

        def take(self, count: int) -> np.ndarray:
            assert count == len(self.words)
            return self.words

    def order(words: Sequence[int]) -> list[int]:
        def ordered(*, mechanism: str, parameters: Mapping[str, Parameter], chunk: int) -> Any:
            return Words(words) if mechanism == "order" else opener(mechanism="x", parameters=parameters, chunk=chunk)

        drawn = charged.open(document, (tally.pairs, tally.numbers), ordered)
        return drawn(0, 8)[:, 0].tolist()

    falling = list(range(8, 0, -1))
    assert order([*falling, *[0] * 8]) == [2, 2, 2, 0, 0, 0, 0, 0]
    assert order([*falling, *range(8)]) == [2, 2, 2, 0, 0, 0, 0, 0]
    assert order([*[5] * 8, *falling]) == [2, 2, 2, 0, 0, 0, 0, 0]


def test_pure_flows_are_private_for_added_records_and_others_for_replaced_origins() -> None:
    measured = relation(dict(entry(totals=None, totals_epsilon=1)))
    assert measured == RECORD
    public = relation(dict(entry()))
    assert public.neighbouring == RECORD.neighbouring
    assert public.conditions
    assert relation(dict(entry(privacy="pdp", delta=Fraction(1, 10**5)))) == ORIGIN


def test_events_are_one_worst_destination_and_a_single_origin_costs_nothing() -> None:
    spec = {"learner": dict(entry(epsilon=2)), "split": SPLIT}
    (event,) = expected_draws(spec, DOMAIN)
    assert (event.epsilon, event.delta, event.outputs) == (2, 0, 1)
    one = Domain((WORK, Attribute("home", ("only",), "nominal", (0,))))
    assert expected_draws(spec, one) == ()


def test_domain_sampling_and_accept_reject_are_charged() -> None:
    asked = {"privacy": "pdp", "epsilon": 2, "delta": Fraction(1, 100)}
    (sampled,) = expected_draws({"learner": dict(entry(**asked, sampling=Fraction(1, 20))), "split": WHOLE}, DOMAIN)
    kept = kept_probability(Fraction(1, 20))
    assert kept <= Fraction(1, 20)
    assert sampled.epsilon is not None
    assert 2 + log_above(1 / kept) <= sampled.epsilon < 2 + log_above(1 / kept) + log_above(Fraction(2))
    (accepted,) = expected_draws({"learner": dict(entry(**asked, accept_reject=True)), "split": WHOLE}, DOMAIN)
    assert accepted.delta == Fraction(1, 100) + Fraction(1, 100) ** 64


def test_a_record_of_an_earlier_version_is_charged_by_the_theorem_of_that_version() -> None:
    """Such a record has no `sampling_bound`: theorem 5.2 decides, for its verification and for its replay."""
    asked = entry(**_SAMPLED)
    assert asked.sampling_bound == "theorem_D"
    document = asked.model_dump(mode="json")
    earlier = {name: value for name, value in document.items() if name != "sampling_bound"}
    (before,), (now,) = (expected_draws({"learner": each, "split": WHOLE}, DOMAIN) for each in (earlier, document))
    by_5_2 = log_above(1 / kept_probability(Fraction(1, 2))) + log_above(Fraction(2))
    assert before.epsilon == asked.epsilon + by_5_2
    assert now.epsilon is not None
    assert now.epsilon < before.epsilon
    again = entry(**Entry.recorded(earlier))
    assert again.sampling_bound == "theorem_5_2"
    assert plan_of(dict(again), DOMAIN).events == (before,)
    for current in (document, entry().model_dump(mode="json")):
        assert Entry.recorded(current) == current
    assert "sampling_bound" not in entry().model_dump(), "nothing is said of it without sampling"


def test_the_destination_that_domain_sampling_costs_most_is_charged() -> None:
    plan = plan_of(dict(entry(**_SAMPLED)), DOMAIN)
    costs = {n: added_by_theorem_d(n, 6, Fraction(1, 2), plan.prior(n, n)) for n in (3, 5)}
    (event,) = plan.events
    assert event.epsilon == plan.epsilon + max(costs.values())
    assert costs[3] != costs[5]
    nobody = entry(**_SAMPLED | {"totals": dict.fromkeys(TOTALS, 0)})
    assert plan_of(dict(nobody), DOMAIN).events[0].epsilon == plan.epsilon


@pytest.mark.parametrize(("people", "prior"), [(1, 3000), (64, UNIT // 3), (65, UNIT), (700, 5 * UNIT), (5000, 1)])
def test_the_growth_of_many_weights_is_bounded_from_above_and_nearly_exact(people: int, prior: int) -> None:
    alpha = Fraction(prior, UNIT)
    exact = sum(log1p(alpha / (people + 2 * alpha + t)) for t in range(people))
    bound = float(_growth(people, 2, prior).ln())
    assert exact * (1 - 1e-12) <= bound <= exact * (1 + 1e-5)


def test_a_split_does_not_lower_epsilon_where_origins_alone_are_protected() -> None:
    """The draws of the part cost (2, 1 / 100) for a replaced origin; the accounting of a split must not claim less."""
    asked = entry(privacy="pdp", epsilon=2, delta=Fraction(1, 100))
    (event,) = expected_draws({"learner": dict(asked), "split": SPLIT}, DOMAIN)
    assert event.epsilon is not None
    whole = joint_split([(Fraction(4, 5), Guarantee(float(event.epsilon), 0.01, "basic"))])
    assert 2 <= whole.epsilon <= 2 + 1e-9
    assert whole.delta == pytest.approx(0.008)
    twin = joint_split([(Fraction(4, 5), Guarantee(2.0, 0.01, "basic"))])
    assert twin.epsilon < 1.82, "without the correction the split would be credited for what it does not protect"
    assert draws(asked, DOMAIN, records=8, chunk=4, read=Fraction(4, 5)).events == (event,)


def test_urns_that_do_not_follow_from_the_spec_are_found() -> None:
    asked = entry(epsilon=2)
    plan = plan_of(dict(asked), DOMAIN)
    document = urns_document(dict(asked), DOMAIN, plan, plan.totals or ())
    record = {"spec": {"document": {"learner": dict(asked), "synthesis": {"records": 8}}}}
    described = {
        "target": None,
        "attributes": [
            {
                "name": each.name,
                "kind": each.kind,
                "values": [
                    {"value": value, "bucket": bucket} for value, bucket in zip(each.values, each.buckets, strict=True)
                ],
            }
            for each in DOMAIN.attributes
        ],
    }
    (check,) = check_urns(record, described, document)
    assert check.holds, check.faults
    urns = document["urns"]
    for changed in (
        {**document, "urns": [{**urns[0], "prior": urns[0]["prior"] - 1}, *urns[1:]]},
        {**document, "urns": urns[1:]},
        {**document, "unit": UNIT - 1},
        {**document, "counts": [1]},
        {name: value for name, value in document.items() if name != "origins"},
    ):
        (check,) = check_urns(record, described, changed)
        assert not check.holds


def near(**function: Any) -> dict[str, Any]:
    """A function of distance, with places on a meridian: the mill at 0, homes at 0, .02 .. .1 degrees."""
    homes = {f"h{number}": (number / 50, 0) for number in range(6)}
    others = {name: function.pop(name) for name in [*function] if name == "farm" or name.startswith("h")}
    return {"places": {"mill": (0, 0), "port": (0.1, 0), "farm": (90, 0), **homes, **others}, **function}


_SAMPLED: dict[str, Any] = {
    "privacy": "pdp",
    "delta": Fraction(1, 100),
    "sampling": Fraction(1, 2),
    "coarsen": False,
}


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"totals": None}, "totals, if they are public, or else totals_epsilon"),
        ({"totals_epsilon": 1}, "totals, if they are public, or else totals_epsilon"),
        ({"totals": {"mill": 1}}, "a number for each of the 3 destinations and for no other, got 2 missing"),
        ({"totals": {**TOTALS, "mine": 1}}, "0 missing and 1 unknown"),
        ({"totals": {**TOTALS, "mill": 10**7}}, "from 0 to 1,000,000 workers"),
        ({"totals": {**TOTALS, "mill": -1}}, "greater than or equal to 0"),
        ({"privacy": "pdp"}, "a delta above 0 if and only if privacy is pdp"),
        ({"delta": Fraction(1, 100)}, "a delta above 0 if and only if privacy is pdp"),
        ({"sampling": Fraction(1, 2)}, "privacy pdp for sampling and accept_reject"),
        ({"privacy": "pdp", "delta": Fraction(1, 100), "totals": None, "totals_epsilon": 1}, "public totals for pdp"),
        (
            {"privacy": "pdp", "delta": Fraction(1, 100), "sampling": Fraction(1, 2), "accept_reject": True},
            "no theorem covers them together",
        ),
        (
            {"privacy": "pdp", "delta": Fraction(1, 100), "bound": "theorem_4_4", "accept_reject": True},
            "the bound theorem_O",
        ),
        ({"privacy": "pdp", "delta": Fraction(1, 100), "sampling": 0}, "greater than 0"),
        ({"origin": "work"}, "must be the two attributes of the table"),
        ({"destination": "age"}, "must be the two attributes of the table"),
        ({"population": {"h9": 1}}, "must be of origins, got h9"),
        ({"epsilon": 0}, "greater than 0"),
        ({"prior_workers": {"h9": 1}}, "must be of origins, got h9"),
        (
            {"privacy": "pdp", "delta": Fraction(1, 100), "prior_workers": {"h1": 1}},
            "the bounds for pdp are proved for equal prior weights alone",
        ),
        ({"sampling_bound": "theorem_D"}, "must be left out without sampling, to whose cost it applies"),
        ({"sampling_of": {"mill": {"h1": 1}}}, "must have a sampling, which is charged"),
        ({**_SAMPLED, "sampling_of": {"mill": {"h1": Fraction(1, 3)}}}, "no probability below sampling in sampling_of"),
        ({**_SAMPLED, "sampling_of": {"mine": {"h1": 1}}}, "must be of destinations, got mine"),
        ({**_SAMPLED, "sampling_of": {"mill": {"h9": 1}}}, "must be of origins, got h9"),
        ({**_SAMPLED, "coarsen": True, "sampling_of": {"mill": {"h1": 1}}}, "coarsen: false for sampling_of"),
        ({"sampling_by_distance": near(within=[[1, 1]])}, "must have a sampling, which is charged"),
        ({**_SAMPLED, "sampling_by_distance": near()}, "either within or decay_miles"),
        ({**_SAMPLED, "sampling_by_distance": near(within=[[1, 1]], decay_miles=3)}, "either within or decay_miles"),
        ({**_SAMPLED, "sampling_by_distance": near(within=[[2, 1], [2, 0.6]])}, "steps of ascending distances"),
        ({**_SAMPLED, "sampling_by_distance": near(within=[[2, 0.4]])}, "no probability below sampling"),
        ({**_SAMPLED, "sampling_by_distance": near(decay_miles=3, h9=(0, 0))}, "got 0 missing and 1 unknown"),
        (
            {**_SAMPLED, "sampling_by_distance": near(decay_miles=3), "sampling_of": {"mill": {"h1": 1}}},
            "no sampling_of for sampling_by_distance",
        ),
    ],
)
def test_what_no_theorem_covers_is_refused(asked: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        entry(**asked)


def test_records_must_be_the_public_totals() -> None:
    with pytest.raises(InvalidInput, match="must be the sum of the public totals, 8, got 9"):
        draws(entry(), DOMAIN, records=9, chunk=4)


def test_every_destination_has_a_stream_of_its_own() -> None:
    """No two urns see the same words, nor an urn and the order of the records."""
    opened = []

    def noting(*, mechanism: str, parameters: Mapping[str, Parameter], chunk: int) -> WordStream:
        opened.append((mechanism, tuple(parameters.items()), chunk))
        return opener(mechanism=mechanism, parameters=parameters, chunk=chunk)

    asked = entry(totals={"mill": 4, "port": 4, "farm": 4})
    plan = plan_of(dict(asked), DOMAIN)
    charged = draws(asked, DOMAIN, records=12, chunk=12)
    document = urns_document(dict(asked), DOMAIN, plan, plan.totals or ())
    charged.open(document, (np.empty(0, np.int64), np.empty(0, np.int64)), noting)(0, 12)
    assert len(opened) == len(set(opened)) == 4


def by_distance(**function: Any) -> dict[str, Any]:
    return {"sampling": 0.1, "coarsen": False, "sampling_by_distance": near(farm=(0.06, 0), **function)}


def staying(mill: str, farm: str) -> dict[str, Any]:
    return {"sampling": 0.5, "coarsen": False, "sampling_of": {"mill": {mill: 1}, "farm": {farm: 1}}}


def public(**workers: int) -> dict[str, Any]:
    return {"privacy": "pure", "delta": None, "totals": TOTALS, "prior_workers": workers}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({}, {"epsilon": 2}),
        ({}, {"delta": 1e-6}),
        ({}, {"accept_reject": True}),
        ({}, {"sampling": 0.5}),
        ({}, {"bound": "theorem_4_4"}),
        ({}, staying("h1", "h0")),
        (staying("h0", "h1"), staying("h1", "h0")),
        (by_distance(decay_miles=3), by_distance(decay_miles=9)),
        (by_distance(decay_miles=3), {"sampling": 0.5, "coarsen": False}),
        (by_distance(within=[[3, 1]]), by_distance(within=[[7, 1]])),
        (public(h4=5), public(h4=6)),
        (public(h4=5), public(h0=5)),
    ],
)
def test_urns_of_other_weights_have_streams_of_their_own(one: dict[str, Any], other: dict[str, Any]) -> None:
    def opened(**changed: Any) -> set[str]:
        found: set[str] = set()

        def noting(*, mechanism: str, parameters: Mapping[str, Parameter], chunk: int) -> WordStream:
            found.add(f"{mechanism} {sorted(parameters.items())}")
            return opener(mechanism=mechanism, parameters=parameters, chunk=chunk)

        said = {"privacy": "pdp", "delta": 1e-5, "epsilon": 1.5, **changed}
        asked = entry(**{name: value for name, value in said.items() if value is not None})
        plan = plan_of(dict(asked), DOMAIN)
        charged = draws(asked, DOMAIN, records=8, chunk=8)
        charged.open(urns_document(dict(asked), DOMAIN, plan, plan.totals or ()), (np.empty(0, int),) * 2, noting)(0, 8)
        return {each for each in found if each.startswith("flows")}

    assert not opened(**one) & opened(**other)


def test_public_workers_are_drawn_like_confidential_ones_and_are_published() -> None:
    many = entry(totals={"mill": 300, "port": 100, "farm": 0}, prior_workers={"h4": 10**6, "h0": 5})
    found = drawn(many, records=400, chunk=150)
    # Almost every draw is of the area of h4, which is h3 and h4; within it origins are drawn by population.
    assert np.isin(found[:, 1], [3, 4]).mean() > 0.99
    assert 0.4 < (found[:, 1] == 3).mean() < 0.6
    fine = drawn(many.model_copy(update={"coarsen": False}), records=400, chunk=150)
    assert (fine[:, 1] == 4).mean() > 0.99
    plan = plan_of(dict(many), DOMAIN)
    document = urns_document(dict(many), DOMAIN, plan, plan.totals or ())
    assert document["prior_workers"] == {"h4": 10**6, "h0": 5}
    # The charge and the stated prior weights are those without them.
    without = plan_of(dict(entry(totals=many.totals)), DOMAIN)
    assert plan == without
    assert "prior_workers" not in urns_document(dict(entry()), DOMAIN, without, TOTALS.values())
    assert "prior_workers" not in entry().model_dump()
    without.require_mass(400, 10**9)
    with pytest.raises(InvalidInput, match="must fit into 64 bits"):
        without.require_mass(400, 5 * 10**12)
    far = many.model_copy(update={"prior_workers": {"h4": 5 * 10**12}})
    with pytest.raises(InvalidInput, match="must fit into 64 bits"):
        draws(far, DOMAIN, records=400, chunk=150)


def test_pairs_that_stay_surely_are_drawn_from() -> None:
    asked = entry(**_SAMPLED, sampling_of={"mill": {"h3": 1}})
    plan = plan_of(dict(asked), DOMAIN)
    (place, stays), *others = staying_origins(asked, DOMAIN, plan).items()
    assert (place, others) == (0, [])
    assert stays.tolist() == [2**31] * 3 + [2**32] + [2**31] * 2
    assert plan.events == plan_of(dict(entry(**_SAMPLED)), DOMAIN).events


def test_origins_stay_by_their_distance_and_never_less_than_is_charged() -> None:
    degree = float(miles(np.array([[0.0, 0.0]]), np.array([[1.0, 0.0]]))[0])
    unit, least = 2**32, Fraction(1, 10)
    for function, expected, words in (
        (
            {"within": [[1.5, 1], [5, 0.5]]},
            [1, 1, 0.5, 0.5, 0.1, 0.1],
            "1 within 1.5 miles, 0.5 within 5 miles, 0.1 beyond",
        ),
        ({"decay_miles": 2}, [max(exp(-degree * n / 100), 0.1) for n in range(6)], "exp(-miles / 2), at least 0.1"),
    ):
        asked = entry(**_SAMPLED | {"sampling": least, "sampling_by_distance": near(**function)})
        plan = plan_of(dict(asked), DOMAIN)
        stays = staying_by_distance(asked, DOMAIN, plan)
        assert stays is not None
        assert stays(0) / unit == pytest.approx(expected, rel=1e-6)
        assert stays(1).tolist() == stays(0)[::-1].tolist(), "the port is at the other end"
        assert stays(2).tolist() == [int(least * unit)] * 6, "the farm is far away from everybody"
        assert stays(0).min() >= plan.kept * unit
        # The smallest one is charged, whatever the function.
        (event,), (other,) = plan.events, plan_of(dict(entry(**_SAMPLED | {"sampling": least})), DOMAIN).events
        assert replace(event, query=other.query) == other
        assert event.query == f"{other.query}; one without workers is in the domain with probability {words}"
        again = {"learner": asked.model_dump(mode="json"), "split": WHOLE}
        assert expected_draws(again, DOMAIN) == plan.events, "a verifier derives it from the record"


def test_near_origins_are_drawn_where_nobody_lives() -> None:
    """With five workers at h5, who are far from the mill, what stays in their urn is at the mill."""
    function = near(within=[[0.1, 1]])
    asked = entry(**_SAMPLED | {"sampling": 1e-6, "sampling_by_distance": function, "epsilon": 0.5})
    plan = plan_of(dict(asked), DOMAIN)
    document = urns_document(dict(asked), DOMAIN, plan, plan.totals or ())
    counts = np.array([5, 12 + 3]), np.array([5, 3])
    found = draws(asked, DOMAIN, records=8, chunk=8).open(document, counts, opener)(0, 8)
    assert {*found[found[:, 0] == 0, 1].tolist()} == {0, 5}
    assert {*found[found[:, 0] == 2, 1].tolist()} == {3}


@pytest.mark.slow
def test_a_probability_whose_terms_underflow_is_not_passed_over() -> None:
    # The first term is below 1e-308, and all others relative to it are beyond 1e308.
    assert bounds._tail(100_000, 100_000, 50_000, 10.0, 90.0, expm1(0.1)) == 1
    assert not bounds.satisfies_theorem_o_for_fewer(40, 10**5, 10, 1e3, expm1(1.0), 1e-5)


@pytest.mark.parametrize(("people", "draws", "x"), [(400, 1000, 3), (50, 700, 20), (1000, 200, 0)])
def test_a_tail_of_many_terms_is_that_of_the_library(people: int, draws: int, x: int) -> None:
    """The terms are added in blocks of 64; none is left out where one block ends and the next begins."""
    alpha, others, growth = 2.5, 7.5, 0.75
    first = int(growth * (alpha + max(x - 1, 0))) + 1
    assert draws - first > 2 * bounds._TERMS
    whole = stats.betabinom.sf(first - 1, draws, x + alpha, people - x + others)
    assert bounds._tail(people, draws, x, alpha, others, growth) == pytest.approx(whole, rel=1e-9)


def test_a_tail_whose_rounded_sum_exceeds_one_is_one() -> None:
    # The logarithm of its sum is 5e-12.
    assert bounds._tail(5000, 5000, 2500, 10.0, 90.0, 0.3) == 1


@pytest.mark.parametrize("people", [1, 3, 15, 200])
@pytest.mark.parametrize("origins", [2, 241, 233_726])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 4.6])
def test_what_is_not_summed_up_changes_no_bound(people: int, origins: int, epsilon: float) -> None:
    """The sums of all origins give the same number, to the last bit, and the same decision at every weight."""
    growth, decided = expm1(epsilon), set()
    for number in (people, max(people // 2, 1), 2 * people):
        for alpha in np.geomspace(1e-4, 1.2 * number / growth, 9).tolist():
            others = (origins - 1) * alpha
            reached = [x for x in range(1, people + 1) if growth * (alpha + x - 1) < number]
            tails = {x: bounds._tail(people, number, x, alpha, others, growth) for x in (0, *reached)}
            for x, tail in tails.items():
                first, own, rest = bounds._too_often(x, alpha, growth), x + alpha, (people - x) + others
                low, high = bounds._tail_bounds(number, first, own, rest)
                assert low <= tail <= high
            whole = (origins - 1) * tails[0] + people * max((tails[x] / x for x in reached), default=0.0)
            assert bounds.disclosure(people, number, origins, alpha, growth) == whole
            for delta in (1e-9, 1e-5, 0.1, whole, whole / bounds._MARGIN * (1 + 1e-12)):
                decision = bounds.satisfies_theorem_o(people, number, origins, alpha, growth, delta)
                assert decision == (whole <= delta * bounds._MARGIN)
                decided.add(decision)
    assert decided == {True, False}


@pytest.mark.parametrize(("people", "draws"), [(1, 1), (15, 15), (200, 180), (90, 101)])
@pytest.mark.parametrize("origins", [2, 241, 233_726])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 4.6])
def test_weights_of_many_steps_at_once_are_those_of_single_steps(
    people: int, draws: int, origins: int, epsilon: float
) -> None:
    """A search by single steps and forty bisections ends at the same multiple of 2^-20."""
    growth, delta = expm1(epsilon), 1e-5

    def holds(weight: float) -> bool:
        return bounds.satisfies_theorem_o(people, draws, origins, weight, growth, delta)

    low = pure = draws / growth
    while holds(low * bounds._STEP):
        low *= bounds._STEP
    for least, most in ((low, pure), (low, low * 1.1), (low * 0.9, low), (low * 0.5, pure)):
        if bounds.satisfies_theorem_o_between(people, draws, origins, (least, most), growth, delta):
            assert all(holds(each) for each in np.geomspace(least, most, 20).tolist())
    below = low * bounds._STEP
    for _ in range(40):
        middle = (below + low) / 2
        below, low = (below, middle) if holds(middle) else (middle, low)
    assert bounds.theorem_o_alpha(people, draws, origins, growth, delta) == low
    found = bounds.theorem_o_alpha(people, draws, origins, growth, delta, unit=UNIT)
    assert ceil(found * UNIT) == ceil(low * UNIT)


def test_a_range_of_weights_holds_only_if_its_worst_combination_does() -> None:
    """The largest weight among the smallest others, drawn more often than the smallest weight allows."""
    people, draws, origins, growth, least, most = 30, 30, 9, 1.5, 1.0, 1.4
    others = (origins - 1) * least

    def tail(x: int) -> float:
        first = int(growth * (least + max(x - 1, 0)) * bounds._LOWER) + 1
        return float(stats.betabinom.sf(first - 1, draws, x + most, people - x + others))

    stated = (origins - 1) * tail(0) + people * max(tail(x) / x for x in range(1, people + 1))
    low, high = (
        max(bounds._tail_bounds(draws, bounds._too_often(x, least, growth), x + most, people - x + others)[side] / x
            for x in range(1, 20))
        for side in (0, 1)
    )  # fmt: skip
    assert low < max(tail(x) / x for x in range(1, people + 1)) < high
    for factor, holds in ((0.99, False), (3, True)):
        asked = (people, draws, origins, (least, most), growth, stated * factor)
        assert bounds.satisfies_theorem_o_between(*asked) is holds


def test_the_urn_of_a_destination_is_drawn_once_for_all_chunks() -> None:
    opened = []

    def noting(*, mechanism: str, parameters: Mapping[str, Parameter], chunk: int) -> WordStream:
        opened.append((mechanism, parameters.get("destination")))
        return opener(mechanism=mechanism, parameters=parameters, chunk=chunk)

    asked = entry()
    charged = draws(asked, DOMAIN, records=8, chunk=2)
    plan = plan_of(dict(asked), DOMAIN)
    document = urns_document(dict(asked), DOMAIN, plan, plan.totals or ())
    draw = charged.open(document, (np.empty(0, np.int64), np.empty(0, np.int64)), noting)
    draw(3, 2)
    assert len(opened) <= 3, "only what the chunk needs"
    for chunk in range(3):
        draw(chunk, 2)
    assert sorted(opened) == [("flows", 0), ("flows", 2), ("order", None)]


def test_blocks_that_are_drawn_at_once_search_for_each_weight_once() -> None:
    plan = FlowsPlan(1, 977, Fraction(46, 10), Fraction(1, 10**5))
    before = _probabilistic_prior.cache_info().misses
    with ThreadPoolExecutor(4) as pool:
        found = [*pool.map(lambda _: [plan.prior(n, n) for n in (2611, 2613)], range(4))]
    assert all(each == found[0] for each in found)
    assert _probabilistic_prior.cache_info().misses == before + 2


def test_an_origin_that_would_need_more_draws_than_there_are_adds_nothing() -> None:
    """With g (alpha + x - 1) = m already for one worker, no number of draws exceeds the bound of an occupied origin."""
    people, draws, origins, alpha, growth = 3, 4, 2, 2.0, 2.0
    # An empty origin has the same bound, which is lowered for rounding: all four draws.
    empty = stats.betabinom.sf(3, draws, alpha, people + alpha)
    assert bounds.disclosure(people, draws, origins, alpha, growth) == pytest.approx(empty, rel=1e-9)


def test_a_single_origin_counts_where_its_workers_could_be_drawn_too_often() -> None:
    """Whether one origin alone may exceed the bound depends on all workers but one, who are all there."""
    # Without rounding, 3 draws are as many as the bound: no draw exceeds it.
    at_the_bound = 3 / bounds._LOWER
    assert at_the_bound * bounds._LOWER == 3
    assert bounds.satisfies_theorem_o_for_fewer(1, 3, 2, 1.0, at_the_bound, 1e-9, kept=0.5)
    assert not bounds.satisfies_theorem_o_for_fewer(1, 3, 2, 1.0, 2.9, 1e-9, kept=0.5)
    # 0.31 (10 + 1) exceeds 3, and 0.31 (10 - 1) does not.
    assert bounds.satisfies_theorem_o_for_fewer(2, 3, 2, 10.0, 0.31, 1e-9, kept=0.5)


def test_no_theorem_on_replaced_workers_is_used_where_there_are_none() -> None:
    plan = FlowsPlan(1, 6, Fraction(1), Fraction(1, 100), bound="theorem_O")
    assert not plan.has_bound(0, 5)
    assert plan.prior(0, 5) == prior_for(Fraction(1), 5)
    assert plan.has_bound(1, 5)


@pytest.mark.parametrize(("people", "draws", "alpha", "growth"), [(6, 6, 0.5, 1.1), (9, 7, 1.5, 0.6), (4, 9, 1.0, 0.5)])
@pytest.mark.parametrize("origins", [2, 3, 9, 21, 25])
def test_the_bounds_of_theorem_o_are_those_of_their_formulas(
    people: int, draws: int, alpha: float, growth: float, origins: int
) -> None:
    """With the library's beta-binomial tails; just above its value a bound holds, and just below it does not."""

    def tail(x: int, others: float) -> float:
        first = int(growth * (alpha + max(x - 1, 0)) * bounds._LOWER) + 1
        return float(stats.betabinom.sf(first - 1, draws, x + alpha, people - x + others))

    occupied = people * max(tail(x, (origins - 1) * alpha) / x for x in range(1, people + 1))
    whole = (origins - 1) * tail(0, (origins - 1) * alpha) + occupied
    assert bounds.disclosure(people, draws, origins, alpha, growth) == pytest.approx(whole, rel=1e-9)

    kept = 0.5
    alone = (1 - kept) ** (origins - 1) if draws > growth * (alpha + people - 1) * bounds._LOWER else 0.0
    groups, fewer = [], 2
    while fewer <= origins:
        last = min(max(fewer, fewer * 11 // 10), origins)
        groups.append((fewer, last))
        fewer = last + 1
    empty = max((last - 1) * tail(0, (first - 1) * alpha) for first, last in groups)
    stated = alone + empty + people * max(tail(x, alpha) / x for x in range(1, people + 1))
    for factor, holds in ((1 + 1e-9, True), (1 - 1e-9, False)):
        delta = stated / bounds._MARGIN * factor
        assert bounds.satisfies_theorem_o_for_fewer(people, draws, origins, alpha, growth, delta, kept) is holds
