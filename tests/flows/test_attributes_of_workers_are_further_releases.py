"""The example of commuters: origins, and then attributes of the same workers, are releases from one budget."""

import csv
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from deniable.ledger.budget import BudgetExceeded
from flows.audit import audit_here
from flows.release import release
from flows.replay import replay
from stores.publication.release_folder import CSV

pytestmark = pytest.mark.usefixtures("prefect")

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "commuters" / "make_commuters.py"


@pytest.mark.nightly
def test_they_are_charged_together_until_the_budget_ends_and_each_is_audited_and_replayed(tmp_path: Path) -> None:
    subprocess.run([sys.executable, shutil.copy(EXAMPLE, tmp_path)], check=True, env={})
    for spec in tmp_path.glob("*.yaml"):
        # Origins at 4.6 and one attribute at 1, not two.
        spec.write_text(spec.read_text(encoding="utf-8").replace("epsilon: 10\n", "epsilon: 6\n"), encoding="utf-8")
    state, works = tmp_path / "state", []
    for name in ("commuters", "commuters_age"):
        made = release(tmp_path / f"{name}.yaml", state).workspace
        with (made.release_folder / CSV).open(newline="") as file:
            works.append(Counter(line["work"] for line in csv.DictReader(file)))
        assert audit_here(made.release_id, state).holds
        assert replay(made.release_folder, state).same
    assert works[0] == works[1], "both have the public numbers of workers"
    with pytest.raises(BudgetExceeded, match="commuters-replaced"):
        release(tmp_path / "commuters_earnings.yaml", state)
