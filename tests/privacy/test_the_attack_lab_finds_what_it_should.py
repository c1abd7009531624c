"""The attack lab finds broken mechanisms, finds nothing in honest ones, and fails if a control fails."""

from math import inf
from pathlib import Path

import pytest

from benchmarks.attack_lab import faults, lab
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
        (Shadows("claims nothing", inf, 0, 3, 0, 0, 3.3, 300), ""),
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
    assert lab.page(text, kept) == text
    assert all(twin["finding"] for own in kept["faults"].values() for twin in own["twins"])
    assert {twin["fault"] for own in kept["faults"].values() for twin in own["twins"]} <= {
        twin.breaks for twin in TWINS
    }


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["learner marginals", "sampler histogram_seeds", "learner origin_destination"])
def test_the_page_shows_what_the_lab_finds_now(name: str) -> None:
    assert lab.run("membership", name) == (kept_figures(lab.KEPT)["membership"][name], [])


@pytest.mark.nightly
@pytest.mark.parametrize("kind", faults.PUBLISHED)
def test_every_published_fault_is_found(kind: str) -> None:
    assert lab.run("faults", kind) == (kept_figures(lab.KEPT)["faults"][kind], [])
