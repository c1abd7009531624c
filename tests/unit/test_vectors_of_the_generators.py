"""Every vector of the generators that draw, from the file beside the checkout, against the product's own functions.

`vectors2.json` has figures that another program worked out. HELD_BY says which test holds each of its parts; a part
that is added to the file and held by no test is found here.
"""

import json
import re
from fractions import Fraction
from itertools import combinations, product
from math import ceil, exp, expm1, inf, log, sqrt
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from deniable.evaluation.confidentiality_map import conditional_distance, marginal_distance
from deniable.learners.aim.plan import rho_of_table
from deniable.learners.certificate_costs import CertificateCost
from deniable.learners.diverse.diversity import diverse_priors
from deniable.learners.imputed.plan import ONE, imputation_plan, prior_weight
from deniable.learners.multinomial_sets.combining import combine, fully_synthetic_freedom, partial_freedom
from deniable.learners.multinomial_sets.exact import moments
from deniable.learners.multinomial_sets.posterior import binary_posterior, multinomial_posterior
from deniable.learners.origin_destination import bounds
from deniable.learners.origin_destination.domain_sampling import added_by_theorem_5_2
from deniable.learners.origin_destination.draws import is_acceptable
from deniable.learners.pegs.plan import key_of
from deniable.learners.privbayes.plan import network_plan
from deniable.local.designs import Design, better_at_zero, ratio_of
from deniable.local.estimates import clopper_pearson, estimates
from deniable.measurements.certificate import margin
from deniable.measurements.noisy_tables import NoiseLaw
from deniable.models.urns import EVEN
from deniable.privacy.composition import zcdp_to_epsilon
from deniable.privacy.urn_costs import UNIT, prior_for, urn_epsilon
from tests.attacks import reconstructed, refuted_epsilon, relative_risk, shown_epsilon, wilson
from tests.extent import drawn
from tests.privacy.broken_twins import twice_epsilon
from tests.urn_law import Record, all_records, block_probability, plain_domain

Vectors = dict[str, Any]

_DATASYNTHESIZER = "tests/mechanisms/test_datasynthesizer.py"
_HERE = "tests/unit/test_vectors_of_the_generators.py"
HELD_BY: Final = {
    "pegs": (f"{_HERE}::test_pegs",),
    "pegs_rs": (f"{_HERE}::test_blocks",),
    "pmi": (f"{_HERE}::test_imputation",),
    "l_diversity": (f"{_HERE}::test_diversity",),
    "ru": (f"{_HERE}::test_distances",),
    "otm": (f"{_HERE}::test_flows",),
    "charest_tables": (f"{_HERE}::test_moments_of_sets",),
    "charest_coverage_95": (f"{_HERE}::test_coverage_of_sets",),
    "charest_figure1": (f"{_HERE}::test_the_published_convention_of_intervals",),
    "charest_posterior": (f"{_HERE}::test_posteriors",),
    "dm_posterior": (f"{_HERE}::test_posteriors",),
    "combining": (f"{_HERE}::test_combining_rules",),
    "rr": (f"{_HERE}::test_randomized_response",),
    "audit": (f"{_HERE}::test_audits",),
    "privacy_risk": (f"{_HERE}::test_the_risk_beyond_the_control",),
    "reconstruction": (f"{_HERE}::test_reconstruction", f"{_HERE}::test_a_block_of_seven_people_has_one_solution"),
    "privbayes": (
        f"{_DATASYNTHESIZER}::test_the_noise_is_that_of_the_paper",
        f"{_DATASYNTHESIZER}::test_the_degree_follows_from_usefulness",
        f"{_DATASYNTHESIZER}::test_choices_follow_the_exponential_law",
        f"{_DATASYNTHESIZER}::test_mutual_information_would_need_noise_that_the_number_of_rows_decides",
        f"{_HERE}::test_what_the_description_of_a_tool_costs",
    ),
    "mst": (
        "tests/mechanisms/test_mst.py::test_amounts_are_those_of_the_paper",
        "tests/mechanisms/test_mst.py::test_the_noise_uses_the_budget_by_the_tightest_accountant",
        f"{_HERE}::test_concentrated_privacy_of_mst",
        "tests/unit/test_graphical_models.py::test_two_tables_of_a_lecture_are_fitted_with_their_mean_total",
    ),
    "aim": (
        "tests/unit/test_aim_plan.py::test_amounts_are_those_of_the_paper",
        "tests/unit/test_aim_plan.py::test_weights_are_those_of_the_paper",
    ),
    "inference": (
        "tests/unit/test_inference_is_least_squares.py::test_the_vectors",
        "tests/unit/test_laws_of_errors.py::test_the_score_interval_of_the_vectors_and_wilsons_without_noise",
        f"{_HERE}::test_certificates",
    ),
    "consistency": ("tests/unit/test_consistent_estimates.py::test_the_total_and_the_two_sexes_of_the_slide",),
}
"""The tests that hold each part of the file."""
NOT_HERE: Final = {
    "dp_erm": "noise for a regularized regression or classifier that is published itself (output and objective "
    "perturbation, Chaudhuri, Monteleoni, Sarwate 2011): the project publishes records and tables of counts, and fits "
    "no such model to confidential records",
}
"""Parts of the file that say nothing of what the project does."""

