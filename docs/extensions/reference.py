"""Writes the pages of docs/reference that are generated from the code, before Sphinx reads them.

The spec is described by its models, the record by its JSON Schema, the documents of a release by what writes them,
the commands by their parsers, and the Python interface by the docstrings of the packages.
"""

import argparse
import json
import re
from collections.abc import Iterator, Mapping
from inspect import cleandoc
from pathlib import Path
from typing import Any

from docstring_parser import parse
from sphinx.application import Sphinx

HERE = Path(__file__).resolve().parents[1]
ROOT = HERE.parent
SPEC = ROOT / "examples" / "village" / "village.yaml"
FOLDER = HERE / "reference"
_LONGEST_ENUMERATION = 12
_IN_WORDS = "default in words"
# Entries of a short spec, from which others follow; the models do not have them.
_OF_THE_WHOLE_RELEASE = {
    "epsilon": {
        "type": "number",
        _IN_WORDS: "required, unless the learner's is stated",
        "description": "the epsilon of the whole release.",
    },
    "delta": {"type": "number", "default": 1e-9, "description": "the delta of the whole release."},
}
_ENTRY = re.compile(r"deniable__(?:learners|samplers)__(\w+)__spec__Entry")
# Bounds of a JSON Schema, and of pydantic where a fraction is written as text.
_BOUNDS = {
    ("minimum", "ge"): "at least",
    ("exclusiveMinimum", "gt"): "above",
    ("maximum", "le"): "at most",
    ("exclusiveMaximum", "lt"): "below",
}


def setup(app: Sphinx) -> dict[str, Any]:
    """Write the pages when a build begins."""
    app.connect("builder-inited", lambda _app: write_pages())
    app.connect("autodoc-process-docstring", lambda *event: _escape(event[-1]))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write_pages() -> None:
    """Write each page whose text has changed."""
    pages = {
        "spec.md": spec_page(),
        "record.md": record_page(),
        "documents.md": documents_page(),
        "commands.md": commands_page(),
        "python.md": python_page(),
    }
    for name, text in pages.items():
        place = FOLDER / name
        if not place.exists() or place.read_text(encoding="utf-8") != text:
            place.write_text(text, encoding="utf-8")


def spec_page() -> str:
    """Every entry of a spec: its type, its default and its meaning."""
    from deniable.foundation.spec_values import Strict
    from schemas.spec.defaults import ASKED, completed
    from schemas.spec.release_spec import ReleaseSpec, load_spec

    schema = ReleaseSpec.model_json_schema(mode="serialization")
    # A model that is written by a function of its own has its entries only as it is read.
    as_read = ReleaseSpec.model_json_schema()["$defs"]
    replaced = {
        name: as_read[name]
        for name, part in schema["$defs"].items()
        if "type" in part and "properties" not in part and name in as_read
    }
    # So are the models that only such a model has.
    within = json.dumps(replaced)
    parts = {name: part for name, part in as_read.items() if f'"#/$defs/{name}"' in within}
    schema["$defs"] = parts | schema["$defs"] | replaced
    known = list(_subclasses(Strict))
    models = {model.__name__: model for model in known}
    # Models of one name have that of their module, too.
    models |= {f"{model.__module__}.{model.__qualname__}".replace(".", "__"): model for model in known}
    lead = (
        "A spec is a YAML file that says what is to be released. `make plan SPEC=path` checks it and prints what it\n"
        "costs; [the guide](../release-engineer/own-data.md) explains how to write one. This page is generated from\n"
        "the models that check a spec.\n\n"
        "A spec of `name`, `dataset`, `source` and `epsilon` is complete. Entries whose default is *derived* follow\n"
        "from these and from the schema; `make plan` prints each with its reason. A spec that states the budget of\n"
        "its learner has neither `epsilon` nor `delta`."
    )
    short = {"name": "short", "dataset": "short", "source": "short.csv", ASKED[0]: 1}
    whole, _, _ = completed(short, load_spec(SPEC).domain)
    described = schema["properties"]
    for name in whole.keys() - short.keys():
        described[name] |= {_IN_WORDS: "*derived*"}
    given = {name: described.pop(name) for name in short if name in described}
    schema["properties"] = {**given, **_OF_THE_WHOLE_RELEASE, **described}
    return _models_page("Spec", lead, schema, models)


def record_page() -> str:
    """Every field of the record's predicate."""
    schema = json.loads((ROOT / "deniable" / "record" / "record.schema.json").read_text(encoding="utf-8"))
    lead = (
        f"The predicate of the signed record, `{schema['$id']}`. This page is generated from\n"
        "`deniable/record/record.schema.json`; [the auditor's guide](../auditor/a-record-line-by-line.md) reads one."
    )
    return _models_page("Record", lead, schema, {})


