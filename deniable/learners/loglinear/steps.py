"""The step of this learner: graph and model from small noisy tables of one part, chosen one by one."""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import count as numbers
from typing import Any

from deniable.foundation.domain import Domain
from deniable.foundation.keys import StreamOpener
from deniable.foundation.tables import Counts
from deniable.learners.loglinear.dependency_graph import dependences
from deniable.learners.loglinear.estimation.counting import Partition, SmallTables
from deniable.learners.loglinear.estimation.fitting import rake_several_marginals
from deniable.learners.loglinear.mechanism import learn_network
from deniable.learners.loglinear.plan import LoglinearPlan, LoglinearRecipe
from deniable.learners.loglinear.spec import Entry
from deniable.learners.loglinear.tails import tails_of
from deniable.mechanisms import GRAPH, MEASURED, MODEL, Counter, Made, PartDelta, PlannedStep
from deniable.models.loglinear.flat_tables import Attributes
from deniable.roles import Role


def steps(entry: Entry, domain: Domain, delta_of: PartDelta) -> tuple[PlannedStep, ...]:
    """Plan the step of a spec.

    Args:
        entry: the spec's entry.
        domain: the public domain.
        delta_of: see PartDelta.
    """
    budget = entry.parameters
    plan = LoglinearRecipe(
        epsilon=budget.epsilon,
        delta=delta_of(budget.delta),
        noise=entry.noise,
        together=entry.counted_together or (),
    ).calibrate(domain)
    step = PlannedStep(
        # Other learners have two steps; the single step here has the name of the one with a cost.
        name=Role.PARAMETERS,
        part="parameters",
        events=plan.events,
        guarantee=plan.guarantee,
        parameters={"learner": entry.kind, "noise": plan.noise, "amount": plan.amount},
        shown={
            "learner": entry.kind,
            "noise": plan.noise,
            "shares": plan.layout.shares,
            "choices": plan.layout.choices,
        },
        tails=tails_of(plan),
        pair_noise=plan.pair_noise,
        makes=(GRAPH, MODEL, MEASURED),
        run=partial(_learn, plan),
        compile_more=rake_several_marginals,
    )
    return (step,)


def _learn(plan: LoglinearPlan, counter: Counter, _: Mapping[str, Any], open_stream: StreamOpener) -> Made:
    net, learnt = learn_network(plan, InRounds(counter), open_stream)
    products = {
        "graph": dependences(net, learnt).document(plan.domain),
        "model": net.document(),
        "measured": learnt.document(plan),
    }
    return Made(products=products, figures={"tables": len(learnt.tables)})


class InRounds:
    """Counts the tables of a round in one pass over the rows."""

    def __init__(self, counter: Counter) -> None:
        self._counter, self._rounds = counter, numbers()

    def tables(self, partition: Partition, wanted: Sequence[Attributes]) -> list[Counts]:
        """Count several tables, each of the shape given by `partition.shape`."""
        empty = partial(SmallTables, partition, tuple(wanted))
        return self._counter.count(empty, f"round-{next(self._rounds):03d}").tables