DOMAIN = plain_domain(2, 2, 3)
KEYS = [key_of(DOMAIN, order, 4) for order in ((1, 2), (0, 2), (1, 0))]
ROWS: list[Record] = [(0, 0, 0), (0, 0, 1), (0, 1, 1), (1, 0, 1), (1, 1, 1), (1, 1, 2), (0, 1, 2), (1, 1, 1)]
ZERO: Record = (0, 0, 0)


@pytest.fixture(scope="module")
def known(shared: Path) -> Vectors:
    vectors: Vectors = json.loads((shared / "vectors" / "vectors2.json").read_text())
    return vectors


def asked_in(name: str) -> dict[str, float]:
    """The numbers in the name of a vector, such as `n=15,k=17127,eps=4.6`."""
    return {each: float(number) for each, number in re.findall(r"(\w+)=([\d.e+-]+)", name)}


def test_every_part_of_the_file_is_held_by_a_test_that_exists(known: Vectors) -> None:
    assert {*HELD_BY, *(part.partition(".")[0] for part in NOT_HERE)} == set(known)
    root = Path(__file__).parents[2]
    for test in sum(HELD_BY.values(), ()):
        file, _, name = test.partition("::")
        assert f"def {name}(" in (root / file).read_text(encoding="utf-8"), test


def test_every_named_entry_of_a_part_is_in_a_test_that_holds_it(known: Vectors) -> None:
    """Entries that are named by their parameters, such as `n=15,k=17127`, are taken all together."""
    root = Path(__file__).parents[2]
    for part, tests in HELD_BY.items():
        sources = "".join((root / file).read_text("utf-8") for file in {each.partition("::")[0] for each in tests})
        entries = known[part] if isinstance(known[part], dict) else {}
        names = [name for name in entries if re.fullmatch("[A-Za-z_]+", name)]
        assert [f"{part}.{name}" for name in names if f'"{name}"' not in sources] == []


def probability(rows: list[Record], seed: Record, block: list[Record], alpha: Fraction, most: int = 1) -> Fraction:
    return block_probability(rows, DOMAIN, KEYS, lambda *_: alpha, seed, block, most=most)


