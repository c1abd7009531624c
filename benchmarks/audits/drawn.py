"""Audits of mechanisms whose outputs are records, prefixes, values or responses: their laws, from their definitions.

The outputs are those of the real mechanism. Their probabilities are computed here from the definition of each law, in
floating-point arithmetic and without the compiled code that drew them.
"""

import json
from collections import Counter as Counted
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from itertools import combinations, combinations_with_replacement, product
from math import exp, factorial, inf, lgamma, log, log1p, prod
from typing import Any

import numpy as np

from benchmarks.audits.auditing import Case, Neighbours
from benchmarks.audits.laws import Law, LawExperiment, Output, laplace
from benchmarks.audits.learned import Rows
from deniable.discovery.answering import answers
from deniable.discovery.answers import RangeAnswer, ValuesAnswer
from deniable.discovery.number_grid import place_of
from deniable.discovery.plan import DiscoveryPlan, asked
from deniable.foundation.domain import Attribute, Codes, Domain
from deniable.foundation.keys import Parameter, ReleaseKey, WordStream
from deniable.learners.imputed.regression import Features, integer_probabilities
from deniable.learners.origin_destination.draws import is_acceptable
from deniable.learners.origin_destination.plan import TRIES, plan_of
from deniable.learners.registry import draws_of, entry_of, steps_of
from deniable.local.responding import respond
from deniable.local.survey import Survey, read_survey
from deniable.mechanisms import ChargedDraws, Counter
from deniable.models.model_formats import model_from_document
from deniable.plausible_deniability.pass_law import PassLaw, law_within
from deniable.plausible_deniability.plausible_seeds import SeedIndex
from deniable.plausible_deniability.poisson_attempts import release_from_seeds
from deniable.plausible_deniability.resampling import SeedResampler
from deniable.privacy.accounting import best
from deniable.privacy.loss import Guarantee
from deniable.privacy.urn_costs import UNIT
from deniable.roles import Role
from deniable.samplers.histogram_seeds.noisy_histogram import HistogramRecipe, PrefixCounts
from deniable.samplers.registry import entry_of as sampler_entry
from deniable.samplers.registry import sampler_of

DrawnLaw = Callable[[Codes, Codes], float]
"""The log probability of released records, given a table."""


def plain_domain(*sizes: int, names: Sequence[str] = ()) -> Domain:
    """Return a domain of nominal attributes, each value of which is a bucket."""
    return Domain(
        tuple(
            Attribute(
                names[i] if names else f"a{i}", tuple(f"v{v}" for v in range(size)), "nominal", tuple(range(size))
            )
            for i, size in enumerate(sizes)
        )
    )


def copies(rest: Sequence[Sequence[int]], record: Sequence[int], number: int) -> Codes:
    """Return a table of some records and a number of copies of another one."""
    return np.asarray([*rest, *[record] * number], np.uint16).reshape(-1, len(record))


def opener(key: ReleaseKey, step: str) -> Callable[..., WordStream]:
    """Return what opens the streams of a step and of its chunks."""

    def open_stream(*, mechanism: str, parameters: dict[str, Parameter], chunk: int = 0) -> WordStream:
        return key.stream(step=step, mechanism=mechanism, inputs="audit", parameters=parameters, chunk=chunk)

    return open_stream


@dataclass(eq=False)
class UrnsExperiment(LawExperiment):
    """Records drawn from exact counts, planned and drawn as in a release.

    Attributes:
        draws: the draws.
        document: the public description of the urns.
        records: number of records.
        law: the log probability of records in their order.
        outcomes: all that may be drawn, and the number of orders of each.
        in_order: whether orders are outcomes of their own.
    """

    draws: ChargedDraws
    document: Mapping[str, Any]
    records: int
    law: DrawnLaw
    outcomes: Sequence[tuple[Codes, int]]
    in_order: bool = True

    def output(self, table: Codes, key: ReleaseKey) -> Output:
        """See `LawExperiment`."""
        counts = self.draws.count(Rows(table), self.document)
        drawn = self.draws.open(self.document, counts, opener(key, Role.DRAWS))(0, self.records)
        return {"records": self._named(drawn)}

    def laws(self, table: Codes) -> Mapping[Hashable, Law]:
        """See `LawExperiment`."""
        return {"records": {self._named(drawn): self.law(table, drawn) + log(ways) for drawn, ways in self.outcomes}}

    def _named(self, drawn: Codes) -> tuple[tuple[int, ...], ...]:
        records = [tuple(record) for record in drawn.tolist()]
        return tuple(records if self.in_order else sorted(records))


