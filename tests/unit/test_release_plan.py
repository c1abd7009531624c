"""A release's plan is one value, made where it is used, from which all questions about steps and costs are answered."""

import pickle
from pathlib import Path

import pytest

from deniable.foundation.errors import Refused
from schemas.spec.plan import plan_release
from schemas.spec.release_spec import load_spec
from stores.vault.workspace import Workspace
from tests.small_release import QUICK, write_small_release


def test_a_workspace_makes_its_plan_once_and_sends_none_to_workers(tmp_path: Path) -> None:
    spec = load_spec(write_small_release(tmp_path, people=[], **QUICK))
    workspace = Workspace(state=tmp_path, release_id="small-20261120T104151Z", spec=spec, mlflow_run_id="run")
    plan = workspace.plan
    assert workspace.plan is plan
    assert plan.accounts is plan.accounts
    # The steps hold functions, some of which cannot be pickled.
    sent = pickle.loads(pickle.dumps(workspace))  # noqa: S301 - as a worker does
    assert sent == workspace
    assert "plan" not in vars(sent)
    assert sent.plan.accounts == plan.accounts


def test_a_plan_answers_by_task_and_refuses_what_it_has_not_planned(tmp_path: Path) -> None:
    plan = plan_release(load_spec(write_small_release(tmp_path, people=[])))
    assert [plan.step(step.task) for step in plan.steps] == list(plan.steps)
    assert plan.steps[-1] is plan.sampler.prepare
    assert set(plan.products) == {product.name for step in plan.steps for product in step.makes}
    assert [plan.charge(step) for step in plan.steps if step.part is not None] == list(plan.accounts.steps)
    with pytest.raises(Refused, match="must be one of those that the spec plans, got learn_more"):
        plan.step("learn_more")
