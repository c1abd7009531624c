"""Audits of real mechanisms stay below their claims and near them, and above the claims of broken twins."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from benchmarks.audit_epsilon import KEPT, RUNS, audited, figures_of, names_of
from benchmarks.audits import registry
from benchmarks.audits.auditing import Audit, Case, Neighbours, audit
from benchmarks.audits.bounds import (
    epsilon_by_counting,
    epsilon_of_losses,
    epsilon_of_shifts,
    misfit_of_choices,
    misfit_of_counts,
    misfit_of_noise,
    weakest,
)
from benchmarks.audits.drawn import (
    PrefixExperiment,
    SurveyExperiment,
    cases_of_surveys,
    cases_of_urns,
    copies,
    plain_domain,
    survey_of,
)
from benchmarks.audits.laws import laplace
from benchmarks.audits.learned import StepExperiment, series_of
from benchmarks.audits.registry import NOT_AUDITED, mechanism_of, without_a_twin, without_an_audit
from benchmarks.audits.releases import claim_of_choices
from benchmarks.audits.tracing import Chosen, Noise, Noised, Untraceable, traced
from benchmarks.audits.twins import _best_ones, _choices_at, _one_stream
from deniable.foundation.keys import ReleaseKey
from deniable.foundation.noise import DiscreteGaussian, DiscreteLaplace
from deniable.learners.pegs_noisy import steps
from deniable.learners.registry import LEARNERS, entry_of, steps_of
from deniable.privacy.accounting import best
from deniable.privacy.loss import DiscreteGaussianEvent, DiscreteLaplaceEvent, Guarantee
from deniable.samplers.histogram_seeds.noisy_histogram import HistogramRecipe
from deniable.samplers.registry import SAMPLERS

DOMAIN = plain_domain(2, 3, 2)


def audited_briefly(case: Case, runs: int = 200) -> Audit:
    return audit(case, runs)


def learner(kind: str, epsilon: int = 1, step: str = "learn_parameters", **more: Any) -> Case:
    """A learner's step, planned at one epsilon and claimed at epsilon 1."""
    parameters = {"epsilon": epsilon, **more.pop("parameters", {})}
    right, planned = (
        next(each for each in steps_of(entry_of(kind)(**entry), DOMAIN, lambda delta: delta) if each.name == step)
        for entry in (
            {"kind": kind, "parameters": {**parameters, "epsilon": 1}, **more},
            {"kind": kind, "parameters": parameters, **more},
        )
    )
    assert right.guarantee is not None
    claimed, choice = Guarantee(1.0, right.guarantee.delta, "claimed"), claim_of_choices(right)
    return Case(kind, claimed, StepExperiment(planned), series_of(DOMAIN), "learners", choice)


def test_noisy_counts_spend_what_they_claim_and_twice_the_epsilon_is_found() -> None:
    honest, twin = (audited_briefly(learner("pegs_noisy", epsilon, key_cells=8)) for epsilon in (1, 2))
    assert honest.bound.shown == pytest.approx(1.0)
    assert not honest.exceeds
    assert twin.bound.shown == pytest.approx(2.0)
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
        found = audited_briefly(case)
    assert found.exceeds
    assert found.found


def test_noise_that_is_added_in_the_place_of_counts_is_traced_too() -> None:
    class Forcing:
        """A trace that answers with other integers."""

        def add(self, noise: Noise, counts: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
            assert isinstance(noise, Noise)
            return counts + 100

    counts = np.array([5, 6])
    same, noise = counts, Noise.of(np.array([1, 2]), Forcing(), None)  # type: ignore[arg-type]
    counts += noise
    assert counts is same
    assert counts.tolist() == [105, 106]
    with pytest.raises(Untraceable):
        counts -= noise


def test_what_depends_on_the_table_although_all_answers_are_the_same_is_refused() -> None:
    case = learner("pegs_noisy", key_cells=8)
    experiment = case.experiment
    assert isinstance(experiment, StepExperiment)
    own = experiment.step.run

    def tells(counter: Any, given: Any, open_stream: Any) -> Any:
        return replace(own(counter, given, open_stream), figures={"records": float(len(counter.codes))})

    found = audited_briefly(replace(case, experiment=StepExperiment(replace(experiment.step, run=tells))))
    assert "public figures" in found.found


def test_noise_that_is_narrower_than_its_law_is_found() -> None:
    """The law that is traced is the stated one; the draws are those of a law half as wide."""

    def narrowed(noise: Any) -> Any:
        noise.view(np.ndarray)[...] //= 2
        return noise

    case = learner("pegs_noisy", key_cells=8)
    with noise_that_is(narrowed):
        assert "do not follow their stated laws: noise of variance" in audited_briefly(case).found


def test_choices_spend_less_than_they_claim_and_choices_at_many_times_the_epsilon_are_found() -> None:
    structure = {"structure": {"epsilon": 1, "degree": 1}, "step": "learn_structure"}
    honest = audited_briefly(learner("privbayes", **structure))
    assert not honest.exceeds
    assert honest.bound.method == "all choices"
    assert honest.bound.choice is not None
    assert 0 < honest.bound.choice <= honest.bound.shown
    with _choices_at(40):
        found = audited_briefly(learner("privbayes", **structure))
    assert found.bound.shown > 1
    assert found.bound.choice is not None
    assert found.choice is not None
    assert found.bound.choice > found.choice


def test_what_is_chosen_without_noise_is_found() -> None:
    """By the neighbours of which another candidate is the best one."""
    case = learner("mst", parameters={"delta": 1e-6})
    with _best_ones():
        assert audited_briefly(replace(case, series=case.series[2:3])).found


def test_urns_spend_nearly_what_they_claim_and_urns_for_four_times_the_epsilon_are_found() -> None:
    honest, twin = (
        audited_briefly(next(own for own in cases_of_urns(times) if own.kind == "multinomial_sets")) for times in (1, 4)
    )
    assert 0.95 * honest.epsilon < honest.bound.shown <= honest.epsilon
    assert not honest.exceeds
    assert twin.bound.shown > 3 * honest.epsilon


@dataclass(frozen=True)
class OfNobody:
    """Draws records as if the table were empty."""

    draws: Any

    def count(self, counter: Any, document: Any) -> Any:
        return self.draws.count(replace(counter, codes=counter.codes[:0]), document)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.draws, name)


