"""What imports MLflow finds a state folder of the tests' own."""

from tests.isolation import STATE

__all__ = ["STATE"]