def _models_page(title: str, lead: str, schema: Mapping[str, Any], models: Mapping[str, type]) -> str:
    parts = [f"# {title}", lead, _model(schema, schema.get("title", title), models)]
    for name, part in sorted(schema["$defs"].items()):
        if "properties" in part or "enum" in part:
            parts += [f"({title.lower()}-{name.lower()})=\n## {_named(name, part)}", _model(part, name, models)]
    return "\n\n".join(part for part in parts if part).replace("](#", f"](#{title.lower()}-") + "\n"


def _named(name: str, part: Mapping[str, Any]) -> str:
    entries = part.get("properties", {})
    kind = entries.get("kind", {}).get("const") or entries.get("guarantee", {}).get("const")
    short = _short(name)
    return short if not kind else f"`{kind}`" if short == kind else f"`{kind}` ({short})"


def _short(name: str) -> str:
    """What a model is of: of an entry of a learner or a sampler, that learner or sampler."""
    found = _ENTRY.fullmatch(name)
    return name if found is None else found[1]


def _model(part: Mapping[str, Any], name: str, models: Mapping[str, type]) -> str:
    """Describe one model: what it is, and a table of its entries."""
    documented = parse(models[name].__doc__ or "") if name in models else None
    meanings = {item.arg_name: item.description or "" for item in documented.params} if documented else {}
    lead = documented.short_description if documented else part.get("description", "")
    if "enum" in part:
        return f"{cleandoc(lead or '')}\n\nOne of {_type(part)}."
    required = set(part.get("required", ()))
    lines = ["| entry | type | default | meaning |", "|---|---|---|---|"]
    for entry, field in part["properties"].items():
        default = "required" if entry in required and "default" not in field else _shown(field.get("default"))
        default = field.get(_IN_WORDS, default)
        meaning = meanings.get(entry) or field.get("description", "")
        lines.append(f"| `{entry}` | {_type(field)} | {default} | {_cell(meaning)} |")
    return f"{cleandoc(lead or '')}\n\n" + "\n".join(lines)


def _type(field: Mapping[str, Any]) -> str:
    """Name the type of a JSON Schema in a cell of a table."""
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2]
        return f"[{_short(name)}](#{name.lower()})"
    for several in ("anyOf", "oneOf"):
        if several in field:
            return " or ".join(dict.fromkeys(_type(each) for each in field[several]))
    if "allOf" in field:
        return " and ".join(_type(each) for each in field["allOf"])
    if "const" in field:
        return f"`{field['const']}`"
    if "enum" in field:
        return ", ".join(_value(each) for each in field["enum"][:_LONGEST_ENUMERATION])
    kind = "number" if field.get("format") == "fraction" else field.get("type", "value")
    if kind == "array":
        return f"list of {_type(field['items'])}" if field.get("items") else "list"
    if kind == "object":
        values = field.get("additionalProperties")
        return f"mapping to {_type(values)}" if isinstance(values, Mapping) else "mapping"
    names = {
        "string": "text",
        "number": "number",
        "integer": "whole number",
        "boolean": "true or false",
        "null": "none",
    }
    bounds = [f"{words} {field[key]}" for keys, words in _BOUNDS.items() for key in keys if key in field]
    return " ".join([names.get(kind, str(kind)), ", ".join(bounds)]).strip()


def _value(value: Any) -> str:
    """Show one of the values of an enumeration, which stands in a cell of a table."""
    in_words = {"\t": "a tab", " ": "a space"}
    return in_words.get(value) or "`" + str(value).replace("|", "\\|") + "`"


def _shown(default: Any) -> str:
    return "none" if default is None else f"`{json.dumps(default)}`"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


DOCUMENTS = {
    "synthetic.parquet": "the synthetic records as Parquet",
    "synthetic.csv": "the same records as CSV, in the format of the input",
    "schema.json": "attributes, their values, labels and buckets",
    "datapackage.json": "a Frictionless Data Package that describes both tables to other tools",
    "model.json": "what the records were drawn from",
    "urns.json": "what the records were drawn from, without the counts that are not released (`per_draw`)",
    "measured.json": "the noisy tables that the model was made from (learners that measure)",
    "consistent.json": "estimates of the same tables that agree with each other, with variances",
    "certificate.json": "a bound on the error of a sample of the model over unmeasured pairs (`learner.certificate`)",
    "intervals.csv": "counts and shares of the measured tables, with intervals",
    "selection.json": "the figures of a public file from which the tables follow (`nist_mst`)",
    "graph.json": "the learnt dependences (`cfs` and `privbayes`)",
    "seeds.npz": "the noisy histogram of the seeds (`histogram_seeds`)",
    "privacy.json": "the statement of privacy in figures",
    "PRIVACY.md": "the statement of privacy in words",
    "index.html": "the page of the release",
    "explore.html": "filters and cross-tabulations of the records; the only page with a script",
    "record.dsse.json": "the signed [record](record.md)",
    "README.md": "a description for data users",
}


