"""The imports made once for all commands; Prefect reads its settings again in each of them.

The costs of the tests' small releases are computed here too: an accountant takes a second for that in every new
process.
"""

import gc
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests import garbage  # noqa: F401 - before what is large
from tests.isolation import own_state  # noqa: F401 - before Prefect and MLflow are imported

import flows.cli.making  # noqa: F401 # isort: skip

# Modules that a command, a release or a Prefect server imports at first use.
import multiprocessing.dummy  # noqa: F401

import alembic.command
import alembic.config
import alembic.migration  # noqa: F401
import anyio._backends._asyncio  # noqa: F401
import matplotlib.backends.backend_svg  # noqa: F401
import mlflow.pyfunc.model
import mlflow.store.model_registry.sqlalchemy_workspace_store
import mlflow.store.tracking.sqlalchemy_workspace_store
import mlflow.utils.search_logged_model_utils  # noqa: F401
import prefect.artifacts
import prefect.concurrency.services
import prefect.flow_engine
import prefect.server.api.server
import prefect.server.database.interface
import prefect.server.database.orm_models
import prefect.task_engine
import prefect.telemetry.run_telemetry
import prefect.utilities.visualization
import pyarrow.pandas_compat  # noqa: F401
import rich._emoji_codes
import rich.status  # noqa: F401
from fastapi.routing import _IncludedRouter
from jinja2 import TemplateAssertionError
from numba.core.registry import cpu_target
from pandas import DataFrame
from pandera.backends.pandas.register import register_pandas_backends
from prefect._internal.plugins.collections import load_prefect_collections
from prefect._internal.schemas import validators
from sqlalchemy.orm import configure_mappers
from starlette.routing import BaseRoute

from reports.pages import pages
from reports.plots.theme import make_figure, page_svg
from schemas.spec.plan import plan_release
from schemas.spec.release_spec import load_spec
from stores.statement import statement
from tests import compiled_once, quick_flows  # noqa: F401
from tests.small_release import HISTOGRAM_SEEDS, QUICK, write_small_release
from tests.warm.becoming import note_logging

with TemporaryDirectory(prefix="deniable-warm-") as _folder:
    for _number, _changes in enumerate(({}, QUICK, HISTOGRAM_SEEDS)):
        _accounts = plan_release(load_spec(write_small_release(Path(_folder, str(_number)), **_changes))).accounts

# Numba, pandera and matplotlib do much work at first use.
cpu_target.typing_context.refresh()
cpu_target.target_context.refresh()
register_pandas_backends(f"{DataFrame.__module__}.{DataFrame.__qualname__}")
page_svg(make_figure(1, 1, arranged=False), title="nothing")
configure_mappers()
# Prefect looks for all time zones of the machine whenever it reads a schedule.
validators.get_timezones = cache(validators.get_timezones)
load_prefect_collections()
for _templates in (pages._templates(), statement.TEMPLATES):
    for _name in _templates.list_templates(["jinja"]):
        with suppress(TemplateAssertionError):  # it is for the other
            _templates.get_template(_name)

# An application of Prefect's server analyses its routes at the first request.
_work_out = _IncludedRouter._build_effective_context
_WORKED_OUT: dict[int, Any] = {}


def _worked_out_once(router: _IncludedRouter, route: BaseRoute) -> Any:
    if id(route) not in _WORKED_OUT:
        _WORKED_OUT[id(route)] = _work_out(router, route)
    return _WORKED_OUT[id(route)]


_IncludedRouter._build_effective_context = _worked_out_once  # type: ignore[method-assign]
for _router in prefect.server.api.server.create_api_app().routes:
    if isinstance(_router, _IncludedRouter):
        _router.effective_candidates()
note_logging()

# Objects made up to here are permanent in all forks, so garbage collection can skip them.
gc.collect()
gc.freeze()