def test_pegs(known: Vectors) -> None:
    vector = known["pegs"]
    assert {name: tuple(key) for name, key in vector["hash"].items()} == dict(zip("012", KEYS, strict=True))
    alpha = Fraction(prior_for(Fraction(1, 3)), UNIT)
    assert float(alpha) == pytest.approx(vector["alpha_eps1_M3"], abs=1.01 / UNIT)
    assert float(probability(ROWS, ZERO, [(1, 1, 2)], alpha)) == pytest.approx(vector["p_seed_000_out_112"], rel=1e-6)
    assert float(probability(ROWS, ZERO, [ZERO], alpha)) == pytest.approx(vector["p_seed_000_out_000"], rel=1e-6)
    records = all_records(DOMAIN)
    assert sum(probability(ROWS, ZERO, [out], alpha) for out in records) == pytest.approx(vector["total"], abs=1e-12)
    laws = [{(seed, out): probability(ROWS, seed, [out], alpha) for seed, out in product(records, records)}]
    laws += [
        {(seed, out): probability([*ROWS, added], seed, [out], alpha) for seed, out in product(records, records)}
        for added in records
    ]
    worst = max(max(law[at] / laws[0][at], laws[0][at] / law[at]) for law in laws[1:] for at in laws[0])
    assert float(worst) == pytest.approx(vector["worst_ratio_over_all_added_rows_and_outputs"], rel=1e-6)
    assert float(worst) < exp(3 * float(urn_epsilon(prior_for(Fraction(1, 3))))) <= vector["bound"]
    for epsilon, right in zip(vector["uneven_eps"], vector["uneven_alpha"], strict=True):
        assert prior_for(Fraction(str(epsilon))) / UNIT == pytest.approx(right, abs=1.01 / UNIT)
    for name, right in vector["alpha_eps_M"].items():
        epsilon, attributes = name.split(",")
        # Rounded up: at least one unit of 2^-20.
        found = prior_for(Fraction(epsilon) / int(attributes)) / UNIT
        assert right <= found * (1 + 1e-12)
        assert found <= right + 1.01 / UNIT


def test_blocks(known: Vectors) -> None:
    vector, alpha = known["pegs_rs"], Fraction(7, 10)
    block = [tuple(record) for record in vector["block"]]
    assert float(probability(ROWS, ZERO, block, alpha)) == pytest.approx(vector["p_reset"], rel=1e-12)
    assert float(probability(ROWS, ZERO, block, alpha, most=2)) == pytest.approx(vector["p_polya_r2"], rel=1e-12)
    bound, polya = vector["bound_reset"], vector["bound_polya_r2"]
    prior = int(0.7 * UNIT)
    assert exp(3 * float(urn_epsilon(prior))) == pytest.approx(bound, rel=1e-5)
    assert exp(3 * float(urn_epsilon(prior, 2))) == pytest.approx(polya, rel=1e-5)
    # Ratios found at random: another search finds others, and none beyond the bound.
    assert all(found <= bound for found in vector["worst_ratio_random_B1_B3_B6"])
    assert bound < vector["worst_ratio_polya_r2_B3"] * 1.02 < polya
    assert 13 * float(urn_epsilon(10 * UNIT, 100)) == pytest.approx(vector["eps_polya_M13_alpha10_r100"])
    assert 1300 * float(urn_epsilon(10 * UNIT)) == pytest.approx(vector["eps_reset_100_blocks"])
    for draws, right in vector["alpha_polya_eps1_M11"].items():
        assert prior_for(Fraction(1, 11), int(draws)) / UNIT == pytest.approx(right, abs=1.01 / UNIT)


def test_imputation(known: Vectors) -> None:
    for vector in known["pmi"]["w"]:
        plan = imputation_plan(plain_domain(*[vector["C"]] * vector["M"]), 1, Fraction(vector["eps"]))
        prior, held = prior_weight(plan.priors[0]), round(vector["p"] * ONE)
        assert (held + prior) / (ONE + vector["C"] * prior) == pytest.approx(vector["out"], abs=1e-6)


def test_diversity(known: Vectors) -> None:
    for name, right in known["l_diversity"].items():
        counts, diversity = name.split(",l=")
        (found,) = diverse_priors(np.array([json.loads(counts.replace("(", "[").replace(")", "]"))]), float(diversity))
        if right is None:
            assert found == EVEN
        else:
            assert 0 <= found / UNIT - right <= 1.1 / UNIT


