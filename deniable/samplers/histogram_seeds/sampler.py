"""Draws prefixes by their noisy counts, and the rest of each record from the model."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from deniable.foundation.domain import Codes, Domain
from deniable.foundation.keys import StreamOpener
from deniable.mechanisms import ChunkStreams, Counter, Draw, Made, PartDelta, PlannedStep, Product, Sampler
from deniable.models.model_formats import model_from_document
from deniable.models.sequential_kernels import Network
from deniable.roles import Role
from deniable.samplers.histogram_seeds.noisy_histogram import (
    HistogramMechanism,
    HistogramRecipe,
    PrefixCounts,
    PrefixHistogram,
)
from deniable.samplers.histogram_seeds.sampling import PrefixSampler
from deniable.samplers.histogram_seeds.spec import Entry
from deniable.samplers.rows_of_prefixes import fewest_combinations, if_equally_common, public_total, require_reachable

NOISY_SEEDS = Product(name="noisy_seeds", file="seeds.json")
"""The noisy histogram of prefixes."""


def sampler(entry: Entry, domain: Domain, delta_of: PartDelta) -> Sampler:
    """Plan the sampler of a spec; see `deniable.samplers.registry.sampler_of`.

    Raises:
        InvalidInput: no prefix can have as many rows as the threshold.
    """
    mechanism = recipe(entry, delta_of).calibrate()
    require_reachable(
        mechanism.threshold,
        "the threshold of the histogram",
        "raise synthesis.epsilon or synthesis.delta, lower synthesis.k, or use the guarantee seedless",
        domain,
        rows=entry.max_rows,
    )
    decides = {"omega": entry.omega, "threshold": mechanism.threshold}
    return Sampler(
        prepare=PlannedStep(
            name=Role.HISTOGRAM,
            part="seeds",
            events=mechanism.events,
            guarantee=mechanism.guarantee,
            parameters=decides,
            shown=decides,
            caution=advice_on_threshold(entry, domain, mechanism.threshold),
            reads=("model",),
            makes=(NOISY_SEEDS,),
            run=partial(_noise_seeds, mechanism, domain, entry.omega),
        ),
        open=_open,
    )


def advice_on_threshold(entry: Entry, domain: Domain, threshold: int) -> str:
    """Advice before a model is learnt, a clause; empty if equally common prefixes would be kept, or no bound is known.

    Args:
        entry: the entry.
        domain: the table's domain.
        threshold: the smallest noisy count of a prefix that is kept.
    """
    rows, length = entry.max_rows or public_total(domain), len(domain) - entry.omega
    if rows is None or rows / fewest_combinations(domain, length) >= threshold:
        return ""
    return (
        f"a prefix is kept if its noisy count is at least {threshold:,}, but "
        f"{if_equally_common(domain, length, rows)}; if none is kept, all records are drawn from the model alone, and "
        "the histogram is charged for nothing: raise synthesis.omega, lower synthesis.k or raise synthesis.epsilon, "
        "unless some combinations are known to be far more common"
    )


def recipe(entry: Entry, delta_of: PartDelta) -> HistogramRecipe:
    """The recipe of the noisy histogram of prefixes."""
    return HistogramRecipe(
        epsilon=entry.epsilon,
        delta=delta_of(entry.delta),
        k=entry.k,
        beta=entry.beta,
        max_rows=entry.max_rows,
        epsilon_rows=entry.epsilon_rows,
    )


def _noise_seeds(
    mechanism: HistogramMechanism,
    domain: Domain,
    omega: int,
    counter: Counter,
    given: Mapping[str, Any],
    open_stream: StreamOpener,
) -> Made:
    order = tuple(model_from_document(domain, given["model"]).order.tolist())
    counts = counter.count(partial(PrefixCounts, domain, order, len(domain) - omega), "prefixes")
    histogram = mechanism.run(counts, open_stream)
    return Made(
        products={"noisy_seeds": histogram.document()},
        figures={"prefixes_kept": len(histogram.counts)},
        internal={"prefixes_counted": len(counts.counts)},
    )


def _open(net: Network, document: Mapping[str, Any], open_stream: ChunkStreams) -> Draw:
    sampler = PrefixSampler(net, PrefixHistogram.from_document(net.domain, document))

    def draw(chunk: int, candidates: int) -> Codes:
        stream = open_stream(mechanism="sample", parameters={}, chunk=chunk)
        return sampler.sample(stream.take(candidates * sampler.words_per_record))

    return draw
