"""What exact figures of confidential records decide about a release, outside any epsilon: refusals, and rows left out.

Each refusal that such a figure decides is raised as one of these stops (`decided_exactly`), and each row that is left
out has one of these reasons. A statement lists both from here, so that nothing is decided in silence: a test requires
every refusal in the steps that read the rows to be one of these, or to depend on something public alone.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, TypeVar

from deniable.evaluation.thresholds import bounds_of
from deniable.foundation.errors import DeniableError
from deniable.samplers.registry import words_of

Spec = Mapping[str, Any]
Failure = TypeVar("Failure", bound=DeniableError)

_INVALID = "At most {share:g} of the rows in scope were invalid, counted exactly; with more, it would have stopped."
_DROPPED = (
    "At most {share:g} of the rows in scope were left out, because they were invalid or had no value for an attribute, "
    "counted exactly; with more, it would have stopped."
)
_READ = "The source could be read as spec and schema say, and the schema's code ran on it; else it would have stopped."
_A_ROW = "At least one row was in scope, complete and valid; else it would have stopped."
_NONE_EMPTY = "No part of the split was empty, and utility and risk could be measured; else it would have stopped."
_NOT_MEASURED = (
    "Its learner had a record to read; else it would have stopped. No record was held out, so that utility was not "
    "measured on held-out records, and risk was not measured."
)
_PUBLICLY = (
    "Its learner had a record to read; else it would have stopped. No record was held out: utility was measured on the "
    "public table {file} with the SHA-256 {sha256} and on no confidential record, and risk was not measured."
)
_COMPARED = (
    "The public file {file} was compared exactly with the rows of the source, and was not refused as too like them; "
    "else it would have stopped."
)
_CHANGED = "It may come of a refresh, which publishes only if the rows are not exactly those of an earlier release."
_EXACT = "Exact figures of the real records were within bounds: {bounds}."
_ASKED = "Unless a person approved it, which the record says, exact figures were within bounds: {bounds}."
_ENOUGH = (
    "The machines had memory, disk and time enough for the source; else it would have stopped. How long it took "
    "depends on the number of rows."
)


@dataclass(frozen=True)
class ExactStop:
    """A decision by exact figures of the confidential records, and what a release that was not stopped discloses.

    Attributes:
        name: its name.
        reveals: the sentences for a spec, as the record has it; none if the spec cannot be stopped so.
        since: the version of statements that first lists it.
    """

    name: str
    reveals: Callable[[Spec], Iterable[str]]
    since: int = 2


def _invalid(spec: Spec) -> Iterable[str]:
    return _of_limit(spec, "max_invalid_share", _INVALID)


def _dropped(spec: Spec) -> Iterable[str]:
    return _of_limit(spec, "max_dropped_share", _DROPPED)


def _of_limit(spec: Spec, name: str, said: str) -> Iterable[str]:
    share = spec.get(name)
    return [] if share is None else [said.format(share=float(Fraction(share)))]


def _empty(spec: Spec) -> Iterable[str]:
    if Fraction(spec["split"]["holdout"]) > 0:
        return [_NONE_EMPTY]
    public = spec.get("evaluation", {}).get("public")
    return [_NOT_MEASURED if public is None else _PUBLICLY.format(file=public["file"], sha256=public["sha256"])]


def public_files(spec: Spec) -> list[str]:
    """The public files that a release compares with its source, as a spec names them."""
    learner = spec.get("learner", {})
    named = (
        (learner.get("selection") or {}).get("public_file"),
        (learner.get("seed_file") or {}).get("path"),
        (spec.get("evaluation", {}).get("public") or {}).get("file"),
    )
    return [file for file in named if file is not None]


def _compared(spec: Spec) -> Iterable[str]:
    return [_COMPARED.format(file=file) for file in public_files(spec)]


def _passed(spec: Spec) -> Iterable[str]:
    synthesis = spec["synthesis"]
    return words_of(synthesis["guarantee"]).tells(synthesis)


def _within(spec: Spec) -> Iterable[str]:
    policy = spec.get("decision")
    if policy is None:
        return []
    said = [_EXACT.format(bounds=_bounds(policy["refuse_beyond"]))] if policy["refuse_beyond"] else []
    if policy["publish_within"] and not policy["always_ask"]:
        said.append(_ASKED.format(bounds=_bounds(policy["publish_within"])))
    return said


def _bounds(thresholds: Mapping[str, float]) -> str:
    """Thresholds in words; the spec's evaluation defines their figures."""
    return ", ".join(f"{bound.figure} {bound.words}" for bound in bounds_of(thresholds))