def test_records_that_are_not_drawn_by_the_stated_law_are_found() -> None:
    """What reads no record spends nothing, and is refused nevertheless: its law is not the stated one."""
    case = next(own for own in cases_of_urns() if own.kind == "multinomial_sets")
    experiment: Any = case.experiment
    wrong = replace(experiment, draws=OfNobody(experiment.draws))
    assert "outputs do not follow the stated law" in audited_briefly(replace(case, experiment=wrong)).found


@pytest.mark.parametrize(("lower", "others"), [(0, 40), (2, 0)], ids=["honest", "a threshold that is lower by two"])
def test_all_outputs_show_what_is_above_delta(lower: int, others: int) -> None:
    domain = plain_domain(3, 2)
    mechanism = HistogramRecipe(epsilon=Fraction(1), delta=Fraction(1, 10**6)).calibrate()
    series = Neighbours("with and without", partial(copies, [(1, 0)] * 40, (0, 0)), others)
    run = replace(mechanism, threshold=mechanism.threshold - lower)
    found = audited_briefly(Case("histogram", mechanism.guarantee, PrefixExperiment(run, domain), (series,)))
    if lower:
        assert found.bound.shown == np.inf
    else:
        assert 0.99 < found.bound.shown <= 1.0
    assert found.exceeds == bool(lower)


def test_responses_spend_what_they_claim_and_a_stream_that_questions_share_is_found() -> None:
    survey = survey_of(("warner", 2), ("warner", 2))
    tables = ({"q0": "v0", "q1": "v0"}, {"q0": "v0", "q1": "v1"})
    series = Neighbours("with one answer or another", tables.__getitem__)
    case = Case("survey", Guarantee(survey.epsilon, 0.0, "basic"), SurveyExperiment(survey), (series,))
    honest = audited_briefly(case, 1000)
    assert honest.bound.shown == pytest.approx(1.0, abs=1e-5)
    assert not honest.exceeds
    with _one_stream():
        twin = audited_briefly(case, 1000)
    assert "q0" in twin.found
    assert "q1" in twin.found


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


def test_parts_of_an_output_are_composed_and_what_cannot_happen_elsewhere_counts() -> None:
    """The parts of an output with noise are those of independent integers; beyond that, delta is the mass beyond."""
    here, there = (np.exp([*laplace(exact, 0.5).values()]) for exact in (3, 4))
    part = np.log(here / there), here
    law = DiscreteLaplace(Fraction(2))
    composed = epsilon_of_losses([part] * 3, 1e-3)
    assert composed == pytest.approx(epsilon_of_shifts([(law, 1, 1)] * 3, 1e-3), abs=1e-3)
    assert 1 < composed < 1.5
    assert epsilon_of_losses([part] * 3, 0.0) == pytest.approx(1.5)
    certain = np.array([0.0, np.inf]), np.array([0.999, 0.001])
    assert epsilon_of_losses([certain], 2e-3) == 0.0
    assert epsilon_of_losses([certain], 5e-4) == np.inf