def test_distances(known: Vectors) -> None:
    vector = known["ru"]
    real, synthetic = (np.array(vector[name], np.uint16) for name in ("real", "synthetic"))
    assert marginal_distance(DOMAIN, real, synthetic) == pytest.approx(vector["marginal_tv"])
    for given, right in ((0, vector["conditional_on_0"]), (2, vector["conditional_on_2"])):
        assert conditional_distance(DOMAIN, real, synthetic, given) == pytest.approx(right)


def test_flows(known: Vectors) -> None:
    vector = known["otm"]
    for name, right in vector["pure"].items():
        asked = asked_in(name)
        assert bounds.pure_alpha(int(asked["m"]), asked["eps"]) == pytest.approx(right)
    for name, right in vector["alpha_44"].items():
        asked = asked_in(name)
        found = bounds.theorem_4_4_alpha(int(asked["n"]), int(asked["k"]), asked["eps"], asked["delta"])
        assert found == pytest.approx(right, rel=1e-5)
    for name, right in vector["alpha_O"].items():
        asked = asked_in(name)
        people = int(asked["n"])
        found = bounds.theorem_o_alpha(people, people, int(asked["k"]), expm1(asked["eps"]), asked["delta"])
        assert found == pytest.approx(right, rel=1e-5)
    for name, right in vector["delta_O_at"].items():
        asked = asked_in(name)
        people = int(asked["n"])
        found = bounds.disclosure(people, people, int(asked["k"]), asked["a"], expm1(asked["eps"]))
        assert found == pytest.approx(right)
    for each in vector["rep_good"]:
        counts, growth, prior = np.array(each["n"]), Fraction(each["g"]), int(each["alpha"][0] * UNIT)
        there = np.flatnonzero(counts)
        taken = np.repeat(np.arange(len(counts)), each["m"])
        assert is_acceptable(taken, there, counts[there], prior, growth) == each["good"], each
        alpha = Fraction(prior, UNIT)
        represents = all(m <= growth * (alpha + max(n - 1, 0)) for m, n in zip(each["m"], counts.tolist(), strict=True))
        assert represents == each["rep"], each
    for name, right in vector["accept_eps"].items():
        asked = asked_in(name)
        assert bounds.acceptance_growth(right, asked["p"]) == pytest.approx(asked["g"], rel=1e-9)
    added = added_by_theorem_5_2(Fraction(378, 10_000), ceil(0.039764 * UNIT))
    assert float(added) == pytest.approx(vector["algorithm2_extra"])
    assert vector["algorithm2_extra"] == pytest.approx(log(1 / 0.0378) + ceil(0.039764) * log(2))


def test_moments_of_sets(known: Vectors) -> None:
    for name, right in known["charest_tables"].items():
        asked = asked_in(name)
        found = moments(share=asked["p"], epsilon=asked["eps"], sets=int(asked["M"]), people=100, size=100)
        assert found.alpha == pytest.approx(right["alpha"], rel=1e-9)
        assert found.mean == pytest.approx(right["E_qbar"], abs=1e-9)
        assert found.variance == pytest.approx(right["var_qbar"], abs=1e-12)


def simulated(share: float, epsilon: float, sets: int, rows: int) -> np.ndarray[Any, Any]:
    """Counts of some simulated surveys, drawn as the vectors' program draws them, shape (rows, sets)."""
    people, alpha, runs = 100, 100 / expm1(epsilon / sets), 20_000
    draw = np.random.Generator(np.random.PCG64(7))
    counts = draw.binomial(people, share, runs)
    shares = draw.beta(counts[:, None] + alpha, (people - counts)[:, None] + alpha, (runs, sets))
    return draw.binomial(people, shares)[:rows]


