"""Broken twins: mechanisms with one deliberate fault each, whose audits must exceed what they claim.

Each twin is the real mechanism, run as in its own audit, with one thing done wrong. Every step of a learner has one
that is planned for more than it claims; nothing is written for it. A fault that cannot be traced, such as noise for
some counts only, or that leaves the stated law as it is, such as a stream used twice, is refused.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from typing import Any, cast
from unittest.mock import patch

import numpy as np
from pydantic import BaseModel

from benchmarks.audits.auditing import Audit, Case, Neighbours, audit
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
from benchmarks.audits.learned import PLAIN, StepExperiment
from benchmarks.audits.releases import (
    TOGETHER,
    cases_of_certificates,
    cases_of_learners,
    cases_of_persons,
    spec_of,
    spec_with,
    specs_of_learners,
)
from benchmarks.audits.tracing import Noise, importers_of_choices
from deniable.discovery import answering
from deniable.foundation.keys import ReleaseKey
from deniable.foundation.noise import DiscreteLaplace
from deniable.learners.independent import histograms
from deniable.learners.loglinear import exponential_mechanism
from deniable.local import responding
from deniable.privacy.loss import Guarantee
from schemas.spec.plan import plan_release
from schemas.spec.release_spec import ReleaseSpec
from tests.mechanisms.table import CERTIFIED

_TIMES = 2
_TIMES_OF_URNS = 4
_TIMES_OF_CHOICES = 8


@dataclass(frozen=True)
class Twin:
    """A broken mechanism.

    Attributes:
        name: the mechanism, as audits of it begin.
        fault: the fault, in words.
        made: makes its audit, with the claim of the right mechanism.
        broken: inside of it the fault is there.
    """

    name: str
    fault: str
    made: Callable[[], Case]
    broken: Callable[[], AbstractContextManager[Any]] = nullcontext

    def audit(self, runs: int) -> Audit:
        """Audit the broken mechanism."""
        case = self.made()
        with self.broken():
            return audit(replace(case, name=f"{self.name}: {self.fault}"), runs)


def _first(cases: Iterable[Case], begins: str) -> Case:
    return next(case for case in cases if case.name.startswith(begins))


def _step_of(case: Case) -> StepExperiment:
    experiment: Any = case.experiment
    return cast("StepExperiment", experiment)


def of_learners() -> Iterator[Twin]:
    """Yield a twin of each step of each learner that is planned at twice the epsilon, and one of each that chooses."""
    specs = dict(specs_of_learners())
    for case in cases_of_learners():
        name, _, step = case.name.partition(": ")
        adds_noise = any(event.mechanism != "exponential" for event in _step_of(case).step.events)
        if case.choice is not None:
            made = partial(_plain if adds_noise else _itself, case)
            yield Twin(
                case.name,
                f"choices at {_TIMES_OF_CHOICES} times the epsilon",
                made,
                partial(_choices_at, _TIMES_OF_CHOICES),
            )
        if name in specs and adds_noise:
            yield Twin(case.name, "planned for twice the epsilon", partial(_planned, case, specs[name], step))


def _itself(case: Case) -> Case:
    return case


def _plain(case: Case) -> Case:
    """The same audit of a few tables: a fault need not be shown where it is worst."""
    return replace(case, series=case.series[:PLAIN])


def _planned(case: Case, spec: ReleaseSpec, step: str) -> Case:
    """The audit of a step that is planned at a multiple of the epsilon that is claimed."""
    wrong = spec.model_copy(update={"learner": _dearer(spec.learner)})
    planned = next(each for each in plan_release(wrong).learning if each.name == step)
    return replace(_plain(case), experiment=replace(_step_of(case), step=planned))


def _dearer(entry: Any) -> Any:
    """An entry with multiples of all its budgets."""
    changed: dict[str, Any] = {}
    for name in type(entry).model_fields:
        value = getattr(entry, name)
        if "epsilon" in name and isinstance(value, Fraction):
            changed[name] = _TIMES * value
        elif isinstance(value, BaseModel):
            changed[name] = _dearer(value)
    return entry.model_copy(update=changed)


@contextmanager
def _choices_at(factor: int) -> Iterator[None]:
    def choose(scores: Sequence[int], *, sensitivity: int, epsilon: Fraction, stream: Any) -> int:
        return exponential_mechanism.choose(scores, sensitivity=sensitivity, epsilon=factor * epsilon, stream=stream)

    with _choosing(choose):
        yield


@contextmanager
def _best_ones() -> Iterator[None]:
    """Let learners take the best candidate."""

    def choose(scores: Sequence[int], **_: Any) -> int:
        return int(np.argmax(scores))

    with _choosing(choose):
        yield


@contextmanager
def _choosing(choose: Callable[..., int]) -> Iterator[None]:
    """Let all learners choose by another function."""
    with ExitStack() as patched:
        for module, name in importers_of_choices():
            if module != exponential_mechanism.__name__:
                patched.enter_context(patch(f"{module}.{name}", choose))
        yield


def _certified_for_more() -> Case:
    case = next(case for case in cases_of_certificates() if case.name == "certificate of pegs_noisy, alone")
    asked = CERTIFIED["pegs_noisy"]
    spec = spec_with({**asked, "learner": {**asked["learner"], "certificate": {"share": 0.2}}})
    planned = next(step for step in plan_release(spec).learning if step.part is not None)
    return replace(case, experiment=replace(_step_of(case), step=planned))


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
    case = _first(cases_of_seeds(), "histogram_seeds")
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
    planned = next(step for step in plan_release(spec).learning if step.part is not None)
    return replace(_plain(case), experiment=replace(_step_of(case), step=planned))


def _dearer_response() -> Case:
    claimed, made = (survey_of(("k_rr", 5), epsilon=epsilon) for epsilon in (1, 2))
    case = _first(cases_of_surveys(), "survey: k_rr")
    return replace(case, claim=Guarantee(claimed.epsilon, 0.0, "basic"), experiment=SurveyExperiment(made))


def _different_answers() -> Case:
    survey = survey_of(("warner", 2), ("warner", 2))
    tables = ({"q0": "v0", "q1": "v0"}, {"q0": "v0", "q1": "v1"})
    series = Neighbours("a respondent with equal answers to two questions, or with different ones", tables.__getitem__)
    return Case("survey", Guarantee(survey.epsilon, 0.0, "basic"), SurveyExperiment(survey), (series,), "surveys")


def of_urns() -> Iterator[Twin]:
    """Yield a twin of each way to draw records from exact counts."""
    words = f"urns for {_TIMES_OF_URNS} times the epsilon"
    for case in cases_of_urns():
        yield Twin(case.name, words, partial(_of_urns, case.name))


def _of_urns(name: str) -> Case:
    return next(case for case in cases_of_urns(_TIMES_OF_URNS) if case.name == name)


BY_HAND: tuple[Twin, ...] = (
    Twin(
        "independent",
        "no noise for the first value of an attribute",
        lambda: _first(cases_of_learners(), "independent"),
        lambda: patch.object(histograms, "DiscreteLaplace", _OfOccupiedOnly),
    ),
    Twin("mst", "the best pair is taken", lambda: _first(cases_of_learners(), "mst"), _best_ones),
    Twin("certificate", "noise for four times the epsilon", _certified_for_more),
    Twin("persons", "three records of a person with noise for one", _noise_for_one),
    Twin("tested_seeds", "half of the noise", lambda: _seeds(Fraction(2), 3)),
    Twin("tested_seeds", "twelve candidates charged as three", lambda: _seeds(Fraction(1), 12)),
    Twin("poisson_seeds", "four times the attempts that are charged", _more_attempts),
    Twin("histogram_seeds", "a threshold that is lower by two", _lower_threshold),
    Twin(
        "discovery",
        "noise half as wide as is stated",
        lambda: _first(cases_of_discovery(), "discovery: values of a column"),
        lambda: patch.object(answering, "DiscreteLaplace", _HalfAsWide),
    ),
    Twin("discovery", "all records of a person are counted", _all_records_of_a_person),
    Twin("survey", "a response at twice the epsilon", _dearer_response),
    Twin("survey", "one stream for all questions", _different_answers, _one_stream),
)
"""Twins with faults of their own."""


@cache
def twins() -> tuple[Twin, ...]:
    """Return all twins."""
    return (*of_learners(), *of_urns(), *BY_HAND)
