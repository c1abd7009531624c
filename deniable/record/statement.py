"""The required content of the machine-readable statement, privacy.json, derived from a release's record.

The statement restates the record in the vocabulary of NIST SP 800-226, and each of its figures follows from the
record's costs, its spec and its domain. Verifying the record's costs does not belong here
(deniable.verification.cost); the statement for human readers is prose, and is signed as text.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import inf, sqrt
from typing import Any

from deniable.evaluation.subgroup_error import subgroup_error
from deniable.learners.registry import relation_of
from deniable.privacy.common_events import CERTIFICATE
from deniable.privacy.loss import Guarantee, noise_in_words
from deniable.privacy.neighbours import COMPUTATIONAL, ORIGIN, RECORD, Relation
from deniable.record.publication_rules import publication, rows_left_out
from deniable.roles import Role
from deniable.samplers.registry import words_of

VERSION = 4
"""Version of new statements; statements of earlier versions are checked against the rules of their version."""
_FIRST, _SECOND, _THIRD = 1, 2, 3
_OF_ONE_RECORD = "events, their noise, their sensitivities and the epsilon of one choice"
_OF_ONE_BEFORE_FOURTH = "events, their noise and their sensitivities"
OF_EACH_PERSON = (
    "by group privacy: {events} are for one record, and the costs of steps, model and release are for a person with "
    "all records that are used; {most} times the epsilon of one record, and up to {most} e^({less} epsilon) times its "
    "delta"
)
"""How the costs of a release of which several records of each person are used follow from its events."""
DEFINITION = "(epsilon, delta)-differential privacy"
NO_DEFINITION = "none: this release has no differential privacy"
TRUST_MODEL = (
    "central: a curator holds the records as they are; whoever runs the release, its machine and its keys is trusted "
    "to have drawn noise and records as the signed record says; whoever gets the release need not be trusted"
)
_TRUST_MODEL_OF_SECOND = (
    "central: a curator holds the records as they are; whoever runs the release, its machine and its keys is trusted "
    "to have added the noise that the signed record names; whoever gets the release need not be trusted"
)
_WRONG_UNIT = (
    f"privacy_unit is {RECORD.unit}, but this release protects {ORIGIN.unit} alone, and neither presence nor "
    "destination; its pages say otherwise, so tell those who have it, or release again"
)
_FREE = {"epsilon": 0.0, "delta": 0.0, "accountant": "basic"}

SO_FAR = "dataset_so_far"
"""The total of all releases of the dataset: it follows from the ledger, not from the record."""
PROSE = "not_covered"
"""What is not covered, as prose."""
WITHOUT_LEDGER = (
    "Other releases by the same producers: no ledger was charged, and nothing adds up their costs.",
    "The origin of this release: nothing is signed, and nothing records who made it, from which table or when.",
)
"""What is not known of a release that the library made."""
_OF_LIBRARY = {
    "rows_left_out": {
        "rules": [
            "a row with a value outside the schema, by itself, if the caller chose that; otherwise it stops the fit"
        ],
        "number": "not stated: it is measured without noise",
    },
    "publication": {
        "decided_by": "its producers: the library publishes nothing by itself",
        "tells": ["that no value was outside the schema, unless such rows are left out: such a value stops the fit"],
    },
}
OF_EVERY_RELEASE = tuple(
    """\
