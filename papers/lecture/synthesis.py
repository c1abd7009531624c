"""Synthetic data: Private-PGM on the slide's two tables, and DataSynthesizer's three modes."""

from fractions import Fraction
from itertools import combinations
from math import log
from typing import Any, Final

import numpy as np

from deniable.evaluation.metrics.mutual_information import normalized_information
from deniable.evaluation.utility import count_marginals, marginals_of_order, total_variation
from deniable.foundation.domain import Codes
from deniable.learners.independent.histograms import laplace_scale
from deniable.models.graphical.fitting import NoisyTable, fit, fixed_total
from papers.findings import Check, Part, Picture, Table, equal
from papers.learning import domain_of, synthetic
from papers.lecture.made_up import Floats, stream_of, uniforms
from papers.lecture.pictures import draw_bars

_BY_LABOUR: Final = np.array([[132.428, 124.549, 244.365], [173.633, 318.029, -21.358]])
_BY_SCHOOL: Final = np.array([[116.021, 186.826], [287.215, 171.134], [278.498, -46.497]])
_SLIDE: Final = (124.829, 121.696, 254.636, 166.034, 315.177, 0, 110.029, 180.834, 276.477, 160.396, 254.636, 0)
_OURS: Final = (124.839, 121.706, 254.646, 166.044, 315.186, 0, 110.039, 180.844, 276.487, 160.406, 254.646, 0)
_PEOPLE: Final = 20_000
_SIZES: Final = {"region": 4, "education": 6, "work": 5, "income": 8, "sex": 2, "hours": 6}
_ENTRIES: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "random attributes": ("uniform", {}),
    "independent attributes": ("independent", {"parameters": {"epsilon": 1}}),
    "correlated attributes": (
        "privbayes",
        {"structure": {"epsilon": Fraction(1, 2), "degree": 2}, "parameters": {"epsilon": Fraction(1, 2)}},
    ),
}


def private_pgm() -> Part:
    """Two noisy tables made consistent by a graphical model."""
    tables = (NoisyTable((0, 1), _BY_LABOUR, 1.0), NoisyTable((1, 2), _BY_SCHOOL, 1.0))
    found = fit((2, 3, 2), tables, iterations=20_000, tolerance=1e-13).model
    ours = np.concatenate([found.marginal((0, 1)).ravel(), found.marginal((1, 2)).ravel()])
    total = fixed_total(tables)
    free = _with_free_total()
    noisy = np.concatenate([_BY_LABOUR.ravel(), _BY_SCHOOL.ravel()])
    names = [f"sex {i + 1}, labour {j + 1}" for i in range(2) for j in range(3)]
    names += [f"labour {i + 1}, school {j + 1}" for i in range(3) for j in range(2)]
    return Part(
        name="PGM table",
        title="Private-PGM's marginals of two noisy tables",
        verdict="close",
        why="The slide's marginals are those of the model with the total fixed at the mean of both noisy totals, "
        "982.42, as ours; each of its numbers is .01 below ours, because its search stopped earlier. Least "
        f"squares with a free total would have {free:.0f} people: raising negative counts to 0 adds people. The "
        "total is therefore fixed, which is unbiased.",
        product=("deniable/models/graphical/fitting.py",),
        checks=(
            equal("the fixed total", total, 982.4215, 1e-6),
            equal("largest distance from the exact solution", float(np.abs(ours - _OURS).max()), 0, 0.01),
            equal("largest distance from the slide", float(np.abs(ours - _SLIDE).max()), 0.01, 0.01),
            equal("people with a free total", free, 1016.35, 0.05),
        ),
        table=Table(
            ("cell", "noisy", "published", "ours"),
            tuple(
                (name, f"{a:.3f}", f"{b:.3f}", f"{c:.3f}")
                for name, a, b, c in zip(names, noisy, _SLIDE, ours, strict=True)
            ),
        ),
    )


def _with_free_total() -> float:
    """The total of the non-negative least squares with equal margins, the equality weighted heavily."""
    from scipy import optimize  # noqa: PLC0415 - one sum

    design = np.vstack([np.eye(12), 1e4 * np.hstack([np.tile(np.eye(3), 2), -np.kron(np.eye(3), np.ones((1, 2)))])])
    answers = np.concatenate([_BY_LABOUR.ravel(), _BY_SCHOOL.ravel(), np.zeros(3)])
    found, _ = optimize.nnls(design, answers)
    return float(found[:6].sum())


