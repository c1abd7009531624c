"""Reads noisy tables published by others into the form of our own learners' measurements.

A file states the attributes with their values, and the tables with their noisy counts and the law of the noise; the
format is described in docs/data-user/measurements-of-others.md. Fractional counts, as produced by continuous Gaussian
noise, are rounded to integers, which adds 1/12 to the variance. Fitting a model to them does not belong here
(deniable.from_measurements).
"""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import count
from math import isfinite
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Attribute, Domain
from deniable.foundation.errors import DeniableError, InvalidInput
from deniable.measurements.document import Measurements, Universe
from deniable.measurements.noisy_tables import MeasuredTable, NoiseLaw, Release, estimated_records

FORMAT: Final = "deniable/noisy-marginals/1"
LEARNER: Final = "others"
_ROUNDING: Final = Fraction(1, 12)
_LARGEST = 2**53


def measurements_of_others(document: Mapping[str, Any]) -> Measurements:
    """Read noisy tables published by others.

    Args:
        document: the file's content.

    Raises:
        InvalidInput: it is not in the documented format; the message is one sentence.
    """
    try:
        return _read(document)
    except DeniableError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError):
        raise InvalidInput(
            f"a file of noisy tables must have format {FORMAT}, attributes and tables in the documented form, and has "
            "something else; compare it with the example of the documentation."
        ) from None


def _read(document: Mapping[str, Any]) -> Measurements:
    if document.get("format") != FORMAT:
        raise InvalidInput(f"a file of noisy tables must have the format {FORMAT}, got {document.get('format')}.")
    if unknown := set(document) - {"format", "title", "sampling", "attributes", "tables"}:
        raise InvalidInput(f"a file of noisy tables must have no other entries, got {', '.join(sorted(unknown))}.")
    domain = Domain(tuple(_attribute(each) for each in document["attributes"]))
    domain.require_narrow("a file of noisy tables")
    if not document["tables"]:
        raise InvalidInput("there must be at least one table, got none.")
    turns, found = count(1), dict[tuple[Any, ...], MeasuredTable]()
    for number, each in enumerate(document["tables"], 1):
        own = _table(domain, each, f"table {number}", next(turns))
        key = (own.attributes, own.by_values)
        # A repeated table is one table that was released twice.
        found[key] = replace(found[key], releases=(*found[key].releases, *own.releases)) if key in found else own
    tables = tuple(found.values())
    bucketed = {i for table in tables for i in table.attributes if i not in table.by_values}
    measured = Measurements(
        domain=domain,
        learner=LEARNER,
        universe=Universe("all", document.get("sampling", "unknown")),
        buckets=tuple(
            np.asarray(own.bucket_of, np.int64) if i in bucketed else np.arange(own.cardinality)
            for i, own in enumerate(domain.attributes)
        ),
        tables=tables,
        choices=(),
        records=estimated_records(tables),
        order=tuple(range(len(domain))),
    )
    for fault in measured.faults():
        raise InvalidInput(f"{fault}.")
    return Measurements.from_document(domain, measured.document())


def _attribute(entry: Mapping[str, Any]) -> Attribute:
    values = tuple(entry["values"])
    buckets = entry.get("buckets")
    if unknown := set(entry) - {"name", "kind", "values", "buckets"}:
        raise InvalidInput(f"an attribute must have name, kind, values and perhaps buckets, got {min(unknown)}.")
    return Attribute(
        entry["name"], values, entry["kind"], tuple(range(len(values))) if buckets is None else tuple(buckets)
    )


def _table(domain: Domain, entry: Mapping[str, Any], where: str, turn: int) -> MeasuredTable:
    if unknown := set(entry) - {"attributes", "by_buckets", "noise", "counts"}:
        raise InvalidInput(f"{where} must have attributes, noise and counts, got {min(unknown)}.")
    names = list(entry["attributes"])
    if strange := [name for name in names if name not in domain.names]:
        raise InvalidInput(f"{where} must be of attributes of the file, got {strange[0]}.")
    columns, coarse = [domain.index(name) for name in names], set(domain.subset(entry.get("by_buckets", ())))
    if not columns or len(set(columns)) < len(columns) or not coarse <= set(columns):
        raise InvalidInput(f"{where} must name each of its attributes once, and by_buckets some of them.")
    shape = tuple(domain.attributes[i].bucket_count if i in coarse else domain.cardinalities[i] for i in columns)
    sums, law = _counts(np.asarray(entry["counts"]), NoiseLaw.from_document(entry["noise"]), where)
    if sums.shape != shape:
        raise InvalidInput(f"the counts of {where} must have the shape {shape}, got {sums.shape}.")
    ascending = np.argsort(columns)
    own = tuple(sorted(columns))
    return MeasuredTable(
        attributes=own,
        releases=(Release(np.ascontiguousarray(sums.transpose(ascending)), law, turn),),
        by_values=tuple(i for i in own if i not in coarse),
        reason="published",
    )


def _counts(numbers: NDArray[Any], law: NoiseLaw, where: str) -> tuple[NDArray[np.int64], NoiseLaw]:
    """Counts as integers, and the law of their noise, including rounding error."""
    if numbers.dtype == np.int64:
        return numbers, law
    if numbers.dtype != np.float64 or not all(map(isfinite, numbers.ravel())) or np.abs(numbers).max() > _LARGEST:
        raise InvalidInput(f"the counts of {where} must be numbers, one for each cell.")
    if law.law != "gaussian":
        raise InvalidInput(f"the counts of {where} must be whole numbers if their noise is {law.law}; round them.")
    return np.rint(numbers).astype(np.int64), NoiseLaw(law.law, law.amount + _ROUNDING)
