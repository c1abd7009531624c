"""Completes a short spec: omitted entries are derived from the spec itself and from the schema, never from the data.

A spec of a name, a dataset, a source and an epsilon is complete. Derived entries become part of the spec, as if they
had been written: the record of a release has all of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from deniable.foundation.domain import Domain
from deniable.foundation.spec_values import LARGEST_EPSILON, SMALLEST_EPSILON, Epsilon, Probability
from deniable.learners.entry import budget_of
from deniable.learners.registry import LEARNERS, READING
from deniable.learners.registry import entry_of as learner_entry
from deniable.privacy.loss import WITHOUT_NOISE
from deniable.samplers.registry import SAMPLERS
from deniable.samplers.registry import entry_of as sampler_entry
from deniable.samplers.rows_of_prefixes import public_total
from schemas.spec.analyses import Analyses

ASKED: Final = ("epsilon", "delta")
"""Entries of a short spec, both for the whole release, from which the learner's budget follows."""

_SHARED_TOTAL = "poisson_seeds"
"""The guarantee whose seeds share the total of the whole release with the model."""
_ANALYSES, _TOGETHER = "analyses", "counted_together"
_DELTA = Fraction(1, 10**9)
_MOST_DROPPED = Fraction(1, 20)
_SHARED = {"shared": Fraction(4, 5), "holdout": Fraction(1, 5)}
_RECORDS = 10_000
_PLAUSIBLE = 50
_CELLS, _FEWEST_ROWS, _MOST_ROWS = 10_000_000, 1000, 100_000
_TRAIN_ROWS = 5000
_FEW_VALUES = 20
_KNOWN = 3
_CLASSIFIERS = ("tree", "forest")
# The learner's epsilon has this many digits, and is lowered by more than floats are rounded.
_DIGITS, _MARGIN = 6, Decimal("1e-9")
_EXACT = Context(prec=60)


@dataclass(frozen=True)
class Derived:
    """An entry that a spec omits.

    Attributes:
        entry: its place in the spec.
        value: its derived value.
        reason: the reason for that value.
    """

    entry: str
    value: str
    reason: str


class _Completing:
    """A spec that is being completed.

    Args:
        written: the spec as written.
    """

    def __init__(self, written: Mapping[str, Any]) -> None:
        self.spec = {key: _copied(value) for key, value in written.items()}
        self.derived: list[Derived] = []
        self.faults: list[str] = []

    def get(self, place: str) -> Any:
        """The entry at a place; None if there is none."""
        inner: Any = self.spec
        for key in place.split("."):
            inner = inner.get(key) if isinstance(inner, dict) else None
        return inner

    def fill(self, place: str, value: Any, reason: str) -> None:
        """Set an entry that is not there, unless it would be inside something other than a mapping."""
        *path, last = place.split(".")
        inner: Any = self.spec
        for key in path:
            inner = inner.setdefault(key, {}) if isinstance(inner, dict) else None
        if isinstance(inner, dict) and last not in inner:
            inner[last] = value
            self.derived.append(Derived(place, _in_words(value), reason))


def completed(
    written: Mapping[str, Any], domain: Domain | None
) -> tuple[dict[str, Any], tuple[Derived, ...], tuple[str, ...]]:
    """Complete a spec.

    Args:
        written: the spec as it was read; its numbers are exact.
        domain: the public domain; None if the dataset is at fault, and then entries that follow from it stay omitted.

    Returns:
        The whole spec, without the entries `epsilon` and `delta` of short ones; what was derived; and a line for each
        fault of those two entries.
    """
    work = _Completing(written)
    asked: dict[str, Any] = {name: work.spec.pop(name) for name in ASKED if name in work.spec}
    if isinstance(work.spec.get("source"), str):
        work.spec["source"] = {"kind": "file", "path": work.spec["source"]}
    if isinstance(work.spec.get("name"), str):
        work.fill("title", work.spec["name"].replace("_", " ").replace("-", " ").capitalize(), "the name")
    if "max_invalid_share" not in work.spec:
        work.fill("max_dropped_share", _MOST_DROPPED, "a limit on rows that are left out, for any reason")
    rows = _rows_at_a_time(domain)
    work.fill("chunk_rows", rows, f"{_CELLS:,} cells in memory, but from {_FEWEST_ROWS:,} to {_MOST_ROWS:,} rows")
    if "split" not in work.spec:
        work.fill("split", dict(_SHARED), "four fifths to learn from, one fifth to evaluate with")
    elif isinstance(work.get("split"), dict) and set(work.get("split")) == {"holdout"}:
        holdout = _probability(work.get("split.holdout"))
        if holdout is not None:
            work.fill("split.shared", 1 - holdout, "what is not held out")
    _complete_learner(work, asked)
    _complete_synthesis(work, domain, rows)
    if domain is not None:
        _complete_evaluation(work, domain)
    return work.spec, tuple(work.derived), tuple(work.faults)