TOO_MANY_INVALID: Final = ExactStop("too many rows are invalid", _invalid)
TOO_MANY_LEFT_OUT: Final = ExactStop("too many rows are left out", _dropped)
UNREADABLE: Final = ExactStop("the source does not fit spec and schema", lambda _: [_READ])
NO_ROW: Final = ExactStop("no row is left", lambda _: [_A_ROW], since=3)
EMPTY_PART: Final = ExactStop("a part of the split is empty", _empty)
COPY_OF_SOURCE: Final = ExactStop("a public file is the source", _compared, since=3)
NOTHING_PASSED: Final = ExactStop("no candidate passed", _passed)
UNCHANGED: Final = ExactStop("the rows are unchanged", lambda spec: [_CHANGED] if spec.get("refresh") else [])
OUT_OF_BOUNDS: Final = ExactStop("figures are out of bounds", _within)
TOO_LARGE: Final = ExactStop("a resource is exhausted", lambda _: [_ENOUGH], since=3)

STOPS: Final = (
    TOO_MANY_INVALID,
    TOO_MANY_LEFT_OUT,
    UNREADABLE,
    NO_ROW,
    EMPTY_PART,
    COPY_OF_SOURCE,
    NOTHING_PASSED,
    UNCHANGED,
    OUT_OF_BOUNDS,
    TOO_LARGE,
)
"""All of them, in the order of a statement."""


def decided_exactly(stop: ExactStop, failure: Failure) -> Failure:
    """The failure of a step that exact figures decide: it names the stop, of which every statement speaks.

    Args:
        stop: one of `STOPS`.
        failure: the error to raise; its message quotes no figure.
    """
    if stop not in STOPS:
        raise ValueError(f"a stop must be one of those that statements list, got {stop.name}; add it to STOPS.")
    return failure


@dataclass(frozen=True)
class LeftOut:
    """A reason for which a row is left out; except for `of_a_person`, a row is judged by its own contents alone.

    Attributes:
        name: its name among the findings of a validation.
        rule: the reason, for readers.
        since: the version of statements that first lists it.
    """

    name: str
    rule: str
    since: int = 2


LEFT_OUT: Final = (
    LeftOut("out_of_universe", "rows that are not in the schema's universe, where it names one"),
    LeftOut("missing", "rows in which an attribute has no value, or a code that the schema says stands for none"),
    LeftOut(
        "invalid", "rows in which an attribute has a value that the schema does not list, or one outside its range"
    ),
    LeftOut("broken_rule", "rows that break a rule, or fail another test, that the schema declares", since=3),
    LeftOut("malformed", "rows with more or fewer fields than the table has columns"),
)
"""The reasons for which a row is left out of any release, in the order of a statement."""

_OF_A_PERSON = (
    "rows without {column}, and of the other rows with the same {column} all but {most}, chosen at random; which {are} "
    "kept depends on the rows of that person alone"
)


def of_a_person(person: Mapping[str, Any]) -> str:
    """The reason for which a row of a person is left out.

    Args:
        person: the people, as in the record.
    """
    most = person["most_records"]
    few = {"most": "one", "are": "one is"} if most == 1 else {"most": str(most), "are": "ones are"}
    return _OF_A_PERSON.format(column=person["column"], **few)
