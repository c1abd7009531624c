"""What is drawn on R-U maps of records that start from seeds, planned and drawn as in a release of each guarantee.

All read the same rows, and the model is the log-linear learner's. The total is that of the model and the seeds, by
basic composition where the plan does not charge them together. Nothing is released, so nothing is charged.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import ceil
from typing import Any, Final

from deniable.foundation.domain import Codes, Domain
from deniable.foundation.errors import InvalidInput, Refused
from deniable.learners.mapped import DELTA, Drawing, Rows, gaussian, stream
from deniable.learners.registry import entry_of as learner_of
from deniable.learners.registry import steps_of
from deniable.models.model_formats import model_from_document
from deniable.plausible_deniability.pass_law import epsilon_of_model
from deniable.samplers.registry import entry_of, sampler_of

_KIND: Final = "loglinear"
_PLAUSIBLE: Final = 50
_CANDIDATES_PER_RECORD = 3
EPSILON_OF_TESTED: Final = 1.0
"""Epsilon of the model of tested seeds, whose candidates have a total of their own."""


@dataclass(frozen=True)
class Guarantee:
    """A guarantee of records that start from seeds.

    Attributes:
        curve: its name.
        entries: the entries of learner and sampler in a spec, given the domain, the rows, the number of records and a
            total.
        has_total: whether a total may be stated; otherwise one follows from the number of candidates.
    """

    curve: str
    entries: Callable[[Domain, int, int, float], tuple[Mapping[str, Any], Mapping[str, Any]]]
    has_total: bool = True


def _of_histogram(domain: Domain, _: int, records: int, total: float) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    half = {"epsilon": total / 2, "delta": DELTA / 2}
    learner = {"kind": _KIND, "noise": "gaussian", "parameters": half}
    return learner, {"guarantee": "histogram_seeds", "omega": ceil(len(domain) / 2), **half, **_sizes(records)}


def _of_attempts(_: Domain, rows: int, records: int, total: float) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    whole, own = Fraction(DELTA), Fraction(DELTA) / 2
    epsilon = epsilon_of_model(Fraction(total), whole, own)
    learner = {"kind": _KIND, "noise": "gaussian", "parameters": {"epsilon": epsilon, "delta": own}}
    return learner, {
        "guarantee": "poisson_seeds",
        "plausible": _PLAUSIBLE,
        "total": total,
        "delta": whole - own,
        "public_rows": rows,
        **_sizes(records),
    }


def _of_tests(domain: Domain, rows: int, records: int, _: float) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    return gaussian(_KIND)(EPSILON_OF_TESTED), {
        "guarantee": "tested_seeds",
        "omega": {ceil(len(domain) / 2): 1},
        "k": _PLAUSIBLE,
        "gamma": 4,
        "eps0": 1,
        "test": 2,
        "epsilon": 2,
        "delta": DELTA,
        "total_delta": DELTA,
        "candidates": _CANDIDATES_PER_RECORD * records,
        "drop_probability": Fraction(1, 100),
        "public_rows": rows,
        **_sizes(records),
    }


def _sizes(records: int) -> dict[str, int]:
    return {"records": records, "chunk_candidates": _CANDIDATES_PER_RECORD * records}


NOTE: Final = """Records from seeds begin with a model of the log-linear learner. Those of a histogram and of Poisson
attempts share the total with it, and further ones cost nothing. Tested seeds have one point: their total is that of all
candidates, by Theorem A, three for each of as many records as are charged one by one."""
"""A remark on these for a map's readers."""

GUARANTEES: Final = (
    Guarantee("histogram of seeds", _of_histogram),
    Guarantee("Poisson seeds", _of_attempts),
    Guarantee("tested seeds, k = 50", _of_tests, has_total=False),
)


def planned(
    drawing: Drawing, learner: Mapping[str, Any], synthesis: Mapping[str, Any], records: int
) -> tuple[Callable[[int], Codes], float]:
    """Plan a model and records from seeds.

    Args:
        drawing: the domain and the rows.
        learner: the learner's entry in a spec.
        synthesis: the sampler's.
        records: the largest number of records.

    Returns:
        The function that draws them under a key of a number, and epsilon of all.

    Raises:
        InvalidInput: an entry is wrong for this table, or the budget does not suffice.
        Refused: by the public model, nothing would pass, or nothing passed.
    """
    domain, rows = drawing.domain, Rows(drawing.codes)
    asked, wanted = (
        _entry(of(kind), entry, domain)
        for of, kind, entry in (
            (learner_of, learner["kind"], learner),
            (entry_of, synthesis["guarantee"], synthesis),
        )
    )
    steps = steps_of(asked, domain, lambda delta: delta)
    sampler = sampler_of(wanted, domain, lambda delta: delta, None, steps if wanted.joins_learner else ())
    prepare = sampler.prepare
    if prepare is None or prepare.guarantee is None:
        raise InvalidInput("a guarantee of seeds must have a step that is charged; name another.")
    spent = [step.guarantee.epsilon for step in (*steps, prepare) if step.guarantee is not None]
    joined = getattr(wanted, "total", None)

    def draw(number: int) -> Codes:
        there: dict[str, Any] = {}
        for step in (*steps, prepare):
            read = {name: there[name] for name in step.reads}
            if step.foresee is not None:
                step.foresee(read)
            there |= step.run(rows, read, partial(stream, number, step.name)).products
        net, source = model_from_document(domain, there["model"]), there[prepare.makes[0].name]
        made: Codes = sampler.open(net, source, partial(stream, number, "draw"))(0, wanted.attempts)
        if not len(made):
            raise Refused("some candidates must pass for a point on the map, and none did; the table has too few rows.")
        return made[:records]

    return draw, sum(spent) if joined is None else float(joined)


def _entry(entry: type[Any], asked: Mapping[str, Any], domain: Domain) -> Any:
    try:
        return entry.model_validate(dict(asked), context={"domain": domain})
    except ValueError as error:
        # Of pydantic, which the mathematics does not import.
        first = error.errors(include_url=False)[0]  # type: ignore[attr-defined]
        place = ".".join(str(each) for each in first["loc"])
        raise InvalidInput(f"{place} {first['msg'].removeprefix('Value error, ')}.") from None
