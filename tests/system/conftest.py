"""Nights are replayed against a Prefect server of this process, as flows are tested."""

from tests.flows.conftest import prefect

__all__ = ["prefect"]
