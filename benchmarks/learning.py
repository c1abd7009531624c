"""Structure and parameter learning on 1.4 million records."""

from fractions import Fraction
from functools import partial

from benchmarks.measuring import Result, core_seconds
from benchmarks.population import DOMAIN, people
from deniable.foundation.keys import ReleaseKey
from deniable.foundation.tables import FamilyCounts, PairCounts
from deniable.learners.cfs.parameters import ParameterRecipe
from deniable.learners.cfs.structure import StructureRecipe

ROWS = 1_400_000
MILLI = Fraction(1, 1000)


def measure() -> list[Result]:
    """Time counting and learning, noise included, on one core."""
    codes = people(ROWS)
    open_stream = partial(ReleaseKey(bytes(32)).stream, step="benchmark", inputs="")
    structure = StructureRecipe(
        epsilon=Fraction(1), delta=MILLI**3, epsilon_rows=Fraction(1, 100), max_cost=300, noise="laplace"
    ).calibrate(DOMAIN)
    parameters = ParameterRecipe(
        epsilon=Fraction(1), delta=MILLI**3, noise="laplace", prior=Fraction(1), estimate="mean"
    ).calibrate(DOMAIN)

    def learn_structure() -> PairCounts:
        counts = PairCounts(DOMAIN)
        counts.add(codes)
        structure.run(counts, open_stream)
        return counts

    pairs = PairCounts(DOMAIN)
    pairs.add(codes)
    graph = structure.run(pairs, open_stream)

    def learn_parameters() -> None:
        counts = FamilyCounts(DOMAIN, graph.parents)
        counts.add(codes)
        parameters.run(counts, graph, open_stream)

    first, second = core_seconds(learn_structure, repeats=3), core_seconds(learn_parameters, repeats=3)
    return [
        Result(f"structure learnt from {ROWS:,} records, {len(DOMAIN)} attributes, one core", f"{first:.2f} s"),
        Result(f"parameters learnt from {ROWS:,} records, one core", f"{second:.2f} s"),
        Result("both together", f"{first + second:.2f} s", "10 s"),
    ]
