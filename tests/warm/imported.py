"""What is imported once for all commands; Prefect reads its settings again in each of them."""

from tests.isolation import STATE  # noqa: F401 - before Prefect and MLflow are imported

import flows.cli.release  # noqa: F401 # isort: skip
