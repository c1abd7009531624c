"""The JSON Schema of the provenance record, for readers who use their own tools.

`python -m schemas.record_schema` rewrites it after a change of the model; the content of records does not belong here.
"""

import json
import re
from inspect import cleandoc
from pathlib import Path
from typing import Any

from deniable.record.attestation import PREDICATE_TYPES, VERSION
from schemas import provenance
from schemas.provenance import Provenance

RECORD_SCHEMA = Path(__file__).resolve().parent.parent / "deniable" / "record" / "record.schema.json"

_INTERNAL_OF_A_STEP = ("started", "ended", "mlflow_run", "prefect_task_run", "parameters", "figures")
_ATTRIBUTE = re.compile(r"^    (\w+): (.+(?:\n      +.+)*)", re.MULTILINE)


def record_schema() -> dict[str, Any]:
    """The schema of the predicate in JSON Schema 2020-12, with descriptions from the model's docstrings."""
    made = Provenance.model_json_schema()
    parts = made.pop("$defs")
    _describe(made, Provenance)
    for name, part in parts.items():
        model = getattr(provenance, name)
        if issubclass(model, provenance.Part):
            _describe(part, model)
        else:
            part["description"] = _first_sentence(model)
    _forbid_what_is_internal(made)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": PREDICATE_TYPES[VERSION],
        **{name: made[name] for name in ("title", "description", "type", "properties", "required")},
        **{name: value for name, value in made.items() if name in ("additionalProperties", "if", "then", "else")},
        "$defs": parts,
    }


def to_text(schema: dict[str, Any]) -> str:
    """The schema as the text of the package's file."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _describe(made: dict[str, Any], model: type[provenance.Part]) -> None:
    """Take the descriptions of a part and its fields from its docstring."""
    made["description"] = _first_sentence(model)
    said = dict(_ATTRIBUTE.findall(cleandoc(model.__doc__ or "")))
    for name, field in model.model_fields.items():
        if name in said:
            made["properties"][field.alias or name]["description"] = _one_line(said[name])
    for inner in made["properties"].values():
        inner.pop("title", None)


def _first_sentence(model: type) -> str:
    return _one_line(cleandoc(model.__doc__ or "").split("\n\n")[0])


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _forbid_what_is_internal(made: dict[str, Any]) -> None:
    """Require all internal fields in the internal rendering, and forbid them in the public one."""
    made["if"] = {"properties": {"rendering": {"const": "public"}}}
    made["then"] = {
        "properties": {
            "internal": False,
            "steps": {
                "items": {
                    "properties": {
                        **dict.fromkeys(_INTERNAL_OF_A_STEP, False),
                        "artifacts": {"items": {"properties": {"audience": {"const": "public"}}}},
                    }
                }
            },
        }
    }
    made["else"] = {
        "properties": {"internal": {"type": "object"}, "steps": {"items": {"required": [*_INTERNAL_OF_A_STEP]}}},
        "required": ["internal"],
    }


if __name__ == "__main__":
    RECORD_SCHEMA.write_text(to_text(record_schema()), encoding="utf-8")