def ordered(domain: Domain, records: int) -> list[tuple[Codes, int]]:
    """Return all sequences of a number of records."""
    kinds = list(product(*(range(size) for size in domain.cardinalities)))
    return [(np.asarray(drawn, np.uint16), 1) for drawn in product(kinds, repeat=records)]


def urns_of(kind: str, domain: Domain, records: int, **asked_for: Any) -> tuple[Any, ChargedDraws, Mapping[str, Any]]:
    """Return a learner's entry, its draws, and the description of its urns."""
    entry = entry_of(kind)(kind=kind, **asked_for)
    draws = draws_of(entry, domain, records=records, chunk=records)
    document: Mapping[str, Any] = {}
    for step in steps_of(entry, domain, lambda delta: delta):
        document = step.run(_NOBODY, {}, opener(ReleaseKey(bytes(32)), step.name)).products["urns"]
    return entry, draws, document


_NOBODY: Counter = Rows(np.zeros((0, 1), np.uint16))


def claim_of(draws: ChargedDraws) -> Guarantee:
    """Return what is charged for draws: the sum over their events."""
    epsilon = sum((event.outputs * (event.epsilon or Fraction(0)) for event in draws.events), start=Fraction(0))
    delta = sum((event.outputs * event.delta for event in draws.events), start=Fraction(0))
    return Guarantee(float(epsilon), float(delta), "basic")


def cases_of_urns(times: int = 1) -> Iterator[Case]:
    """Yield the audits of learners whose records are drawn from exact counts, by learner.

    Args:
        times: draws are planned at so many times the epsilon that is claimed: 1, except for a twin.
    """
    yield from _pegs(times)
    yield from _imputed(times)
    yield from _sets(times)
    yield from _flows(times)


def _pegs(times: int) -> Iterator[Case]:
    domain = plain_domain(2, 2)
    for block, most in ((1, 1), (3, 3)):
        asked = {"epsilon": Fraction(1), "key_cells": 4, "block": block, "draws_per_row": most}
        claim = claim_of(urns_of("pegs", domain, block, **asked)[1])
        entry, draws, document = urns_of("pegs", domain, block, **{**asked, "epsilon": Fraction(times)})
        priors = [Fraction(each, UNIT) for each in draws.parameters["priors"]]  # type: ignore[union-attr]

        def law(table: Codes, drawn: Codes, *, priors: Any = priors, most: int = entry.draws_per_row) -> float:
            counts = np.zeros((2, 2))
            np.add.at(counts, tuple(table.T.astype(np.int64)), 1)
            return log(
                sum(
                    _block(counts, [float(each) for each in priors], seed, drawn.tolist(), most) / 4
                    for seed in product(range(2), repeat=2)
                )
            )

        yield Case(
            name=f"pegs: a block of {block} record{'s' if block > 1 else ''}",
            claim=claim,
            experiment=UrnsExperiment(draws, document, block, law, ordered(domain, block)),
            series=tuple(
                Neighbours(
                    f"{2 * each} other records that differ from it in one attribute, with and without the record",
                    partial(copies, [(0, 1)] * each + [(1, 0)] * each, (0, 0)),
                )
                for each in (0, 1, 3, 40, 400)
            ),
            kind="pegs",
        )


def _block(counts: Any, priors: Sequence[float], seed: Sequence[int], block: Sequence[Any], most: int) -> float:
    """Probability of a block of two binary attributes, each counted by the other, given the seed."""
    now, found = list(seed), 1.0
    served: dict[tuple[int, int], list[int]] = {}
    for record in block:
        for i in range(2):
            row = counts[:, now[1]] if i == 0 else counts[now[0]]
            before = served.setdefault((i, now[1 - i]), [])
            if len(before) >= most:
                found /= 2
            else:
                weight = row[record[i]] + priors[i] + before.count(record[i])
                found *= weight / (row.sum() + 2 * priors[i] + len(before))
            before.append(record[i])
            now[i] = record[i]
    return found