def modes() -> Part:
    """Random, independent and correlated attributes, by the project's learners."""
    codes = _people()
    domain = domain_of(_SIZES)
    rows, checks = [], []
    distances: dict[str, tuple[float, float]] = {}
    strengths: dict[str, Floats] = {"real": _dependence(codes)}
    for mode, (kind, asked) in _ENTRIES.items():
        made = synthetic({"kind": kind, **asked}, domain, codes, mode)
        distances[mode] = _distance(codes, made, 1), _distance(codes, made, 2)
        strengths[mode] = _dependence(made)
        gap = float(np.abs(strengths[mode] - strengths["real"]).max())
        epsilon = "0" if mode == "random attributes" else "1"
        rows.append((mode, kind, epsilon, *(f"{each:.3f}" for each in distances[mode]), f"{gap:.3f}"))
    single = {mode: each[0] for mode, each in distances.items()}
    pairs = {mode: each[1] for mode, each in distances.items()}
    scale = 2 * 10 / (0.1 * 1000)
    checks += [
        Check(
            "single attributes: independent is nearer than random",
            single["independent attributes"] < single["random attributes"] / 5,
        ),
        Check(
            "pairs: correlated is nearer than independent, and independent than random",
            pairs["correlated attributes"] < pairs["independent attributes"] < pairs["random attributes"],
        ),
        Check(
            "dependence: only correlated keeps more than half of the strongest",
            strengths["correlated attributes"].max()
            > strengths["real"].max() / 2
            > max(strengths["independent attributes"].max(), strengths["random attributes"].max()),
        ),
        equal("published scale of the noise on a probability, d = 10, epsilon .1, n = 1,000", scale, 0.2, 1e-12),
        equal(
            "ours on a count, half of it per record", float(laplace_scale(10, Fraction(1, 10))) / 1000, scale / 2, 1e-12
        ),
        equal(
            "sensitivity of mutual information, binary, n = 1,000",
            _information(1000, binary=True),
            0.00790725511,
            1e-10,
        ),
        equal("the same, otherwise", _information(1000, binary=False), 0.0144292159, 1e-10),
        equal("most probable choice of the exponential mechanism", _chosen(), 0.56170163, 1e-7),
    ]
    return Part(
        name="DataSynthesizer",
        title="random, independent and correlated attributes",
        verdict="demonstrated",
        why=f"{_PEOPLE:,} made-up people. Ours are the learners `uniform`, `independent` and `privbayes`: with noise "
        "on counts for a record added or removed, half the published scale for one replaced, and, for "
        "correlated attributes, a score whose sensitivity does not depend on the number of records. The tool "
        "itself draws its noise from the seed 0 unless another is given, and its correlated mode describes "
        "histograms at the whole epsilon besides the network; `tests/mechanisms/test_datasynthesizer.py` has "
        "these faults as controls. The tool's inspector, with histograms side by side and matrices of mutual "
        "information of the real table, the synthetic one and their difference, is a part of the internal report "
        "of every release; the picture shows the same measure for all modes at once.",
        product=(
            "deniable/learners/uniform/steps.py",
            "deniable/learners/independent/histograms.py",
            "deniable/learners/privbayes/structure.py",
            "deniable/evaluation/metrics/mutual_information.py",
        ),
        checks=tuple(checks),
        table=Table(
            ("mode", "learner", "epsilon", "distance, single", "distance, pairs", "largest error of dependence"),
            tuple(rows),
        ),
        picture=Picture(
            draw_bars(
                [f"{a}, {b}" for a, b in combinations(_SIZES, 2)],
                {name: strengths[name] for name in ("real", "correlated attributes", "independent attributes")},
                "normalized mutual information",
            ),
            "Dependence of each pair of attributes in the real table, and in records of the correlated and the "
            "independent mode",
        ),
    )


def _people() -> Codes:
    """A made-up table: education depends on region, work on education, income and hours on work, and sex on nothing."""
    stream = stream_of("people")
    draw = uniforms(stream, len(_SIZES), _PEOPLE)
    region = (draw[0] ** 1.5 * 4).astype(int)
    education = np.minimum(((0.6 * draw[1] + 0.1 * region) * 6).astype(int), 5)
    work = np.minimum(((0.4 * draw[2] + 0.6 * education / 5) * 5).astype(int), 4)
    income = np.minimum(((0.5 * draw[3] + 0.5 * work / 4) * 8).astype(int), 7)
    hours = np.minimum(((0.6 * draw[5] + 0.4 * work / 4) * 6).astype(int), 5)
    return np.stack([region, education, work, income, (draw[4] < 0.5).astype(int), hours], axis=1).astype(np.uint16)


def _distance(one: Codes, other: Codes, order: int) -> float:
    """Mean total variation distance of all tables of some attributes."""
    sizes = tuple(_SIZES.values())
    marginals = marginals_of_order(sizes, order)
    return float(np.mean(total_variation(*(count_marginals([each], sizes, marginals) for each in (one, other)))))


def _dependence(codes: Codes) -> Floats:
    """Normalized mutual information of each pair of attributes."""
    sizes = tuple(_SIZES.values())
    return normalized_information(count_marginals([codes], sizes, marginals_of_order(sizes, 2)))[0]


def _information(rows: int, *, binary: bool) -> float:
    """PrivBayes' sensitivity of mutual information in nats, for a replaced record; no learner of ours needs it."""
    if binary:
        return log(rows) / rows + (rows - 1) / rows * log(rows / (rows - 1))
    return 2 / rows * log((rows + 1) / 2) + (rows - 1) / rows * log((rows + 1) / (rows - 1))


def _chosen() -> float:
    """The largest probability of a choice among three, of mutual information .10, .12 and .05, with a scale of .02."""
    weights = np.exp(np.array([0.10, 0.12, 0.05]) / (2 * 0.02))
    return float(weights.max() / weights.sum())
