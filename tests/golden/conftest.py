"""A refresh needs a Prefect server of this process, as flows do that are tested."""

from tests.flows.conftest import prefect

__all__ = ["prefect"]
