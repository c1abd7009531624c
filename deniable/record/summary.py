"""A release's record as text: people, times, code, cost, and what each step read and made.

Verification does not belong here (deniable.verification.release).
"""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from deniable.foundation.errors import InvalidInput
from deniable.privacy.rounding import rounded_up

Record = Mapping[str, Any]

_NONE = "-"
_NAMES = 17
"""Widths, in columns, of the names of what a step reads and makes."""
_KEY_DIGITS = 16
_NO_EPSILON = "no differential privacy"


def summary_lines(record: Record) -> Iterator[str]:
    """Summarise a public record as lines of text, step by step.

    Args:
        record: its predicate, in the shape of public records.
    """
    release, people, code, runs = record["release"], record["people"], record["code"], record["runs"]
    approval, head = people["approval"], record["ledger"]["head"]
    numbered, rehearsal = _numbered(record), record.get("rehearsal")
    yield from _aligned(
        [
            ("release", f"{release['id']}: {release['title']}, {release['records']:,} records"),
            ("dataset", f"{release['dataset']}; previous release {release['previous'] or 'none'}"),
            ("published", f"{release['published']}, signed {record['signed']['time']}; begun {release['begun']}"),
            ("started by", people["started_by"]),
            ("approved by", "nobody" if approval is None else _in_words(approval)),
            ("cost", f"{_rounded_cost(record['cost']['total'])} for the whole release, {record['cost']['kind']}"),
            *([] if rehearsal is None else [("rehearsed", _rehearsed(rehearsal))]),
            ("code", f"version {code['version']}, {_commit(code)}"),
            ("", f"package {code['package']}"),
            ("python", f"{record['environment']['python']} on {record['environment']['platform']}"),
            ("spec", record["spec"]["digest"]),
            ("ledger", f"entry {head['number']}, {head['digest']}"),
            ("MLflow", f"experiment {runs['mlflow_experiment']}, run {runs['mlflow_run']}"),
            ("Prefect", f"flow run {runs['prefect_flow_run'] or 'none'}"),
        ]
    )
    yield ""
    rows: list[Sequence[str]] = [("step", "", "reads", "makes", "epsilon", "delta")]
    for number, parts in numbered:
        name, read, made = [parts[0]["step"]], *(_names(parts, kind) for kind in ("inputs", "outputs"))
        spent = zip(*dict.fromkeys(_rounded(step["cost"]) for step in parts), strict=True)
        rows += zip_longest([f"{number:02d}"], name, read, made, *spent, fillvalue="")
    yield from _aligned(rows)


def step_lines(record: Record, named: str) -> Iterator[str]:
    """Summarise one step as lines of text: what it read, did and made.

    Args:
        record: the predicate of a public record.
        named: the step's name, or its number.

    Raises:
        InvalidInput: there is no such step.
    """
    numbered = _numbered(record)
    known = {name: parts for number, parts in numbered for name in (parts[0]["step"], str(number))}
    if named.removeprefix("0") not in known:
        names = ", ".join(parts[0]["step"] for _, parts in numbered)
        raise InvalidInput(f"a step must be one of {names}, or its number, got {named}.")
    for step in known[named.removeprefix("0")]:
        yield f"{step['step']} {step['part'] or ''}".strip()
        things = [
            (role, f"{item['name']}, {item['audience']}", _digest(item))
            for role, kind in (("read", "inputs"), ("made", "outputs"))
            for item in step[kind]
        ]
        files = [("left in MLflow", item["name"], f"SHA-256 {item['sha256']}") for item in step["artifacts"]]
        rows = [*things, *files, ("spent", _cost(step["cost"]), "")]
        yield from (f"  {line}" for line in _aligned(rows))
        for event in step["events"]:
            yield f"  mechanism: {', '.join(f'{name} {value}' for name, value in event.items())}"


def _rehearsed(rehearsal: Mapping[str, Any]) -> str:
    """On which public records epsilon was tried before it was spent, when, and at which values."""
    kinds = {"release": "the public release", "table": "the public table", "schema": "records drawn from the schema"}
    name = f"{kinds[rehearsal['stand_in']]} {rehearsal['name']}".strip()
    return f"{rehearsal['ended']} on {name}, at epsilon {', '.join(rehearsal['epsilons'])}"


def _in_words(approval: Mapping[str, Any]) -> str:
    """Who approved a release, when, and how that is known."""
    signed, said = approval.get("signed"), f"{approval['by']}, {approval['time']}"
    return said + (
        ", not signed by a key" if signed is None else f", signed with the key {signed['keyid'][:_KEY_DIGITS]}"
    )


def _numbered(record: Record) -> list[tuple[int, list[Mapping[str, Any]]]]:
    """The steps with their numbers, as on MLflow's pages; a mapped step has several parts."""
    steps: dict[str, list[Mapping[str, Any]]] = {}
    for step in record["steps"]:
        steps.setdefault(step["step"], []).append(step)
    return list(enumerate(steps.values(), start=1))


def _names(parts: Sequence[Mapping[str, Any]], kind: str) -> list[str]:
    """The names of what a step reads or makes, in lines of one column."""
    names = ", ".join(dict.fromkeys(item["name"] for step in parts for item in step[kind])) or _NONE
    return textwrap.wrap(names, _NAMES, break_long_words=False, break_on_hyphens=False)


def _digest(item: Mapping[str, Any]) -> str:
    how = "SHA-256" if item["audience"] == "public" else "keyed digest"
    return f"{how} {item['digest']}"


def _cost(spent: Mapping[str, Any] | None) -> str:
    """A guarantee, with all its digits."""
    if spent is None or spent["epsilon"] is None:
        return _NO_EPSILON
    return f"epsilon {spent['epsilon']}, delta {spent['delta']}" if spent["epsilon"] or spent["delta"] else "0"


def _rounded(spent: Mapping[str, Any] | None) -> tuple[str, str]:
    """Epsilon and delta, rounded for a summary; the step itself has all digits."""
    if spent is None or spent["epsilon"] is None:
        return _NO_EPSILON, ""
    return rounded_up(spent["epsilon"]), rounded_up(spent["delta"])


def _rounded_cost(spent: Mapping[str, Any] | None) -> str:
    epsilon, delta = _rounded(spent)
    return f"epsilon {epsilon}, delta {delta}" if delta else epsilon


def _commit(code: Mapping[str, Any]) -> str:
    if code["commit"] is None:
        return "commit unknown"
    return f"commit {code['commit']}{', with changes that were not committed' if code['dirty'] else ''}"


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Rows in columns of the width of their longest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
