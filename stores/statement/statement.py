"""The privacy statement of a release: what is guaranteed, to whom, with which parameters, and what is not guaranteed.

The statement is built from the spec and from the results of privacy accounting, never from the data, so it may be
public. Its vocabulary is that of NIST SP 800-226; its prose is in `templates/`. No figure is computed here.
"""

import math
import re
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, Environment, FileSystemLoader, StrictUndefined

from deniable.evaluation.subgroup_error import GROUPS, subgroup_error
from deniable.learners.registry import LEARNERS
from deniable.privacy.loss import VACUOUS_DELTA, VACUOUS_EPSILON, Guarantee
from deniable.privacy.neighbours import COMPUTATIONAL
from deniable.privacy.rounding import rounded_up
from deniable.record.publication_rules import publication, rows_left_out
from deniable.record.statement import (
    TRUST_MODEL,
    VERSION,
    certificate_in,
    choices,
    draws_in,
    most_records_in,
    noise_of,
    not_covered,
    of_each_person,
    relation_in,
)
from deniable.samplers.registry import words_of
from schemas.spec.accounts import Accounts, SpentSoFar
from schemas.spec.release_spec import ReleaseSpec
from stores.statement.lab_findings import lab_findings
from stores.statement.words import words_of_mechanisms

_PROOFS = {
    "none": "no theorem bounds it",
    "trivial": "nothing is guaranteed",
    "basic": "basic composition: epsilons and deltas add up",
    "earlier_release": "as the record of the release states that was charged for it",
    "advanced": "advanced composition",
    "zcdp": "zero-concentrated differential privacy",
    "pld": "privacy loss distributions",
    "calibrated": "noise calibrated to this budget",
    "parallel": "parallel composition: disjoint parts of the data, so the largest of their costs",
    "group_privacy": "group privacy: as many times the cost of one record as records of a person are used",
    "joint_split": "a secret random split: each record is assigned independently to at most one use",
    "theorem_1": "Theorem 1 of Bindschaedler, Shokri and Gunter 2017",
    "theorem_1_exact": "an exact form of Theorem 1 of Bindschaedler et al. 2017, our own proof, not peer-reviewed",
    "theorem_b": "Theorem B: noisy counts of prefixes, truncated at a threshold, our own proof, not peer-reviewed",
    "theorem_a": "Theorem A: every attempt counts, including one without a release, our own proof, not peer-reviewed",
}

_SAID = (
    "kind",
    "tested",
    "from_counts",
    "model",
    "total",
    "structure",
    "parameters",
    "record",
    "candidates",
    "histogram",
    "attempts",
    "joint",
    "adds_up",
    "draws",
)

_MARKUP = re.compile(r"([\\`*_\[\]<>|&#~])")

TEMPLATES = Environment(
    loader=ChoiceLoader([FileSystemLoader(Path(__file__).parent / "templates"), words_of_mechanisms()]),
    undefined=StrictUndefined,
    keep_trailing_newline=True,
    autoescape=False,  # noqa: S701 - Markdown from public values, not HTML
)


def as_text(text: str) -> str:
    """Escape text from outside so that Markdown shows it literally: nothing in it is markup, HTML or a link."""
    return _MARKUP.sub(r"\\\1", text)


TEMPLATES.filters["as_text"] = as_text


def statement(
    release_id: str, spec: ReleaseSpec, accounts: Accounts, so_far: SpentSoFar | None = None, *, approved: bool = False
) -> dict[str, Any]:
    """The machine-readable statement: privacy.json."""
    said: dict[str, Any] = {
        "statement": VERSION,
        "release": release_id,
        "title": spec.title,
        **relation_in(accounts.relation),
        **of_each_person(accounts.person_stated, VERSION),
        "model": {
            **(_figures(accounts.model_stated) or {}),
            "structure": _figures(accounts.structure),
            "parameters": _figures(accounts.parameters),
            "noise": noise_of(_document(spec)["learner"], _plain_steps(accounts)),
            "choices": choices(_plain_steps(accounts)),
        },
        "guarantee_of_records": accounts.kind,
        "split": {name: str(probability) for name, probability in spec.split.probabilities.items()},
        "steps": [
            {
                "step": step.step,
                "part": step.part,
                **(_figures(step.guarantee) or {}),
                "events": [event.to_record() for event in step.events],
            }
            for step in accounts.steps
        ],
        "total": _figures(accounts.total),
        "dataset_so_far": so_far
        and {
            **(_figures(so_far.spent) or {}),
            "releases": so_far.releases,
            **({"discoveries": so_far.discoveries} if so_far.discoveries else {}),
            "counted_against_the_budget": {
                "seed_cost": so_far.seed_cost,
                "epsilon": so_far.counted[0],
                "delta": so_far.counted[1],
            },
        },
        "trust_model": TRUST_MODEL,
        "rows_left_out": rows_left_out(_document(spec), accounts.person_stated, VERSION),
        "publication": publication(_document(spec), approved=approved, version=VERSION),
        "subgroup_error": _subgroup_error(accounts),
        "not_covered": list(not_covered(accounts.relation)),
    }
    if (certificate := certificate_in(_plain_steps(accounts))) is not None:
        said["model"]["certificate"] = certificate
    costs = {
        "record": _figures(accounts.record),
        "candidates": _figures(accounts.candidates),
        "histogram": _figures(accounts.histogram),
        "attempts": _figures(accounts.attempts),
        "draws": draws_in(_plain_steps(accounts)),
    }
    return said | words_of(accounts.kind).stated(_document(spec)["synthesis"], costs)


