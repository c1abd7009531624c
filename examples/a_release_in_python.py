"""A release in Python: computes its cost, makes it, and prints where it is.

    .venv/bin/python examples/a_release_in_python.py [SPEC [STATE]]

The table is that of a village whose people never lived (examples/village). STATE is the folder that keeps releases,
ledger and keys, by default `var`.
"""

import runpy
import sys
from pathlib import Path

from infra.environment import prepare_environment
from infra.servers.local_servers import own_prefect
from schemas.spec.plan import plan_release
from schemas.spec.release_spec import load_spec

VILLAGE = Path(__file__).resolve().parent / "village"


def main(spec: Path = VILLAGE / "seedless.yaml", named: Path | None = None) -> None:
    # Prefect and MLflow read the environment when they are imported, so it is prepared, and Prefect started, first.
    state = prepare_environment(named)
    if server := own_prefect(state):
        server.wait_until_up()
    from flows.release import release

    runpy.run_path(str(VILLAGE / "make_people.py"))
    cost = plan_release(load_spec(spec)).accounts.total
    assert cost is not None
    print(f"The release costs epsilon {cost.epsilon:.4g} at delta {cost.delta:.4g}; no data were read to know that.")

    # Charged before noise is drawn. A second call makes another release, and charges for it, too.
    released = release(spec, state)
    print(f"It is {released.workspace.release_id}, in {released.workspace.release_folder}.")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