def _imputed(times: int) -> Iterator[Case]:
    domain = plain_domain(2, 2)
    claim = claim_of(urns_of("imputed", domain, 1, epsilon=Fraction(2), fit_rows=600)[1])
    _, draws, document = urns_of("imputed", domain, 1, epsilon=Fraction(2 * times), fit_rows=600)
    one = 1 << 32
    weights = [int(prior) * (one // UNIT) for prior in draws.parameters["priors"]]  # type: ignore[union-attr]

    @lru_cache(16)
    def outcomes(table: bytes) -> dict[tuple[int, ...], float]:
        codes = np.frombuffer(table, np.uint16).reshape(-1, 2)
        fitted = draws.count(Rows(codes), document)
        states = dict.fromkeys(product(range(2), repeat=2), 0.25)
        for i, weight in enumerate(weights):
            after = dict.fromkeys(states, 0.0)
            for state, chance in states.items():
                shares = integer_probabilities(Features(domain, i), fitted[i], np.asarray([state], np.uint16))[0]
                for value in range(2):
                    own = (int(shares[value]) + weight) / (one + 2 * weight)
                    after[(*state[:i], value, *state[i + 1 :])] += chance * own
            states = after
        return states

    def law(table: Codes, drawn: Codes) -> float:
        return log(outcomes(np.ascontiguousarray(table).tobytes())[tuple(drawn[0].tolist())])

    yield Case(
        name="imputed: a record",
        claim=claim,
        experiment=UrnsExperiment(draws, document, 1, law, ordered(domain, 1)),
        series=tuple(
            Neighbours(f"{each} records equal to it, with and without the record", partial(copies, [], (0, 0)), each)
            for each in (0, 1, 4, 20)
        ),
        kind="imputed",
    )


def _sets(times: int) -> Iterator[Case]:
    domain = plain_domain(2, 2)
    for shared in (False, True):
        asked = {"epsilon": Fraction(2), "sets": 2, "shared": shared}
        claim = claim_of(urns_of("multinomial_sets", domain, 4, **asked)[1])
        _, draws, document = urns_of("multinomial_sets", domain, 4, **{**asked, "epsilon": Fraction(2 * times)})
        prior, urns = int(draws.parameters["prior"]), 1 if shared else 2  # type: ignore[call-overload]

        def law(table: Codes, drawn: Codes, *, prior: int = prior, urns: int = urns) -> float:
            cells = np.bincount(table[:, 0].astype(int) * 2 + table[:, 1], minlength=4)
            made = drawn[:, 0].astype(int) * 2 + drawn[:, 1]
            return sum(log_polya(cells, prior, np.bincount(own, minlength=4)) for own in np.split(made, urns))

        yield Case(
            name=f"multinomial_sets: 2 sets of 2 records{', one urn' if shared else ''}",
            claim=claim,
            experiment=UrnsExperiment(draws, document, 4, law, ordered(domain, 4)),
            series=(
                Neighbours(
                    "200 equal records that differ from it, with and without the record",
                    partial(copies, [(1, 1)] * 200, (0, 0)),
                ),
            ),
            kind="multinomial_sets",
        )


def log_polya(counts: Any, prior: int, drawn: Any) -> float:
    """Return the log probability of one order of draws from a Polya urn; `prior` in units of 1 / 2^20 records."""
    alpha = np.asarray(counts, np.float64) + prior / UNIT
    whole = lgamma(alpha.sum()) - lgamma(alpha.sum() + int(np.sum(drawn)))
    return whole + sum(
        lgamma(own + number) - lgamma(own) for own, number in zip(alpha, np.asarray(drawn).tolist(), strict=True)
    )


_PEOPLE, _ORIGINS = 6, 4


def _flows(times: int) -> Iterator[Case]:
    domain = plain_domain(1, _ORIGINS, names=("work", "home"))
    plain = {"destination": "work", "origin": "home", "totals": {"v0": _PEOPLE}, "coarsen": False}
    pdp = {**plain, "privacy": "pdp", "delta": Fraction(1, 100), "epsilon": Fraction(2)}
    variants: dict[str, dict[str, Any]] = {
        "pure": {**plain, "epsilon": Fraction(2)},
        "pdp": pdp,
        "pdp by theorem 4.4": {**pdp, "bound": "theorem_4_4"},
        "pdp with domain sampling": {**pdp, "sampling": Fraction(1, 2)},
        "pdp with accept and reject": {**pdp, "accept_reject": True, "delta": Fraction(1, 20)},
    }
    for name, variant in variants.items():
        claim = claim_of(urns_of("origin_destination", domain, _PEOPLE, **variant)[1])
        asked = {**variant, "epsilon": times * variant["epsilon"]}
        entry, draws, document = urns_of("origin_destination", domain, _PEOPLE, **asked)
        plan = plan_of(dict(entry), domain, Fraction(1))

        def law(table: Codes, drawn: Codes, *, plan: Any = plan) -> float:
            counts = np.bincount(table[:, 1].astype(int), minlength=_ORIGINS)
            prior = plan.prior(int(counts.sum()), _PEOPLE)
            made = np.bincount(drawn[:, 1].astype(int), minlength=_ORIGINS)
            if plan.kept is not None:
                return _log_sampled(counts, prior, made, float(plan.kept))
            if plan.accept_reject:
                return _log_accepted(tuple(counts.tolist()), prior, tuple(made.tolist()), plan.growth)
            return log_polya(counts, prior, made)

        if name == "pure":
            series = [
                Neighbours(
                    "200 workers from another origin, with and without the worker",
                    partial(copies, [(0, 1)] * 200, (0, 0)),
                )
            ]
        else:
            series = [
                Neighbours(
                    f"{_PEOPLE} workers, of whom {centre} or {centre + 1} have one origin, and the others another",
                    partial(_moved, _PEOPLE),
                    centre,
                )
                for centre in range(_PEOPLE)
            ]
        yield Case(
            name=f"origin_destination: {name}",
            claim=claim,
            experiment=UrnsExperiment(draws, document, _PEOPLE, law, _flows_of(), in_order=False),
            series=tuple(series),
            kind="origin_destination",
        )


@lru_cache(1)
def _flows_of() -> Sequence[tuple[Codes, int]]:
    """All numbers of draws from each origin, and the number of orders of each."""
    found = []
    for drawn in product(range(_PEOPLE + 1), repeat=_ORIGINS):
        if sum(drawn) == _PEOPLE:
            ways = factorial(_PEOPLE) // prod(factorial(each) for each in drawn)
            homes = np.repeat(np.arange(_ORIGINS), drawn)
            found.append((np.stack([np.zeros(_PEOPLE, np.int64), homes], axis=1).astype(np.uint16), ways))
    return found


def _moved(people: int, number: int) -> Codes:
    """Workers of one destination, of whom a number have the first origin, and the others the second."""
    return np.asarray([(0, 0)] * number + [(0, 1)] * (people - number), np.uint16)


def _log_sampled(counts: Any, prior: int, drawn: Any, kept: float) -> float:
    """Log probability of draws under domain sampling: over all sets of empty origins that stay."""
    empty = [place for place in range(_ORIGINS) if not counts[place]]
    total = 0.0
    for size in range(len(empty) + 1):
        for stay in combinations(empty, size):
            there = [place for place in range(_ORIGINS) if counts[place] or place in stay]
            if drawn.sum() == drawn[there].sum():
                chance = kept**size * (1 - kept) ** (len(empty) - size)
                total += chance * exp(log_polya(counts[there], prior, drawn[there]))
    return log(total) if total else -inf


@lru_cache(4096)
def _log_accepted(counts: tuple[int, ...], prior: int, drawn: tuple[int, ...], growth: Fraction) -> float:
    """Log probability of the first acceptable draws of several, or of draws from the prior alone."""
    never = (1 - _chance_of_good(counts, prior, growth)) ** TRIES
    found = never * exp(log_polya(np.zeros(_ORIGINS), prior, drawn))
    if _is_good(counts, prior, drawn, growth):
        found += exp(log_polya(counts, prior, drawn)) * (1 - never) / _chance_of_good(counts, prior, growth)
    return log(found) if found else -inf


def _is_good(counts: tuple[int, ...], prior: int, drawn: tuple[int, ...], growth: Fraction) -> bool:
    there = np.flatnonzero(counts)
    return is_acceptable(np.repeat(np.arange(_ORIGINS), drawn), there, np.asarray(counts)[there], prior, growth)


@lru_cache(64)
def _chance_of_good(counts: tuple[int, ...], prior: int, growth: Fraction) -> float:
    total = 0.0
    for drawn in product(range(_PEOPLE + 1), repeat=_ORIGINS):
        if sum(drawn) == _PEOPLE and _is_good(counts, prior, drawn, growth):
            ways = lgamma(_PEOPLE + 1) - sum(lgamma(each + 1) for each in drawn)
            total += exp(ways + log_polya(counts, prior, drawn))
    return min(total, 1.0)


@dataclass(eq=False)
class SeedsExperiment(LawExperiment):
    """Candidates that start from seeds and are tested, planned and drawn as in a release.

    Attributes:
        entry: the sampler's entry.
        domain: the domain; the model is uniform.
    """

    entry: Any
    domain: Domain

    @cached_property
    def model(self) -> Mapping[str, Any]:
        """The document of the uniform model."""
        there: dict[str, Any] = {}
        for step in steps_of(entry_of("uniform")(kind="uniform"), self.domain, lambda delta: delta):
            there |= step.run(_NOBODY, there, opener(ReleaseKey(bytes(32)), step.name)).products
        document: Mapping[str, Any] = there["model"]
        return document

    @cached_property
    def sampler(self) -> Any:
        """The sampler, as planned."""
        return sampler_of(self.entry, self.domain, lambda delta: delta)

    def output(self, table: Codes, key: ReleaseKey) -> Output:
        """See `LawExperiment`; the positions of candidates that are not released are not an output."""
        prepare, net = self.sampler.prepare, model_from_document(self.domain, self.model)
        index = prepare.run(Rows(table), {"model": self.model}, opener(key, prepare.name)).products["seed_index"]
        released = self.sampler.open(net, index, opener(key, Role.CANDIDATES))(0, self.entry.candidates)
        return {"records": tuple(sorted(tuple(record) for record in released.tolist()))}

    def laws(self, table: Codes) -> Mapping[Hashable, Law]:
        """See `LawExperiment`: the records that are released, in any order."""
        chances = self.chances(np.ascontiguousarray(table).tobytes())
        failed = log(1 - sum(chances.values()))
        logs = {record: log(chance) if chance else -inf for record, chance in chances.items()}
        candidates = self.entry.candidates
        found = {}
        for number in range(candidates + 1):
            for released in combinations_with_replacement(sorted(logs), number):
                numbers = [*Counted(released).values(), candidates - number]
                ways = factorial(candidates) // prod(factorial(each) for each in numbers)
                found[released] = log(ways) + sum(logs[record] for record in released) + (candidates - number) * failed
        return {"records": found}

    @lru_cache(256)  # noqa: B019 - a few experiments in all
    def chances(self, table: bytes) -> dict[tuple[int, ...], float]:
        """Return the probability that an attempt releases each record, from the definition of Mechanism 1*."""
        codes = np.frombuffer(table, np.uint16).reshape(-1, len(self.domain))
        net = model_from_document(self.domain, self.model)
        kinds, numbers = np.unique(net.in_order(codes), axis=0, return_counts=True)
        resampler = SeedResampler(net, dict(self.entry.omega))
        places, a, gamma = (
            max(len(codes), self.entry.public_rows),
            exp(-float(self.entry.eps0)),
            float(self.entry.gamma),
        )
        found = {}
        for record in product(*(range(size) for size in self.domain.cardinalities)):
            given = resampler.probabilities(net.in_order(np.asarray([record], np.uint16))[0], kinds)
            classes = [-1 if p == 0 else int(-log(p) / log(gamma) + 1e-9) for p in given.tolist()]
            total = 0.0
            for p, own, number in zip(given.tolist(), classes, numbers.tolist(), strict=True):
                count = sum(int(n) for n, each in zip(numbers, classes, strict=True) if each == own)
                missing = self.entry.k - count
                passes = a**missing / (1 + a) if missing > 0 else 1 - a ** (1 - missing) / (1 + a)
                total += number * p * passes
            found[record] = float(1 - self.entry.drop_probability) * total / places
        return found


def cases_of_seeds() -> Iterator[Case]:
    """Yield the audits of tested seeds and of histograms of prefixes."""
    domain = plain_domain(2, 2)
    for omega, gamma, candidates in (({1: 1}, 4, 3), ({1: 1, 2: 1}, 4, 3), ({1: 1}, 2, 1)):
        entry = entry_of_seeds(omega, gamma, candidates, Fraction(1))
        experiment = SeedsExperiment(entry, domain)
        yield Case(
            name=f"tested_seeds: {candidates} candidate{'s' if candidates > 1 else ''}"
            + (", two numbers of attributes" if len(omega) > 1 else f", gamma {gamma}"),
            claim=experiment.sampler.prepare.guarantee,
            experiment=experiment,
            series=series_of_seeds(),
            kind="tested_seeds",
        )
    yield from _attempts()
    yield from _histograms()


@dataclass(eq=False)
class AttemptsExperiment(LawExperiment):
    """All attempts of seeds, each row making a Poisson number; what is filled up afterwards reads no row.

    Attributes:
        law: the law of passing, as planned for a release.
        attempts_per_row: mean number of attempts of a row.
        domain: the domain; the model is uniform.
    """

    law: PassLaw
    attempts_per_row: Fraction
    domain: Domain

    @cached_property
    def net(self) -> Any:
        """The uniform model."""
        return model_from_document(self.domain, SeedsExperiment(None, self.domain).model)

    def output(self, table: Codes, key: ReleaseKey) -> Output:
        """See `LawExperiment`: numbers of records that begin with each value."""
        index = SeedIndex.build(self.net.in_order(table), {1: 1})
        stream = opener(key, Role.ATTEMPTS)(mechanism="poisson_attempts", parameters={})
        released = release_from_seeds(self.net, index, self.law, self.attempts_per_row, stream)
        return dict(enumerate(np.bincount(released[:, self.first], minlength=2).tolist()))

    def laws(self, table: Codes) -> Mapping[Hashable, Law]:
        """See `LawExperiment`: independent Poisson numbers by Theorem P."""
        counts = np.bincount(table[:, self.first], minlength=2)
        means = float(self.attempts_per_row) * counts * self.law.probability(counts)
        return {value: poisson(mean) for value, mean in enumerate(means.tolist())}

    @property
    def first(self) -> int:
        """The attribute that is kept."""
        return int(self.net.order[0])


def poisson(mean: float) -> dict[Any, float]:
    """Return a Poisson law."""
    if mean == 0:
        return {0: 0.0}
    most = int(mean + 12 * mean**0.5 + 40)
    return {number: number * log(mean) - mean - lgamma(number + 1) for number in range(most + 1)}


@lru_cache
def _law_of_passing(attempts_per_row: Fraction) -> PassLaw:
    law = law_within(attempts_per_row, plausible=4, epsilon=1.0, delta=1e-5)
    if law is None:
        raise ValueError("no law of passing is within the budget")
    return law


def attempts_experiment(attempts_per_row: Fraction, *, made: Fraction | None = None) -> tuple[AttemptsExperiment, Any]:
    """Return an audit's experiment and its claim.

    Args:
        attempts_per_row: mean number of attempts of a row that are planned and claimed.
        made: mean number that are made, if another, as a twin does.
    """
    law = _law_of_passing(attempts_per_row)
    claim = best((law.event(attempts_per_row, "seeds"),), 1e-5)
    return AttemptsExperiment(law, made or attempts_per_row, plain_domain(2, 2)), claim


def series_of_attempts(law: PassLaw) -> tuple[Neighbours, ...]:
    """Return tables in which the rows that share the differing row's prefix are at the floor, between, and beyond."""
    return tuple(
        Neighbours(
            f"{centre} rows that share its prefix and 20 that do not, with and without the row",
            partial(copies, [(1, 1)] * 20, (0, 0)),
            centre,
        )
        for centre in sorted({law.plausible, law.half, law.half + 1, law.full - 1, law.full})
    )


def _attempts() -> Iterator[Case]:
    for attempts_per_row in (Fraction(1, 4), Fraction(1)):
        experiment, claim = attempts_experiment(attempts_per_row)
        yield Case(
            name=f"poisson_seeds: {float(attempts_per_row):g} attempts of each row",
            claim=claim,
            experiment=experiment,
            series=series_of_attempts(experiment.law),
            kind="poisson_seeds",
        )


@dataclass(eq=False)
class PrefixExperiment(LawExperiment):
    """A noisy histogram of prefixes.

    Attributes:
        mechanism: the mechanism, as calibrated for a release.
        domain: the domain.
    """

    mechanism: Any
    domain: Domain

    def output(self, table: Codes, key: ReleaseKey) -> Output:
        """See `LawExperiment`."""
        released = self.mechanism.run(self.counted(table), opener(key, Role.HISTOGRAM))
        shown = zip(map(tuple, released.cells.tolist()), released.counts.tolist(), strict=True)
        return {**dict(shown), **({} if released.rows is None else {"rows": released.rows})}

    def laws(self, table: Codes) -> Mapping[Hashable, Law]:
        """See `LawExperiment`."""
        counts, recipe = self.counted(table), self.mechanism.recipe
        found = {
            tuple(cell): kept(int(count), float(recipe.epsilon_cells), self.mechanism.threshold)
            for cell, count in zip(counts.cells.tolist(), counts.counts.tolist(), strict=True)
        }
        rows = {"rows": laplace(len(table), float(recipe.epsilon_rows))} if recipe.epsilon_rows else {}
        return {**found, **rows}

    def counted(self, table: Codes) -> PrefixCounts:
        """Return the counts of the prefixes of a table."""
        order = tuple(range(len(self.domain)))
        return Rows(table).count(partial(PrefixCounts, self.domain, order, 1), "prefixes")


def kept(count: int, epsilon: float, threshold: int) -> dict[Any, float]:
    """Return the law of a noisy count of what occurs, which is left out below a threshold."""
    noisy, a, needed = laplace(count, epsilon), exp(-epsilon), threshold - count
    below = log1p(-(a**needed) / (1 + a)) if needed > 0 else (1 - needed) * -epsilon - log(1 + a)
    return {None: below, **{number: chance for number, chance in noisy.items() if number >= threshold}}


def _histograms() -> Iterator[Case]:
    domain = plain_domain(3, 2)
    for rows in (None, Fraction(1, 4)):
        recipe = HistogramRecipe(epsilon=Fraction(1), delta=Fraction(1, 10**6), epsilon_rows=rows)
        mechanism = recipe.calibrate()
        yield Case(
            name=f"histogram_seeds{', with the number of records' if rows else ''}",
            claim=mechanism.guarantee,
            experiment=PrefixExperiment(mechanism, domain),
            series=tuple(
                Neighbours(
                    f"40 records with another prefix and {words} with its prefix, with and without the record",
                    partial(copies, [(1, 0)] * 40, (0, 0)),
                    centre,
                )
                for centre, words in ((40, "40 others"), (0, "nobody else"), (12, "12 others"))
            ),
            kind="histogram_seeds",
        )


@dataclass(eq=False)
class DiscoveryExperiment(LawExperiment):
    """A discovery; a table is a list of texts by column.

    Attributes:
        plan: the questions and their budget.
    """

    plan: DiscoveryPlan

    def output(self, table: Mapping[str, Sequence[str]], key: ReleaseKey) -> Output:
        """See `LawExperiment`: values and, of ranges, counts of all buckets and numbers of decimals of the table."""
        made = answers(self.plan, {column: _numbers(texts) for column, texts in table.items()}, opener(key, "discover"))
        found = dict[Hashable, Any]()
        for answer in made.answers:
            if isinstance(answer, ValuesAnswer):
                found |= {(answer.column, text): count for text, count in answer.values}
            elif isinstance(answer, RangeAnswer):
                for bucket, decimals in self._places(table[answer.column]):
                    found[answer.column, "bucket", bucket] = int(answer.counts[bucket])
                    found[answer.column, "decimals", decimals] = int(answer.decimals[decimals])
        return found

    def laws(self, table: Mapping[str, Sequence[str]]) -> Mapping[Hashable, Law]:
        """See `LawExperiment`."""
        epsilon, found = float(self.plan.epsilon) / len(self.plan.questions), dict[Hashable, Law]()
        ranges = {question.column for question in self.plan.questions if question.kind == "range"}
        for column, texts in table.items():
            if column not in ranges:
                for text, count in _numbers(texts).items():
                    found[column, text] = kept(count, epsilon, self.plan.threshold)
                continue
            places = [self._places([text])[0] for text in texts]
            for name, share, own in (
                ("bucket", 0.75, [bucket for bucket, _ in places]),
                ("decimals", 0.25, [decimals for _, decimals in places]),
            ):
                found |= {(column, name, place): laplace(own.count(place), share * epsilon) for place in set(own)}
        return found

    @staticmethod
    def _places(texts: Sequence[str]) -> list[tuple[int, int]]:
        return [place for text in dict.fromkeys(texts) if (place := place_of(text)) is not None]


def _numbers(texts: Sequence[str]) -> dict[str, int]:
    return {text: texts.count(text) for text in dict.fromkeys(texts)}


def cases_of_discovery() -> Iterator[Case]:
    """Yield the audits of discoveries."""
    for name, values, ranges, delta in (
        ("values of a column", ["town"], [], Fraction(1, 10**6)),
        ("range of a column", [], ["age"], Fraction(0)),
        ("values of two columns and range of one", ["town", "trade"], ["age"], Fraction(1, 10**6)),
    ):
        plan = DiscoveryPlan(questions=asked(values, ranges), epsilon=Fraction(3), delta=delta)
        yield Case(
            name=f"discovery: {name}",
            claim=plan.guarantee,
            experiment=DiscoveryExperiment(plan),
            series=(
                Neighbours(
                    "40 others with its values, with and without the record",
                    partial(_found, [*values, *ranges]),
                    40,
                ),
            ),
            kind="discovery",
        )


def _found(columns: Sequence[str], number: int) -> dict[str, list[str]]:
    return {column: ["41.5" if column == "age" else "here"] * number for column in columns}


@dataclass(eq=False)
class SurveyExperiment(LawExperiment):
    """A respondent of a survey; a table is the answers to all questions.

    Attributes:
        survey: the survey.
    """

    survey: Survey

    def output(self, table: Mapping[str, str], key: ReleaseKey) -> Output:
        """See `LawExperiment`."""
        return dict(respond(self.survey, table, key))

    def laws(self, table: Mapping[str, str]) -> Mapping[Hashable, Law]:
        """See `LawExperiment`."""
        return {question.name: self._law(question, table[question.name]) for question in self.survey.questions}

    @staticmethod
    def _law(question: Any, answer: str) -> dict[Any, float]:
        ratio, values = float(question.design.ratio), question.values
        if question.design.kind == "oue":
            own = [0.5 if value == answer else 1 / (1 + ratio) for value in values]
            return {
                "".join(map(str, bits)): sum(log(p if bit else 1 - p) for p, bit in zip(own, bits, strict=True))
                for bits in product((0, 1), repeat=len(values))
            }
        whole = log(ratio + len(values) - 1)
        return {value: (log(ratio) if value == answer else 0.0) - whole for value in values}


def survey_of(*designs: tuple[str, int], epsilon: int = 1) -> Survey:
    """Return a survey with a question for each design and number of values, each at one epsilon."""
    questions = [
        {
            "name": f"q{i}",
            "text": "Which?",
            "values": [f"v{value}" for value in range(values)],
            "design": design,
            "epsilon": str(epsilon),
        }
        for i, (design, values) in enumerate(designs)
    ]
    return read_survey(json.dumps({"survey": "audit", "title": "An audit", "questions": questions}))


def cases_of_surveys() -> Iterator[Case]:
    """Yield the audits of the designs of randomized response, one by one and together."""
    designs = (("warner", 2), ("forced", 2), ("k_rr", 5), ("oue", 5))
    for own in (*((each,) for each in designs), designs):
        survey = survey_of(*own)
        yield Case(
            name=f"survey: {own[0][0] if len(own) == 1 else 'a question of each design'}",
            claim=Guarantee(survey.epsilon, 0.0, "basic"),
            experiment=SurveyExperiment(survey),
            series=(
                Neighbours(
                    "a respondent with one answer or another to every question",
                    partial(_answers, len(own)),
                ),
            ),
            kind="surveys",
        )


def _answers(questions: int, number: int) -> dict[str, str]:
    return {f"q{i}": f"v{number}" for i in range(questions)}


def entry_of_seeds(omega: Mapping[int, int], gamma: int, candidates: int, eps0: Fraction) -> Any:
    """Return the entry of tested seeds in a spec."""
    return sampler_entry("tested_seeds")(
        guarantee="tested_seeds",
        omega=dict(omega),
        k=20,
        gamma=Fraction(gamma),
        eps0=eps0,
        test=2,
        epsilon=Fraction(20),
        delta=Fraction(1, 1000),
        total_delta=Fraction(1, 100_000),
        records=1,
        candidates=candidates,
        drop_probability=Fraction(1, 10),
        public_rows=40,
        chunk_candidates=candidates,
    )


def series_of_seeds() -> tuple[Neighbours, ...]:
    """Return tables in which the records that share the differing record's prefix are below, at and above k."""
    return tuple(
        Neighbours(
            f"{centre} records that share its prefix and {others} that do not, with and without the record",
            partial(copies, [(1, 1)] * others, (0, 0)),
            centre,
        )
        for centre in (1, 6, 12, 15, 17, 18, 19, 20, 22)
        for others in (1, 20, 38)
    )
