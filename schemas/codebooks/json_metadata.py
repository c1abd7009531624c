"""Descriptions in JSON or YAML: a Frictionless table schema or data package, SDV metadata, and a dpsynth domain."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from schemas.codebooks.codebook import Codebook, Entry, Kind, Variable, one_line
from schemas.codebooks.value_lists import number

_FRICTIONLESS: dict[str, Kind | None] = {
    "string": None,
    "number": "numeric",
    "integer": "numeric",
    "boolean": "boolean",
    "date": "date",
    "datetime": "date",
    "year": "numeric",
    "yearmonth": "text",
    "time": "time",
    "duration": "text",
    "object": "text",
    "array": "text",
    "list": "text",
    "geopoint": "text",
    "geojson": "text",
    "any": None,
}
_SDV: dict[str, Kind | None] = {
    "categorical": "nominal",
    "numerical": "numeric",
    "boolean": "boolean",
    "datetime": "date",
    "id": "identifier",
    "text": "text",
    "unknown": None,
}
_WHOLE_IN_SDV = ("Int", "UInt")


def read_metadata(read: Mapping[str, Any]) -> Codebook:
    """Read a description, recognising its format by its keys.

    Args:
        read: its content, a mapping.
    """
    codebook = Codebook()
    reader = next((reader for fits, reader in _FORMATS if fits(read)), None)
    if reader is None:
        codebook.faults.append(
            "a description in JSON or YAML must be a Frictionless table schema or data package, SDV metadata or a "
            "dpsynth domain, got none of these; write the codebook in CSV."
        )
        return codebook
    reader(read, codebook)
    return codebook


def _read_package(package: Mapping[str, Any], codebook: Codebook) -> None:
    """Read the one table of a data package."""
    tables = [
        each for each in package["resources"] if isinstance(each, Mapping) and isinstance(each.get("schema"), Mapping)
    ]
    layouts = {repr(table["schema"]): table["schema"] for table in tables}
    if len(layouts) != 1:
        codebook.faults.append(
            f"a data package must describe one table, got {len(layouts)}; give the table schema of the one "
            f"that is meant."
        )
        return
    _read_frictionless(next(iter(layouts.values())), codebook)


def _read_frictionless(schema: Mapping[str, Any], codebook: Codebook) -> None:
    """Read a Frictionless table schema, of version 1 or 2."""
    everywhere = _texts(schema.get("missingValues", []))
    keys = schema.get("primaryKey", [])
    keys = [keys] if isinstance(keys, str) else _texts(keys)
    for number_of, own in enumerate(_listed(schema.get("fields")), 1):
        where = f"field {number_of}"
        if not isinstance(own, Mapping):
            codebook.faults.append(f"{where} must be a mapping, got {type(own).__name__}; correct it.")
            continue
        constraints = _mapping(own.get("constraints"))
        kind = _looked_up(_FRICTIONLESS, own.get("type", "string"), f"{where}: its type", codebook)
        entries = _categories(own.get("categories")) or _categories(constraints.get("enum"))
        low, high = constraints.get("minimum"), constraints.get("maximum")
        if (
            not entries
            and low is not None
            and high is not None
            and (kind == "date" or None not in (_number(low), _number(high)))
        ):
            entries = (Entry(value=_text(low), high=_text(high)),)
        if kind == "boolean":
            entries = _booleans(own)
        if entries and kind in {None, "text"}:
            kind = "ordered" if own.get("categoriesOrdered") is True else "nominal"
        name = one_line(own.get("name", ""))
        if name in keys and len(keys) == 1:
            kind = "identifier"
        missing = _texts(own.get("missingValues", [])) or everywhere
        codebook.add(
            Variable(
                name=name,
                kind=kind,
                label=one_line(own.get("title") or own.get("description") or ""),
                entries=entries,
                missing=tuple(code for code in missing if code),
                whole={"integer": True, "year": True, "number": False}.get(str(own.get("type"))),
                pattern=_pattern(own.get("format")),
            ),
            where,
        )


def _booleans(own: Mapping[str, Any]) -> tuple[Entry, ...]:
    """The texts for false and true in a Frictionless field."""
    return tuple(
        Entry(value=(_texts(own.get(entry, [])) or [default])[0])
        for entry, default in (("falseValues", "false"), ("trueValues", "true"))
    )


def _read_sdv(metadata: Mapping[str, Any], codebook: Codebook) -> None:
    """Read SDV metadata of one table."""
    tables = metadata.get("tables")
    if isinstance(tables, Mapping):
        if len(tables) != 1:
            codebook.faults.append(
                f"SDV metadata must describe one table, got {len(tables)}; write the metadata of the one that is meant."
            )
            return
        metadata = next(iter(tables.values()))
    for name, own in metadata["columns"].items():
        known = own if isinstance(own, Mapping) else {}
        sdtype = str(known.get("sdtype", "unknown"))
        # Types of personal data (email, name, ssn ...) have no list of values.
        kind: Kind | None = _SDV.get(sdtype, "text")
        if name == metadata.get("primary_key"):
            kind = "identifier"
        order = _listed(known.get("order"))
        codebook.add(
            Variable(
                name=one_line(name),
                kind="ordered" if order and kind == "nominal" else kind,
                entries=_booleans({}) if kind == "boolean" else _categories(order),
                whole=None
                if kind != "numeric"
                else str(known.get("computer_representation")).startswith(_WHOLE_IN_SDV),
                pattern=_pattern(known.get("datetime_format")),
            ),
            f"column {one_line(name)}",
        )


def _read_dpsynth(domain: Mapping[str, Any], codebook: Codebook) -> None:
    """Read a domain of dpsynth: attributes by name."""
    domain = _mapping(domain.get("attributes")) or domain
    for name, own in domain.items():
        where = f"attribute {one_line(name)}"
        if not isinstance(own, Mapping):
            codebook.faults.append(f"{where} must be a mapping, got {type(own).__name__}; correct it.")
            continue
        kind, entries = _dpsynth_kind(own)
        codebook.add(
            Variable(
                name=one_line(name),
                kind=kind,
                label=one_line(own.get("description") or ""),
                entries=entries,
                whole=None if kind != "numeric" else own.get("dtype") == "int",
            ),
            where,
        )


def _dpsynth_kind(own: Mapping[str, Any]) -> tuple[Kind, tuple[Entry, ...]]:
    if "possible_values" in own:
        values = _listed(own["possible_values"])
        return "boolean" if values and all(isinstance(each, bool) for each in values) else "nominal", _categories(
            values
        )
    if "min_value" in own:
        return "numeric", (Entry(value=_text(own["min_value"]), high=_text(own.get("max_value", ""))),)
    if "max_tokens" in own:
        return "text", ()
    return "nominal", _categories(own.get("public_possible_values"))


def _is_frictionless(read: Mapping[str, Any]) -> bool:
    return isinstance(read.get("fields"), Sequence)


def _is_package(read: Mapping[str, Any]) -> bool:
    return isinstance(read.get("resources"), Sequence)


def _is_sdv(read: Mapping[str, Any]) -> bool:
    tables = read.get("tables")
    one = next(iter(tables.values()), None) if isinstance(tables, Mapping) else read
    return isinstance(one, Mapping) and isinstance(one.get("columns"), Mapping)


def _is_dpsynth(read: Mapping[str, Any]) -> bool:
    domain = _mapping(read.get("attributes")) or read
    marks = {"possible_values", "min_value", "max_tokens", "default_value", "type"}
    return bool(domain) and any(isinstance(own, Mapping) and marks & own.keys() for own in domain.values())


_FORMATS: tuple[tuple[Callable[[Mapping[str, Any]], bool], Callable[[Mapping[str, Any], Codebook], None]], ...] = (
    (_is_package, _read_package),
    (_is_frictionless, _read_frictionless),
    (_is_sdv, _read_sdv),
    (_is_dpsynth, _read_dpsynth),
)


def _looked_up(known: Mapping[str, Kind | None], word: object, what: str, codebook: Codebook) -> Kind | None:
    if not isinstance(word, str) or word not in known:
        codebook.faults.append(f"{what} must be one of {', '.join(known)}, got {one_line(word)}; correct it.")
        return None
    return known[word]


def _categories(stated: object) -> tuple[Entry, ...]:
    """Values, or values with labels."""
    return tuple(
        Entry(value=_text(each.get("value", "")), label=one_line(each.get("label", "")))
        if isinstance(each, Mapping)
        else Entry(value=_text(each))
        for each in _listed(stated)
    )


def _mapping(stated: object) -> Mapping[str, Any]:
    return stated if isinstance(stated, Mapping) else {}


def _listed(stated: object) -> list[Any]:
    return list(stated) if isinstance(stated, Sequence) and not isinstance(stated, str) else []


def _texts(stated: object) -> list[str]:
    """Texts, or texts with labels (version 2 of Frictionless)."""
    return [_text(each.get("value", "") if isinstance(each, Mapping) else each) for each in _listed(stated)]


def _number(stated: object) -> object:
    return number(_text(stated))


def _pattern(stated: object) -> str | None:
    return stated if isinstance(stated, str) and "%" in stated else None


def _text(stated: object) -> str:
    """A value as text: integers without a point, booleans in lower case."""
    if isinstance(stated, bool):
        return str(stated).lower()
    if isinstance(stated, float) and stated.is_integer():
        return str(int(stated))
    return one_line(stated)
