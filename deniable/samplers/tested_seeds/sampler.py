"""Draws candidates from indexed seeds and tests each once; all are charged before the first is drawn."""

from collections.abc import Mapping
from functools import lru_cache, partial
from math import inf
from operator import attrgetter
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Codes, Domain
from deniable.foundation.errors import Refused, RefusedForGood
from deniable.foundation.keys import StreamOpener
from deniable.mechanisms import ChunkStreams, Counter, Draw, Made, PartDelta, PlannedStep, Product, Sampler
from deniable.models.model_formats import model_from_document
from deniable.models.sequential_kernels import Network
from deniable.plausible_deniability.mechanism_one import (
    Counting,
    MechanismOne,
    synthesize,
    synthesize_counted,
)
from deniable.plausible_deniability.plausible_seeds import SeedIndex, levels_of
from deniable.plausible_deniability.privacy_tests import PrivacyTest
from deniable.plausible_deniability.resampling import SeedResampler
from deniable.plausible_deniability.seed_accounting import compose_candidates, record_guarantee
from deniable.plausible_deniability.seed_prefixes import SeedTally
from deniable.privacy.common_events import check_probability, tested_candidates
from deniable.privacy.loss import Guarantee, PrivacyTestEvent
from deniable.privacy.rounding import rounded_up
from deniable.privacy.step_costs import EXACT_COUNTS
from deniable.roles import Role
from deniable.samplers.rows_of_prefixes import fewest_combinations, if_equally_common, require_reachable
from deniable.samplers.tested_seeds.spec import Entry

_STORED_ARRAYS = 8
_RANDOMIZED = 2
_OPTIMISM = 2
"""Candidates are refused beforehand only if not one would pass with so many times the predicted plausible seeds."""


def _write_index(index: SeedIndex, file: BinaryIO) -> None:
    """Write the arrays in order, each in NumPy's format; an archive's bytes would depend on the version of Python."""
    for array in index.stored:
        np.save(file, array, allow_pickle=False)


def _read_index(file: BinaryIO) -> SeedIndex:
    return SeedIndex.restored([np.load(file, allow_pickle=False) for _ in range(_STORED_ARRAYS)])


SEED_INDEX = Product(name="seed_index", file="seed_index.npy", is_public=False, write=_write_index, read=_read_index)
"""The exact number of seeds that share each prefix."""


def sampler(entry: Entry, domain: Domain, _: PartDelta) -> Sampler:
    """Plan the sampler of a spec; see `deniable.samplers.registry.sampler_of`.

    Raises:
        InvalidInput: k is larger than the number of rows that the schema states.
        Refused: the exact form of Theorem 1 does not satisfy the epsilon per record stated in the spec.
    """
    require_reachable(entry.k, "synthesis.k", "lower it, or use the guarantee seedless", domain)
    mechanism, omega = attempt(entry), dict(entry.omega)
    return Sampler(prepare=_prepare(entry, domain), open=partial(_open, mechanism, omega, counting(entry)))


def attempt(entry: Entry) -> MechanismOne:
    """Mechanism 1* with the spec's test."""
    return MechanismOne(
        test=PrivacyTest(
            k=entry.k,
            gamma=entry.gamma,
            eps0=entry.eps0 if entry.test == 2 else None,
            randomized=entry.test == 2,
        ),
        drop_probability=entry.drop_probability,
        public_rows=entry.public_rows,
        given_omega=entry.given_omega,
    )


def counting(entry: Entry) -> Counting | None:
    """The counting of plausible seeds; None if all are scored and counted."""
    if entry.scores_all:
        return None
    return Counting(check_probability(entry.max_check_plausible, entry.public_rows), entry.max_plausible)


def _prepare(entry: Entry, domain: Domain) -> PlannedStep:
    """Count the seeds' shared prefixes for the test, and charge all candidates."""
    event, omega = _candidates(entry), dict(entry.omega)
    tested, scan = entry.test == 2, counting(entry)
    return PlannedStep(
        name=Role.CANDIDATES,
        part="seeds",
        events=(event if tested else EXACT_COUNTS,),
        guarantee=_tightest(event, float(entry.total_delta)) if tested else None,
        record=_promised(record_guarantee(event, float(entry.delta)), entry) if tested else None,
        parameters=attempt(entry).parameters(omega)
        | ({} if scan is None else scan.parameters)
        | {"candidates": entry.candidates, "chunk_candidates": entry.chunk_candidates},
        caution=advice_on_k(entry, domain),
        reads=("model",),
        makes=(SEED_INDEX,),
        foresee=partial(_foresee, entry, domain),
        taken_in="index_seeds",
        run=partial(_index_seeds, domain, omega),
    )


