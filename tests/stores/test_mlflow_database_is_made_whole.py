"""MLflow's database is created completely or not at all: a process that is killed meanwhile leaves none."""

import os
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

_KILLED = """
import os, signal, sys
from sqlalchemy import Engine, event
from stores.servers.mlflow_database import ready_client

@event.listens_for(Engine, "before_cursor_execute")
def killed(connection, cursor, statement, *rest):
    if statement.lstrip().upper().startswith(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)

client = ready_client("sqlite:///" + sys.argv[1])
client.create_experiment("made")
"""


def create(place: Path, killed_at: str) -> int:
    """Create the database in a process of its own, which kills itself at a statement that begins so."""
    line = [sys.executable, "-c", _KILLED, str(place), killed_at]
    return subprocess.run(line, cwd=ROOT, env={**os.environ}, capture_output=True, check=False).returncode


def test_a_database_whose_creation_was_killed_is_created_anew(tmp_path: Path) -> None:
    place = tmp_path / "mlflow.db"
    assert create(place, "CREATE TABLE METRICS") == -signal.SIGKILL
    assert not place.exists()
    assert create(place, "never") == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["making.lock", "mlflow.db"]
