"""What the README and the decisions say of the project holds of its files."""

import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from schemas.spec.release_spec import load_spec

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
# Pages that docs/extensions/reference.py makes from the code say nothing of their own.
MADE = {ROOT / "docs" / "reference" / f"{name}.md" for name in ("spec", "record", "documents", "commands", "python")}
GUIDES = "\n".join(
    page.read_text(encoding="utf-8") for page in sorted((ROOT / "docs").rglob("*.md")) if page not in MADE
)


def tracked_files() -> list[Path]:
    """Files of the project that are text."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    return [ROOT / name for name in listed.decode().split("\0") if name and (ROOT / name).is_file()]


@pytest.mark.slow
def test_only_deniable_goes_into_the_wheel(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        str(tmp_path),
    ]
    subprocess.run([*command, str(ROOT)], check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    folders = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {folder for folder in folders if not folder.endswith(".dist-info")} == {"deniable"}


def test_the_readme_is_a_front_page() -> None:
    assert len(README.splitlines()) <= 160
    linked = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", README)
    assert len(linked) > 15
    assert [path for path in linked if not (ROOT / path).exists()] == []


def test_no_page_links_what_is_not_there() -> None:
    pages = [path for path in tracked_files() if path.suffix == ".md"]
    assert {"README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"} <= {path.name for path in pages}
    missing = []
    for page in pages:
        text = re.sub(r"^ *(`{3,}).*?^ *\1", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        for link in re.findall(r"\]\(([^)\s#:`]+)(?:#[^)]*)?\)", re.sub(r"`[^`\n]+`", "", text)):
            place = (page.parent / link).resolve()
            if not place.exists() and place not in MADE and link != "NNNN-name.md":
                missing.append(f"{page.relative_to(ROOT)}: {link}")
    assert missing == []


def test_readme_and_guides_name_only_commands_and_files_that_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    rules = re.findall(r"^([a-z][a-z0-9 -]*):", makefile, flags=re.MULTILINE)
    targets = {target for rule in rules for target in rule.split()}
    named = set(re.findall(r"(?:`|\$ )make ([a-z][a-z0-9-]*)", README + GUIDES))
    assert {"release", "test"} <= named <= targets
    paths = set(re.findall(r"`((?:deployments|deniable|schemas|infra|examples)/[\w./-]+)`", README + GUIDES))
    assert len(paths) > 5
    formats = re.compile(r"deniable/[a-z-]+/\d+")
    assert not [path for path in paths if not formats.fullmatch(path) and not (ROOT / path).exists()]


def test_the_readme_leaves_nothing_to_be_filled_in() -> None:
    assert re.findall(r"^[A-Z]{4,}$", README, flags=re.MULTILINE) == []


def test_every_spec_that_ships_is_right() -> None:
    folders = ("deployments/specs", "benchmarks", "examples")
    specs = [path for folder in folders for path in (ROOT / folder).rglob("*.yaml")]
    assert len(specs) >= 7
    for path in specs:
        assert load_spec(path).name
    named = re.findall(r'"([\w/]+\.yaml)"', (ROOT / "benchmarks" / "goal_parts.py").read_text(encoding="utf-8"))
    assert len(set(named)) == 3
    assert all((ROOT / name).exists() for name in named)


@pytest.mark.parametrize(
    ("name", "many"),
    [
        ("requirements-pip.txt", 1),
        ("requirements.txt", 100),
        ("requirements-stack.txt", 100),
        ("requirements-cluster.txt", 100),
        ("requirements-dev.txt", 100),
        ("peers/requirements-dpmm.txt", 15),
        ("peers/requirements-datasynthesizer.txt", 15),
        ("peers/requirements-synthpop-py.txt", 10),
    ],
)
def test_every_requirement_is_pinned_with_hashes_and_names_no_index(name: str, many: int) -> None:
    text = (ROOT / "infra" / name).read_text(encoding="utf-8")
    requirements = re.split(r"\n(?=[a-z0-9])", re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE))
    assert len(requirements) >= many
    for requirement in requirements:
        assert re.match(r"^[a-z0-9._-]+(\[[a-z0-9,-]+\])?==\S+", requirement), requirement
        assert "--hash=sha256:" in requirement, requirement
    assert "://" not in text


def test_the_browser_of_the_tests_is_pinned_with_hashes_and_runs_nothing_when_it_is_installed() -> None:
    lock = json.loads((ROOT / "infra" / "browser" / "package-lock.json").read_text(encoding="utf-8"))
    packages = [package for path, package in lock["packages"].items() if path]
    assert packages
    for package in packages:
        assert package["integrity"].startswith("sha512-"), package
        assert "resolved" not in package, package
        assert "hasInstallScript" not in package, package
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.findall(r"npm ci .*", makefile)
    assert all("--ignore-scripts" in line for line in re.findall(r"npm (?:ci|install) .*", makefile))


def test_no_file_names_a_package_index() -> None:
    hosts = re.compile("|".join(("pypi" + r"\.org", "python" + "hosted", "registry" + r"\.npmjs")))
    assert hosts.search("https://" + "pypi" + ".org/simple")
    named = [path for path in tracked_files() if hosts.search(path.read_text(encoding="utf-8", errors="replace"))]
    assert named == []
