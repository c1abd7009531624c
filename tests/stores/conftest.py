"""Sets a state folder for the tests before MLflow is imported."""

from tests.isolation import own_state

__all__ = ["own_state"]