def star(counts: np.ndarray[Any, Any], *, floor: bool) -> list[tuple[float, float]]:
    """Estimate and half-width of T_M* for each survey; without the floor, with degrees of freedom as printed."""
    from scipy import stats  # noqa: PLC0415 - one function of it

    found = []
    for row in counts.tolist():
        shares = [number / 100 for number in row]
        made = combine(shares, [q * (1 - q) / 100 for q in shares], "T_M*", size=100, people=100)
        freedom = made.freedom
        if not floor and made.between is not None:
            raw = fully_synthetic_freedom(len(row), made.between, made.within)
            freedom = raw if 0 < raw < inf else 1e9
            freedom = max(freedom, 1e-3)
        quantile = stats.norm.ppf(0.975) if freedom == inf else stats.t.ppf(0.975, freedom)
        found.append((made.estimate, float(quantile) * sqrt(made.variance)))
    return found


def is_within_six_deviations(found: float, right: float, cases: int) -> bool:
    """A share of some cases against that of all: 2e-9 of a false alarm, and half a case for rounding."""
    return abs(found - right) <= 6 * sqrt(max(right * (1 - right), 1 / cases) / cases) + 0.5 / cases


def is_about_the_median(values: list[float], median: float) -> bool:
    """Whether a median lies among the middle values: their number below it is binomial."""
    below = sum(value <= median for value in values) / len(values)
    return abs(below - 0.5) <= 3 / sqrt(len(values)) + 0.5 / len(values)


@pytest.mark.slow
def test_coverage_of_sets(known: Vectors) -> None:
    surveys, posteriors = drawn(1200), drawn(200)
    for name, right in known["charest_coverage_95"].items():
        asked = asked_in(name)
        share, sets = asked["p"], int(asked["M"])
        counts = simulated(share, asked["eps"], sets, surveys)
        made = star(counts, floor=False)
        covers = sum(abs(estimate - share) <= half for estimate, half in made) / surveys
        assert is_within_six_deviations(covers, right["T_star"], surveys), name
        assert is_about_the_median([half for _, half in made], right["halfwidth_median"]), name
        alpha = 100 / expm1(asked["eps"] / sets)
        exact = [binary_posterior(row, size=100, people=100, alpha=alpha) for row in counts[:posteriors].tolist()]
        covers = sum(0.025 <= each.distribution(share) <= 0.975 for each in exact) / posteriors
        assert is_within_six_deviations(covers, right["bayes"], posteriors), name
        # The vectors' grid is .0005 wide.
        ends = [each.interval() for each in exact[:10]]
        halves = [round((high - low) / 2, 3) for low, high in ends]
        assert is_about_the_median(halves, right["bayes_halfwidth_median"] + 0.001), name


@pytest.mark.slow
def test_the_published_convention_of_intervals(known: Vectors) -> None:
    """Where T_M is negative the normal quantile, and elsewhere at least one degree of freedom."""
    surveys = drawn(1200)
    for name, right in known["charest_figure1"].items():
        asked = asked_in(name)
        made = star(simulated(asked["p"], asked["eps"], int(asked["M"]), surveys), floor=True)
        covers = sum(abs(estimate - asked["p"]) <= half for estimate, half in made) / surveys
        assert is_within_six_deviations(covers, right, surveys), name


def test_posteriors(known: Vectors) -> None:
    one = binary_posterior([7], size=10, people=10, alpha=10 / expm1(2))
    assert (one.mean_count, one.mean) == pytest.approx(tuple(known["charest_posterior"]["one"]), abs=1e-9)
    three = binary_posterior([7, 6, 8], size=10, people=10, alpha=10 / expm1(2 / 3))
    assert (three.mean_count, three.mean) == pytest.approx(tuple(known["charest_posterior"]["three"]), abs=1e-9)
    vector = known["dm_posterior"]
    alpha = vector["n"] / expm1(vector["eps"])
    assert alpha == pytest.approx(vector["alpha"])
    many = multinomial_posterior([tuple(row) for row in vector["y"]], people=vector["n"], alpha=alpha)
    assert many.mean.tolist() == pytest.approx(vector["E_p"], abs=1e-10)


