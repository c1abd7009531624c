"""The rounds: choose a table on which the model is worst, measure it, and refit the model.

Only a tally of counts holds confidential values, and they leave this module only through the two private queries;
everything else (candidates, noise, and stopping) is computed from their answers. Fitting a model does not belong here.

Source: McKenna, Mullins, Sheldon, Miklau 2022, Algorithms 1 to 3.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from deniable.foundation.tables import Counts
from deniable.learners.aim.candidates import candidates
from deniable.learners.aim.engine import Engine, Released
from deniable.learners.aim.plan import Amounts, RoundsPlan, mean_noise
from deniable.learners.aim.queries import PrivateQueries
from deniable.learners.aim.scores import score, sensitivity
from deniable.learners.aim.workload import Attributes
from deniable.models.graphical.graphical_model import GraphicalModel


@dataclass(frozen=True)
class Chosen:
    """A released choice.

    Attributes:
        turn: its number among all queries, from 1.
        candidates: number of candidates.
        place: number of the chosen candidate, from 0.
        attributes: the attributes of the chosen candidate.
        epsilon: its epsilon.
    """

    turn: int
    candidates: int
    place: int
    attributes: Attributes
    epsilon: Fraction


@dataclass(frozen=True, eq=False)
class Learnt:
    """All released values, and the model that follows from them.

    Attributes:
        released: the noisy tables, in order.
        choices: the choices, in order.
        model: the model.
        spent: the rho spent.
        stopped: whether the bound on work ended the rounds, with rho left.
    """

    released: tuple[Released, ...]
    choices: tuple[Chosen, ...]
    model: GraphicalModel
    spent: Fraction
    stopped: bool

    @property
    def rounds(self) -> int:
        """Number of rounds."""
        return len(self.choices)


def learn(
    plan: RoundsPlan,
    max_model: Fraction,
    counts: Mapping[Attributes, Counts],
    queries: PrivateQueries,
    engine: Engine,
    told: Callable[[], None] = lambda: None,
) -> Learnt:
    """Carry out a plan.

    Args:
        plan: the budget.
        max_model: largest size of a model's cliques, in megabytes.
        counts: exact counts of the tables that `candidates.countable` lists, confidential.
        queries: the private queries.
        engine: fits models, and reports when the bound on work is reached.
        told: called after each round.
    """
    released = [_measured(queries, (i,), counts[i,], plan.one_way_variance, "one-way") for i in plan.counted]
    choices: list[Chosen] = []
    model = engine.fitted(released, None)
    wished: Amounts | None = plan.first if plan.has_rounds else None
    while wished is not None and not engine.is_over:
        amounts = plan.next_amounts(wished, queries.left)
        if amounts is None:
            break
        choices.append(_chosen(plan, max_model, counts, queries, engine, model, released, amounts))
        picked = choices[-1].attributes
        released.append(_measured(queries, picked, counts[picked], amounts.variance, "chosen"))
        before = model.marginal(picked)
        model = engine.fitted(released, model)
        learnt = float(np.abs(model.marginal(picked) - before).sum())
        is_small = learnt <= mean_noise(amounts.variance) * before.size
        wished = amounts.annealed() if is_small else amounts
        told()
    stopped = wished is not None and plan.next_amounts(wished, queries.left) is not None
    return Learnt(tuple(released), tuple(choices), engine.finally_fitted(released, model), queries.spent, stopped)


def _chosen(
    plan: RoundsPlan,
    max_model: Fraction,
    counts: Mapping[Attributes, Counts],
    queries: PrivateQueries,
    engine: Engine,
    model: GraphicalModel,
    released: list[Released],
    amounts: Amounts,
) -> Chosen:
    """The choice of a round; its candidates follow from earlier answers."""
    weights = candidates(plan, [own.attributes for own in released], queries.left, max_model)
    scores = [
        score(counts[own], engine.expected(model, own), weight, amounts.variance) for own, weight in weights.items()
    ]
    place = queries.choose(scores, sensitivity(weights), amounts.epsilon)
    return Chosen(queries.turn, len(scores), place, list(weights)[place], amounts.epsilon)


def _measured(
    queries: PrivateQueries, attributes: Attributes, counts: Counts, variance: Fraction, reason: str
) -> Released:
    noisy = queries.measure(attributes, counts, variance)
    return Released(attributes, noisy, variance, queries.turn, reason)