def _copied(value: Any) -> Any:
    """A mapping that may be added to."""
    return {key: _copied(each) for key, each in value.items()} if isinstance(value, Mapping) else value


def _in_words(value: Any) -> str:
    """A value, as a spec would have it."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_in_words(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_in_words(each) for each in value) + "]"
    return f"{float(value):.{_DIGITS}g}" if isinstance(value, Fraction) else str(value)


def _rows_at_a_time(domain: Domain | None) -> int:
    """Rows in memory, fewer of wide tables."""
    return min(_MOST_ROWS, max(_FEWEST_ROWS, _CELLS // (1 if domain is None else len(domain))))


def _complete_learner(work: _Completing, asked: Mapping[str, Any]) -> None:
    """Set the learner, and its budget from the epsilon and delta of the whole release."""
    work.fill("learner.kind", "loglinear", "the learner that comes closest in our comparison")
    kind = work.get("learner.kind")
    if kind in READING and asked:
        work.faults.append(
            f"{' and '.join(asked)}: must be left out for a model that is paid for; state what the seeds cost under "
            "synthesis, for the records that are read."
        )
    if kind not in LEARNERS:
        return
    fields = learner_entry(kind).model_fields
    if work.get("learner.counted_together") == _ANALYSES:
        _count_for_analyses(work)
    if "noise" in fields and fields["noise"].is_required():
        work.fill("learner.noise", "gaussian", "the noise with the smaller errors for tables of many attributes")
    if asked and not _may_ask(work, kind, " and ".join(asked)):
        return
    if "parameters" in fields and work.get("learner.noise") != WITHOUT_NOISE:
        _complete_budget(work, asked, kind)


def _count_for_analyses(work: _Completing) -> None:
    """Set the sets of attributes that declared analyses need together; not if these are missing or wrong."""
    try:
        declared = TypeAdapter(Analyses).validate_python(work.get("evaluation.analyses"))
    except ValidationError:
        return
    del work.spec["learner"][_TOGETHER]
    sets = dict.fromkeys(tuple(sorted(each.analysis.attributes)) for each in declared)
    needed = [list(each) for each in sets if len(each) > 1]
    if needed:
        work.fill(f"learner.{_TOGETHER}", needed, "the attributes of the declared analyses")


def _complete_budget(work: _Completing, asked: Mapping[str, Any], kind: str) -> None:
    """Set the budget of a learner's parameters."""
    delta = asked.get("delta", _DELTA)
    if asked and work.get("synthesis.guarantee") == _SHARED_TOTAL:
        _share_with_seeds(work, asked, delta)
        return
    budget_class = budget_of(learner_entry(kind))
    is_pure = budget_class is None or not budget_class.model_fields["delta"].is_required()
    if not is_pure or "delta" in asked:
        work.fill(
            "learner.parameters.delta",
            delta,
            "delta of the whole release"
            if "delta" in asked
            else "less than one in the number of people of any country",
        )
    if "epsilon" not in asked:
        if not _has_structure(work, kind) and "epsilon" not in (work.get("learner.parameters") or {}):
            work.faults.append(
                "epsilon: must be given, the epsilon of the whole release, such as 1; or learner.parameters.epsilon, "
                "for the records that are read."
            )
            work.fill("learner.parameters.epsilon", Fraction(1), "nothing: it is missing")
        return
    epsilon = _checked(asked["epsilon"], work)
    read = _read(work)
    of_part = epsilon_of_part(epsilon, read)
    work.fill("learner.parameters.epsilon", of_part, f"epsilon {_in_words(epsilon)} of the whole release")
    _fill_budget(work, epsilon, delta)


def _fill_budget(work: _Completing, epsilon: Fraction, delta: Any) -> None:
    """Open the dataset's account with room for this release alone, unless the spec states a budget."""
    if "budget" not in work.spec:
        budget = {"epsilon": epsilon, "delta": delta}
        work.fill("budget", budget, "what the release may cost; the dataset's ledger opens with room for it alone")