def test_combining_rules(known: Vectors) -> None:
    five = [0.30, 0.34, 0.28, 0.36, 0.32]
    for name, q, v in (("a", five, [x * (1 - x) / 100 for x in five]), ("b", [0.2, 0.5], [0.0016, 0.0025])):
        vector, sets = known["combining"][name], len(q)
        for rule, right in (
            ("T_m", "T_missing"),
            ("T_M", "T_full"),
            ("T_M*", "T_star"),
            ("partial", "T_partial"),
            ("T_s", "T_s"),
            ("T_p", "T_p"),
        ):
            found = combine(q, v, rule, size=1, people=1)  # type: ignore[arg-type]
            assert found.variance == pytest.approx(vector[right], abs=1e-12)
            assert (found.estimate, found.within) == pytest.approx((vector["qbar"], vector["vbar"]))
            assert found.between == pytest.approx(vector["b"])
        assert fully_synthetic_freedom(sets, vector["b"], vector["vbar"]) == pytest.approx(vector["nu"])
        assert partial_freedom(sets, vector["b"], vector["vbar"]) == pytest.approx(vector["nu_partial"])


def close(found: Any, vector: Vectors) -> bool:
    """Whether an estimate is that of a vector, whose e^epsilon is not rounded down."""
    own = (found.share, found.se_population, found.se_given_sample, *found.interval)
    right = (vector["estimate"], vector["se_population"], vector["se_given_sample"], *vector["ci95"])
    return bool(own == pytest.approx(right, rel=1e-5))


def test_randomized_response(known: Vectors) -> None:
    vector = known["rr"]
    warner = Design("warner", 2, Fraction(3))
    assert tuple(map(float, warner.support)) == (vector["warner_slide"]["p"], vector["warner_slide"]["q"])
    assert warner.epsilon == pytest.approx(vector["warner_slide"]["eps"])
    assert close(estimates(warner, (600, 400), 1000)[1], vector["warner_slide"])
    for name, right in vector["krr"].items():
        asked = asked_in(name)
        design = Design("k_rr", int(asked["k"]), ratio_of(Fraction(asked["eps"])))
        assert tuple(map(float, design.support)) == pytest.approx(tuple(right), rel=1e-5)
    ratio = ratio_of(Fraction(1))
    assert close(estimates(Design("k_rr", 5, ratio), (300, 175, 175, 175, 175), 1000)[0], vector["krr_est"])
    for name, right in vector["oue"].items():
        design = Design("oue", 2, ratio_of(Fraction(asked_in(name)["eps"])))
        assert tuple(map(float, design.support)) == pytest.approx(tuple(right), rel=1e-5)
    assert close(estimates(Design("oue", 2, ratio), (330, 330), 1000)[0], vector["oue_est"])
    for name, right in vector["var_zero_times_n"].items():
        asked = asked_in(name)
        values, own = int(asked["k"]), ratio_of(Fraction(asked["eps"]))
        found = {kind: Design(kind, values, own).zero_variance for kind in ("k_rr", "oue")}  # type: ignore[arg-type]
        assert found == pytest.approx({"k_rr": right["krr"], "oue": right["oue"]}, rel=1e-5)
        assert better_at_zero(values, own) == min(found, key=lambda kind: found[kind])
    for name, right in vector["crossover_at"].items():
        own = ratio_of(Fraction(asked_in(name)["eps"]))
        assert better_at_zero(int(right), own) == "k_rr"
        assert better_at_zero(int(right) + 1, own) == "oue"
        assert vector["crossover"].endswith("iff k < 3 e^eps + 2")
        assert right == pytest.approx(3 * exp(asked_in(name)["eps"]) + 2)
    from scipy import stats  # noqa: PLC0415 - one function of it

    p, q = map(float, Design("k_rr", 5, ratio).support)
    for name, right in vector["coverage_95"].items():
        asked = asked_in(name)
        people, share = int(asked["n"]), asked["pi"]
        law = stats.binom.pmf(np.arange(people + 1), people, q + share * (p - q))
        likely = np.flatnonzero(law > 1e-7)
        covers = unclipped = 0.0
        for count in likely.tolist():
            low, high = estimates(Design("k_rr", 5, ratio), (count, people - count, 0, 0, 0), people)[0].interval
            covers += law[count] * (low <= share <= high)
            bounds_of_rate = clopper_pearson(count, people, 0.05)
            low, high = ((bound - q) / (p - q) for bound in bounds_of_rate)
            unclipped += law[count] * (low <= share <= high)
        # The vector was simulated 20,000 times; this is the exact sum. At a share of 0 clipping adds the cases in
        # which even the upper bound is below 0.
        assert is_within_six_deviations(float(unclipped), right, 20_000)
        assert covers >= unclipped >= 0.95


