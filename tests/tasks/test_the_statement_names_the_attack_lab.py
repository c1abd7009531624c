"""PRIVACY.md names the version of the attack lab, its date, and what it found about the release's mechanisms."""

import json
from pathlib import Path

import pytest

from benchmarks.attack_lab import lab
from benchmarks.measuring import kept_figures
from schemas.spec.plan import plan_release
from schemas.spec.release_spec import load_spec
from stores.statement import lab_findings
from stores.statement.statement import statement_in_words
from tests.small_release import QUICK, write_small_release


def test_what_is_stated_is_what_the_lab_kept() -> None:
    assert json.loads(lab_findings.FILE.read_text(encoding="utf-8")) == lab.stated(kept_figures(lab.KEPT))


def test_the_statement_names_version_date_and_findings(tmp_path: Path) -> None:
    spec = load_spec(write_small_release(tmp_path, people=[], **QUICK))
    said = " ".join(statement_in_words("small-1", spec, plan_release(spec).accounts).split())
    kept = kept_figures(lab.KEPT)
    made = kept[lab.MADE]["membership"]
    assert f"Version {lab.VERSION} of this program's attack lab ({made['date']}, commit {made['commit']})" in said
    for name in ("learner marginals", "sampler seedless"):
        own = kept["membership"][name]
        assert f"- {name}: claimed epsilon {own['claimed']:.3g}; found epsilon of at least {own['found']:.2f};" in said
    faults = sum(len(each["twins"]) for each in kept["faults"].values())
    assert f"Of {faults} published faults that were put into this program, {faults} were found." in said


@pytest.mark.parametrize(
    ("learner", "guarantee", "names"),
    [
        ("diverse", "per_draw", ["learner diverse", "sampler per_draw"]),
        ("released_model", "seedless", ["sampler seedless"]),
        ("of the future", "none", []),
    ],
)
def test_only_mechanisms_that_were_attacked_are_named(learner: str, guarantee: str, names: list[str]) -> None:
    found = lab_findings.lab_findings(learner, guarantee)
    assert [name for name, *_ in found.mechanisms] == names if found is not None else not names
