"""The learners, by their name in a spec. A new learner is a folder and a line here.

Folders are imported on demand, so that verifying a release needs no learner's compiled code.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from deniable.foundation.domain import Domain
from deniable.foundation.errors import InvalidInput
from deniable.learners.certificate_costs import with_certificate
from deniable.privacy.loss import Guarantee, MechanismEvent
from deniable.privacy.neighbours import RECORD, Relation, of_people
from deniable.privacy.planned import Delta, Document, ExpectedStep, Planned

if TYPE_CHECKING:
    from deniable.learners.entry import LearnerEntry
    from deniable.mechanisms import ChargedDraws, Counter, PartDelta, PlannedStep
    from deniable.privacy.step_costs import StepCost

LEARNERS: Final = (
    "loglinear",
    "cfs",
    "marginals",
    "uniform",
    "independent",
    "privbayes",
    "mst",
    "nist_mst",
    "aim",
    "pegs",
    "pegs_noisy",
    "diverse",
    "imputed",
    "origin_destination",
    "multinomial_sets",
)
READING: Final = ("released_model",)
"""What a spec may name in place of a learner: a model that was learnt, and paid for, before."""
KINDS: Final = (*LEARNERS, *READING)


def expected_steps(asked: Document) -> Mapping[str, ExpectedStep]:
    """The requirements on each step, by name and in order; empty for an unknown learner.

    Args:
        asked: the learner's entry in a spec, as in the record; learners whose steps depend on it have a function
            `expected_steps` of it instead of EXPECTED_STEPS.
    """
    if asked["kind"] not in KINDS:
        return {}
    verification = import_module(f"deniable.learners.{asked['kind']}.verification")
    depends = getattr(verification, "expected_steps", None)
    steps: Mapping[str, ExpectedStep] = verification.EXPECTED_STEPS if depends is None else depends(asked)
    if asked.get("certificate") is not None:
        steps = with_certificate(steps)
    return {name: replace(step, plan=partial(_of_modelled, step)) for name, step in steps.items()}


def _of_modelled(expected: ExpectedStep, spec: Document, domain: Domain, step: "StepCost", delta: Delta) -> Planned:
    """The requirements on a step for a table whose rules may determine some attributes, which are not modelled."""
    return expected.plan(spec, domain.modelled, step, delta)


def expected_draws(spec: Document, domain: Domain) -> tuple[MechanismEvent, ...]:
    """The events of all draws of a release whose draws are charged, derived from spec and domain.

    Args:
        spec: the spec's document; its learner has a module `draws`.
        domain: the public domain.
    """
    derive = import_module(f"deniable.learners.{spec['learner']['kind']}.verification").expected_draws
    events: tuple[MechanismEvent, ...] = derive(spec, domain)
    return events


def relation_of(asked: Document, person: Mapping[str, Any] | None = None) -> Relation:
    """The neighbouring relation and the privacy unit of a release's guarantee, in data and in words.

    Args:
        asked: the learner's entry in a spec. The learner's module `verification` has a RELATION, or a function
            `relation` of the entry, unless it is one record added or removed whatever the entry is.
        person: the people, as in the record, if the table may have several records of each; otherwise None.

    Raises:
        InvalidInput: the learner's guarantee does not extend to people.
    """
    relation = RECORD
    if asked["kind"] in KINDS:
        verification = import_module(f"deniable.learners.{asked['kind']}.verification")
        depends = getattr(verification, "relation", None)
        relation = getattr(verification, "RELATION", RECORD) if depends is None else depends(asked)
    return of_people(relation, person)


def paid_elsewhere(asked: Document) -> Guarantee | None:
    """The cost of a model for which an earlier release was charged; None if the release learns its own.

    Args:
        asked: the learner's entry in a spec, as in the record.
    """
    if asked["kind"] not in READING:
        return None
    found: Guarantee = import_module(f"deniable.learners.{asked['kind']}.verification").paid(asked)
    return found


def entries() -> "Sequence[type[LearnerEntry]]":
    """The classes of spec entries, one per learner."""
    return [entry_of(kind) for kind in LEARNERS]


def entries_in_specs() -> "Sequence[type[LearnerEntry]]":
    """The classes of all entries that a spec may have in the place of a learner."""
    return [entry_of(kind) for kind in KINDS]


def entry_of(kind: str) -> "type[LearnerEntry]":
    """The class of the spec entry of a learner."""
    entry: type[LearnerEntry] = import_module(f"deniable.learners.{kind}.spec").Entry
    return entry


def kinds_that_read(part: str) -> list[str]:
    """Names of the learners that read a part of the rows."""
    return [kind for kind, entry in zip(LEARNERS, entries(), strict=True) if part in entry.parts]


def derived_from_public(entry: "LearnerEntry", domain: Domain, counter: "Counter", sha256: str) -> Mapping[str, Any]:
    """The part of an entry that must be stated about its public file; its steps compare it with the file.

    Args:
        entry: the entry, of a learner that counts a public file.
        domain: the public domain.
        counter: counts the rows of the file.
        sha256: digest of the file.

    Returns:
        The part of the entry as in a spec, ready for YAML.
    """
    derive = import_module(f"deniable.learners.{entry.kind}.steps").derived_from_public
    if domain.modelled is not domain:
        counter = import_module("deniable.learners.under_rules").modelled_counter(domain, counter)
    stated: Mapping[str, Any] = derive(entry, domain.modelled, counter, sha256)
    return stated


def require_values(entry: "LearnerEntry", domain: Domain) -> None:
    """Refuse a table with an attribute of more values than a learner takes.

    Raises:
        InvalidInput: it has one.
    """
    if not entry.takes_many_values:
        domain.require_narrow(f"a learner of kind {entry.kind}")


def steps_of(entry: "LearnerEntry", domain: Domain, delta_of: "PartDelta") -> "tuple[PlannedStep, ...]":
    """Plan the steps of a spec's entry, in order.

    Args:
        entry: the entry.
        domain: the public domain.
        delta_of: see PartDelta.

    Raises:
        InvalidInput: the budget does not suffice, or the learner cannot enforce the table's rules or take its values.
    """
    require_values(entry, domain)
    if entry.is_paid_elsewhere:
        # The model that was released holds the rules of the table, and has its public shares.
        read: tuple[PlannedStep, ...] = import_module(f"deniable.learners.{entry.kind}.steps").steps(
            entry, domain, delta_of
        )
        return read
    if domain.rules and not entry.holds_rules:
        raise InvalidInput(
            f"a learner of kind {entry.kind} must have a table without rules, which it cannot hold, got "
            f"{len(domain.rules)} rules; choose another learner, or take the rules out of the schema."
        )
    # Imported on demand too, because they use compiled networks.
    certified = None if entry.certificate is None else import_module("deniable.learners.certified")
    whole = entry
    if certified is not None:
        entry = certified.without_certificate(entry)
    steps: tuple[PlannedStep, ...] = import_module(f"deniable.learners.{entry.kind}.steps").steps(
        entry, domain.modelled, delta_of
    )
    if domain.rules or domain.totals:
        under_rules = import_module("deniable.learners.under_rules").under_rules
        steps = tuple(under_rules(step, domain) for step in steps)
    if certified is not None:
        # The model is certified as it is used for draws: under the rules.
        steps = tuple(certified.certified(step, whole, domain, delta_of) for step in steps)
    return steps


def draws_of(
    entry: "LearnerEntry", domain: Domain, *, records: int, chunk: int, read: Fraction = Fraction(1)
) -> "ChargedDraws":
    """Plan the draws of a learner whose records are drawn from exact counts; see `deniable.mechanisms.ChargedDraws`.

    Args:
        entry: the learner's entry.
        domain: the public domain.
        records: number of records of the release, fixed before data are read.
        chunk: number of records of a chunk, each of which has its own stream; only the last chunk may be shorter.
        read: probability with which a record is in the counted part. It is needed only by learners whose guarantee a
            split does not improve, because their neighbours do not differ by one record: NEEDS_READ in their module
            `draws`.

    Raises:
        InvalidInput: the budget does not suffice, or the entry requests something impossible.
    """
    require_values(entry, domain)
    module = import_module(f"deniable.learners.{entry.kind}.draws")
    more = {"read": read} if getattr(module, "NEEDS_READ", False) else {}
    draws: ChargedDraws = module.draws(entry, domain, records=records, chunk=chunk, **more)
    return draws
