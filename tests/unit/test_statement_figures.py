"""What a release says of itself beyond epsilon and delta follows from its spec and its events, and is true of them."""

from fractions import Fraction
from math import comb, sqrt
from typing import Any

import numpy as np
import pytest

from deniable.evaluation.subgroup_error import CELL, GROUPS, ONE, PREFIX, SEVERAL, subgroup_error
from deniable.foundation.domain import Attribute, Domain
from deniable.foundation.keys import ReleaseKey
from deniable.foundation.noise import DiscreteLaplace
from deniable.learners.cfs.parameters import ParameterRecipe
from deniable.learners.loglinear.plan import LoglinearRecipe
from deniable.learners.registry import relation_of
from deniable.plausible_deniability.privacy_tests import fewest_seeds, pass_probability
from deniable.privacy.loss import DiscreteGaussianEvent
from deniable.privacy.neighbours import NOTHING_HIDDEN, ORIGIN, RECORD, of_people
from deniable.record.publication_rules import publication, rows_left_out
from deniable.record.statement import VERSION, choices, faults_of_unit, of_each_person, relation_before_third
from deniable.samplers.histogram_seeds.noisy_histogram import HistogramRecipe
from deniable.samplers.tested_seeds.words import seeds_below_k
from stores.statement.statement import number_of

DOMAIN = Domain(tuple(Attribute(f"a{i}", (0, 1, 2), "nominal", (0, 0, 0)) for i in range(5)), target="a0")
SEEDLESS: dict[str, Any] = {"guarantee": "seedless"}
SPEC: dict[str, Any] = {
    "max_invalid_share": "1/100",
    "split": {"shared": "4/5", "holdout": "1/5"},
    "synthesis": SEEDLESS,
}
PDP: dict[str, Any] = {"kind": "origin_destination", "privacy": "pdp", "totals": {"mill": 9}}
POLICY: dict[str, Any] = {
    "exact_figures_decide": True,
    "publish_within": {},
    "refuse_beyond": {},
    "approvers": None,
    "always_ask": False,
}


def step(events: Any, name: str = "learn_parameters", probability: str = "4/5") -> dict[str, Any]:
    return {"step": name, "probability": probability, "events": [event.to_record() for event in events]}


@pytest.mark.parametrize(("k", "eps0", "candidates"), [(30, "1", 14_000), (100, "1/2", 8_000), (500, "1/10", 10**6)])
def test_no_candidate_of_fewer_seeds_passes_but_with_the_probability_that_is_stated(
    k: int, eps0: str, candidates: int
) -> None:
    for probability in (1e-6, 1e-3):
        least = fewest_seeds(k=k, eps0=Fraction(eps0), candidates=candidates, probability=probability)
        assert least is not None
        below, at = pass_probability([least - 1, least], k=k, eps0=Fraction(eps0))
        assert candidates * below <= probability < candidates * at


def test_where_only_the_seed_itself_is_sure_no_number_is_stated() -> None:
    assert fewest_seeds(k=15, eps0=1, candidates=14_000, probability=1e-6) is None
    tested = {"k": 30, "eps0": "1", "candidates": 14_000, "total_delta": "1/1000000"}
    assert seeds_below_k(tested)["every_record"] == {"plausible_seeds": 7, "except_with_probability": 1e-6}
    assert seeds_below_k({**tested, "k": 15})["every_record"] is None


def test_choices_are_named_with_what_they_cost() -> None:
    plan = LoglinearRecipe(Fraction(1), Fraction(1, 10**9), "gaussian").calibrate(DOMAIN)
    said = choices([step(plan.events)])
    assert said is not None
    assert (said["mechanism"], said["number"]) == ("exponential mechanism", plan.layout.choices)
    assert said["epsilon_of_one"] == float(plan.choice_epsilon)
    network = ParameterRecipe(Fraction(1), Fraction(0), "laplace", Fraction(1), "mean").calibrate(DOMAIN)
    assert choices([step(network.events)]) is None


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_the_error_of_a_small_group_is_that_of_the_noise_that_is_drawn(noise: Any) -> None:
    plan = LoglinearRecipe(Fraction(1), Fraction(1, 10**6), noise).calibrate(DOMAIN)
    said = {each["counts"]: each for each in subgroup_error([step(plan.events)])["counts"]}
    assert set(said) == ({ONE, SEVERAL} if noise == "gaussian" else {ONE})
    # The noise of one attribute's counts as the learner draws it: Gaussian shares are released and averaged.
    shares = min(plan.layout.one_way_shares)
    releases = shares if noise == "gaussian" else 1
    stream = ReleaseKey(bytes(32)).stream(step="test", mechanism=noise, inputs="", parameters={})
    drawn = np.array(plan.law(shares).sample(stream, 20_000 * releases)).reshape(-1, releases).mean(axis=1)
    assert drawn.std() == pytest.approx(said[ONE]["noise_sd"], rel=0.03)
    # Eight tenths are read: noise counts for more, and so does who is read.
    spread = sqrt((said[ONE]["noise_sd"] / 0.8) ** 2 + 50 * 0.2 / 0.8)
    assert said[ONE]["sd_for_a_group_of_50"] == pytest.approx(spread / 50, rel=0.01)


