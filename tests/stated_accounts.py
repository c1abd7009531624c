"""Accounts of a release with costs stated by a test, without any data."""

from fractions import Fraction

from deniable.privacy.loss import Guarantee
from deniable.privacy.step_costs import StepCost
from schemas.spec.accounts import Accounts


def stated_accounts(
    *,
    structure: Guarantee | None,
    parameters: Guarantee,
    model: Guarantee,
    total: Guarantee | None,
    kind: str = "tested_seeds",
    record: Guarantee | None = None,
    candidates: Guarantee | None = None,
) -> Accounts:
    """Return accounts of a learner with one or two steps, and of tested candidates if the kind has them."""
    learnt = [("learn_structure", structure)] if structure is not None else []
    tested = kind == "tested_seeds"
    return Accounts(
        kind=kind,
        tested=tested,
        model=model,
        total=total,
        learnt=tuple(_step(name, cost) for name, cost in [*learnt, ("learn_parameters", parameters)]),
        drawn=(_step("synthesize", candidates, record, "seeds"),) if tested else (),
    )


def _step(name: str, cost: Guarantee | None, record: Guarantee | None = None, part: str = "parameters") -> StepCost:
    part = "structure" if name == "learn_structure" else part
    return StepCost(step=name, part=part, probability=Fraction(1, 4), events=(), guarantee=cost, record=record)
