"""Compares a repeated run of a release with its record, step by step, with the reasons for differences.

The comparison contains only digests, names and versions, so it reveals nothing confidential. The repeated run itself
does not belong here (flows.replay).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from schemas.provenance import Code, Environment, Provenance, Resource, Step

Outcome = Literal["same", "differs", "failed", "not replayed", "not reached"]

_SHOWN_DIGITS = 12


@dataclass(frozen=True)
class Finding:
    """The result for one step.

    Attributes:
        step: its name.
        outcome: whether it gave the result in the record.
        said: the differences, or why there is no comparison.
        inputs: names of inputs that differ from the record.
    """

    step: str
    outcome: Outcome
    said: str = ""
    inputs: tuple[str, ...] = ()

    @property
    def contradicts(self) -> bool:
        """Whether the step gave a different result than the record states."""
        return self.outcome in {"differs", "failed"}


@dataclass(frozen=True)
class Reason:
    """A possible reason for a different result."""

    kind: Literal["input", "key", "code", "environment", "unexplained"]
    said: str

    def __str__(self) -> str:
        """The reason as a sentence without a full stop."""
        return f"{self.kind}: {self.said}"


@dataclass(frozen=True)
class Replayed:
    """The result of running a release again.

    Attributes:
        release: its name.
        findings: the results, step by step, in the order of the flow.
        reasons: possible reasons for the first difference; if there is none, differences of the circumstances.
        kept: the scratch folder, if it was kept.
    """

    release: str
    findings: tuple[Finding, ...]
    reasons: tuple[Reason, ...] = ()
    kept: Path | None = None

    @property
    def first(self) -> Finding | None:
        """The first step with a different result than the record states."""
        return next((finding for finding in self.findings if finding.contradicts), None)

    @property
    def same(self) -> bool:
        """Whether every step that was run gave exactly the result in the record."""
        return self.first is None and all(finding.outcome != "not reached" for finding in self.findings)

    @property
    def verdict(self) -> str:
        """The overall result, in one sentence."""
        if self.first is None:
            return "Every step gives the same bytes."
        what = "whose output differs" if self.first.outcome == "differs" else "that fails"
        return f"The first step {what} is {self.first.step}: {self.first.said}."

    def lines(self) -> Iterator[str]:
        """One line per step, the verdict, and the reasons or other differences."""
        width = max(len(finding.step) for finding in self.findings)
        for finding in self.findings:
            yield f"{finding.step:<{width}}  {finding.outcome}{f': {finding.said}' if finding.said else ''}"
        yield self.verdict
        for reason in self.reasons:
            yield f"Without effect: {reason}." if self.same else f"Why: {reason}."


def compared(name: str, recorded: Sequence[Step], again: Sequence[Step]) -> Finding:
    """Compare a repeated step with its record.

    Args:
        name: the step.
        recorded: the step in the record, or its parts if it was mapped.
        again: the same from the repeated run.
    """
    done = {step.part: step for step in again}
    inputs: list[str] = []
    said: list[str] = []
    for then in recorded:
        now = done.pop(then.part, None)
        if now is None:
            said.append(f"{then.part or 'it'} was not repeated")
            continue
        read = _other(then.inputs, now.inputs)
        inputs += [item for item in read if item not in inputs]
        found = [*_differences(then, now), *([f"its inputs differ: {' and '.join(read)}"] if read else [])]
        said += [f"{then.part}: {difference}" if then.part else difference for difference in found]
    said += [f"{part or 'it'} is not in the record" for part in done]
    if said:
        return Finding(name, "differs", "; ".join(said), tuple(inputs))
    parts = f"all {len(recorded)} parts" if len(recorded) > 1 else ""
    return Finding(name, "same", parts)


def _differences(then: Step, now: Step) -> Iterator[str]:
    """The differences between a repeated step and the recorded one."""
    if made := _other(then.outputs, now.outputs):
        yield f"its outputs differ: {' and '.join(made)}"
    if (then.cost, then.events) != (now.cost, now.events):
        yield "its cost differs"
    if then.figures is not None and then.figures != now.figures:
        yield f"its figures differ: {' and '.join(_other_figures(then.figures, now.figures or {}))}"


def _other(then: Sequence[Resource], now: Sequence[Resource]) -> list[str]:
    """Names of inputs or outputs that differ or exist on only one side."""
    before, after = ({thing.name: thing for thing in things} for things in (then, now))
    if len(before) == len(then) and len(after) == len(now):
        names = dict.fromkeys([*before, *after])
        return [name for name in names if before.get(name) != after.get(name)]
    # Parts of a mapped step have the same name and are distinguished by their positions.
    if len(then) != len(now):
        return ["number of items"]
    return list(dict.fromkeys(one.name for one, other in zip(then, now, strict=True) if one != other))


def _other_figures(then: Mapping[str, float], now: Mapping[str, float]) -> list[str]:
    return sorted(name for name in {*then, *now} if then.get(name) != now.get(name))


def differing(record: Provenance, code: Code, environment: Environment, schema: str) -> tuple[Reason, ...]:
    """Differences in the circumstances of a release that may affect its result.

    Args:
        record: the record of the release.
        code: the code of the repeated run.
        environment: the environment of the repeated run.
        schema: digest of the schema file.
    """
    return (
        *_other_schema(record, schema),
        *_other_code(record.code, code),
        *_other_place(record.environment, environment),
    )


def _other_schema(record: Provenance, schema: str) -> Iterator[Reason]:
    known = record.table_schema
    if schema != known.code:
        yield Reason(
            "code",
            f"the schema {known.dataset} is different, {_short(schema)} here, {_short(known.code)} in the record",
        )


def _other_code(then: Code, now: Code) -> Iterator[Reason]:
    if then.package != now.package:
        yield Reason("code", f"the package is different, {_named(now)} here, {_named(then)} in the record")


def _other_place(then: Environment, now: Environment) -> Iterator[Reason]:
    names = sorted({*then.packages, *now.packages})
    pairs = [(name, now.packages.get(name), then.packages.get(name)) for name in names]
    pairs += [
        ("Python", now.python, then.python),
        ("the interpreter", now.implementation, then.implementation),
        ("the platform", now.platform, then.platform),
        ("the machine", now.machine, then.machine),
    ]
    said = [
        f"{name} {here or 'absent'} here, {there or 'absent'} in the record"
        for name, here, there in pairs
        if here != there
    ]
    if not said and None not in (now.requirements, then.requirements) and now.requirements != then.requirements:
        said = ["the pinned requirements are different, but the installed packages are the same"]
    if said:
        yield Reason("environment", "; ".join(said))


def _named(code: Code) -> str:
    """A version of the code in readable form."""
    changes = " and changes" if code.dirty else ""
    commit = f", commit {_short(code.commit)}{changes}" if code.commit else ""
    return f"{_short(code.package)} (version {code.version}{commit})"


def _short(digest: str) -> str:
    return digest[:_SHOWN_DIGITS]


def names_in_order(steps: Iterable[Step]) -> list[str]:
    """Names of the steps, each listed once, in order."""
    return list(dict.fromkeys(step.step for step in steps))