def _share_with_seeds(work: _Completing, asked: Mapping[str, Any], delta: Any) -> None:
    """Divide the total of the whole release among the model and the attempts of the seeds."""
    epsilon, whole = _checked(asked.get("epsilon"), work), _delta(delta)
    if whole is None:
        work.faults.append(f"delta: must be a number above 0 and below 1 for the guarantee {_SHARED_TOTAL}.")
        return
    total = epsilon_of_part(epsilon, _read(work))
    work.fill("synthesis.total", total, f"epsilon {_in_words(epsilon)} of the whole release, for the records read")
    own = _delta(work.get("learner.parameters.delta"))
    if own is None:
        own = whole / 2
        work.fill("learner.parameters.delta", own, "half of delta of the whole release")
    if own < whole:
        work.fill("synthesis.delta", whole - own, "the rest of delta of the whole release")
    else:
        work.faults.append("delta: must be above learner.parameters.delta, to which the delta of the seeds is added.")
    from deniable.plausible_deniability.pass_law import epsilon_of_model  # noqa: PLC0415 - it imports SciPy

    of_model = epsilon_of_model(total, whole, own)
    work.fill("learner.parameters.epsilon", of_model, "three quarters of the total's squared noise ratio")
    _fill_budget(work, epsilon, whole)


def _delta(stated: Any) -> Fraction | None:
    """A delta above 0; None if it is not one."""
    found = _probability(stated)
    return found if found is not None and 0 < found < 1 else None


def _may_ask(work: _Completing, kind: str, names: str) -> bool:
    """Whether one epsilon for the whole release determines the learner's budget and nothing else is charged."""
    seeded = work.get("synthesis.guarantee") == _SHARED_TOTAL
    if work.get("learner.noise") == WITHOUT_NOISE:
        said = "must be left out if learner.noise is none, because nothing is guaranteed then"
    elif "parameters" not in learner_entry(kind).model_fields or _has_structure(work, kind):
        said = f"must be left out for a learner of kind {kind}, whose entry has its own budgets"
    elif seeded and "epsilon" not in names:
        said = "must be left out without epsilon, the epsilon of the whole release"
    elif seeded and work.get("split.shared") is None:
        said = (
            f"must be left out for the guarantee {_SHARED_TOTAL} unless model and seeds read the same records (shared)"
        )
    elif seeded and any(name in work.get("synthesis") for name in ("epsilon", "total")):
        said = "must be left out if synthesis states epsilon or total; state one of them"
    elif seeded:
        return True
    elif work.get("synthesis") is not None and work.get("synthesis.guarantee") not in (None, "seedless"):
        said = (
            f"must be left out unless synthesis.guarantee is seedless or {_SHARED_TOTAL}, because other guarantees are "
            "charged separately"
        )
    elif any(name in (work.get("learner.parameters") or {}) for name in ASKED):
        said = "must be left out if learner.parameters states epsilon or delta; state one of the two"
    else:
        return True
    work.faults.append(f"{names}: {said}.")
    return False


def _has_structure(work: _Completing, kind: str) -> bool:
    """Whether a learner must be given a budget for its structure as well."""
    return learner_entry(kind).learns_structure(work.get("learner"))


def _checked(epsilon: Any, work: _Completing) -> Fraction:
    """The epsilon of the whole release; if it is invalid, 1 and a fault."""
    try:
        found: Fraction = TypeAdapter(Epsilon).validate_python(epsilon)
    except ValidationError:
        least, most = _in_words(SMALLEST_EPSILON), _in_words(LARGEST_EPSILON)
        work.faults.append(
            f"epsilon: must be a number from {least} to {most}, the epsilon of the whole release, got "
            f"{_in_words(epsilon)}."
        )
        return Fraction(1)
    return found


def _read(work: _Completing) -> Fraction:
    """The probability that the learner reads a record; 1 if the split is at fault, which is reported elsewhere."""
    stated = work.get("split.shared") if work.get("split.shared") is not None else work.get("split.parameters")
    return _probability(stated) or Fraction(1)


def _probability(stated: Any) -> Fraction | None:
    """A probability; None if it is not one."""
    try:
        found: Fraction = TypeAdapter(Probability).validate_python(stated)
    except ValidationError:
        return None
    return found


