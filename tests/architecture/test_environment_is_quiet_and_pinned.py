"""Nothing is reported to third parties, and every supported Python gets one version of every package."""

import json
import os
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PINNED = ROOT / "infra" / "requirements.txt"

# What MLflow and Prefect themselves say, and what they would say without the variables that were set.
ASK = """
import json, os, sys
from pathlib import Path
from infra.environment import prepare_environment
prepare_environment(Path(sys.argv[1]))
words = {name: os.environ[name] for name in ("DO_NOT_TRACK", "MLFLOW_DISABLE_TELEMETRY")}
import mlflow.telemetry.client
from mlflow.telemetry.utils import is_telemetry_disabled
from prefect.settings import Settings, get_current_settings
from prefect._internal.analytics.enabled import is_telemetry_enabled
def said(settings):
    return {
        "mlflow": not is_telemetry_disabled(),
        "prefect": is_telemetry_enabled(),
        "prefect server": settings.server.analytics_enabled,
        "prefect logs": settings.logging.to_api.enabled,
    }
quiet = said(get_current_settings())
client = mlflow.telemetry.client.get_telemetry_client() is not None
for name in ("DO_NOT_TRACK", "MLFLOW_DISABLE_TELEMETRY"):
    del os.environ[name]
os.environ |= {"PREFECT_SERVER_ANALYTICS_ENABLED": "true", "PREFECT_LOGGING_TO_API_ENABLED": "true"}
print(json.dumps({"words": words, "quiet": quiet, "client": client, "loud": said(Settings())}))
"""


@pytest.mark.slow
@pytest.mark.parametrize("shell", ["empty", "one that asks for telemetry"])
@pytest.mark.nightly
def test_mlflow_and_prefect_say_of_themselves_that_they_tell_nobody(shell: str, tmp_path: Path) -> None:
    # Of the tests' own environment nothing is passed on: under tests and in CI MLflow is quiet in any case.
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    if shell != "empty":
        environment |= {
            "DO_NOT_TRACK": "0",
            "MLFLOW_DISABLE_TELEMETRY": "false",
            "PREFECT_SERVER_ANALYTICS_ENABLED": "true",
            "PREFECT_LOGGING_TO_API_ENABLED": "true",
        }
    done = subprocess.run(
        [sys.executable, "-c", ASK, str(tmp_path / "state")],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["words"] == {"DO_NOT_TRACK": "true", "MLFLOW_DISABLE_TELEMETRY": "true"}
    assert not said["client"]
    assert set(said["quiet"].values()) == {False}
    # Were they quiet whatever the variables say, this would prove nothing.
    assert set(said["loud"].values()) == {True}


def supported() -> list[str]:
    """Python versions that the project says it runs on."""
    allowed = SpecifierSet(PROJECT["requires-python"])
    return [f"3.{minor}" for minor in range(30) if f"3.{minor}.0" in allowed]


def machine(python: str) -> dict[str, str]:
    """What the markers of requirements are decided by: this machine under another Python, its tenth release."""
    return {
        **{name: str(value) for name, value in default_environment().items()},
        "python_version": python,
        "python_full_version": f"{python}.10",
        "implementation_version": f"{python}.10",
        "extra": "",
    }


def pins(text: str, python: str) -> dict[str, list[Version]]:
    """The versions that a file of pinned requirements asks for under a Python."""
    found: dict[str, list[Version]] = defaultdict(list)
    for line in re.findall(r"^([A-Za-z0-9].*?)\s*\\?$", text, flags=re.MULTILINE):
        requirement = Requirement(line)
        (specifier,) = requirement.specifier
        assert specifier.operator == "==", line
        if requirement.marker is None or requirement.marker.evaluate(machine(python)):
            found[canonicalize_name(requirement.name)].append(Version(specifier.version))
    return found


def applicable(requirements: list[str], python: str, extras: set[str]) -> list[Requirement]:
    """The requirements that hold under a Python, with some extras."""
    parsed = map(Requirement, requirements)
    return [
        requirement
        for requirement in parsed
        if requirement.marker is None
        or any(requirement.marker.evaluate(machine(python) | {"extra": extra}) for extra in {"", *extras})
    ]


def unmet(requirements: list[Requirement], versions: dict[str, list[Version]]) -> list[str]:
    """Requirements for which not exactly one version is pinned, or one that they do not allow."""
    return [
        str(requirement)
        for requirement in requirements
        for found in [versions.get(canonicalize_name(requirement.name), [])]
        if len(found) != 1 or not requirement.specifier.contains(found[0], prereleases=True)
    ]


def test_the_supported_pythons_are_those_from_3_11_to_3_14() -> None:
    assert supported() == ["3.11", "3.12", "3.13", "3.14"]


@pytest.mark.parametrize("python", supported())
def test_no_package_is_pinned_twice_for_one_python(python: str) -> None:
    versions = pins(PINNED.read_text(encoding="utf-8"), python)
    assert len(versions) > 100
    assert {name: found for name, found in versions.items() if len(found) != 1} == {}


@pytest.mark.parametrize("python", supported())
def test_what_the_project_asks_for_is_pinned_for_every_python(python: str) -> None:
    versions = pins(PINNED.read_text(encoding="utf-8"), python)
    optional = PROJECT["optional-dependencies"]
    asked = applicable(
        [*PROJECT["dependencies"], *optional["learn"], *optional["release"], *optional["sources"]], python, set()
    )
    others = [requirement for requirement in asked if canonicalize_name(requirement.name) != PROJECT["name"]]
    assert len(others) > 15
    assert unmet(others, versions) == []


@pytest.mark.slow
@pytest.mark.parametrize("python", supported())
def test_what_the_pinned_packages_ask_for_is_pinned_for_every_python(python: str) -> None:
    """By the metadata of the versions that are installed here; of the others there is none to read."""
    versions = pins(PINNED.read_text(encoding="utf-8"), python)
    optional = PROJECT["optional-dependencies"]
    waiting = [
        Requirement(line)
        for line in [*PROJECT["dependencies"], *optional["learn"], *optional["release"], *optional["sources"]]
    ]
    seen: set[tuple[str, frozenset[str]]] = set()
    missing: dict[str, list[str]] = {}
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if (name, frozenset(requirement.extras)) in seen or name == PROJECT["name"]:
            continue
        seen.add((name, frozenset(requirement.extras)))
        try:
            installed = distribution(name)
        except ModuleNotFoundError:
            continue  # not for this Python
        if versions.get(name) != [Version(installed.version)]:
            continue  # another version for that Python
        asked = applicable(installed.requires or [], python, requirement.extras)
        if found := unmet(asked, versions):
            missing[name] = found
        assert f"{python}.10" in SpecifierSet(str(installed.metadata.json.get("requires_python", ""))), name
        waiting += asked
    assert len(seen) > 80
    assert missing == {}


def test_a_package_that_is_pinned_twice_or_too_old_or_not_at_all_is_found() -> None:
    old = "numpy==2.4.6 ; python_full_version < '3.13' \\\n    --hash=sha256:00\n"
    text = f"{old}numpy==2.5.5 ; python_version >= '3.12' \\\n"
    assert {python: len(pins(text, python)["numpy"]) for python in supported()} == dict(
        zip(supported(), [1, 2, 1, 1], strict=True)
    )
    for asked in ("scipy>=1", "numpy>=3", "numpy<2.5"):
        assert unmet([Requirement(asked)], pins(text, "3.14")) == [str(Requirement(asked))]
    assert unmet([Requirement("numpy>=2.5")], pins(text, "3.14")) == []
