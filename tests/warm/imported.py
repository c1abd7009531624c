"""What is imported once for all commands; Prefect reads its settings again in each of them.

What the small releases of tests cost is worked out here as well: an accountant takes a second for it, in every process
that has not asked it before.
"""

import gc
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.isolation import STATE  # noqa: F401 - before Prefect and MLflow are imported

import flows.cli.release  # noqa: F401 # isort: skip

# What is imported when it is first used, by a release or by a Prefect server.
import matplotlib.backends.backend_svg  # noqa: F401
import mlflow.pyfunc.model  # noqa: F401
import prefect.concurrency.services
import prefect.flow_engine
import prefect.server.api.server
import prefect.server.database.interface
import prefect.server.database.orm_models
import prefect.task_engine
import prefect.telemetry.run_telemetry  # noqa: F401
from numba.core.registry import cpu_target
from pandas import DataFrame
from pandera.backends.pandas.register import register_pandas_backends

from reports.plots.theme import make_figure, page_svg
from schemas.spec.accounts import accounts_of
from schemas.spec.release_spec import load_spec
from tests.small_release import QUICK, write_small_release

with TemporaryDirectory(prefix="deniable-warm-") as _folder:
    for _number, _changes in enumerate(({}, QUICK)):
        accounts_of(load_spec(write_small_release(Path(_folder, str(_number)), **_changes)))

# Numba, pandera and matplotlib look up much when they are first used.
cpu_target.typing_context.refresh()
cpu_target.target_context.refresh()
register_pandas_backends(f"{DataFrame.__module__}.{DataFrame.__qualname__}")
page_svg(make_figure(1, 1, arranged=False), title="nothing")

# What is here stays, in all that is forked: nobody need look through it for garbage.
gc.collect()
gc.freeze()
