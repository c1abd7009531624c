"""What a worker imports as it starts, so that a release need not wait for it: the steps that are sent to workers."""

import flows.release  # noqa: F401 - all steps, Prefect and MLflow with them
