"""The columns of a table in MLflow's format: a name, and the widest type among the values."""

from mlflow.types import ColSpec, DataType, Schema

from deniable.foundation.domain import Attribute, Domain

# Widest first.
_TYPES = {str: DataType.string, float: DataType.double, int: DataType.long, bool: DataType.boolean}


def columns_of(domain: Domain) -> Schema:
    """The columns of a table of a domain."""
    return Schema([_column(attribute) for attribute in domain.attributes])


def _column(attribute: Attribute) -> ColSpec:
    kinds = {type(value) for value in attribute.values}
    return ColSpec(next(theirs for kind, theirs in _TYPES.items() if kind in kinds), attribute.name)
