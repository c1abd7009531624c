"""Replays nights against a Prefect server of this process, like the tests of flows."""

from tests.flows.conftest import prefect

__all__ = ["prefect"]
