"""Sets a state folder for the tests before MLflow is imported."""

from tests.isolation import STATE

__all__ = ["STATE"]
