"""Broken twins: mechanisms with one deliberate fault each, whose audits must exceed what they claim.

Each twin is the real mechanism, run as in its own audit, with one thing done wrong. A fault that leaves the stated law
as it is, such as a stream used twice, is found by counting; all others by exact ratios. A fault that cannot be traced,
such as noise for some counts only, is refused.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, cast
from unittest.mock import patch

import numpy as np

from benchmarks.audits.auditing import Audit, Budget, Case, Neighbours, audit
from benchmarks.audits.drawn import (
    PrefixExperiment,
    SeedsExperiment,
    SurveyExperiment,
    attempts_experiment,
    cases_of_discovery,
    cases_of_seeds,
    cases_of_surveys,
    cases_of_urns,
    entry_of_seeds,
    plain_domain,
    series_of_attempts,
    series_of_seeds,
    survey_of,
)
from benchmarks.audits.learned import StepExperiment
from benchmarks.audits.releases import TOGETHER, cases_of_certificates, cases_of_learners, cases_of_persons, spec_of
from benchmarks.audits.tracing import Noise
from deniable.discovery import answering
from deniable.foundation.keys import ReleaseKey
from deniable.foundation.noise import DiscreteLaplace
from deniable.learners.independent import histograms
from deniable.learners.loglinear import exponential_mechanism
from deniable.learners.privbayes import structure
from deniable.local import responding
from deniable.privacy.loss import Guarantee
from schemas.spec.plan import learning_steps


@dataclass(frozen=True)
class Twin:
    """A broken mechanism.

    Attributes:
        name: the mechanism.
        fault: the fault, in words.
        made: makes its audit, with the claim of the right mechanism.
        broken: inside of it the fault is there.
    """

    name: str
    fault: str
    made: Callable[[], Case]
    broken: Callable[[], AbstractContextManager[Any]] = nullcontext

    def audit(self, budget: Budget) -> Audit:
        """Audit the broken mechanism."""
        case = self.made()
        with self.broken():
            return audit(replace(case, name=f"{self.name}: {self.fault}"), budget)


def _first(cases: Iterator[Case], begins: str) -> Case:
    return next(case for case in cases if case.name.startswith(begins))


def _step_of(case: Case) -> StepExperiment:
    experiment: Any = case.experiment
    return cast("StepExperiment", experiment)


def _claims(case: Case, share: float) -> Case:
    """The same mechanism, which claims a share of its epsilon."""
    claim = Guarantee(case.claim.epsilon * share, case.claim.delta, case.claim.accountant)
    return replace(case, claim=claim)


def _planned(kind: str, noise: int, step: str, factor: int) -> Case:
    """A learner whose step is planned at a multiple of the epsilon that is claimed."""
    begins = f"{kind}, laplace" if noise == 0 and kind != "independent" else kind
    case = next(
        own
        for own in cases_of_learners()
        if own.name.startswith(f"{kind}, gaussian" if noise else begins) and own.name.endswith(step)
    )
    spec = spec_of(kind, noise)
    budget = spec.learner.parameters.model_copy(update={"epsilon": factor * spec.learner.parameters.epsilon})
    wrong = spec.model_copy(update={"learner": spec.learner.model_copy(update={"parameters": budget})})
    planned = next(each for each in learning_steps(wrong) if each.name == step)
    return replace(case, experiment=replace(_step_of(case), step=planned))


@contextmanager
def _choices_at(factor: int) -> Iterator[None]:
    def choose(scores: Sequence[int], *, sensitivity: int, epsilon: Fraction, stream: Any) -> int:
        return exponential_mechanism.choose(scores, sensitivity=sensitivity, epsilon=factor * epsilon, stream=stream)

    with patch.object(structure, "choose", choose):
        yield


class _HalfAsWide(DiscreteLaplace):
    def sample(self, stream: Any, size: int) -> Any:
        return DiscreteLaplace(self.scale / 2).sample(stream, size)


class _OfOccupiedOnly(DiscreteLaplace):
    def sample(self, stream: Any, size: int) -> Any:
        drawn = super().sample(stream, size)
        return np.where(np.arange(size) > 0, drawn, 0) if isinstance(drawn, Noise) else drawn


@contextmanager
def _one_stream() -> Iterator[None]:
    """Let all questions of a respondent have the words of one stream."""
    own = ReleaseKey.stream

    def stream(self: ReleaseKey, **asked: Any) -> Any:
        return own(self, **{**asked, "mechanism": "survey", "parameters": {}})

    with patch.object(responding.ReleaseKey, "stream", stream):
        yield


def _lower_threshold() -> Case:
    case = _first(cases_of_seeds(), "histogram_seeds: nobody")
    experiment: Any = case.experiment
    lower = replace(experiment.mechanism, threshold=experiment.mechanism.threshold - 2)
    return replace(case, experiment=PrefixExperiment(lower, experiment.domain))


def _seeds(eps0: Fraction, candidates: int) -> Case:
    domain = plain_domain(2, 2)
    right = SeedsExperiment(entry_of_seeds({1: 1}, 4, 3, Fraction(1)), domain).sampler.prepare.guarantee
    wrong = SeedsExperiment(entry_of_seeds({1: 1}, 4, candidates, eps0), domain)
    return Case("tested_seeds", right, wrong, series_of_seeds(), "tested_seeds")


def _more_attempts() -> Case:
    experiment, claim = attempts_experiment(Fraction(1, 4), made=Fraction(1))
    return Case("poisson_seeds", claim, experiment, series_of_attempts(experiment.law), "poisson_seeds")


def _all_records_of_a_person() -> Case:
    case = _first(cases_of_discovery(), "discovery: values of a column")
    (series,) = case.series
    tripled = replace(
        series,
        words="40 people with its values and 3 records each, with and without a person",
        table=partial(_times, series.table, TOGETHER),
    )
    return replace(case, series=(tripled,))


def _times(table: Callable[[int], Any], factor: int, number: int) -> Any:
    return table(factor * number)


def _noise_for_one() -> Case:
    case = _first(cases_of_persons(), "independent")
    spec = spec_of("independent")
    planned = next(step for step in learning_steps(spec) if step.part is not None)
    return replace(case, experiment=replace(_step_of(case), step=planned))


def _different_answers() -> Case:
    survey = survey_of(("warner", 2), ("warner", 2))
    tables = ({"q0": "v0", "q1": "v0"}, {"q0": "v0", "q1": "v1"})
    series = Neighbours(
        "a respondent with equal answers to two questions, or with different ones", tables.__getitem__, 0, 1
    )
    return Case("survey", Guarantee(survey.epsilon, 0.0, "basic"), SurveyExperiment(survey), (series,), "surveys")


TWINS: tuple[Twin, ...] = (
    Twin("independent", "noise for twice the epsilon", lambda: _planned("independent", 0, "learn_parameters", 2)),
    Twin("marginals", "Gaussian noise for twice the epsilon", lambda: _planned("marginals", 1, "learn_parameters", 2)),
    Twin(
        "loglinear",
        "measurements and choices for three times the epsilon",
        lambda: _planned("loglinear", 1, "learn_parameters", 3),
    ),
    Twin(
        "independent",
        "no noise for the first value of an attribute",
        lambda: _first(cases_of_learners(), "independent"),
        lambda: patch.object(histograms, "DiscreteLaplace", _OfOccupiedOnly),
    ),
    Twin(
        "privbayes",
        "choices at eight times the epsilon",
        lambda: _first(cases_of_learners(), "privbayes: learn_structure"),
        lambda: _choices_at(8),
    ),
    Twin(
        "certificate",
        "noise for twice the epsilon",
        lambda: _claims(
            next(case for case in cases_of_certificates() if case.name == "certificate of pegs_noisy, alone"), 0.5
        ),
    ),
    Twin("persons", "three records of a person with noise for one", _noise_for_one),
    Twin("pegs", "urns for twice the epsilon", lambda: _claims(_first(cases_of_urns(), "pegs: a block of 3"), 0.5)),
    Twin("imputed", "urns for twice the epsilon", lambda: _claims(_first(cases_of_urns(), "imputed"), 0.5)),
    Twin("multinomial_sets", "two sets charged as one", lambda: _claims(_first(cases_of_urns(), "multinomial"), 0.5)),
    Twin(
        "origin_destination",
        "pdp weights for twice the epsilon",
        lambda: _claims(_first(cases_of_urns(), "origin_destination: pdp"), 0.5),
    ),
    Twin("tested_seeds", "half of the noise", lambda: _seeds(Fraction(2), 3)),
    Twin("tested_seeds", "twelve candidates charged as three", lambda: _seeds(Fraction(1), 12)),
    Twin("poisson_seeds", "four times the attempts that are charged", _more_attempts),
    Twin("histogram_seeds", "a threshold that is lower by two", _lower_threshold),
    Twin(
        "discovery",
        "noise half as wide as is stated, which only counting can find",
        lambda: _first(cases_of_discovery(), "discovery: values of a column"),
        lambda: patch.object(answering, "DiscreteLaplace", _HalfAsWide),
    ),
    Twin("discovery", "all records of a person are counted", _all_records_of_a_person),
    Twin("survey", "a response at twice the epsilon", lambda: _claims(_first(cases_of_surveys(), "survey: k_rr"), 0.5)),
    Twin(
        "survey",
        "one stream for all questions, which only counting can find",
        _different_answers,
        _one_stream,
    ),
)
