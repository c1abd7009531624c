"""What the statement for machines, privacy.json, must say, worked out from a release's record.

The statement says the same as the record in the vocabulary of NIST SP 800-226, and each of its figures follows from the
record's costs, its spec and its domain. Whether the record's own costs hold does not belong here (cost_verification);
the statement for people is prose, and is signed as it stands.
"""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import inf
from typing import Any

from deniable.deniability import fewest_seeds
from deniable.loss import Guarantee
from deniable.published_how import publication, rows_left_out
from deniable.subgroup_error import subgroup_error

VERSION = 2
"""Version of the statement that is written; statements of version 1 are held against what they had to say."""
_FIRST = 1
PRIVACY_UNIT = "one record"
NEIGHBOURING_RELATION = "one is the other with one record added or removed"
DEFINITION = "(epsilon, delta)-differential privacy"
TRUST_MODEL = (
    "central: a curator holds the records as they are; whoever runs the release, its machine and its keys is trusted "
    "to have added the noise that the signed record names; whoever gets the release need not be trusted"
)
ATTEMPT = (
    "one attempt, which ends with a record or with none, as far as records are concerned; of a record that is known to "
    "have been released, delta is up to (1 + 1 / n0) delta / p and epsilon up to ln(1 + 1 / n0) more, where n0 is the "
    "public number of places that seeds are drawn from at least and p, which depends on the confidential records and "
    "is not stated, the smaller of the probabilities, with either of two neighbouring tables, that an attempt ends "
    "with a record"
)
PASSES = "exp(-eps0 j) / (1 + exp(-eps0))"
"""Probability with which a candidate of k - j plausible seeds passes privacy test 2, j at least 1."""

KEPT_PREFIXES = "those that begin with a prefix of the histogram; the others are drawn from the model alone"
"""Of which records plausible seeds are promised where the mass that the threshold took is given back."""

SO_FAR = "dataset_so_far"
"""What all releases of the dataset come to: it follows from the ledger, not from the record."""
PROSE = "not_covered"
"""What is not covered, in words."""


def differences(stated: Mapping[str, Any], record: Mapping[str, Any]) -> Iterator[str]:
    """Say, figure by figure, where a statement is not what follows from a record.

    Args:
        stated: the statement, as JSON has it.
        record: the record's predicate, of the shape that records have.
    """
    expected = _expected_first(record) if stated.get("statement") == _FIRST else _expected(record)
    rest = {name: value for name, value in stated.items() if name not in (SO_FAR, PROSE)}
    yield from _differences("", rest, expected)
    prose = stated.get(PROSE)
    if not isinstance(prose, list) or not prose or not all(isinstance(line, str) and line for line in prose):
        yield f"{PROSE} must be a list of sentences"
    if SO_FAR not in stated:
        yield f"{SO_FAR} is missing"