def documents_page() -> str:
    """The documents of a release, as the code writes them for the example of the guides."""
    from schemas.spec.plan import plan_release
    from schemas.spec.release_spec import load_spec
    from stores.statement.statement import statement, statement_in_words

    spec = load_spec(SPEC)
    accounts = plan_release(spec).accounts
    examples = {
        "privacy.json": json.dumps(statement("village-1", spec, accounts), indent=2, ensure_ascii=False),
        "PRIVACY.md": statement_in_words("village-1", spec, accounts),
    }
    parts = [
        "# Documents of a release",
        "The files of the public folder. The examples are what the code writes for `examples/village/village.yaml`.",
        "\n".join(
            ["| file | what it is |", "|---|---|", *(f"| `{name}` | {what} |" for name, what in DOCUMENTS.items())]
        ),
    ]
    for name, text in examples.items():
        parts += [f"## {name}", f"````{'json' if name.endswith('.json') else 'text'}\n{text.strip()}\n````"]
    return "\n\n".join(parts) + "\n"


def commands_page() -> str:
    """Every target of the Makefile and every command, by their own help."""
    from deniable.cli import dispatch
    from deniable.cli.former_names import FORMER, UNTIL
    from deniable.cli.pages import first_page
    from deniable.cli.registry import GROUPS, lines_here

    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    _, _, statuses = cleandoc(dispatch.main.__doc__ or "").partition("Returns:")
    targets = re.findall(r"^([a-z-]+):.*?## (.*)$", makefile, flags=re.MULTILINE)
    lines = lines_here()
    how = (
        "Run as `.venv/bin/deniable` in the checkout, or as `deniable` once its environment is active; `python -m "
        "deniable` and `python -m flows` do the same. The wheel alone has the commands that need neither a service nor "
        f"a network, marked *wheel*. Exit statuses: {statuses.strip()}"
    )
    parts = [
        "# Commands",
        "The targets of the Makefile, and the commands that they run. This page is generated from both.",
        "## make",
        "\n".join(
            [
                "| target | what it does |",
                "|---|---|",
                *(f"| `make {name}` | {_cell(what)} |" for name, what in targets),
            ]
        ),
        "## deniable",
        how,
        "```text\n" + "\n".join(first_page(lines)) + "\n```",
    ]
    for group, what in GROUPS.items():
        own = [line for line in lines if line.group == group]
        rows = [f"| `{line.name}` | {_cell(line.help)}{_where(line.module)} |" for line in own]
        parts += [f"## deniable {group}", f"{what[0].upper()}{what[1:]}.", "\n".join(["| | |", "|---|---|", *rows])]
        for line in own:
            parts += [f"### deniable {line.name}", _help(dispatch.parser_of(line))]
    former = [f"| `{name}` | `{now}` |" for name, now in sorted(FORMER.items())]
    former += ["| `release SPEC` | `release make` |", "| `audit RELEASE` | `audit release` |"]
    parts += [
        "## Former names",
        f"Commands had no groups before. Their former names are understood until version {UNTIL}.",
        "\n".join(["| former | now |", "|---|---|", *former]),
    ]
    return "\n\n".join(parts) + "\n"


def _where(module: str) -> str:
    return " (*wheel*)" if module.startswith("deniable.") else ""


def _help(parser: argparse.ArgumentParser) -> str:
    parser.formatter_class = lambda prog: argparse.HelpFormatter(prog, width=88)
    texts = [parser.format_help()]
    nested = [each for each in parser._actions if isinstance(each, argparse._SubParsersAction)]
    for action in nested:
        for child in dict.fromkeys(action.choices.values()):
            child.formatter_class = parser.formatter_class
            texts.append(child.format_help())
    return "```text\n" + "\n".join(text.strip() + "\n" for text in texts) + "```"


def python_page() -> str:
    """The packages of the Python interface, by their docstrings."""
    parts = [
        "# Python interface",
        "The library ([guide](../library/index.md)), whose names `deniable` itself has, and the mathematics.",
    ]
    for room in _rooms():
        parts.append(f"## {room}\n\n```{{eval-rst}}\n.. automodule:: {room}\n```")
        parts += [
            f"### {module}\n\n```{{eval-rst}}\n.. automodule:: {module}\n   :members:\n```" for module in _modules(room)
        ]
    return "\n\n".join(parts) + "\n"


_ROOMS = (
    "library",
    "foundation",
    "privacy",
    "evaluation",
    "inference",
    "models",
    "plausible_deniability",
    "ledger",
    "record",
    "verification",
)


def _rooms() -> Iterator[str]:
    yield from (f"deniable.{room}" for room in _ROOMS)


def _modules(room: str) -> Iterator[str]:
    folder = ROOT / room.replace(".", "/")
    yield from (f"{room}.{path.stem}" for path in sorted(folder.glob("[a-z]*.py")))


def _escape(lines: list[str]) -> None:
    """Have `|z|` mean a magnitude, as in the docstrings, and not a substitution."""
    lines[:] = [line.replace("|", r"\|") for line in lines]


def _subclasses(model: type) -> Iterator[type]:
    for child in model.__subclasses__():
        yield child
        yield from _subclasses(child)
