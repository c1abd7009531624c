"""Records drawn per second and core from a noisy histogram of prefixes, and the time to make the histogram."""

from fractions import Fraction
from functools import partial

from benchmarks.measuring import Result, core_seconds
from benchmarks.population import DOMAIN, network, people, stream
from deniable.foundation.keys import ReleaseKey
from deniable.samplers.histogram_seeds.noisy_histogram import HistogramRecipe, PrefixCounts, PrefixHistogram
from deniable.samplers.histogram_seeds.sampling import PrefixSampler

ROWS = 1_400_000
RECORDS = 1_000_000
MECHANISM = HistogramRecipe(
    epsilon=Fraction(1),
    delta=Fraction(1, 10**9),
    k=50,
    beta=Fraction(1, 10**6),
    max_rows=2_000_000,
    epsilon_rows=Fraction(1, 100),
).calibrate()


def measure() -> list[Result]:
    """Time the histogram of 1.4 million records, and drawing records from it."""
    net = network()
    codes = people(ROWS)
    open_stream = partial(ReleaseKey(bytes(32)).stream, step="benchmark", inputs="")
    results = []
    for length in (2, 4, 6, 8):

        def histogram(length: int = length) -> PrefixHistogram:
            counts = PrefixCounts(DOMAIN, net.graph.order, length)
            counts.add(codes)
            return MECHANISM.run(counts, open_stream)

        def draw(sampler: PrefixSampler) -> None:
            sampler.sample(stream("run").take(RECORDS * sampler.words_per_record))

        released = histogram()
        share = released.counts.sum() / ROWS
        what = f"{length} of {len(DOMAIN)} attributes, {len(released.counts):,} prefixes of {share:.0%} of the records"
        fitting = core_seconds(histogram, repeats=3)
        seconds = core_seconds(partial(draw, PrefixSampler(net, released)))
        results += [
            Result(f"histogram of {ROWS:,} records, one core, {what}", f"{fitting:.2f} s"),
            Result(f"records drawn from it a second and core, {what}", f"{RECORDS / seconds:,.0f}", "2,000,000"),
        ]
    return results