def test_audits(known: Vectors) -> None:
    vector = known["audit"]
    for name, right in vector["one_run"].items():
        asked = asked_in(name)
        found = refuted_epsilon(
            int(asked["v"]), int(asked["r"]), delta=asked["delta"], canaries=int(asked["m"]), alarm=0.05
        )
        assert found == pytest.approx(right, abs=1e-6)
    for name, right in vector["shadow"].items():
        first, of, second, of_others = map(int, re.findall(r"\d+", name))
        assert shown_epsilon((first, of), (second, of_others), alarm=0.1) == pytest.approx(right, abs=1e-9)
    (needed,) = vector["power"].values()
    for epsilon, right in zip((1, 2, 4), needed, strict=True):
        assert refuted_epsilon(right, right, alarm=0.05) >= epsilon
        assert refuted_epsilon(right - 1, right - 1, alarm=0.05) < epsilon


def test_what_the_description_of_a_tool_costs(known: Vectors) -> None:
    """Histograms at the whole epsilon, and a network at the whole epsilon again, half of it for the choices."""
    said = known["privbayes"]["tool_correlated_total_of_description"]
    assert said.startswith("2*eps: eps for histograms of all attributes + eps/2 + eps/2")
    published = twice_epsilon.release(np.zeros((40, 3), np.int64), (2, 2, 3), 0.8, b"a secret")
    histograms = sum(1 / own.scale for own in published if len(own.attributes) == 1)
    tables = sum(1 / own.scale for own in published if len(own.attributes) > 1)
    assert (histograms, tables) == pytest.approx((0.8, 0.4))
    half = Fraction(2, 5)
    ours = network_plan(
        DOMAIN, structure_epsilon=half, parameter_epsilon=half, degree=1, rows=None, least=Fraction(4), max_cells=100
    )
    spent = [float(each.epsilon or 0) * each.outputs for each in (*ours.structure_events, *ours.parameter_events)]
    assert sum(spent) == pytest.approx(0.8), "nothing is counted beside the network"


def test_the_risk_beyond_the_control(known: Vectors) -> None:
    vector = known["privacy_risk"]
    for hits, name in ((420, "attack"), (300, "control")):
        assert wilson(hits, 2000) == pytest.approx(tuple(vector[name]), abs=1e-12)
    found, low, high = relative_risk((420, 2000), (300, 2000))
    assert (found, low, high) == pytest.approx((vector["risk"], *vector["ci"]), abs=1e-9)


def test_concentrated_privacy_of_mst(known: Vectors) -> None:
    """Rho of an epsilon and a delta, and the deviation of a third of it on tables of weight 1."""
    vector = known["mst"]
    for delta, name in ((1e-9, "rho_eps1_delta1e9"), (1e-6, "rho_eps1_delta1e6")):
        assert zcdp_to_epsilon(vector[name], delta) == pytest.approx(1, abs=1e-6)
    rho = Fraction(vector["rho_eps1_delta1e9"]) / 3
    assert float(rho_of_table(Fraction(vector["sigma"]) ** 2)) == pytest.approx(float(rho), rel=1e-9)


