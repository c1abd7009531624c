"""The steps of this learner: tables from a public file, and noisy counts of them from one part."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import Any

from deniable.command_names import command_line
from deniable.foundation.domain import Domain
from deniable.foundation.errors import InvalidInput, Refused
from deniable.foundation.keys import StreamOpener
from deniable.foundation.tables import PairCounts
from deniable.learners.loglinear.steps import InRounds
from deniable.learners.mst.learning import learn
from deniable.learners.mst.measuring import Queries
from deniable.learners.mst.plan import PART, Layout, MstPlan, MstRecipe
from deniable.learners.mst.pooling import Within
from deniable.learners.mst.selection import Pair
from deniable.learners.mst.steps import made_of
from deniable.learners.nist_mst.public_selection import Thresholds, WeightedTable, mutual_information, tables_of
from deniable.learners.nist_mst.spec import Entry
from deniable.learners.nist_mst.verification import FILE, FORMAT
from deniable.mechanisms import GRAPH, MEASURED, MODEL, Counter, Made, PartDelta, PlannedStep, Product, PublicTable
from deniable.roles import Role

SELECTION = Product(name="selection", file=FILE, is_shown=True)
"""The public file's digest, the mutual information of its pairs of attributes, and the tables that follow."""


def steps(entry: Entry, domain: Domain, delta_of: PartDelta) -> tuple[PlannedStep, ...]:
    """Plan the steps of a spec; see `deniable.learners.registry.steps_of`.

    Raises:
        InvalidInput: the spec does not list the tables.
    """
    asked = entry.selection
    if asked.sha256 is None or asked.tables is None:
        raise InvalidInput(
            "learner.selection must state the digest of the public file and the tables that follow from it, and lacks "
            f"one or both; add the lines that `{command_line('mechanisms select')} SPEC` prints."
        )
    tables = [WeightedTable(domain.subset(each.attributes), each.weight) for each in asked.tables]
    recipe = MstRecipe(entry.parameters.epsilon, delta_of(entry.parameters.delta))
    layout = Layout.of_cliques(domain, [each.attributes for each in tables], [each.weight for each in tables])
    plan = recipe.calibrate(domain, layout)
    public = PublicTable(path=asked.public_file, sha256=asked.sha256)
    chosen = PlannedStep(
        name=Role.STRUCTURE,
        part=None,
        public=public,
        shown={"learner": entry.kind, "public_file_sha256": public.sha256, "tables": len(tables)},
        makes=(SELECTION,),
        run=partial(_select, domain, asked.thresholds, public, tables),
    )
    learnt = PlannedStep(
        name=Role.PARAMETERS,
        part=PART,
        events=plan.events,
        guarantee=plan.guarantee,
        pair_noise=plan.pair_noise,
        parameters={
            "learner": entry.kind,
            "variances": [plan.one_way_variance, *plan.table_variances],
            "pooled": entry.pooled,
        },
        shown={"learner": entry.kind, "tables": len(tables)},
        reads=("selection",),
        makes=(GRAPH, MODEL, MEASURED),
        run=partial(_learn, plan, entry.pooled),
    )
    return chosen, learnt


def derived_from_public(entry: Entry, domain: Domain, counter: Counter, sha256: str) -> Mapping[str, Any]:
    """The selection that follows from a public file; see `deniable.learners.registry.derived_from_public`."""
    asked = entry.selection
    tables = tables_of(domain, _information(domain, counter), asked.thresholds)
    changed = {
        name: float(value) if isinstance(value, Fraction) else value
        for name, value in asked
        if name in asked.model_fields_set - {"public_file", "sha256", "tables"}
    }
    return {
        "selection": {
            "public_file": asked.public_file,
            "sha256": sha256,
            **changed,
            "tables": _listed(domain, tables),
        }
    }


def _listed(domain: Domain, tables: Sequence[WeightedTable]) -> list[dict[str, Any]]:
    return [{"attributes": [domain.names[i] for i in each.attributes], "weight": each.weight} for each in tables]


def _information(domain: Domain, counter: Counter) -> dict[Pair, float]:
    counts = counter.count(partial(PairCounts, domain), "public pairs")
    counted = [i for i, size in enumerate(domain.cardinalities) if size > 1]
    return {(a, b): mutual_information(counts.pair(a, b).tolist()) for a, b in combinations(counted, 2)}


def _select(
    domain: Domain,
    thresholds: Thresholds,
    public: PublicTable,
    tables: Sequence[WeightedTable],
    counter: Counter,
    _: Mapping[str, Any],
    __: StreamOpener,
) -> Made:
    information = _information(domain, counter)
    if list(tables_of(domain, information, thresholds)) != list(tables):
        raise Refused(
            "learner.selection must list the tables that follow from the public file, and lists others; replace them "
            f"by those that `{command_line('mechanisms select')} SPEC` prints."
        )
    names = domain.names
    document = {
        "format": FORMAT,
        "sha256": public.sha256,
        "information": [{"attributes": [names[i] for i in pair], "nats": nats} for pair, nats in information.items()],
        "tables": _listed(domain, tables),
    }
    return Made(products={"selection": document}, figures={"tables": len(tables)})


def _learn(plan: MstPlan, within: Within, counter: Counter, _: Mapping[str, Any], open_stream: StreamOpener) -> Made:
    queries = Queries(plan, open_stream)
    return made_of("nist_mst", queries, learn(queries, InRounds(counter), within))
