"""A population with few repeated records, split into parts on disk, for evaluating releases made from it."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from deniable.foundation.domain import Codes
from deniable.foundation.keys import ReleaseKey
from schemas.references import Audience, Reference
from schemas.spec.evaluation import EvaluationFigures
from schemas.spec.release_spec import ReleaseSpec, load_spec
from stores.tables.tables import write_codes
from stores.tracking.release_run import recorded_release
from stores.vault.workspace import Workspace
from tests.isolation import own_state
from tests.small_release import write_small_release

SCHEMA = """
from schemas.table import nominal, numeric, table

schema = table(
    {
        "age": numeric(0, 39),
        "income": numeric(0, 39),
        "town": numeric(0, 29),
        "sex": nominal(["f", "m"]),
        "sick": nominal(["no", "yes"]),
    },
    description="Made-up people.",
    target="sex",
)
"""
EVALUATION = {
    "classifiers": ["tree", "forest", "adaboost"],
    "train_rows": 1500,
    "quasi_identifiers": ["age", "income", "town"],
    "sensitive": ["sick"],
    "known": ["age", "income", "town"],
}
KEY = ReleaseKey(bytes(range(32)))


def population(rows: int, name: str) -> Codes:
    """Make a population: income depends on age, sex on income; town and illness are independent of everything."""
    words = KEY.stream(step="test", mechanism=name, inputs="", parameters={})
    age, noise, town, sex, sick = (words.take(rows).astype(np.int64) for _ in range(5))
    age %= 40
    income = (age + noise % 5) % 40
    sex = (income + sex % 12 >= 25).astype(np.int64)
    return np.column_stack((age, income, town % 30, sex, sick % 2)).astype(np.uint16)


def independent(rows: int, name: str) -> Codes:
    """Make records with the population's marginals and independent attributes."""
    words = KEY.stream(step="test", mechanism=f"{name} columns", inputs="", parameters={})
    return np.column_stack([column[np.argsort(words.take(rows))] for column in population(rows, name).T])


def wide_spec(folder: Path, **changes: object) -> ReleaseSpec:
    """Return the spec of a release of that population."""
    path = write_small_release(folder, evaluation=EVALUATION, dataset="wide.py", **changes)
    (folder / "wide.py").write_text(SCHEMA)
    return load_spec(path)


@dataclass
class EvaluatedRelease:
    """A release to evaluate.

    Attributes:
        folder: an empty folder.
        changes: changes to the spec.
    """

    folder: Path
    changes: dict[str, object] = field(default_factory=dict)

    @cached_property
    def workspace(self) -> Workspace:
        """The release's workspace, with a key and a run in MLflow."""
        spec = wide_spec(self.folder / "spec", **self.changes)
        with recorded_release(own_state(), self.folder.name, spec) as run_id:
            workspace = Workspace(
                state=self.folder / "state", release_id=self.folder.name, spec=spec, mlflow_run_id=run_id
            )
        workspace.vault.mkdir(parents=True)
        (workspace.vault / "key").write_bytes(KEY.secret)
        return workspace

    @cached_property
    def parts(self) -> dict[str, Reference]:
        """The parts of the real records."""
        sizes = {"seeds": 2000, "structure": 600, "parameters": 600, "holdout": 2000}
        return {name: self.table(name, population(rows, name)) for name, rows in sizes.items()}

    @cached_property
    def training(self) -> Codes:
        """The records that were used."""
        sizes = {"seeds": 2000, "structure": 600, "parameters": 600}
        return np.concatenate([population(rows, name) for name, rows in sizes.items()])

    def table(self, name: str, codes: Codes, audience: Audience = Audience.RESTRICTED) -> Reference:
        """Write a table of codes."""
        with self.workspace.writing(f"{name}.parquet", audience) as path:
            rows = write_codes(path, self.workspace.spec.domain, np.array_split(codes, 3) if len(codes) else [])
        return self.workspace.refer(name, f"{name}.parquet", audience, rows)

    def released(self, codes: Codes) -> Reference:
        """Write the released records."""
        return self.table("released", codes, Audience.INTERNAL)


def met(evaluation: EvaluationFigures) -> dict[str, bool]:
    """Return which thresholds are met."""
    return {verdict.threshold: verdict.met for verdict in evaluation.verdicts}
