"""The attack lab finds broken mechanisms, finds nothing in honest ones, and fails if a control fails."""

from dataclasses import replace
from math import inf
from pathlib import Path

import pytest
from scipy.stats import norm

from benchmarks.attack_lab import faults, lab, one_run, tradeoffs
from benchmarks.attack_lab.shadows import Shadows, all_names, attacked
from benchmarks.measuring import kept_figures
from tests.mechanisms.audit.code import broken
from tests.mechanisms.audit.twins import TWINS

RUNS = 80


def test_an_honest_mechanism_shows_no_more_than_it_claims_and_its_controls_do_as_they_should(tmp_path: Path) -> None:
    found = attacked("learner independent", tmp_path, RUNS)
    assert found.faults == []
    assert found.found <= found.claimed == 1
    assert found.copied > 1
    assert found.nothing == 0


def test_a_mechanism_without_noise_is_found_by_its_records_alone(tmp_path: Path) -> None:
    twin = faults.twin_of("learner pegs_noisy", "the table and no noise: `table + 0 * noise`")
    with broken(twin):
        found = attacked("learner pegs_noisy", tmp_path, RUNS)
    assert found.found > found.claimed
    assert len(found.faults) == 1
    assert "claims 1, and" in found.faults[0]


@pytest.mark.parametrize(
    ("found", "fault"),
    [
        (Shadows("a", 1, 0, 0.5, 3.0, 0, 3.3, 300), ""),
        (Shadows("a", 1, 0, 1.1, 3.0, 0, 3.3, 300), "claims 1, and 1.1 was found"),
        (Shadows("a", 1, 0, 0.5, 0.9, 0, 3.3, 300), "a hundred records charged as one were not found"),
        (Shadows("a", 1, 0, 0.5, 3.0, 0.1, 3.3, 300), "0.1 was found where nobody joined"),
        (Shadows("out of reach", 4, 0, 0.5, 0.9, 0, 3.3, 300), ""),
        (Shadows("reads nothing", 0, 0, 0, 0, 0, 3.3, 300), ""),
        (Shadows("out of reach", 4, 0, 0.5, 0, 0, 3.3, 300), "a hundred records charged as one were not found"),
        (Shadows("reads nothing", 0, 0, 0, inf, 0, 3.3, 300), "its releases differ with the table"),
        (Shadows("claims nothing", inf, 0, 3, 2, 0, 3.3, 300), ""),
        (Shadows("claims nothing", inf, 0, 3, 0, 0, 3.3, 300), "a hundred records charged as one were not found"),
    ],
)
def test_what_is_wrong_is_said(found: Shadows, fault: str) -> None:
    assert fault in "".join(found.faults)
    assert bool(found.faults) == bool(fault)


def test_each_published_fault_is_one_twin_of_this_program() -> None:
    twins = [twin for those in faults.PUBLISHED.values() for twin in those]
    assert len(faults.PUBLISHED) >= 12
    assert len({faults.twin_of(*twin) for twin in twins}) == len(twins)
    with pytest.raises(LookupError):
        faults.twin_of("learner independent", "a fault that nobody has")


def test_a_fault_that_is_not_found_fails_the_lab(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = next(kind for kind in faults.PUBLISHED if kind.startswith("exact totals"))
    figures, wrong = lab.run("faults", kind)
    assert wrong == []
    assert figures["twins"][0]["finding"].partition(":")[0] in faults.twin_of(*faults.PUBLISHED[kind][0]).parts
    monkeypatch.setattr(faults, "findings_of_twin", lambda *_: ["charge: of something else"])
    assert lab.run("faults", kind)[1] == ["learner origin_destination: totals without noise was not found"]


def test_the_page_has_every_mechanism_every_fault_and_every_attack_as_kept() -> None:
    kept, text = kept_figures(lab.KEPT), lab.PAGE.read_text(encoding="utf-8")
    assert set(kept["membership"]) == set(all_names())
    assert set(kept["faults"]) == set(faults.PUBLISHED)
    assert set(kept["lecture"]) == set(lab.LECTURE)
    assert set(kept["one_run"]) == set(one_run.names())
    assert set(kept["tradeoffs"]) == set(tradeoffs.names())
    assert set(kept[lab.MADE]) == set(lab.PARTS)
    assert lab.page(text, kept) == text
    assert all(twin["finding"] for own in kept["faults"].values() for twin in own["twins"])
    assert {twin["fault"] for own in kept["faults"].values() for twin in own["twins"]} <= {
        twin.breaks for twin in TWINS
    }


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["learner marginals", "sampler histogram_seeds", "learner origin_destination"])
def test_the_page_shows_what_the_lab_finds_now(name: str) -> None:
    assert lab.run("membership", name) == (kept_figures(lab.KEPT)["membership"][name], [])