Records that depend on each other, such as those of one household. What one record reveals about another is not \
protected.
What is learnt about the population. An association between two attributes is found with or without any one person's \
record.
Other releases made from the same records. Their costs add up if they have the same privacy unit; the ledger adds them \
only as far as it knows that the records are the same.
The fact that the release was published, and the time of its publication. Stops that exact counts of the real records \
decide are on by default and lie outside epsilon; PRIVACY.md lists them.
The schema and the parameters of this release, with the public files and totals that they name. They are treated as \
public and must not be made or chosen by looking at the records.
The schema's own code. It must process one row at a time; the only assurance that it does so is the word of its \
authors.
Utility and risk as the producers measured them on real records. These figures contain no noise; they are for cleared \
staff and are not in this release.
Side channels: the time, the memory and the power that the machines used to make the release.
An adversary with unlimited computing power. All random numbers are derived from the release key by ChaCha20 and \
HMAC-SHA256: anyone who breaks one of them may undo the randomness.
The release key. Anyone who holds it can undo the randomness.
Errors in the program. The proofs are about what the program should do; that it does so is tested, not proved.
The producers of the release. They hold the records, and this folder cannot show that they did what the record \
states.
""".splitlines()
)
"""What no guarantee covers, whatever its neighbouring relation is."""


def differences(stated: Mapping[str, Any], record: Mapping[str, Any]) -> Iterator[str]:
    """The figures of a statement that do not follow from a record.

    Args:
        stated: the statement, as in JSON.
        record: the record's predicate, in the shape of records.
    """
    expected = _EXPECTED.get(stated.get("statement"), expected_statement)(record)
    rest = {name: value for name, value in stated.items() if name not in (SO_FAR, PROSE)}
    yield from _differences("", rest, expected)
    yield from faults_of_unit(stated, record)
    prose = stated.get(PROSE)
    if not isinstance(prose, list) or not prose or not all(isinstance(line, str) and line for line in prose):
        yield f"{PROSE} must be a list of sentences"
    if SO_FAR not in stated:
        yield f"{SO_FAR} is missing"


def not_covered(relation: Relation) -> tuple[str, ...]:
    """What the guarantee of a release does not cover.

    Args:
        relation: its neighbouring relation.
    """
    return *relation.not_covered, *(OF_EVERY_RELEASE if relation.is_guarantee else ())


def stated_without_ledger(record: Mapping[str, Any]) -> dict[str, Any]:
    """The whole statement of a release that the library made, for which no ledger was charged.

    Args:
        record: what is known of the release, in the shape of a record's predicate.
    """
    expected = expected_statement({**record, "people": {"approval": None}})
    return {**expected, **_OF_LIBRARY, SO_FAR: None, PROSE: [*WITHOUT_LEDGER, *not_covered(_relation_of(record))]}


def differences_without_ledger(stated: Mapping[str, Any], record: Mapping[str, Any]) -> Iterator[str]:
    """The figures of such a statement that do not follow; see `differences`."""
    figures_of, expected = ({**each, PROSE: []} for each in (stated, stated_without_ledger(record)))
    yield from _differences("", figures_of, expected)
    if not stated.get(PROSE):
        yield f"{PROSE} must say what is not covered, and does not"


def faults_of_unit(stated: Mapping[str, Any], record: Mapping[str, Any]) -> list[str]:
    """The fault of statements of versions 1 and 2 that origins alone are protected; empty for all others.

    Args:
        stated: the statement, as in JSON.
        record: the record's predicate, in the shape of records.
    """
    return [_WRONG_UNIT] if stated.get("statement") in (_FIRST, _SECOND) and _relation_of(record) == ORIGIN else []


def figures(spent: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """A guarantee of the record, in the form of the statement."""
    if spent is None:
        return None
    guarantee = guarantee_of(spent)
    return {
        "epsilon": spent["epsilon"],
        "delta": spent["delta"],
        "vacuous": guarantee.is_vacuous,
        "accountant": spent["accountant"],
    }


def guarantee_of(spent: Mapping[str, Any]) -> Guarantee:
    """A guarantee of the record, without infinity, which JSON cannot state."""
    epsilon = spent["epsilon"]
    return Guarantee(inf if epsilon is None else epsilon, spent["delta"], spent["accountant"])


def of_each_person(person: Mapping[str, Any] | None, version: int) -> dict[str, Any]:
    """How many records of each person are used, and how costs follow; empty if it is one.

    Args:
        person: the people, as in the record, if the table may have several records of each; otherwise None.
        version: the version of the statement.
    """
    most = most_records_in(person)
    if most == 1:
        return {}
    events = _OF_ONE_RECORD if version > _THIRD else _OF_ONE_BEFORE_FOURTH
    costs = OF_EACH_PERSON.format(events=events, most=most, less=most - 1)
    return {"of_each_person": {"most_records": most, "costs": costs}}


def most_records_in(person: Mapping[str, Any] | None) -> int:
    """The most records of one person that are used.

    Args:
        person: the people, as in the record, if the table may have several records of each; otherwise None.
    """
    return 1 if person is None else int(person["most_records"])


def choices(steps: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """The choices by the exponential mechanism; None if there are none.

    Args:
        steps: the costs of the steps, as in the record.
    """
    made = [(step["step"], event) for step in steps for event in step["events"] if event["mechanism"] == "exponential"]
    if not made:
        return None
    of_graph = {step for step, _ in made} == {Role.STRUCTURE}
    return {
        "mechanism": "exponential mechanism",
        "of": "which tables of several attributes are counted; the number is the most that there may be",
        "number": sum(event["outputs"] for _, event in made),
        "epsilon_of_one": max(_number(event["epsilon_per_choice"]) for _, event in made),
        "charged": "within the structure" if of_graph else "within the parameters",
    }


def certificate_in(steps: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """The number that bounds the error of the model; None if there is none.

    Args:
        steps: the costs of the steps, as in the record.
    """
    made = [event for step in steps for event in step["events"] if event["query"] == CERTIFICATE]
    if not made:
        return None
    [event] = made
    gaussian = event["mechanism"] == "discrete_gaussian"
    return {
        "of": event["query"],
        "sensitivity": event["sensitivity"],
        "noise": noise_in_words("gaussian" if gaussian else "laplace"),
        "noise_sd": float(f"{_deviation(event):.3g}"),
        "charged": "within the parameters",
    }


def _deviation(event: Mapping[str, Any]) -> float:
    """The standard deviation of an event's noise, accurate at scales far above 1."""
    gaussian = event["mechanism"] == "discrete_gaussian"
    return sqrt(Fraction(event["variance"])) if gaussian else sqrt(2) * _number(event["scale"])


