"""What the publication of a release itself discloses, and which rows its spec excludes.

Unless stated, no epsilon covers it. Everything follows from the spec: no number of rows is stated or needed.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from deniable.samplers.registry import words_of

NOBODY = "nobody: it publishes by itself, whatever was measured of utility and risk"
APPROVED = "the person who approved it, as the record says, and who may have seen figures of the real records"
PERSON = "a person, who is asked whatever was measured, and may see figures of the real records"
EXACT = "exact figures of the real records, and a person where they leave it open"

RULES = (
    "rows that are not in the schema's universe, where it names one",
    "rows in which an attribute has no value, or a code that the schema says stands for none",
    "rows in which an attribute has a value that the schema does not list, or one outside its range",
    "rows with more or fewer fields than the table has columns",
)
"""The excluded rows; each row is judged only on its own content."""

_OF_A_PERSON = (
    "rows without {column}, and of the other rows with the same {column} all but {most}, chosen at random; which {are} "
    "kept depends on the rows of that person alone"
)
_INVALID = "At most {share:g} of the rows in scope were invalid, counted exactly; with more, it would have stopped."
_READ = "The source could be read as spec and schema say, and the schema's code ran on it; else it would have stopped."
_DROPPED = (
    "At most {share:g} of the rows in scope were left out, because they were invalid or had no value for an attribute, "
    "counted exactly; with more, it would have stopped."
)
_NOT_MEASURED = (
    "Its learner had a record to read; else it would have stopped. No record was held out, so that utility was not "
    "measured on held-out records, and risk was not measured."
)
_PUBLICLY = (
    "Its learner had a record to read; else it would have stopped. No record was held out: utility was measured on the "
    "public table {file} with the SHA-256 {sha256} and on no confidential record, and risk was not measured."
)
_NONE_EMPTY = "No part of the split was empty, and utility and risk could be measured; else it would have stopped."
_CHANGED = "It may come of a refresh, which publishes only if the rows are not exactly those of an earlier release."
_EXACT = "Exact figures of the real records were within bounds: {bounds}."
_ASKED = "Unless a person approved it, which the record says, exact figures were within bounds: {bounds}."
_SIDES = {"max": "at most", "min": "at least"}


def rows_left_out(spec: Mapping[str, Any], person: Mapping[str, Any] | None) -> dict[str, Any]:
    """The rules by which rows are excluded from a release.

    Args:
        spec: the spec, as the record has it.
        person: the people, as in the record, if the table may have several records of each; otherwise None.
    """
    of_people = [] if person is None else [_of_a_person(person)]
    return {
        "rules": [*RULES, *of_people],
        **{name: share for name, (share, _) in _limits(spec).items()},
        "number": "not stated: it is measured without noise",
    }


def _of_a_person(person: Mapping[str, Any]) -> str:
    most = person["most_records"]
    few = {"most": "one", "are": "one is"} if most == 1 else {"most": str(most), "are": "ones are"}
    return _OF_A_PERSON.format(column=person["column"], **few)


def _limits(spec: Mapping[str, Any]) -> dict[str, tuple[float, str]]:
    """The limits on omitted rows: the share and its sentence, by name."""
    known = {
        "largest_share_of_invalid_rows": (spec.get("max_invalid_share"), _INVALID),
        "largest_share_of_rows_left_out": (spec.get("max_dropped_share"), _DROPPED),
    }
    return {name: (float(Fraction(share)), said) for name, (share, said) in known.items() if share is not None}


def publication(spec: Mapping[str, Any], *, approved: bool = False) -> dict[str, Any]:
    """What the fact of publication discloses about the real records, outside any epsilon.

    Args:
        spec: the spec, as the record has it.
        approved: whether a person approved the release; without a policy, this happens if noise hides most of it.
    """
    policy, synthesis = spec.get("decision"), spec["synthesis"]
    by_itself = policy is not None and bool(policy["publish_within"]) and not policy["always_ask"]
    exact = policy is not None and (by_itself or bool(policy["refuse_beyond"]))
    is_evaluated = Fraction(spec["split"]["holdout"]) > 0
    tells = [said.format(share=share) for share, said in _limits(spec).values()]
    public = spec.get("evaluation", {}).get("public")
    not_held_out = _NOT_MEASURED if public is None else _PUBLICLY.format(file=public["file"], sha256=public["sha256"])
    tells += [_READ, _NONE_EMPTY if is_evaluated else not_held_out]
    tells += words_of(synthesis["guarantee"]).tells(synthesis)
    if spec.get("refresh") is not None:
        tells.append(_CHANGED)
    if policy is not None and policy["refuse_beyond"]:
        tells.append(_EXACT.format(bounds=_bounds(policy["refuse_beyond"])))
    if policy is not None and by_itself:
        tells.append(_ASKED.format(bounds=_bounds(policy["publish_within"])))
    alone = APPROVED if approved else NOBODY
    return {"decided_by": alone if policy is None else EXACT if exact else PERSON, "tells": tells}


def _bounds(thresholds: Mapping[str, float]) -> str:
    """Thresholds in words; the spec's evaluation defines their figures."""
    parts = [(*name.rpartition("_"), bound) for name, bound in thresholds.items()]
    return ", ".join(f"{figure} {_SIDES[side]} {bound:g}" for figure, _, side, bound in parts)
