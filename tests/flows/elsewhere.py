"""An auditor on another machine: what they were handed out, what their guide tells them to run, and what they find."""

import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from mlflow import MlflowClient

from flows.audit import Audited, audit_here
from stores.tracking.registry import version_of
from tests.agency import Agency
from tests.flows.command import environment

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "auditor"
GUIDE = (PAGES / "elsewhere.md").read_text(encoding="utf-8")
OUT_OF_REACH = {
    "the internal record on the shelf is signed by a trusted key",
    "the internal files that the record names are as they were",
    "only its owner may change what is kept of the release",
}
RUNS = "MLflow's runs are as they were when the record was signed"
TAMPERED = {
    "a figure": "metric {figure} of the release has one additional entry",
    "what the release cost": "metric epsilon.total of the release has one additional entry; it is now 0.01",
    "a tag": "tag approved_by of the release was changed; it is now alice",
    "a tag of a step": "tag step of step learn_parameters was changed; it is now nothing",
    "a file": "artifact public/privacy.json of the release was changed",
    "a file that was added": "artifact public/more.txt of the release was added",
    "the registry": "tag epsilon.total of version {version} of the registered model people was changed; it is now 0.01",
    "what the model says of that": "tag mlflow.modelVersions of model",
}
"""What somebody who may write to MLflow changed, and how the audit names it."""
FOREIGN = "nothing in MLflow that the record does not name claims to be of the release"


@dataclass(frozen=True)
class Auditor:
    """What an auditor was handed out, and where they work."""

    agency: Agency
    home: Path

    @property
    def folder(self) -> Path:
        """The release's public folder."""
        return self.home / "release"

    @property
    def keys(self) -> Path:
        return self.home / "trusted.json"

    @property
    def ledger(self) -> Path:
        return self.home / "ledger.jsonl"

    @property
    def own_state(self) -> Path:
        return self.home / "own"

    @property
    def variables(self) -> dict[str, str]:
        return {
            "DENIABLE_STATE": str(self.own_state),
            "DENIABLE_MLFLOW_TRACKING_URI": self.agency.page("mlflow"),
            "MLFLOW_TRACKING_USERNAME": "auditor",
            "MLFLOW_TRACKING_PASSWORD": self.agency.said("secrets")["auditor"],
        }

    def audit(self, folder: Path | None = None, **options: Any) -> Audited:
        return audit_here(str(folder or self.folder), self.own_state, options.pop("keys", self.keys), **options)

    def follow_the_guide(self, python: str) -> list[str]:
        """Return what its commands say, one after the other, run by an interpreter."""
        blocks = re.findall(r"```text\n(.*?)```", GUIDE, re.DOTALL)
        script = [line.removeprefix("$ ") for block in blocks for line in block.splitlines()]
        said = ["set -eo pipefail", f"cd {ROOT}", *(f"echo '@@@'; {line}" for line in script)]
        for shown, here in {
            "https://mlflow.agency.example": self.agency.page("mlflow"),
            "/home/auditor/acs_ma-20261120T074500Z": str(self.folder),
            "/home/auditor/": f"{self.home}/",
            "--dataset acs_ma": "--dataset people",
            ".venv/bin/deniable": f"{python} -m deniable",
        }.items():
            assert any(shown in line for line in said), shown
            said = [line.replace(shown, here) for line in said]
        done = subprocess.run(
            ["/bin/bash", "-c", "\n".join(said)],
            env={**environment(self.home / "home"), "DENIABLE_STATE": str(self.own_state)},
            input=f"{self.agency.said('secrets')['auditor']}\n",
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return [part.strip() for part in done.stdout.split("@@@\n")][-7:]


def handed_out(agency: Agency, release: str, home: Path) -> Auditor:
    """Hand out to an auditor what the guide says of a release."""
    made = Auditor(agency, home)
    made.own_state.mkdir(mode=0o700)
    agency.command("keys", "export", made.keys)
    agency.command("budget", "export", made.ledger)
    shutil.copytree(agency.state / "releases" / release, made.folder)
    return made


def as_engineer(agency: Agency, deed: Callable[[MlflowClient], object]) -> None:
    """Do something in MLflow as somebody who may write there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_TRACKING_USERNAME", "engineer")
        patch.setenv("MLFLOW_TRACKING_PASSWORD", agency.said("secrets")["engineer"])
        patch.setenv("MLFLOW_TRACKING_URI", agency.page("mlflow"))
        deed(MlflowClient(agency.page("mlflow")))


def tamper(client: MlflowClient, name: str, folder: Path) -> dict[str, str]:
    """Change several things of a release in MLflow: of its run, of a step and of its version.

    Args:
        client: of somebody who may write there.
        name: the release.
        folder: for forged files.

    Returns:
        The run, the version and the figure that was changed.
    """
    experiment = client.get_experiment_by_name("people")
    assert experiment is not None
    (found,) = client.search_runs([experiment.experiment_id], f"attributes.run_name = '{name}'")
    run_id = found.info.run_id
    below = f"tags.`mlflow.parentRunId` = '{run_id}' and tags.step = 'learn_parameters'"
    (step,) = client.search_runs([experiment.experiment_id], below)
    version = version_of(client, "people", name)
    assert version is not None

    figure = next(figure for figure in found.data.metrics if figure.startswith("internal/"))
    client.log_metric(run_id, figure, 0.5)
    client.log_metric(run_id, "epsilon.total", 0.01)
    client.set_tag(run_id, "approved_by", "alice")
    client.set_tag(step.info.run_id, "step", "nothing")
    for file in ("privacy.json", "more.txt"):
        (folder / file).write_text("forged")
        client.log_artifact(run_id, str(folder / file), "public")
    client.set_model_version_tag("people", version.version, "epsilon.total", "0.01")
    client.create_registered_model("another")
    source = str(version.source)
    client.create_model_version("another", source, run_id=run_id, model_id=source.removeprefix("models:/"))
    return {"run": run_id, "version": str(version.version), "figure": figure}


def faults(audited: Audited) -> dict[str, tuple[str, ...]]:
    return {check.name: check.faults for check in audited.checks if not check.holds}