def expected_statement(record: Mapping[str, Any]) -> dict[str, Any]:
    """The statement that follows from a record, apart from prose and figures that follow from the ledger."""
    person, steps = record["schema"].get("person"), record["cost"]["steps"]
    errors = subgroup_error(steps, most_records=most_records_in(person), from_counts=draws_in(steps) is not None)
    return {**_expected_since_third(record, VERSION), **of_each_person(person, VERSION), "subgroup_error": errors}


def _expected_third(record: Mapping[str, Any]) -> dict[str, Any]:
    """The statement of version 3 that follows from a record."""
    return _expected_since_third(record, _THIRD)


def _expected_since_third(record: Mapping[str, Any], version: int) -> dict[str, Any]:
    """The content common to statements of all versions but the first two."""
    said = _expected_since_second(record, version)
    return {**said, **relation_in(_relation_of(record)), "trust_model": TRUST_MODEL}


def relation_in(relation: Relation) -> dict[str, Any]:
    """What a statement says about the neighbouring relation of its guarantee."""
    return {
        "privacy_unit": relation.unit,
        "neighbouring_relation": relation.neighbouring,
        "hides": relation.hidden or None,
        "definition": DEFINITION if relation.is_guarantee else NO_DEFINITION,
        "adversary": COMPUTATIONAL if relation.is_guarantee else None,
        **({"sampling": relation.sampling} if relation.sampling else {}),
    }


def _relation_of(record: Mapping[str, Any]) -> Relation:
    return relation_of(record["spec"]["document"]["learner"], record["schema"].get("person"))


def _expected_second(record: Mapping[str, Any]) -> dict[str, Any]:
    """The statement of version 2 that follows from a record."""
    return _expected_since_second(record, _SECOND)


def _expected_since_second(record: Mapping[str, Any], version: int) -> dict[str, Any]:
    """The content common to statements of all versions but the first."""
    cost, spec = record["cost"], record["spec"]["document"]
    said = {**_of_every_version(record), "statement": version, **stated_of_records(cost, spec["synthesis"])}
    if version > _SECOND and (draws_in(cost["steps"]) is not None or _relation_of(record).why_none):
        # Records drawn from exact counts have no model, and so none with a cost; a model without noise claims none.
        for name in figures(_FREE) or {}:
            del said["model"][name]
    said["model"]["choices"] = choices(cost["steps"])
    if (certificate := certificate_in(cost["steps"])) is not None:
        said["model"]["certificate"] = certificate
    return {
        **said,
        "trust_model": _TRUST_MODEL_OF_SECOND,
        "rows_left_out": rows_left_out(spec, record["schema"].get("person"), version),
        "publication": publication(spec, approved=record["people"]["approval"] is not None, version=version),
        "subgroup_error": subgroup_error(cost["steps"]),
    }


def stated_of_records(cost: Mapping[str, Any], synthesis: Mapping[str, Any]) -> dict[str, Any]:
    """The statement about the records, by their sampler.

    Args:
        cost: the record's cost.
        synthesis: the spec's entry, as in the record.
    """
    costs = {
        "record": _of_steps(cost, "record"),
        "candidates": _of_steps(cost, "guarantee", Role.CANDIDATES),
        "histogram": _of_steps(cost, "guarantee", Role.HISTOGRAM),
        "attempts": _of_steps(cost, "guarantee", Role.ATTEMPTS),
        "draws": draws_in(cost["steps"]),
    }
    return words_of(cost["kind"]).stated(synthesis, costs)


