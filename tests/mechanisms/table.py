"""One row for each learner and each sampler: the smallest release that asks for it."""

from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from tests.small_release import SPEC, public_table
from tests.whole_release import HISTOGRAM, SEEDLESS

_NOISE = "tests/privacy/test_learning_adds_the_noise_it_is_charged_for.py"
_LOGLINEAR = "tests/privacy/test_loglinear_answers_have_the_noise_of_their_events.py"
_DATASYNTHESIZER = "tests/mechanisms/test_datasynthesizer.py"
_MST = "tests/mechanisms/test_mst.py"
_WITHOUT_STRUCTURE = {"seeds": 0.5, "parameters": 0.3, "holdout": 0.2}


@dataclass(frozen=True)
class LearnerRow:
    """A learner.

    Attributes:
        asked: what the spec of a small release says otherwise.
        noises: the kinds of noise that it may have, where the spec states one.
        laws: tests that hold what is released less what is true against the law that its events name.
    """

    asked: dict[str, Any]
    noises: tuple[str, ...] = ()
    laws: tuple[str, ...] = ()

    def with_noise(self, number: int) -> dict[str, str]:
        """What the spec says of the noise, if it may say something."""
        return {"learner__noise": self.noises[number]} if self.noises else {}


LEARNERS = {
    "cfs": LearnerRow(
        {},
        ("laplace", "gaussian"),
        (
            f"{_NOISE}::test_entropies_have_the_noise_that_is_charged_at_the_lower_bound_on_the_rows",
            f"{_NOISE}::test_counts_have_the_noise_that_is_charged",
        ),
    ),
    "marginals": LearnerRow(
        {"learner": SEEDLESS["learner"], "split": _WITHOUT_STRUCTURE},
        ("laplace", "gaussian"),
        (f"{_NOISE}::test_counts_have_the_noise_that_is_charged",),
    ),
    "loglinear": LearnerRow(
        {
            "learner": {"kind": "loglinear", "parameters": {"epsilon": 1, "delta": 1e-6}},
            "split": _WITHOUT_STRUCTURE,
        },
        ("laplace", "gaussian", "auto"),
        (
            f"{_LOGLINEAR}::test_an_answer_has_the_noise_that_its_event_says",
            f"{_LOGLINEAR}::test_a_choice_has_the_law_that_its_event_says",
        ),
    ),
    "uniform": LearnerRow({"learner": {"kind": "uniform"}, "split": _WITHOUT_STRUCTURE}),
    "independent": LearnerRow(
        {"learner": {"kind": "independent", "bins": 10, "parameters": {"epsilon": 1}}, "split": _WITHOUT_STRUCTURE},
        laws=(f"{_DATASYNTHESIZER}::test_histograms_have_the_noise_that_is_charged",),
    ),
    "privbayes": LearnerRow(
        {"learner": {"kind": "privbayes", "structure": {"epsilon": 1, "degree": 2}, "parameters": {"epsilon": 1}}},
        laws=(
            f"{_DATASYNTHESIZER}::test_choices_follow_the_exponential_law",
            f"{_DATASYNTHESIZER}::test_tables_have_the_noise_that_is_charged",
        ),
    ),
    "mst": LearnerRow(
        {
            "learner": {"kind": "mst", "parameters": {"epsilon": 1, "delta": 1e-6}},
            "split": _WITHOUT_STRUCTURE,
        },
        laws=(
            f"{_MST}::test_tables_have_the_noise_that_is_charged",
            f"{_MST}::test_choices_follow_the_exponential_law",
        ),
    ),
    "nist_mst": LearnerRow(
        {
            "learner": {
                "kind": "nist_mst",
                "selection": {
                    "public_file": "public.csv",
                    "sha256": sha256(public_table().encode()).hexdigest(),
                    "strong_information": 0.01,
                    "tables": [
                        {"attributes": ["school", "employed"], "weight": 2},
                        {"attributes": ["age", "school"], "weight": 4},
                        {"attributes": ["age", "sex"], "weight": 3},
                        {"attributes": ["age", "school", "employed"], "weight": 5},
                    ],
                },
                "parameters": {"epsilon": 1, "delta": 1e-6},
            },
            "split": _WITHOUT_STRUCTURE,
        },
        laws=(f"{_MST}::test_tables_have_the_noise_that_is_charged",),
    ),
}
"""By the name that a spec asks for them by."""

SAMPLERS: dict[str, dict[str, Any]] = {
    "seedless": {"synthesis": SEEDLESS["synthesis"]},
    "tested_seeds": {"synthesis": SPEC["synthesis"]},
    "histogram_seeds": HISTOGRAM,
}
"""What the spec of a small release says otherwise, by the name that a spec asks for them by."""