def test_adaptive_measurements_show_what_their_smallest_information_shows() -> None:
    """Two measurements of variance 50 and one of variance 25 say the same; one of 100 beside them says less."""
    fine, coarse, twice = ((DiscreteGaussian(Fraction(variance)), 1, 1) for variance in (25, 100, 50))
    known = epsilon_of_shifts([fine], 1e-6)
    assert epsilon_of_shifts(weakest([[fine], [twice, twice]]), 1e-6) == pytest.approx(known, abs=2e-3)
    assert epsilon_of_shifts(weakest([[fine, coarse], [twice, coarse], [fine, fine]]), 1e-6) < known
    wide, narrow = ((DiscreteLaplace(Fraction(scale)), 1, 1) for scale in (9, 8))
    assert epsilon_of_shifts(weakest([[wide, narrow], [narrow, wide, narrow]]), 0) == pytest.approx(2 / 9)
    assert epsilon_of_shifts(weakest([[wide, narrow], [narrow, wide]]), 0) == pytest.approx(1 / 8 + 1 / 9)
    with pytest.raises(Untraceable, match="below 4"):
        weakest([[(DiscreteGaussian(Fraction(1)), 1, 1)], [fine]])


def test_wide_noise_is_computed_in_larger_units() -> None:
    scale = 10**8
    shown = epsilon_of_shifts([(DiscreteLaplace(Fraction(scale)), 1, scale // 2)] * 2, 1e-6)
    assert shown == pytest.approx(epsilon_of_shifts([(DiscreteLaplace(Fraction(1000)), 1, 500)] * 2, 1e-6), abs=1e-3)


def test_tests_of_draws_reject_other_laws_and_no_honest_ones() -> None:
    law = DiscreteLaplace(Fraction(6))

    def answers(factor: float, number: int = 600) -> Iterator[Noised]:
        key = ReleaseKey(bytes(32))
        stream = key.stream(step="draws", mechanism="noise", inputs="", parameters={})
        drawn = DiscreteLaplace(Fraction(6) * Fraction(factor)).sample(stream, number)
        yield Noised(law, 1, np.zeros(number, np.int64), drawn)

    assert misfit_of_noise(answers(1.0, 20_000)) == ""
    assert "within" in misfit_of_noise(answers(0.6))
    assert "within" in misfit_of_noise(answers(1.7))
    weights = np.array([1.0, 0.0, 0.0])
    often = [Chosen(weights, 0)] * 115 + [Chosen(weights, 1)] * 85
    assert misfit_of_choices(often) == ""
    assert "likeliest" in misfit_of_choices([Chosen(weights, 0)] * 200)
    assert misfit_of_counts({"even": (500, 1000, 0.5), "rare": (3, 1000, 1e-3)}) == ""
    assert "rare, 30 times of 1,000" in misfit_of_counts({"even": (500, 1000, 0.5), "rare": (30, 1000, 1e-3)})


def test_counted_bounds_are_below_what_is_true() -> None:
    there, elsewhere = np.arange(4000) < 2924, np.arange(4000) < 1076
    assert 0.8 < epsilon_by_counting(there, elsewhere, 0.0) < 1.0


def test_every_mechanism_has_a_row_on_the_page_or_a_reason_and_a_twin() -> None:
    """`make audit-epsilon` writes the rows; nothing else is written for a learner of noisy integers."""
    kept = json.loads(KEPT.read_text())
    rows = {mechanism_of(name) for name in kept if not name.startswith("twin of ")}
    assert {*LEARNERS, *SAMPLERS, "certificate", "persons", "discovery", "survey"} == rows | set(NOT_AUDITED)
    assert not rows & set(NOT_AUDITED)
    assert rows == {mechanism_of(name.removeprefix("twin of ")) for name in kept if name.startswith("twin of ")}


def test_no_audit_of_the_page_exceeds_its_claim_and_every_twin_does() -> None:
    for name, own in json.loads(KEPT.read_text()).items():
        assert own["exceeds"] == name.startswith("twin of "), name


def is_as_kept(name: str, own: dict[str, Any]) -> None:
    for figure, value in json.loads(KEPT.read_text())[name].items():
        assert own[figure] == (pytest.approx(value, abs=1e-3) if isinstance(value, float) else value), (name, figure)


@pytest.mark.parametrize("case", [*cases_of_surveys()], ids=lambda case: case.name)
def test_the_page_says_of_surveys_what_an_audit_shows_now(case: Case) -> None:
    is_as_kept(case.name, figures_of(audit(case, RUNS)))


@pytest.mark.nightly
def test_the_page_says_what_the_audits_show_now(monkeypatch: pytest.MonkeyPatch) -> None:
    names = names_of([])
    assert sorted(names) == sorted(json.loads(KEPT.read_text()))
    assert without_an_audit() == without_a_twin() == set()
    for name in names:
        is_as_kept(name, audited(name, RUNS)[0])
    without_urns = {name: own for name, own in registry.case_of().items() if own.kind != "pegs"}
    monkeypatch.setattr(registry, "case_of", lambda: without_urns)
    assert without_an_audit() == {"pegs"} - {mechanism_of(name) for name in without_urns}


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