def test_the_errors_of_a_network_and_of_a_histogram_are_those_of_their_counts() -> None:
    mechanism = ParameterRecipe(Fraction(1), Fraction(0), "laplace", Fraction(1), "mean").calibrate(DOMAIN)
    histogram = HistogramRecipe(epsilon=Fraction(1), delta=Fraction(1, 10**6)).calibrate()
    said = subgroup_error([step(mechanism.events), step(histogram.events, "noise_seeds", "1")])["counts"]
    (cell, prefix) = said
    assert (cell["counts"], prefix["counts"]) == (CELL, PREFIX)
    assert cell["noise_sd"] == pytest.approx(sqrt(DiscreteLaplace(mechanism.amount).variance), rel=0.01)
    assert prefix["noise_sd"] == pytest.approx(sqrt(DiscreteLaplace(Fraction(1)).variance), rel=0.01)
    assert prefix["left_out_below"] == histogram.threshold
    assert prefix["sd_for_a_group_of_500"] == pytest.approx(prefix["noise_sd"] / 500, rel=0.01)


def test_the_error_of_a_group_allows_for_records_that_are_read_together() -> None:
    """By the law of who is read, with next to no noise: people each of whom has as many records as are allowed."""
    most, read, (size, _) = 5, 0.8, GROUPS
    event = DiscreteGaussianEvent(
        query="counts of a0", part="shared", outputs=1, sensitivity=1, variance=Fraction(1, 100)
    )
    (said,) = subgroup_error([step([event])], most_records=most)["counts"]
    (alone,) = subgroup_error([step([event])])["counts"]
    people = size // most
    found = [
        (most * each / read, comb(people, each) * read**each * (1 - read) ** (people - each))
        for each in range(people + 1)
    ]
    spread = sqrt(sum(chance * (count - size) ** 2 for count, chance in found)) / size
    assert said["sd_for_a_group_of_50"] == pytest.approx(spread, rel=0.01)
    assert alone["sd_for_a_group_of_50"] < spread / 2


def test_noisy_figures_beside_draws_have_the_names_of_their_queries() -> None:
    event = DiscreteGaussianEvent(
        query="numbers of workers", part="shared", outputs=1, sensitivity=1, variance=Fraction(4)
    )
    said = subgroup_error([step([event])], from_counts=True)
    assert [(each["counts"], each["noise_sd"]) for each in said["counts"]] == [("numbers of workers", 2.0)]
    assert "model" not in said["not_stated"]
    assert [each["counts"] for each in subgroup_error([step([event])])["counts"]] == [SEVERAL]


def test_the_epsilon_of_one_choice_is_said_to_be_for_one_record() -> None:
    person = {"column": "id", "most_records": 3}
    (now, before) = (of_each_person(person, version)["of_each_person"]["costs"] for version in (VERSION, 3))
    assert "the epsilon of one choice are for one record" in now
    assert "choice" not in before
    assert of_each_person({**person, "most_records": 1}, VERSION) == {}


