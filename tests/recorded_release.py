"""The MLflow content of a release, made without a release: two steps, a model and its registered version."""

from pathlib import Path

from mlflow import MlflowClient

from deniable.foundation.keys import ReleaseKey
from deniable.ledger.entries import digest_of
from deniable.privacy.loss import Guarantee
from schemas.references import Audience, Reference
from schemas.spec.release_spec import ReleaseSpec
from stores.tracking.model_record import record_model
from stores.tracking.release_run import recorded_release
from stores.tracking.step_run import recorded_step
from stores.vault.workspace import Workspace
from tests.mlflow_copies import mlflow_uri


def record_release(state: Path, name: str, spec: ReleaseSpec) -> Workspace:
    """Record two steps, a model and its version in a state folder, whose MLflow this process must use."""
    with recorded_release(state, name, spec) as run_id:
        workspace = Workspace(state=state, release_id=name, spec=spec, mlflow_run_id=run_id)
        workspace.vault.mkdir(parents=True)
        (workspace.vault / "key").write_bytes(ReleaseKey.generate().secret)
        with recorded_step(workspace, "split", inputs=[codes()]) as step:
            step.parameters(seeds="1/2")
            step.figures({"rows": 1519}, Audience.INTERNAL)
        with recorded_step(workspace, "learn_parameters") as step:
            with workspace.writing("cells.json", Audience.PUBLIC) as path:
                path.write_text("36")
            step.artifact(workspace.folder(Audience.PUBLIC) / "cells.json", Audience.PUBLIC)
            with workspace.writing("model.json", Audience.PUBLIC) as path:
                path.write_text("{}")
            model = workspace.refer("model", "model.json", Audience.PUBLIC)
            model_id = record_model(step, step.output(model), Guarantee(0.5, 1e-9, "basic"))
    client = MlflowClient(mlflow_uri(state))
    if not client.search_registered_models("name = 'people'"):
        client.create_registered_model("people")
    client.create_model_version("people", f"models:/{model_id}", run_id=step.run_id, model_id=model_id)
    return workspace


def codes() -> Reference:
    """Return the input of the first step."""
    return Reference(name="codes", path=Path("nowhere"), digest=digest_of("codes"), audience=Audience.RESTRICTED)