def spent_so_far_in(said: Mapping[str, Any]) -> SpentSoFar | None:
    """What a machine-readable statement states about all releases of the dataset together."""
    so_far = said["dataset_so_far"]
    if so_far is None:
        return None
    epsilon, counted = so_far["epsilon"], so_far["counted_against_the_budget"]
    return SpentSoFar(
        releases=so_far["releases"],
        spent=Guarantee(math.inf if epsilon is None else epsilon, so_far["delta"], so_far["accountant"]),
        counted=(counted["epsilon"], counted["delta"]),
        seed_cost=counted["seed_cost"],
        discoveries=so_far.get("discoveries", 0),
    )


def statement_in_words(
    release_id: str, spec: ReleaseSpec, accounts: Accounts, so_far: SpentSoFar | None = None, *, approved: bool = False
) -> str:
    """The statement for people: PRIVACY.md."""
    return TEMPLATES.get_template("PRIVACY.md.jinja").render(
        _said_of(accounts),
        title=spec.title,
        release=release_id,
        not_covered=not_covered(accounts.relation),
        adversary=COMPUTATIONAL,
        noise=noise_of(_document(spec)["learner"], _plain_steps(accounts)),
        learner=spec.learner.kind,
        entry=spec.learner,
        learners=LEARNERS,
        choices=choices(_plain_steps(accounts)),
        certificate=certificate_in(_plain_steps(accounts)),
        trust_model=TRUST_MODEL,
        left_out=rows_left_out(_document(spec), accounts.person_stated, VERSION),
        lab=lab_findings(spec.learner.kind, spec.synthesis.guarantee),
        published=publication(_document(spec), approved=approved, version=VERSION),
        errors=_subgroup_error(accounts),
        groups=GROUPS,
        **words_of(accounts.kind).shown(_document(spec)["synthesis"]),
        percent=_percent,
        synthesis=spec.synthesis,
        shared=spec.split.probabilities.get("shared"),
        drawn=draws_in(_plain_steps(accounts)),
        so_far=so_far,
        vacuous_epsilon=f"{VACUOUS_EPSILON:g}",
        vacuous_delta=f"{VACUOUS_DELTA:g}",
    )


def statement_in_short(accounts: Accounts) -> str:
    """The statement in a few sentences."""
    return TEMPLATES.get_template("in_short.md.jinja").render(_said_of(accounts))


def _said_of(accounts: Accounts) -> dict[str, Any]:
    """The accounts as variables of the templates."""
    said = {name: getattr(accounts, name) for name in _SAID}
    return {
        **said,
        "relation": accounts.relation,
        "why_none": accounts.why_none,
        "words": in_words,
        "proof": proof_in_words,
        "number": _number,
        "number_of": number_of,
        "number_up": rounded_up,
    }


def in_words(guarantee: Guarantee) -> str:
    """A guarantee as part of a sentence, marked as vacuous if it is."""
    said = f"epsilon = {rounded_up(guarantee.epsilon)}, delta = {rounded_up(guarantee.delta)}"
    return f"{said} (vacuous)" if guarantee.is_vacuous else said


def proof_in_words(guarantee: Guarantee) -> str:
    """How a guarantee was proved."""
    return "; ".join(_PROOFS.get(name, name) for name in guarantee.accountant.split(" + "))


def _number(value: Fraction | int) -> str:
    """A parameter to six significant digits."""
    return f"{value:,}" if isinstance(value, int) else f"{float(value):g}"


def number_of(number: int, noun: str) -> str:
    """A number of things: 1 choice, 3 choices."""
    return f"{_number(number)} {noun}{'' if number == 1 else 's'}"


def _document(spec: ReleaseSpec) -> dict[str, Any]:
    """The spec in the form of the record."""
    document: dict[str, Any] = spec.model_dump(mode="json", fallback=str, exclude={"source"})
    return document


def _plain_steps(accounts: Accounts) -> list[dict[str, Any]]:
    """The costs of the steps in the form of the record."""
    return [
        {
            "step": step.step,
            "probability": str(step.probability),
            "events": [event.to_record() for event in step.events],
            "guarantee": _figures(step.guarantee),
        }
        for step in accounts.steps
    ]


def _subgroup_error(accounts: Accounts) -> dict[str, Any]:
    """The errors of small groups' counts."""
    most = most_records_in(accounts.person_stated)
    return subgroup_error(_plain_steps(accounts), most_records=most, from_counts=accounts.from_counts)


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _figures(guarantee: Guarantee | None) -> dict[str, Any] | None:
    """Epsilon and delta for JSON, which has no infinity."""
    if guarantee is None:
        return None
    epsilon = guarantee.epsilon if math.isfinite(guarantee.epsilon) else None
    return {
        "epsilon": epsilon,
        "delta": guarantee.delta,
        "vacuous": guarantee.is_vacuous,
        "accountant": guarantee.accountant,
    }