def test_what_publication_tells_is_said_of_each_spec() -> None:
    alone = publication(SPEC, version=VERSION)
    assert alone["decided_by"].startswith("nobody")
    assert "At most 0.01 of the rows in scope were invalid" in alone["tells"][0]
    assert not any("exact figures" in each.lower() for each in alone["tells"])
    assert publication(SPEC, approved=True, version=VERSION)["decided_by"].startswith("the person who approved it")
    asked = publication({**SPEC, "decision": POLICY}, approved=True, version=VERSION)
    assert asked["decided_by"].startswith("a person, who is asked whatever was measured")
    assert asked["tells"] == alone["tells"]
    bounds = {"publish_within": {"tvd_2way_max": 0.1}, "refuse_beyond": {"accuracy_tree_min": 0.5}}
    decided = publication({**SPEC, "decision": {**POLICY, **bounds}}, version=VERSION)
    assert decided["decided_by"].startswith("exact figures of the real records")
    assert [each for each in decided["tells"] if "xact figures" in each] == [
        "Exact figures of the real records were within bounds: accuracy_tree at least 0.5.",
        "Unless a person approved it, which the record says, exact figures were within bounds: tvd_2way at most 0.1.",
    ]
    asked_anyway = {**POLICY, "publish_within": bounds["publish_within"], "always_ask": True}
    assert publication({**SPEC, "decision": asked_anyway}, version=VERSION) == asked
    always = publication({**SPEC, "decision": {**POLICY, **bounds, "always_ask": True}}, version=VERSION)
    assert not any("Unless a person" in each for each in always["tells"])
    refreshed = publication({**SPEC, "refresh": {"budget": {}}}, version=VERSION)
    assert any("refresh" in each for each in refreshed["tells"])
    short = {"max_dropped_share": "1/20", "split": {"shared": "1", "holdout": "0"}, "synthesis": SEEDLESS}
    (dropped, _, not_measured) = publication(short, version=2)["tells"]
    assert dropped.startswith(
        "At most 0.05 of the rows in scope were left out, because they were invalid or had no value"
    )
    assert "utility was not measured on held-out records, and risk was not measured" in not_measured
    left_out = rows_left_out(short, None, VERSION)
    assert left_out["largest_share_of_rows_left_out"] == 0.05
    assert "largest_share_of_invalid_rows" not in left_out
    tested = {**SPEC, "synthesis": {"guarantee": "tested_seeds", "test": 2}}
    assert any("candidate passed" in each for each in publication(tested, version=VERSION)["tells"])


@pytest.mark.parametrize(
    ("number", "words"), [(0, "0 choices"), (1, "1 choice"), (2, "2 choices"), (1200, "1,200 choices")]
)
def test_one_thing_is_singular(number: int, words: str) -> None:
    assert number_of(number, "choice") == words


def test_earlier_statements_called_every_unit_but_a_person_a_record_and_those_of_origins_are_named() -> None:
    record = {"spec": {"document": {"learner": PDP}}, "schema": {}}
    assert relation_before_third(ORIGIN)["privacy_unit"] == "one record"
    assert relation_before_third(ORIGIN)["neighbouring_relation"] == ORIGIN.neighbouring
    assert relation_before_third(NOTHING_HIDDEN)["neighbouring_relation"] == RECORD.neighbouring
    person = of_people(RECORD, {"column": "id", "most_records": 2})
    assert relation_before_third(person)["privacy_unit"] == person.unit
    assert relation_of(record["spec"]["document"]["learner"]) is ORIGIN
    assert faults_of_unit({"statement": 2}, record)
    assert not faults_of_unit({"statement": 3}, record)
    pure = {**record, "spec": {"document": {"learner": {**PDP, "privacy": "pure", "totals": None}}}}
    assert not faults_of_unit({"statement": 2}, pure)


def test_a_guarantee_that_rests_on_public_totals_or_files_says_so_first() -> None:
    assert relation_of({**PDP, "privacy": "pure"}).not_covered[0].startswith("Numbers of workers that come")
    assert relation_of({**PDP, "privacy": "pure", "totals": None}) is RECORD
    assert relation_of({"kind": "nist_mst"}).not_covered[0].startswith("A selection that is not public.")
    seeds = {"kind": "pegs", "seed_file": {"path": "seeds.csv", "sha256": "0"}}
    assert relation_of(seeds).not_covered[0].startswith("Seeds that are not public.")
    assert relation_of({"kind": "pegs", "seed_file": None}) is RECORD
    assert not ORIGIN.conditions, "exact totals may come from the table, for nothing is hidden that they tell"
    person = relation_of({"kind": "nist_mst"}, {"column": "id", "most_records": 1})
    assert [line.split()[0] for line in person.not_covered] == ["A", "People"]