def draws_in(steps: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """The draws from exact counts: their number, the cost of one, and the total; None if there are none.

    Args:
        steps: the costs of the steps, as in the record.
    """
    step = next((each for each in steps if each["step"] == Role.DRAWS), None)
    if step is None:
        return None
    events = step["events"]
    return {
        "number": sum(event["outputs"] for event in events),
        "epsilon_of_one": max((_number(event["epsilon_per_output"]) for event in events), default=0.0),
        "delta_of_one": max((_number(event["delta_per_output"]) for event in events), default=0.0),
        "together": figures(step["guarantee"]),
    }


def _of_steps(cost: Mapping[str, Any], name: str, step: str | None = None) -> dict[str, Any] | None:
    """A cost of the step with a name, or of the first step that states it."""
    found = (each[name] for each in cost["steps"] if (each["step"] == step if step is not None else each[name]))
    return figures(next(found, None))


def _expected_first(record: Mapping[str, Any]) -> dict[str, Any]:
    """The statement of version 1 that follows from a record."""
    cost, synthesis = record["cost"], record["spec"]["document"]["synthesis"]
    said = stated_of_records(cost, synthesis)
    if "released_record" in said:
        said["plausible_deniability"].pop("fewer_than_k", None)
        record_cost = _of_steps(cost, "record")
        said["released_record"] = record_cost and {**record_cost, "t": cost.get("record_t")}
    return {**_of_every_version(record), **said}


def _of_every_version(record: Mapping[str, Any]) -> dict[str, Any]:
    """The content common to statements of all versions."""
    cost, spec = record["cost"], record["spec"]["document"]
    return {
        "statement": _FIRST,
        "release": record["release"]["id"],
        "title": record["release"]["title"],
        **relation_before_third(_relation_of(record)),
        **of_each_person(record["schema"].get("person"), _FIRST),
        "model": {
            **(figures(cost["model"]) or {}),
            "structure": _of_steps(cost, "guarantee", Role.STRUCTURE),
            "parameters": None
            if _relation_of(record).why_none
            else _of_steps(cost, "guarantee", Role.PARAMETERS) or figures(_FREE),
            "noise": noise_of(spec["learner"], cost["steps"]),
        },
        "guarantee_of_records": cost["kind"],
        "split": cost["split"],
        "steps": [
            {
                "step": step["step"],
                "part": step["part"],
                **(figures(step["guarantee"]) or {}),
                "events": step["events"],
            }
            for step in cost["steps"]
        ],
        "total": figures(cost["total"]),
    }


def relation_before_third(relation: Relation) -> dict[str, str]:
    """What statements of versions 1 and 2 stated about the relation: every unit but a person's was called a record."""
    known = relation if relation.is_guarantee else RECORD
    return {
        "privacy_unit": known.unit if known.kind == "person" else RECORD.unit,
        "neighbouring_relation": known.neighbouring,
        "definition": DEFINITION,
    }


def noise_of(learner: Mapping[str, Any], steps: Sequence[Mapping[str, Any]]) -> str | None:
    """The noise with which the model was learnt, in words; None if the learner reads nothing and adds none.

    Args:
        learner: the spec's entry, as in the record; if it leaves the noise open, the learner's events determine it.
        steps: the costs of the steps, as in the record.
    """
    asked = learner.get("noise")
    if asked == "auto":
        made = [event["mechanism"] for step in steps if step["step"] == Role.PARAMETERS for event in step["events"]]
        asked = "gaussian" if "discrete_gaussian" in made else "laplace"
    return None if asked is None else noise_in_words(asked)


_EXPECTED: Mapping[Any, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    _FIRST: _expected_first,
    _SECOND: _expected_second,
    _THIRD: _expected_third,
}


def _number(exact: str) -> float:
    return float(Fraction(exact))


def _differences(place: str, stated: object, expected: object) -> Iterator[str]:
    if isinstance(expected, Mapping) and isinstance(stated, Mapping):
        for name in expected:
            if name in stated:
                yield from _differences(_inside(place, name), stated[name], expected[name])
            else:
                yield f"{_inside(place, name)} is missing"
        yield from (f"{_inside(place, name)} is unknown" for name in stated if name not in expected)
    elif isinstance(expected, list) and isinstance(stated, list):
        if len(stated) != len(expected):
            yield f"{place} has {len(stated)} members, but the record {len(expected)}"
        for number, (one, other) in enumerate(zip(stated, expected, strict=False)):
            label = other["step"] if isinstance(other, Mapping) and "step" in other else number
            yield from _differences(f"{place}[{label}]", one, other)
    elif isinstance(stated, bool) != isinstance(expected, bool) or stated != expected:
        yield f"{place} is {_shown(stated)}, but the record gives {_shown(expected)}"


def _inside(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


def _shown(value: object) -> str:
    """A value in a sentence."""
    if isinstance(value, Mapping) or (isinstance(value, Sequence) and not isinstance(value, str)):
        return "something else"
    return "none" if value is None else str(value)
