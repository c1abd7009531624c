"""What is imported once for all commands; Prefect reads its settings again in each of them.

What the small releases of tests cost is worked out here as well: an accountant takes a second for it, in every process
that has not asked it before.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from tests.isolation import STATE  # noqa: F401 - before Prefect and MLflow are imported

import flows.cli.release  # noqa: F401 # isort: skip

from schemas.spec.accounts import accounts_of
from schemas.spec.release_spec import load_spec
from tests.small_release import QUICK, write_small_release

with TemporaryDirectory(prefix="deniable-warm-") as _folder:
    for _number, _changes in enumerate(({}, QUICK)):
        accounts_of(load_spec(write_small_release(Path(_folder, str(_number)), **_changes)))