def epsilon_of_part(whole: Fraction, read: Fraction) -> Fraction:
    """The epsilon of a step for the records that it reads, given that of the whole release.

    A record is read with probability p, independently and secretly, so that epsilon_a for those that are read is
    ln(1 + p (e^epsilon_a - 1)) for all (deniable.privacy.composition.joint_split). Its inverse, ln(1 + (e^epsilon - 1)
    / p), is computed in decimals, which all machines compute alike, and is rounded down to six digits.

    Args:
        whole: epsilon of the whole release.
        read: p, in (0, 1].
    """
    if read == 1:
        return whole
    numerator, denominator = Decimal(whole.numerator), Decimal(whole.denominator)
    growth = _EXACT.subtract(_EXACT.exp(_EXACT.divide(numerator, denominator)), Decimal(1))
    share = _EXACT.divide(Decimal(read.numerator), Decimal(read.denominator))
    exact = _EXACT.ln(_EXACT.add(Decimal(1), _EXACT.divide(growth, share)))
    lowered = _EXACT.multiply(exact, Decimal(1) - _MARGIN)
    found = Fraction(Context(prec=_DIGITS, rounding=ROUND_FLOOR).plus(lowered))
    return min(found, LARGEST_EPSILON)


def _complete_synthesis(work: _Completing, domain: Domain | None, rows: int) -> None:
    """Set the sampler, and its number of records."""
    if work.get("learner.kind") in LEARNERS and learner_entry(work.get("learner.kind")).is_drawn_from_counts:
        return
    work.fill("synthesis.guarantee", "seedless", "the guarantee that costs nothing beyond the model")
    kind = work.get("synthesis.guarantee")
    if kind not in SAMPLERS or sampler_entry(kind).tests:
        return
    total = None if domain is None else public_total(domain)
    if total is None:
        work.fill("synthesis.records", _RECORDS, "enough for shares to a percent; the schema states no public total")
    else:
        work.fill("synthesis.records", total, "the public total of the schema")
    work.fill("synthesis.chunk_candidates", rows, "as many as rows in memory")
    if kind == _SHARED_TOTAL:
        _complete_rows(work, total)


def _complete_rows(work: _Completing, total: int | None) -> None:
    """Set the public number of rows that are read, on which the number of attempts of a row depends."""
    read, records = _read(work), work.get("synthesis.records")
    if total is not None:
        work.fill("synthesis.public_rows", int(total * read) or 1, "the part of the public total that is read")
    elif isinstance(records, int) and not isinstance(records, bool):
        least = work.get("synthesis.plausible")
        rows = max(records, least if isinstance(least, int) else _PLAUSIBLE)
        work.fill("synthesis.public_rows", rows, "the records wanted; state about how many rows are read, if far more")


def _complete_evaluation(work: _Completing, domain: Domain) -> None:
    """Set the evaluation of the release."""
    if domain.target is None:
        work.fill("evaluation.target", *_target(domain))
    work.fill("evaluation.classifiers", list(_CLASSIFIERS), "they learn in seconds")
    work.fill("evaluation.train_rows", _TRAIN_ROWS, "enough for both to learn from")
    target = work.get("evaluation.target") or domain.target
    known, sensitive = work.get("evaluation.known"), work.get("evaluation.sensitive")
    if sensitive is None:
        free = [name for name in (target, *domain.names) if name not in (known or ())]
        work.fill("evaluation.sensitive", free[:1], "the target, unless the intruder knows it")
    if known is None:
        secret = work.get("evaluation.sensitive")
        others = [name for name in domain.names if name not in (secret if isinstance(secret, list) else ())]
        work.fill("evaluation.known", others[:_KNOWN], f"the first {_KNOWN} attributes that are not sensitive")
    known = work.get("evaluation.known")
    first = list(known) if isinstance(known, list) and known else list(domain.names[:_KNOWN])
    work.fill("evaluation.quasi_identifiers", first, "the attributes that the intruder knows")


def _target(domain: Domain) -> tuple[str, str]:
    """An attribute for classifiers to predict, and the reason for it."""
    few = [each.name for each in domain.attributes if 1 < each.cardinality <= _FEW_VALUES]
    if few:
        return few[-1], f"the last attribute with 2 to {_FEW_VALUES} values"
    several = [each for each in domain.attributes if each.cardinality > 1]
    if several:
        fewest = min(several, key=lambda each: each.cardinality)
        return fewest.name, f"the attribute with the fewest values, because none has 2 to {_FEW_VALUES}"
    return domain.attributes[0].name, "the first attribute, because each has a single value"