def advice_on_k(entry: Entry, domain: Domain) -> str:
    """Advice before a model is learnt, a clause; empty if enough would pass with equally common combinations."""
    length = len(domain) - max(entry.omega)
    if length == 0:
        return ""
    expected = np.array([entry.public_rows / fewest_combinations(domain, length)])
    share = float(_share_that_passes(entry, expected)[0])
    if share * entry.candidates >= entry.records:
        return ""
    return (
        f"synthesis.k is {entry.k:,}, but {if_equally_common(domain, length, entry.public_rows)}, and {share:.1%} of "
        f"the candidates would be expected to pass, {share * entry.candidates:,.0f} of {entry.candidates:,} for "
        f"{entry.records:,} records; how common they are only the model tells, which is charged first, and if by it "
        "none passes, the release stops before the candidates are charged: lower synthesis.k or raise synthesis.omega, "
        "unless some combinations are known to be far more common"
    )


def _share_that_passes(entry: Entry, expected: NDArray[np.float64]) -> NDArray[np.float64]:
    """The probability of passing, given the expected number of plausible seeds among public_rows, of the same shape."""
    scored = 1.0 if entry.scores_all else float(check_probability(entry.max_check_plausible, entry.public_rows))
    short = entry.k - scored * expected
    found: NDArray[np.float64] = np.where(short <= 0, 1.0, 0.0)
    if entry.test == _RANDOMIZED:
        found = np.exp(-float(entry.eps0) * np.maximum(short, 0))
    return found


def _foresee(entry: Entry, domain: Domain, given: Mapping[str, Any]) -> None:
    """Refuse candidates of which, by the public model, not one would pass even if twice as many people were alike.

    Raises:
        RefusedForGood: they would all fail.
    """
    from deniable.plausible_deniability.predictions import expected_rows  # noqa: PLC0415 - plans predict nothing

    # Candidates of the shortest prefix have the most plausible seeds.
    length = len(domain) - max(entry.omega)
    if length == 0:
        return
    expected = expected_rows(domain, given["model"], public_rows=entry.public_rows)[length - 1]
    share = float(_share_that_passes(entry, _OPTIMISM * expected).mean())
    if share * entry.candidates < 1:
        raise RefusedForGood(
            f"some of the {entry.candidates:,} candidates must be predicted to pass, but by the public model none has "
            f"nearly {entry.k:,} plausible seeds among {entry.public_rows:,} rows; nothing was charged for them: lower "
            "synthesis.k, raise synthesis.omega, raise synthesis.public_rows if many more rows are read, or use the "
            "guarantee poisson_seeds or seedless."
        )


def _index_seeds(
    domain: Domain, omega: dict[int, int], counter: Counter, given: Mapping[str, Any], _: StreamOpener
) -> Made:
    order = model_from_document(domain, given["model"]).order.tolist()
    tally = counter.count(partial(SeedTally, order, levels_of(omega, len(order))), "seeds")
    return Made(products={"seed_index": SeedIndex.of(tally.prefixes, omega)})


def _open(
    mechanism: MechanismOne,
    omega: dict[int, int],
    scan: Counting | None,
    net: Network,
    index: SeedIndex,
    open_stream: ChunkStreams,
) -> Draw:
    resampler, parameters = SeedResampler(net, omega), mechanism.parameters(omega)

    def draw(chunk: int, candidates: int) -> Codes:
        stream = open_stream(mechanism="mechanism_1_star", parameters=parameters, chunk=chunk)
        return synthesize(resampler, index, mechanism, stream, candidates)

    if scan is None:
        return draw
    counted = scan

    def draw_counted(chunk: int, candidates: int) -> Codes:
        opened = partial(open_stream, parameters=parameters | counted.parameters, chunk=chunk)
        stream, scored = opened(mechanism="mechanism_1_star"), opened(mechanism="scored_seeds")
        return synthesize_counted(resampler, index, mechanism, stream, scored, candidates, counting=counted)

    return draw_counted


def _candidates(entry: Entry) -> PrivacyTestEvent:
    """The event of all candidates of a release."""
    return tested_candidates(
        candidates=entry.candidates,
        k=entry.k,
        gamma=entry.gamma,
        eps0=entry.eps0,
        public_rows=entry.public_rows,
        drop_probability=entry.drop_probability,
        prefixes=entry.prefixes,
        max_plausible=entry.max_plausible,
        max_check_plausible=entry.max_check_plausible,
    )


@lru_cache  # every step of a release needs its cost
def _tightest(event: PrivacyTestEvent, delta: float) -> Guarantee:
    """The tightest total for all candidates; vacuous if no theorem bounds so many."""
    totals = [*compose_candidates(event, delta).values(), Guarantee(inf, delta, "none")]
    return min(totals, key=attrgetter("epsilon"))


def _promised(record: Guarantee, entry: Entry) -> Guarantee:
    """The guarantee for one record, if it satisfies the spec."""
    promised = float(entry.epsilon)
    if record.epsilon > promised:
        raise Refused(
            f"epsilon per record must be at least {rounded_up(record.epsilon)}, which the exact form of Theorem 1 "
            f"gives, got {promised:g}; raise synthesis.epsilon, synthesis.delta or k, or lower eps0."
        )
    return record
