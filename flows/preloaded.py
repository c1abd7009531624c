"""The imports of a starting worker, so that no release waits for them: the steps that are sent to workers."""

import flows.release  # noqa: F401 - all steps, Prefect and MLflow with them
