"""Measures the figures of an evaluation, by all of its metrics at the same time."""

from collections.abc import Callable, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Protocol, TypeVar

from deniable.evaluation.contract import Kind, Metric, Table, Value
from deniable.evaluation.registry import derived, figures_of, metrics
from schemas.spec.evaluation import EvaluationFigures, beside_of, errors_of, judge
from schemas.spec.release_spec import ReleaseSpec
from tasks.running.threads import threads


class Evidence(Protocol):
    """What metrics measure from."""

    @property
    def has(self) -> frozenset[Table]:
        """The tables that there are."""


E = TypeVar("E", bound=Evidence)


def measure_figures(
    kind: Kind,
    spec: ReleaseSpec,
    evidence: Callable[[Executor], E],
    series: Callable[[Mapping[str, Value]], Mapping[str, tuple[float, ...]]] = lambda _: {},
) -> EvaluationFigures:
    """Measure all figures for which there are tables, and compare them with the spec's thresholds.

    Args:
        kind: what is measured.
        spec: the specification of the release.
        evidence: makes the evidence, given what carries out long computations.
        series: makes the values that only pictures show, given the measured figures.
    """
    # Trees grow, and marginals are counted, without the interpreter's lock.
    with threads() as pool:
        held = evidence(pool)
        values = _measured([metric for metric in metrics(kind) if metric.needs <= held.has], held)
    if kind == "utility":
        values |= {
            name: value for each in derived() for name, value in each.derive(values, spec.evaluation.scope).items()
        }
    declared = [name for name in figures_of(spec.evaluation.scope) if name in values]
    figures = {name: values[name].value for name in declared}
    errors = {name: values[name].error for name in declared}
    summarized = {name: tuple(values[name].summarizes) for name in declared if len(values[name].summarizes)}
    summarized |= {errors_of(name): tuple(values[name].errors) for name in declared if len(values[name].errors)}
    summarized |= {beside_of(name, each): tuple(own) for name in declared for each, own in values[name].beside.items()}
    return EvaluationFigures(
        figures=figures,
        errors={name: error for name, error in errors.items() if error is not None},
        series={**summarized, **series(values)},
        texts={beside_of(name, each): tuple(own) for name in declared for each, own in values[name].texts.items()},
        verdicts=judge(figures, spec.thresholds),
    )


def _measured(chosen: list[Metric[E]], evidence: E) -> dict[str, Value]:
    """Measure by each metric in a thread of its own, which mostly waits for the pool's.

    After an error or an interruption, no other metric begins, and those that have begun end with what they wait for.
    """
    waiting = ThreadPoolExecutor(len(chosen))
    try:
        begun = [waiting.submit(metric.measure, evidence) for metric in chosen]
        return {name: value for metric in begun for name, value in metric.result().items()}
    finally:
        waiting.shutdown(wait=False, cancel_futures=True)
