"""Describes a release's table for other tools: `datapackage.json`, a Frictionless Data Package (version 2).

The description follows from the spec, the public domain and the bytes of the files. Guarantees do not belong here.
"""

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from deniable.foundation.domain import FALSE, TRUE, Attribute, Domain, Value
from schemas.spec.publication import Publication
from schemas.spec.release_spec import ReleaseSpec
from stores.publication.release_folder import CSV, PARQUET
from stores.vault.workspace import file_digest

DATA_PACKAGE = "datapackage.json"
DIALECT: Final = {
    "header": True,
    "delimiter": ",",
    "lineTerminator": "\n",
    "quoteChar": '"',
    "doubleQuote": True,
    "skipInitialSpace": False,
}
"""The CSV dialect of the table, stated so that no reader has to guess."""

_PROFILE = "https://datapackage.org/profiles/2.0/datapackage.json"
_PARQUET_MEDIA = "application/vnd.apache.parquet"
_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string"}
_DESCRIPTION = """\
These records are made up. They represent a confidential table and have its format; no record describes a real person. \
`PRIVACY.md` states what is guaranteed to the people in that table; `record.dsse.json` is the signed record of how the \
records were made."""


def data_package(folder: Path, *, release_id: str, day: str, spec: ReleaseSpec, is_private: bool) -> dict[str, Any]:
    """Describe the table of a staged release, byte for byte.

    Args:
        folder: contains the table, as CSV and as Parquet.
        release_id: the release's name.
        day: day of publication, `YYYY-MM-DD`.
        spec: the specification of the release.
        is_private: whether the release as a whole is differentially private.

    Returns:
        The descriptor, for `datapackage.json` in the same folder.
    """
    said = spec.publication or Publication()
    protection = "differential privacy" if is_private else "disclosure control"
    return {
        "$schema": _PROFILE,
        "name": spec.name,
        "id": release_id,
        "title": f"{spec.title}: synthetic records",
        "description": f"{said.description}\n\n{_DESCRIPTION}" if said.description else _DESCRIPTION,
        "created": f"{day}T00:00:00Z",
        "keywords": [*dict.fromkeys(["synthetic data", protection, *said.keywords])],
        **_owners_and_terms(said),
        "resources": [
            {
                **_file(folder / CSV, name="synthetic", title="Synthetic records", media_type="text/csv"),
                "type": "table",
                "encoding": "utf-8",
                "dialect": DIALECT,
                "schema": table_schema(spec.domain, spec.titles, spec.labels),
            },
            {
                **_file(
                    folder / PARQUET,
                    name="synthetic-parquet",
                    title="The same records as Parquet",
                    media_type=_PARQUET_MEDIA,
                ),
                # Under the name of its extension, frictionless reads it as a table and checks neither size nor digest.
                "format": "apache-parquet",
                "description": "The records of `synthetic`, in the same order and with the same types.",
            },
        ],
    }


def _owners_and_terms(said: Publication) -> dict[str, Any]:
    """Licence, contributors and address, as far as they are stated."""
    contributors: list[dict[str, Any]] = []
    if said.publisher:
        address = {"path": said.publisher.url} if said.publisher.url else {}
        contributors.append({"title": said.publisher.name, **address, "roles": ["publisher"]})
    if said.curator:
        address = {"email": said.curator.email} if said.curator.email else {}
        contributors.append({"title": said.curator.name, **address, "roles": ["contact"]})
    licences = []
    if said.licence:
        licences.append({"path" if said.licence.startswith("http") else "name": said.licence})
    found = {"licenses": licences, "contributors": contributors}
    return {name: value for name, value in found.items() if value}


def table_schema(domain: Domain, titles: Mapping[str, str], labels: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    """A public domain as a Table Schema: the fields in column order, with all values that each may have.

    A number or a truth value is missing where its field is empty, if its attribute has a value for missing. Nothing
    else is to be read as missing, not even an empty text.

    Args:
        domain: the domain.
        titles: description of each attribute, by its name.
        labels: meaning of each value, by attribute and by value as text.
    """
    return {
        "fields": [
            _field(attribute, titles.get(attribute.name, ""), labels.get(attribute.name, {}))
            for attribute in domain.attributes
        ],
        "fieldsMatch": "exact",
        "missingValues": [],
    }


def _file(path: Path, *, name: str, title: str, media_type: str) -> dict[str, Any]:
    """The properties of any file: its path, its size and its digest."""
    return {
        "name": name,
        "title": title,
        "path": path.name,
        "format": path.suffix.removeprefix("."),
        "mediatype": media_type,
        "bytes": path.stat().st_size,
        "hash": f"sha256:{file_digest(path)}",
    }


def _field(attribute: Attribute, title: str, labels: Mapping[str, str]) -> dict[str, Any]:
    """An attribute: its type and its possible values, as bounds if these are sufficient."""
    there = [code for code, value in enumerate(attribute.values) if value != attribute.missing]
    values, field_type = [attribute.values[code] for code in there], _TYPES[type(attribute.values[0])]
    required = attribute.missing is None
    field: dict[str, Any] = {"name": attribute.name, "type": field_type, **({"title": title} if title else {})}
    if not required:
        field["missingValues"] = [""]
    if attribute.is_boolean:
        return field | {
            "type": "boolean",
            "trueValues": [TRUE],
            "falseValues": [FALSE],
            "constraints": {"required": required},
        }
    if attribute.bins is not None:
        # In floating point their number may be too large to list.
        last = attribute.bins.last[there[-1]]
        return field | {"constraints": {"required": required, "minimum": values[0], "maximum": last}}
    if attribute.kind != "numeric" and field_type in {"string", "integer"}:
        # The enumeration again, for readers that load categories, with the meaning of each value.
        categories = [_category(value, labels) for value in values]
        field |= {"categories": categories, "categoriesOrdered": attribute.is_ordered}
    elif field_type == "integer" and all(after == int(before) + 1 for before, after in pairwise(values)):
        return field | {"constraints": {"required": required, "minimum": values[0], "maximum": values[-1]}}
    return field | {"constraints": {"required": required, "enum": list(values)}}


def _category(value: Value, labels: Mapping[str, str]) -> dict[str, Value]:
    label = labels.get(str(value))
    return {"value": value, "label": label} if label else {"value": value}