@pytest.mark.parametrize(
    ("right", "guessed", "people", "delta", "shown"),
    [
        (90, 100, 100, 0, 1.63082),
        (700, 1000, 1000, 0, 0.73201),
        (100, 100, 1000, 0, 3.49297),
        (90, 100, 1000, 1e-5, 1.62614),
        (50, 100, 100, 0, 0),
    ],
)
def test_one_run_shows_what_the_theorem_says(right: int, guessed: int, people: int, delta: float, shown: float) -> None:
    """At 5 %, computed with Theorem 5.2 of Steinke, Nasr and Jagielski by a program of its own."""
    assert one_run.bound(right, guessed, people, delta, alarm=0.05) == pytest.approx(shown, abs=2e-5)


def test_a_bound_on_mu_is_what_its_two_rates_say() -> None:
    rates = norm.cdf(1), norm.sf(1)
    runs = 10**9
    assert tradeoffs.bound(round(rates[0] * runs), round(rates[1] * runs), runs) == pytest.approx(2, abs=1e-3)
    assert tradeoffs.bound(50, 50, 100) == 0
    assert tradeoffs.bound(0, 100, 100) == 0
    # Bounds are cautious: of fewer runs, less is shown.
    assert tradeoffs.bound(84, 16, 100) < tradeoffs.bound(8400, 1600, 10_000) < 2


def test_one_run_finds_a_twin_and_nothing_in_the_right_step() -> None:
    found = one_run.audited("marginals, gaussian noise: learn_parameters")
    assert found.faults == []
    assert found.found <= found.claimed < found.twin
    assert "a twin with too little noise was not found in one run (0.5)" in replace(found, twin=0.5).faults[0]
    assert "claims 0.9997, and 2 was found" in replace(found, found=2).faults[0]


def test_the_trade_off_finds_a_twin_and_no_more_than_its_claim_in_the_right_step() -> None:
    found = tradeoffs.audited("marginals, gaussian noise: learn_parameters", 200)
    assert found.faults == []
    assert 0.4 * found.claimed < found.found <= found.claimed < found.twin
    assert "a twin with too little noise was not found" in replace(found, twin=1.0).faults[0]
    assert "and 3 was found" in replace(found, found=3).faults[0]


def test_a_mechanism_may_be_attacked_alone() -> None:
    asked = lab.tasks(lab.PARTS, "marginals")
    assert ("membership", "learner marginals") in asked
    assert ("tradeoffs", "marginals, gaussian noise: learn_parameters") in asked
    assert ("faults", next(kind for kind in faults.PUBLISHED if kind.startswith("the domain is read"))) in asked
    assert all("marginals" in name for part, name in asked if part != "faults")
    assert lab.tasks(lab.PARTS, "nothing of the kind") == []


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["independent: learn_parameters", "cfs, laplace noise: learn_parameters"])
def test_the_page_shows_what_one_run_finds_now(name: str) -> None:
    assert lab.run("one_run", name) == (kept_figures(lab.KEPT)["one_run"][name], [])


@pytest.mark.nightly
@pytest.mark.parametrize("kind", faults.PUBLISHED)
def test_every_published_fault_is_found(kind: str) -> None:
    assert lab.run("faults", kind) == (kept_figures(lab.KEPT)["faults"][kind], [])
