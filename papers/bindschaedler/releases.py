"""Models and synthetic tables of the experiments, by the project's own learners and samplers.

The model without noise is the learner's own, with `noise: none`, which is for public people such as these.
"""

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, Final

import numpy as np

from deniable.foundation.domain import Codes
from deniable.samplers.registry import entry_of, sampler_of
from papers.bindschaedler.people import People
from papers.bindschaedler.published import DELTA, EPS0, GAMMA, LEARNT_FROM, OMEGAS, ORDER, PARENTS, SEEDS, K
from papers.chance import KEY
from papers.learning import Rows, drawn, learnt

OF_PAPERS_SIZE: Final = {f"{name}, paper's size": name for name in OMEGAS}
"""Synthetic tables whose model and seeds are as if there were as many people as in the paper."""
TABLES: Final = ("marginals", *OMEGAS, *OF_PAPERS_SIZE, "log-linear")
"""The synthetic tables: the paper's, and those of the project's log-linear learner."""
_MOST_CANDIDATES = 3
"""Candidates for each record that is needed."""
_LARGEST_EPSILON, _MOST_TIMES = 100, 15


def budget(epsilon: str) -> Mapping[str, Any]:
    """The budget of parameters in a spec."""
    return {"epsilon": epsilon, "delta": DELTA}


def entry(kind: str, epsilon: str) -> Mapping[str, Any]:
    """A learner's entry in a spec: the paper's model with the authors' graph, marginals, or the log-linear learner."""
    if kind == "cfs":
        graph = {"parents": PARENTS, "order": ORDER}
        return {"kind": kind, "noise": "laplace", "graph": graph, "parameters": budget(epsilon)}
    return {
        "kind": kind,
        "noise": "laplace" if kind == "marginals" else "gaussian",
        "parameters": budget(epsilon),
    }


def without_noise(people: People, codes: Codes, *, independent: bool = False) -> Any:
    """The model of public records, by the learner without noise.

    Args:
        people: the domain.
        codes: the records to learn.
        independent: whether the graph has no edges; otherwise it is the authors'.
    """
    graph = {"parents": {}} if independent else {"parents": PARENTS, "order": ORDER}
    asked = {"kind": "cfs", "noise": "none", "graph": graph, "accept_no_differential_privacy": True}
    return learnt(asked, people.domain, codes, "without noise")


@lru_cache(maxsize=256)
def model(people: People, kind: str, epsilon: str, *, of_half: bool, number: int = 0) -> Any:
    """A model with noise; the numbered ones have noise of their own.

    Args:
        people: the table.
        kind: the learner.
        epsilon: its budget.
        of_half: whether it is learnt from the first half, or from seven tenths.
        number: the run.
    """
    codes = _learnt_from(people, of_half=of_half)
    return learnt(entry(kind, epsilon), people.domain, codes, f"{kind} {epsilon} {len(codes)} {number}")


def opened(people: People, omega: Mapping[int, int], net: Any, seeds: Codes, candidates: int) -> Any:
    """The sampler of tested seeds, ready to draw: its function of a chunk's number and a number of candidates.

    Args:
        people: the domain.
        omega: numbers of attributes to re-sample, with their weights.
        net: the model.
        seeds: the seeds.
        candidates: number of candidates.
    """
    asked = entry_of("tested_seeds").model_validate(
        {
            "guarantee": "tested_seeds",
            "omega": dict(omega),
            "k": K,
            "gamma": GAMMA,
            "eps0": EPS0,
            "test": 2,
            "epsilon": 2,
            "delta": DELTA,
            "total_delta": DELTA,
            "records": candidates,
            "candidates": candidates,
            "chunk_candidates": candidates,
            "drop_probability": Fraction(1, 100),
            "public_rows": len(seeds),
        },
        context={"domain": people.domain},
    )
    sampler = sampler_of(asked, people.domain, lambda delta: delta)
    step: Any = sampler.prepare
    reads, of_step = {"model": net.document()}, partial(KEY.stream, step=step.name, inputs=str(dict(omega)))
    index = step.run(Rows(seeds), reads, of_step).products["seed_index"]
    return sampler.open(net, index, partial(KEY.stream, step="draw", inputs=str(dict(omega))))


def as_many_as_the_paper(people: People, *, of_half: bool, number: int = 0) -> tuple[Any, Codes]:
    """A model and seeds as if there were as many people as in the paper.

    Noise does not depend on the number of records. So with n times the epsilon, it is as small relative to the counts
    as with n times the records. Seeds are drawn from the model without noise. Both are stand-ins: such a model costs n
    times the epsilon, and such seeds are nobody.

    Args:
        people: the table.
        of_half: see `model`.
        number: the run.

    Returns:
        The model, and the seeds.
    """
    epsilon = min(round(LEARNT_FROM / len(_learnt_from(people, of_half=of_half)), 1), _LARGEST_EPSILON)
    net = model(people, "cfs", f"{epsilon:g}", of_half=of_half, number=number)
    return net, _many_seeds(people, of_half=of_half)


@lru_cache(maxsize=4)
def _many_seeds(people: People, *, of_half: bool) -> Codes:
    codes = _learnt_from(people, of_half=of_half)
    rows = min(SEEDS, _MOST_TIMES * len(codes))
    return drawn(without_noise(people, codes), rows, f"seeds {rows}")


def _learnt_from(people: People, *, of_half: bool) -> Codes:
    return (people.halves if of_half else people.parts)[0]


@lru_cache(maxsize=256)
def table(people: People, name: str, *, of_half: bool, number: int = 0) -> Codes:
    """A synthetic table with as many records as the model was learnt from, or nearly as many.

    Args:
        people: the real table.
        name: one of `TABLES`.
        of_half: see `model`.
        number: the run, which has its own noise and records.
    """
    seeds = _learnt_from(people, of_half=of_half)
    rows = len(seeds)
    if name in OF_PAPERS_SIZE:
        net, seeds = as_many_as_the_paper(people, of_half=of_half, number=number)
    else:
        kind = {"marginals": "marginals", "log-linear": "loglinear"}.get(name, "cfs")
        net = model(people, kind, "1", of_half=of_half, number=number)
    omega = OMEGAS.get(OF_PAPERS_SIZE.get(name, name))
    if omega is None or set(omega) == {len(people.domain)}:
        return drawn(net, rows, f"{name} {rows} {number}")
    draw = opened(people, omega, net, seeds, _MOST_CANDIDATES * rows)
    made: list[Codes] = []
    for chunk in range(_MOST_CANDIDATES * number, _MOST_CANDIDATES * (number + 1)):
        made.append(draw(chunk, rows))
        if sum(map(len, made)) >= rows:
            break
    return np.concatenate(made)[:rows]