def figures(spent: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """A guarantee of the record as the statement has it."""
    if spent is None:
        return None
    guarantee = guarantee_of(spent)
    return {
        "epsilon": spent["epsilon"],
        "delta": spent["delta"],
        "vacuous": guarantee.is_vacuous,
        "accountant": spent["accountant"],
    }


def noise_in_words(noise: str) -> str:
    """Which noise was added, and how it was drawn."""
    return f"discrete {noise.capitalize()}, drawn exactly in integers"


def guarantee_of(spent: Mapping[str, Any]) -> Guarantee:
    """A guarantee of the record; JSON knows no infinity."""
    epsilon = spent["epsilon"]
    return Guarantee(inf if epsilon is None else epsilon, spent["delta"], spent["accountant"])


def choices(steps: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """The choices that are made by the exponential mechanism; None where none are.

    Args:
        steps: the costs of the steps, as the record has them.
    """
    made = [event for step in steps for event in step["events"] if event["mechanism"] == "exponential"]
    if not made:
        return None
    return {
        "mechanism": "exponential mechanism",
        "of": "which tables of several attributes are counted; the number is the most that there may be",
        "number": sum(event["outputs"] for event in made),
        "epsilon_of_one": max(_number(event["epsilon_per_choice"]) for event in made),
        "charged": "within the parameters",
    }


def seeds_below_k(synthesis: Mapping[str, Any]) -> dict[str, Any]:
    """How many plausible seeds a record that passed privacy test 2 may have had, where that may be fewer than k.

    Args:
        synthesis: the spec's, as the record has it.
    """
    probability = _number(synthesis["total_delta"])
    least = fewest_seeds(
        k=synthesis["k"],
        eps0=Fraction(synthesis["eps0"]),
        candidates=synthesis["candidates"],
        probability=probability,
    )
    every = None if least is None else {"plausible_seeds": least, "except_with_probability": probability}
    return {"passes_with_k_minus_j": PASSES, "every_record": every}


def _expected(record: Mapping[str, Any]) -> dict[str, Any]:
    """The statement that follows from a record, but for what follows from the ledger and for prose."""
    cost, spec = record["cost"], record["spec"]["document"]
    said = {**_expected_first(record), "statement": VERSION}
    said["model"]["choices"] = choices(cost["steps"])
    if said.get("released_record") is not None:
        attempted = {name: value for name, value in said["released_record"].items() if name != "t"}
        said["released_record"] = {**attempted, "of": ATTEMPT}
        said["plausible_deniability"]["fewer_than_k"] = seeds_below_k(spec["synthesis"])
    return {
        **said,
        "trust_model": TRUST_MODEL,
        "rows_left_out": rows_left_out(spec),
        "publication": publication(spec),
        "subgroup_error": subgroup_error(spec["learner"]["kind"], cost["steps"]),
    }


def _expected_first(record: Mapping[str, Any]) -> dict[str, Any]:
    """The statement of version 1 that follows from a record, which all later ones hold."""
    cost, spec = record["cost"], record["spec"]["document"]
    return {
        "statement": _FIRST,
        "release": record["release"]["id"],
        "title": record["release"]["title"],
        "privacy_unit": PRIVACY_UNIT,
        "neighbouring_relation": NEIGHBOURING_RELATION,
        "definition": DEFINITION,
        "model": {
            **(figures(cost["model"]) or {}),
            "structure": figures(cost["structure"]),
            "parameters": figures(cost["parameters"]),
            "noise": noise_in_words(_noise(spec["learner"]["noise"], cost["steps"])),
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
        **_OF_RECORDS[cost["kind"]](cost, spec["synthesis"]),
    }


def _tested(cost: Mapping[str, Any], synthesis: Mapping[str, Any]) -> dict[str, Any]:
    record = figures(cost["record"])
    return {
        "plausible_deniability": {
            "privacy_test": synthesis["test"],
            "k": synthesis["k"],
            "gamma": _number(synthesis["gamma"]),
            "eps0": _number(synthesis["eps0"]) if record else None,
            "resampled_attributes": synthesis["omega"],
            "drop_probability": _number(synthesis["drop_probability"]),
            "public_lower_bound_on_seeds": synthesis["public_rows"],
        },
        "released_record": record and {**record, "t": cost["record_t"]},
        "candidates": {"tested": synthesis["candidates"], **(figures(cost["candidates"]) or {})},
    }


def _histogram(cost: Mapping[str, Any], synthesis: Mapping[str, Any]) -> dict[str, Any]:
    promised = synthesis["k"] is not None
    return {
        "histogram": {
            **(figures(cost["histogram"]) or {}),
            "resampled_attributes": synthesis["omega"],
            "noise": noise_in_words("laplace"),
            "plausible_seeds": {
                "k": synthesis["k"],
                "except_with_probability": _number(synthesis["beta"]),
                "up_to_rows": synthesis["max_rows"],
                **({} if synthesis["epsilon_rows"] is None else {"of_records": KEPT_PREFIXES}),
            }
            if promised
            else None,
        }
    }


def _seedless(_: Mapping[str, Any], __: Mapping[str, Any]) -> dict[str, Any]:
    return {}


_OF_RECORDS = {"tested_seeds": _tested, "histogram_seeds": _histogram, "seedless": _seedless}


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
            yield f"{place} has {len(stated)} members, and the record {len(expected)}"
        for number, (one, other) in enumerate(zip(stated, expected, strict=False)):
            label = other["step"] if isinstance(other, Mapping) and "step" in other else number
            yield from _differences(f"{place}[{label}]", one, other)
    elif isinstance(stated, bool) != isinstance(expected, bool) or stated != expected:
        yield f"{place} is {_shown(stated)}, and the record makes it {_shown(expected)}"


def _inside(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


def _shown(value: object) -> str:
    """A value in a sentence."""
    if isinstance(value, Mapping) or (isinstance(value, Sequence) and not isinstance(value, str)):
        return "something else"
    return "none" if value is None else str(value)


def _noise(asked: str, steps: Sequence[Mapping[str, Any]]) -> str:
    """Which noise the model was learnt with; where the spec leaves that open, the learner's events say it."""
    if asked != "auto":
        return asked
    learnt = [event["mechanism"] for step in steps if step["step"] == "learn_parameters" for event in step["events"]]
    return "gaussian" if "discrete_gaussian" in learnt else "laplace"