def test_certificates(known: Vectors) -> None:
    """The noise of a certificate of some rho, and the margin of its bound, which is a whole number of records."""
    for name, right in known["inference"]["certificate"].items():
        rho = Fraction(str(asked_in(name)["rho"]))
        variance = 1 / (2 * rho)
        assert float(variance) ** 0.5 == pytest.approx(right["sd"])
        assert float(rho_of_table(variance)) == pytest.approx(float(rho))
        # The noise has whole numbers: from q + 1/2 on, its tail is that of a normal number.
        assert abs(margin(NoiseLaw("gaussian", variance), 0.95) - right["slack95"]) <= 0.5
    share = CertificateCost(Fraction(1), Fraction(1, 10**9), Fraction(1, 100))
    rho_of_share = float(rho_of_table(share.amount("gaussian")))
    assert rho_of_share == pytest.approx(0.01 * known["mst"]["rho_eps1_delta1e9"], rel=1e-3)


def test_reconstruction(known: Vectors) -> None:
    """Sums of random halves of sixty bits: solved exactly without noise, and with much no better than by a coin."""
    vector = known["reconstruction"]
    draw = np.random.Generator(np.random.PCG64(5))
    bits, shares = draw.integers(0, 2, 60), {}
    queries = draw.integers(0, 2, (240, 60)).astype(float)
    for deviation in (0, 1, 2, 4, 8, 16):
        answers = queries @ bits + draw.normal(0, deviation, 240)
        shares[f"sd={deviation}"] = float((reconstructed(queries, answers) == bits).mean())
    assert shares == pytest.approx(vector["lp_60bits_240_random_subset_queries_share_right"], abs=0.051)
    # Three males with a median of 30 and a mean of 44 years.
    ages = [(a, c) for a in range(1, 31) for c in range(30, 126) if a + 30 + c == 132]
    assert len(ages) == vector["with_ties_A_le_30"]
    assert sum(a < 30 for a, _ in ages) == vector["ages_median30_mean44_A_from_1"]
    # Before anything is published, three males of different ages from 1 to 125 can be any of these.
    triples = list(combinations(range(1, 126), 3))
    assert len(triples) == vector["choose"]
    left = [triple for triple in triples if triple[1] == 30 and sum(triple) == 3 * 44]
    assert len(left) == vector["ages_median30_mean44_A_from_1"]


Person = tuple[int, str, str, str]


def described(block: list[Person]) -> dict[str, list[float]]:
    """The published statistics of a block of people: number, median and mean age, of some groups."""
    groups = {
        "all": lambda _: True,
        "female": lambda person: person[1] == "F",
        "male": lambda person: person[1] == "M",
        "black": lambda person: person[2] == "B",
        "white": lambda person: person[2] == "W",
        "married": lambda person: person[3] == "M",
        "black_female": lambda person: person[1:3] == ("F", "B"),
    }
    found = {}
    for name, belongs in groups.items():
        ages = [person[0] for person in block if belongs(person)]
        found[name] = [len(ages), float(np.median(ages)), round(float(np.mean(ages)), 1)]
    return found


def test_a_block_of_seven_people_has_one_solution(known: Vectors) -> None:
    """Three black women, one black man, one white woman and two white men; whoever is below 15 is not married."""
    published = known["reconstruction"]["block"]
    of_black_women, of_black, of_women, of_men = 110, 194, 134, 132
    solutions = []
    for first, white in product(range(37), range(25)):
        ages = [first, 36, of_black_women - 36 - first, of_black - of_black_women, of_women - of_black_women]
        ages += [white, of_men - (of_black - of_black_women) - white]
        kinds = [("F", "B")] * 3 + [("M", "B"), ("F", "W"), ("M", "W"), ("M", "W")]
        if np.median(ages) != published["all"][1]:
            continue
        for married in combinations(range(7), 4):
            block = [
                (age, *kind, "M" if i in married else "S")
                for i, (age, kind) in enumerate(zip(ages, kinds, strict=True))
            ]
            if min(ages[i] for i in married) >= 15 and described(block) == published:
                solutions.append(block)
    assert len(solutions) == known["reconstruction"]["block_solutions"] == 1
    assert min(solutions[0]) == (8, "F", "B", "S")
