"""Audits of real mechanisms stay below their claims and near them, and above the claims of broken twins."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import stats

from benchmarks.audit_epsilon import KEPT
from benchmarks.audits import registry
from benchmarks.audits.auditing import Audit, Budget, Case, Neighbours, audit
from benchmarks.audits.bounds import (
    ALARM,
    epsilon_by_counting,
    epsilon_of_runs,
    epsilon_of_shifts,
    mean_at_least,
    predicted,
)
from benchmarks.audits.drawn import (
    PrefixExperiment,
    SurveyExperiment,
    cases_of_urns,
    copies,
    plain_domain,
    survey_of,
)
from benchmarks.audits.learned import StepExperiment, series_of
from benchmarks.audits.registry import NOT_AUDITED, without_an_audit
from benchmarks.audits.tracing import Untraceable, traced
from benchmarks.audits.twins import _choices_at, _one_stream
from deniable.foundation.keys import ReleaseKey
from deniable.foundation.noise import DiscreteGaussian, DiscreteLaplace
from deniable.learners.pegs_noisy import steps
from deniable.learners.registry import LEARNERS, entry_of, steps_of
from deniable.privacy.accounting import best
from deniable.privacy.loss import DiscreteGaussianEvent, DiscreteLaplaceEvent, Guarantee
from deniable.samplers.histogram_seeds.noisy_histogram import HistogramRecipe
from deniable.samplers.registry import SAMPLERS

DOMAIN = plain_domain(2, 3, 2)


def audited(case: Case, runs: int = 100, counted: int = 40) -> Audit:
    return audit(case, Budget(runs, 600.0, counted))


def learner(kind: str, epsilon: int = 1, step: str = "learn_parameters", **more: Any) -> Case:
    """A learner's step, planned at one epsilon and claimed at epsilon 1."""
    asked = {"parameters": {"epsilon": epsilon, **more.pop("parameters", {})}, **more}
    planned = next(
        each for each in steps_of(entry_of(kind)(kind=kind, **asked), DOMAIN, lambda delta: delta) if each.name == step
    )
    claimed = Guarantee(1.0, planned.guarantee.delta, "claimed") if planned.guarantee else None
    assert claimed is not None
    return Case(kind, claimed, StepExperiment(planned), series_of(DOMAIN), "learners")


def test_noisy_counts_spend_what_they_claim_and_twice_the_epsilon_is_found() -> None:
    honest, twin = (audited(learner("pegs_noisy", epsilon, key_cells=8)) for epsilon in (1, 2))
    assert honest.shown == pytest.approx(1.0)
    assert not honest.exceeds
    assert honest.counted is not None
    assert twin.shown == pytest.approx(2.0)
    assert twin.exceeds


@contextmanager
def noise_that_is(changed: Callable[[Any], Any]) -> Iterator[None]:
    """Let a learner of noisy tables do something with its noise."""

    class Changed(DiscreteLaplace):
        def sample(self, stream: Any, size: int) -> Any:
            return changed(super().sample(stream, size))

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(steps, "DiscreteLaplace", Changed)
        yield


@pytest.mark.parametrize(
    "changed",
    [
        lambda noise: 0 * noise,
        lambda noise: np.where(np.arange(noise.size) > 0, noise, 0),
        lambda noise: np.zeros(noise.size, np.int64),
        lambda noise: noise[:1],
        lambda noise: np.maximum(noise, 0),
    ],
    ids=["multiplied", "masked", "left out", "shared", "clipped"],
)
def test_noise_that_is_not_simply_added_is_refused(changed: Callable[[Any], Any]) -> None:
    case = learner("pegs_noisy", key_cells=8)
    with noise_that_is(changed):
        found = audited(case)
    assert found.exceeds
    assert found.found


def test_what_depends_on_the_table_although_all_answers_are_the_same_is_refused() -> None:
    case = learner("pegs_noisy", key_cells=8)
    experiment = case.experiment
    assert isinstance(experiment, StepExperiment)
    own = experiment.step.run

    def tells(counter: Any, given: Any, open_stream: Any) -> Any:
        return replace(own(counter, given, open_stream), figures={"records": float(len(counter.codes))})

    found = audited(replace(case, experiment=StepExperiment(replace(experiment.step, run=tells))))
    assert "public figures" in found.found


def test_choices_spend_less_than_they_claim_and_choices_at_many_times_the_epsilon_are_found() -> None:
    structure = {"structure": {"epsilon": 1, "degree": 1}, "step": "learn_structure"}
    honest = audited(learner("privbayes", **structure))
    assert not honest.exceeds
    with _choices_at(40):
        assert audited(learner("privbayes", **structure)).shown > 1


def test_urns_spend_nearly_what_they_claim_and_two_charged_as_one_are_found() -> None:
    case = next(own for own in cases_of_urns() if own.kind == "multinomial_sets")
    honest = audited(case)
    assert 0.95 * honest.epsilon < honest.shown <= honest.epsilon
    twin = audited(replace(case, claim=Guarantee(honest.epsilon / 2, 0.0, "claimed")))
    assert twin.exceeds


