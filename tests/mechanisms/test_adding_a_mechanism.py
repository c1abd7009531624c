"""The guide to adding a mechanism, followed: the learner of its page keeps the contract in a copy of the project."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "developer" / "adding-a-mechanism.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```\{code-block\} \w+\n:caption: ([^\n]+)\n\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LAW = "tests/mechanisms/test_bucketed.py"
CONTRACT = "tests/mechanisms/test_every_mechanism_keeps_the_contract.py"
AUDIT = "tests/mechanisms/test_every_mechanism_is_audited.py"
REGISTRY, TABLE = "deniable/learners/registry.py", "tests/mechanisms/table.py"
# Where a line of these files goes: before the end of what is called LEARNERS.
ENDS = {REGISTRY: ")", TABLE: "}"}


def followed(root: Path) -> list[str]:
    """Do what the page says in a copy of the project; names of the files that were written or changed."""
    changed = []
    for caption, body in BLOCK.findall(PAGE):
        name = caption.rpartition(" ")[2]
        path = root / name
        if name in ENDS:
            text = path.read_text(encoding="utf-8")
            before, middle, after = re.split(rf"(?ms)(^LEARNERS\b.*?)(?=^\{ENDS[name]})", text, maxsplit=1)
            path.write_text(before + middle + body + after, encoding="utf-8")
        else:
            assert not path.exists(), f"{name} is the page's alone"
            path.parent.mkdir(exist_ok=True)
            path.write_text(body, encoding="utf-8")
        changed.append(name)
    return changed


def run(root: Path, *command: str) -> "subprocess.CompletedProcess[str]":
    """Run a module of Python in the copy, as if nothing else was there."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST"))}
    surroundings = kept | {"PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, "-m", *command], cwd=root, env=surroundings, capture_output=True, check=False, text=True
    )


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project with the page's learner in it, and with all that was compiled before."""
    root = tmp_path_factory.mktemp("copy")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True).stdout
    compiled = [str(path.relative_to(ROOT)) for path in (ROOT / "deniable").rglob("*.nb[ci]")]
    for name in [*listed.split("\0"), *compiled]:
        if name and (ROOT / name).is_file():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, root / name)
    followed(root)
    return root


def test_the_page_has_every_file_that_a_learner_needs() -> None:
    written = {caption.rpartition(" ")[2] for caption, _ in BLOCK.findall(PAGE)}
    own = {path.name for path in (ROOT / "deniable" / "learners" / "uniform").iterdir() if path.is_file()}
    assert {Path(name).name for name in written if "/bucketed/" in name} == own
    assert written >= {REGISTRY, TABLE, LAW}


@pytest.mark.nightly
def test_the_learner_of_the_page_keeps_the_contract(copy: Path) -> None:
    plain = ("-p", "no:cacheprovider", "-p", "no:xdist", "-rs")
    tried = run(copy, "pytest", *plain, CONTRACT, AUDIT, LAW, "-k", "bucketed or has_a_row")
    assert tried.returncode == 0, tried.stdout[-3000:] + tried.stderr[-1000:]
    assert "skipped" not in tried.stdout


def test_noise_that_is_half_as_wide_is_found(copy: Path) -> None:
    path, right = copy / "deniable" / "learners" / "bucketed" / "steps.py", "DiscreteLaplace(scale)"
    text = path.read_text(encoding="utf-8")
    assert text.count(right) == 1
    path.write_text(text.replace(right, "DiscreteLaplace(scale / 2)"), encoding="utf-8")
    try:
        tried = run(copy, "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", LAW)
    finally:
        path.write_text(text, encoding="utf-8")
    assert tried.returncode == 1, tried.stdout[-3000:]
    assert "1 failed" in tried.stdout


@pytest.mark.nightly
def test_a_table_whose_noise_is_left_out_is_found_and_nothing_was_written_for_that(copy: Path) -> None:
    path, right = copy / "deniable" / "learners" / "bucketed" / "steps.py", "counted += law.sample"
    text = path.read_text(encoding="utf-8")
    assert text.count(right) == 1
    path.write_text(text.replace(right, "counted += 0 * law.sample"), encoding="utf-8")
    try:
        tried = run(copy, "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", AUDIT, "-k", "bucketed")
    finally:
        path.write_text(text, encoding="utf-8")
    assert tried.returncode == 1, tried.stdout[-3000:]
    assert "noise: of" in tried.stdout


@pytest.mark.nightly
def test_its_epsilon_is_audited_and_nothing_was_written_for_that(copy: Path) -> None:
    """One row for the learner, and one for its broken twin."""
    page = copy / "docs" / "statistician" / "audited-epsilon.md"
    tried = run(copy, "benchmarks.audit_epsilon", "--mechanisms", "bucketed", "--workers", "1")
    assert tried.returncode == 0, tried.stdout[-3000:] + tried.stderr[-1000:]
    rows = [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("| bucketed")]
    assert [row.count("planned for twice the epsilon") for row in rows] == [0, 1]


def test_verification_of_it_needs_nothing_but_the_wheel(copy: Path) -> None:
    needs = "import sys, deniable.learners.bucketed.verification as found; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", needs],
        cwd=copy,
        env={"PYTHONPATH": str(copy)},
        capture_output=True,
        check=True,
        text=True,
    ).stdout.split()
    assert not {"numba", "scipy", "dp_accounting", "pydantic"} & set(loaded)
