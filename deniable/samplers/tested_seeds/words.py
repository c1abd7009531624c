"""The texts of this sampler (deniable.samplers.words)."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from deniable.plausible_deniability.privacy_tests import fewest_seeds, pass_probability
from deniable.samplers.words import Box, Figures

WHY_NONE: Final = "privacy test 1 compares exact counts"
"""Why a release has no differential privacy, if it has none."""

ATTEMPT = (
    "one attempt, which ends with a record or with none, as far as records are concerned; of a record that is known to "
    "have been released, delta is up to (1 + 1 / n0) delta / p and epsilon up to ln(1 + 1 / n0) more, where n0 is the "
    "public number of places that seeds are drawn from at least and p, which depends on the confidential records and "
    "is not stated, the smaller of the probabilities, with either of two neighbouring tables, that an attempt ends "
    "with a record"
)
PASSES = "exp(-eps0 j) / (1 + exp(-eps0))"
"""Probability that a candidate with k - j plausible seeds passes privacy test 2, j at least 1."""

_NOISY = 2
_OPTIONAL = ("given_omega", "max_plausible", "max_check_plausible")
# The shortfalls j below k for which the probability is stated.
_MISSING = (1, 5, 10)
_PASSED = "At least one candidate passed the privacy test; else it would have stopped. {covered}"
_COVERED = {1: "As the whole release, that has no differential privacy.", 2: "The total covers that."}


def stated(synthesis: Mapping[str, Any], costs: Figures) -> dict[str, Any]:
    """The test's requirement, the cost of one attempt, and the cost of all candidates."""
    record = costs["record"]
    asked = {
        "privacy_test": synthesis["test"],
        "k": synthesis["k"],
        "gamma": _gamma(synthesis),
        "eps0": _float(synthesis["eps0"]) if record else None,
        "resampled_attributes": synthesis["omega"],
        "drop_probability": _float(synthesis["drop_probability"]),
        "public_lower_bound_on_seeds": synthesis["public_rows"],
        **{name: synthesis[name] for name in _OPTIONAL if name in synthesis},
        **({"fewer_than_k": seeds_below_k(synthesis)} if record else {}),
    }
    return {
        "plausible_deniability": asked,
        "released_record": record and {**record, "of": ATTEMPT},
        "candidates": {"tested": synthesis["candidates"], **(costs["candidates"] or {})},
    }


def seeds_below_k(synthesis: Mapping[str, Any]) -> dict[str, Any]:
    """The number of plausible seeds of a record that passed privacy test 2, which may be below k.

    Args:
        synthesis: the spec's entry, as in the record.
    """
    probability = _float(synthesis["total_delta"])
    least = fewest_seeds(
        k=synthesis["k"],
        eps0=Fraction(synthesis["eps0"]),
        candidates=synthesis["candidates"],
        probability=probability,
    )
    every = None if least is None else {"plausible_seeds": least, "except_with_probability": probability}
    # If only a sample of the seeds is scored, fewer are found, and the test passes less often.
    passes = f"at most {PASSES}" if "max_check_plausible" in synthesis else PASSES
    return {"passes_with_k_minus_j": passes, "every_record": every}


def shown(synthesis: Mapping[str, Any]) -> Mapping[str, Any]:
    """How often candidates with fewer than k plausible seeds pass test 2, and the smallest possible number."""
    if synthesis["test"] != _NOISY:
        return {}
    k, eps0 = synthesis["k"], Fraction(synthesis["eps0"])
    missing = [number for number in _MISSING if number < k]
    passes = pass_probability([k - number for number in missing], k=k, eps0=eps0)
    return {"fewer": {**seeds_below_k(synthesis), "shown": dict(zip(missing, passes.tolist(), strict=True))}}


def tells(synthesis: Mapping[str, Any]) -> Sequence[str]:
    """The fact that at least one candidate passed."""
    return (_PASSED.format(covered=_COVERED[synthesis["test"]]),)


def box(synthesis: Mapping[str, Any]) -> Box | None:
    """All tested candidates."""
    return Box(
        "Candidates that pass",
        (f"{synthesis['candidates']:,} tested, k = {synthesis['k']}",),
        "Candidates keep some attributes of a record, and must pass the privacy test, {started}.",
    )


def plausible_seeds(synthesis: Mapping[str, Any]) -> tuple[str, str] | None:
    """The number of plausible seeds that the test requires."""
    noisy = ", by a noisy test" if synthesis["test"] == 2 else ""
    return f"k = {synthesis['k']}", f"asked of each record{noisy}, alike within a factor {_gamma(synthesis):g}"


def _gamma(synthesis: Mapping[str, Any]) -> float:
    """The largest ratio between the probabilities of two plausible seeds, as the spec has it, or 1 given omega."""
    return 1.0 if synthesis.get("given_omega") else _float(synthesis["gamma"])


def _float(exact: str) -> float:
    return float(Fraction(exact))