@pytest.mark.parametrize(("lower", "others"), [(0, 40), (2, 0)], ids=["honest", "a threshold that is lower by two"])
def test_weighted_runs_find_what_is_above_delta(lower: int, others: int) -> None:
    domain = plain_domain(3, 2)
    mechanism = HistogramRecipe(epsilon=Fraction(1), delta=Fraction(1, 10**6)).calibrate()
    series = Neighbours("with and without", partial(copies, [(1, 0)] * 40, (0, 0)), others, others + 24)
    run = replace(mechanism, threshold=mechanism.threshold - lower)
    found = audited(Case("histogram", mechanism.guarantee, PrefixExperiment(run, domain), (series,)), runs=400)
    if lower:
        assert found.shown == np.inf
    else:
        assert 0.99 < found.shown <= 1.0
    assert found.exceeds == bool(lower)


def test_responses_spend_what_they_claim_and_counting_finds_a_stream_that_questions_share() -> None:
    survey = survey_of(("warner", 2), ("warner", 2))
    tables = ({"q0": "v0", "q1": "v0"}, {"q0": "v0", "q1": "v1"})
    series = Neighbours("with one answer or another", tables.__getitem__, 0, 1)
    case = Case("survey", Guarantee(survey.epsilon, 0.0, "basic"), SurveyExperiment(survey), (series,))
    honest = audited(case)
    assert honest.shown == pytest.approx(1.0, abs=1e-5)
    assert not honest.exceeds
    with _one_stream():
        twin = audited(case, counted=1000)
    assert twin.counted is not None
    assert twin.counted > survey.epsilon


@pytest.mark.parametrize("integers", [1, 8])
def test_the_closed_form_is_the_accountants_epsilon(integers: int) -> None:
    """Two computations of the same divergence; at 1.02 times the noise the audit shows less."""
    variance = Fraction(40)
    event = DiscreteGaussianEvent(query="counts", part="all", outputs=integers, sensitivity=1, variance=variance)
    stated = best((event,), 1e-6).epsilon
    shown = epsilon_of_shifts([(DiscreteGaussian(variance), 1, 1)] * integers, 1e-6)
    assert 0.998 * stated < shown <= stated
    assert epsilon_of_shifts([(DiscreteGaussian(variance * Fraction(104, 100)), 1, 1)] * integers, 1e-6) < 0.99 * stated
    laplace = DiscreteLaplaceEvent(query="counts", part="all", outputs=integers, sensitivity=1, scale=Fraction(8))
    shown = epsilon_of_shifts([(DiscreteLaplace(Fraction(8)), 1, -1)] * integers, 0)
    assert shown == pytest.approx(float(integers * (laplace.epsilon or 0)))


def gaussian_runs(name: str, runs: int, tilt: float) -> tuple[Any, Any]:
    """Losses and weights of outputs with noise of deviation 5 on one count, run on a third table."""
    drawn = tilt + 5 * np.random.default_rng(list(name.encode())).standard_normal(runs)
    one, other, own = (-((drawn - mean) ** 2) / 50 for mean in (1.0, 0.0, tilt))
    return one - other, one - own


def test_weighted_runs_bound_a_known_epsilon_from_below_and_come_near_to_it() -> None:
    known = epsilon_of_shifts([(DiscreteGaussian(Fraction(25)), 1, 1)], 1e-6)
    _, largest = predicted(*gaussian_runs("pilot", 20, 22.0), 1e-6, 2000)
    bounds = [epsilon_of_runs(*gaussian_runs(f"run {n}", 2000, 22.0), 1e-6, largest) for n in range(20)]
    assert max(bounds) < known
    assert min(bounds) > 0.95 * known
    assert epsilon_of_runs(*gaussian_runs("run 0", 2000, 0.0), 1e-6, largest) < 0.6 * known, "less is seen without tilt"


def test_counted_bounds_are_exceeded_as_rarely_as_is_said() -> None:
    """By exact binomial probabilities: the bound of the mean is met with a probability of at most the alarm."""
    n, p = 400, 0.3
    met = sum(float(stats.binom.pmf(k, n, p)) for k in range(n + 1) if mean_at_least(k / n, n, ALARM) > p)
    assert 0 < met <= ALARM
    there, elsewhere = np.arange(4000) < 2924, np.arange(4000) < 1076
    assert 0.8 < epsilon_by_counting(there, elsewhere, 0.0) < 1.0


def test_every_mechanism_of_the_registries_has_an_audit_or_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """A learner of noisy integers gets its audit without a line; one that draws from exact counts needs a law."""
    assert without_an_audit() == set()
    assert set(NOT_AUDITED) <= {*LEARNERS, *SAMPLERS}
    monkeypatch.setattr(registry, "cases_of_urns", tuple)
    assert without_an_audit() == {"pegs", "imputed", "multinomial_sets", "origin_destination"}


def test_no_audit_of_the_page_exceeds_its_claim_and_every_twin_does() -> None:
    for name, own in json.loads(KEPT.read_text()).items():
        assert own["exceeds"] == name.startswith("twin of "), name


def test_a_traced_run_draws_what_an_untraced_one_draws() -> None:
    key = ReleaseKey(bytes(range(32)))

    def drawn() -> Sequence[int]:
        stream = key.stream(step="test", mechanism="noise", inputs="", parameters={})
        counts = np.arange(50)
        return (counts + DiscreteGaussian(Fraction(10**9)).sample(stream, 50)).tolist()

    with traced() as trace:
        inside = drawn()
    assert inside == drawn()
    assert len(trace.answers) == 1
    with pytest.raises(Untraceable, match="not added"), traced():
        DiscreteLaplace(Fraction(2)).sample(key.stream(step="", mechanism="", inputs="", parameters={}), 3)
