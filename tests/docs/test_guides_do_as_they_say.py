"""Every command and every Python block of the documentation is run, in its order, and prints what the page shows."""

import gzip
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.guide_blocks import Command, commands, directives, programs
from tests.extent import is_night
from tests.pictures import drawn_once
from tests.warm.python import warm_python

ROOT = Path(__file__).resolve().parents[2]
PAGES = [page for page in sorted((ROOT / "docs").rglob("*.md")) if commands(page) or programs(page)]
SPEC = "examples/village/village.yaml"
_ASSIGNMENT = re.compile(r"([A-Z]+)=\$\(.*\)")
_NOT_COPIED = ("var", ".git", ".venv", "docs/_build", "docs/pages", ".mypy_cache", ".ruff_cache", ".pytest_cache")


def as_parameter(page: Path) -> object:
    """A page that takes long is the night's."""
    marks = [pytest.mark.nightly] if directives(page).get("run") == "nightly" else []
    return pytest.param(page, id=str(page.relative_to(ROOT)), marks=marks)


class Project:
    """A copy of the project with a state folder of its own, and the home folder of a newcomer.

    Args:
        folder: where both go.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "deniable"
        shutil.copytree(ROOT, self.folder, ignore=_ignored, symlinks=True)
        self.home = folder / "home"
        self.home.mkdir()
        self.release = ""
        self.variables: dict[str, str] = {}

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        """Give a command to the shell; what it prints and what it complains of come together.

        A command that only assigns a variable does so for all later commands of the page.
        """
        if assigned := _ASSIGNMENT.fullmatch(command):
            name = assigned.group(1)
            done = self.run(f'({command}; printf "%s" "${name}")')
            self.variables[name] = done.stdout
            return subprocess.CompletedProcess(done.args, done.returncode, stdout="")
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "PYTHONDONTWRITEBYTECODE": "1",
            # The copy's code, in scripts too: the environment has that of the checkout.
            "PYTHONPATH": str(self.folder),
            "RELEASE": self.release,
            **self.variables,
        }
        return subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )


def _ignored(folder: str, names: list[str]) -> list[str]:
    inside = Path(folder).relative_to(ROOT)
    return [name for name in names if str(inside / name) in _NOT_COPIED]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """The copy that all pages share, one after the other; by day commands and programs are forked."""
    project = Project(tmp_path_factory.mktemp("guides"))
    environment = project.folder / ".venv"
    if is_night():
        environment.symlink_to(ROOT / ".venv")
        yield project
    else:
        with warm_python(environment, ROOT / ".venv", project.folder / "var"), drawn_once():
            yield project


@pytest.fixture(scope="module")
def village(project: Project) -> Path:
    """What the release of the example leaves, kept beside the copy; the example of Python makes it."""
    done = project.run(f".venv/bin/python examples/a_release_in_python.py {SPEC}")
    assert done.returncode == 0, done.stdout
    assert "/releases/village-" in done.stdout, done.stdout
    kept = project.folder.with_name("village")
    kept.mkdir()
    (project.folder / "var").rename(kept / "var")
    shutil.move(project.folder / "examples" / "village" / "village.csv", kept)
    return kept


@pytest.fixture
def fresh(request: pytest.FixtureRequest, project: Project, page: Path) -> Iterator[Project]:
    """The copy as a page begins with it, in the place that its release was made in."""
    given = project.folder / "examples" / "village" / "village.csv"
    begins = directives(page).get("starts with")
    if begins == "diabetes":
        packed = request.getfixturevalue("shared") / "data" / "diabetes130" / "diabetic_data.csv.gz"
        given = project.folder / "examples" / "diabetes" / "diabetic_data.csv"
        given.write_bytes(gzip.decompress(packed.read_bytes()))
    if begins == "village":
        kept = request.getfixturevalue("village")
        shutil.copytree(kept / "var", project.folder / "var", symlinks=True)
        shutil.copy(kept / "village.csv", given)
        (folder,) = (kept / "var" / "releases").iterdir()
        project.release = folder.name
    yield project
    project.variables.clear()
    shutil.rmtree(project.folder / "var", ignore_errors=True)
    given.unlink(missing_ok=True)
    for name in _new(project.folder):
        name.unlink()


def _new(folder: Path) -> list[Path]:
    """What a page has left at the top of the copy."""
    return [path for path in folder.iterdir() if path.is_file() and not (ROOT / path.name).exists()]


@pytest.mark.parametrize("page", [as_parameter(page) for page in PAGES])
def test_a_page_prints_what_it_shows(page: Path, fresh: Project) -> None:
    for command in commands(page):
        done = fresh.run(command.text)
        where = f"{page.relative_to(ROOT)}:{command.line}: $ {command.text}\n{done.stdout}"
        assert done.returncode == 0, where
        assert command.is_printed(done.stdout), f"{where}\nwas to be\n{command.output}"
    if written := programs(page):
        program = fresh.folder / "page.py"
        program.write_text("\n\n".join(written), encoding="utf-8")
        done = fresh.run("PYTHONPATH=. .venv/bin/python page.py")
        assert done.returncode == 0, f"{page.relative_to(ROOT)}\n{done.stdout}"


@pytest.mark.nightly
def test_the_readme_shows_what_make_release_prints(project: Project) -> None:
    release, _ = commands(ROOT / "README.md")
    assert release.text == "make release"
    done = project.run(release.text)
    assert done.returncode == 0, done.stdout
    assert release.is_printed(done.stdout), done.stdout


@pytest.mark.nightly
def test_the_readme_shows_what_make_test_prints(project: Project) -> None:
    _, tests = commands(ROOT / "README.md")
    assert tests.text == "make test"
    collected = project.run(f"{sys.executable} -m pytest --collect-only -p no:xdist").stdout.splitlines()[-1]
    some = project.run(f"{sys.executable} -m pytest --numprocesses=1 tests/unit/test_exact_probabilities.py").stdout
    # The closing line of all tests is that of some, with their number.
    number, closing = re.findall(r"\d+", collected)[0], some.splitlines()[-1]
    assert re.match(r"\d+ passed in ", closing), some
    assert tests.is_printed("running\n" + re.sub(r"^\d+", number, closing) + "\n"), collected


def test_another_output_is_found() -> None:
    shown = Command(1, "", "the release village-... is published\n...\nepsilon 1.0\n")
    assert shown.is_printed("the release village-7 is published\nanything\nepsilon  1.0\n")
    assert not shown.is_printed("the release village-7 is published\nanything\nepsilon 1.1\n")
    assert not shown.is_printed("epsilon 1.0\n")


def test_commands_are_found_in_a_page(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "% starts with: village\n\n```console\n$ one \\\n    more\nsaid\n$ two\n```\n\n"
        "```python\nx = 1\n```\n```yaml\n$ no\n```\n"
    )
    assert directives(page) == {"starts with": "village"}
    assert commands(page) == [Command(4, "one \\\n    more", "said\n"), Command(7, "two", "")]
    assert programs(page) == ["x = 1\n"]
