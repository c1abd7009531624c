"""One row for each learner and each sampler, with its smallest release."""

from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np

from tests.small_release import SPEC, public_table
from tests.whole_release import HISTOGRAM, SEEDLESS

_NOISE = "tests/privacy/test_learning_adds_the_noise_it_is_charged_for.py"
_LOGLINEAR = "tests/privacy/test_loglinear_answers_have_the_noise_of_their_events.py"
_DATASYNTHESIZER = "tests/mechanisms/test_datasynthesizer.py"
_MST = "tests/mechanisms/test_mst.py"
_AIM = "tests/privacy/test_aim_answers_have_the_noise_of_their_events.py"
CHARGED = "per_draw"
"""The sampler that draws from exact counts, for learners that make no model; the rows of these name it."""
_URNS = "tests/privacy/test_urns_spend_no_more_than_they_are_charged.py"
_COUNTED_URNS = "tests/privacy/test_urns_of_flows_and_sets_spend_no_more_than_they_claim.py"
_WITHOUT_STRUCTURE = {"seeds": 0.5, "parameters": 0.3, "holdout": 0.2}


COMMUTES_SCHEMA = """
from schemas.table import nominal, table

schema = table(
    {
        "work": nominal(["mill", "port", "school", "farm"]),
        "home": nominal(
            [f"h{n:02d}" for n in range(12)], buckets=[[f"h{3 * n + k:02d}" for k in range(3)] for n in range(4)]
        ),
    },
    description="Made-up commuters.",
    target="work",
)
"""


def commuters() -> list[list[str]]:
    """Return rows of a table of destinations and origins, in which the mill's workers live near each other."""
    draw = np.random.default_rng(list(b"commuters"))
    rows = []
    for work, number, near in (("mill", 900, 2), ("port", 400, 4), ("school", 150, 12), ("farm", 50, 12)):
        rows += [[work, f"h{home:02d}"] for home in draw.integers(0, near, number)]
    return rows


_COMMUTES: dict[str, Any] = {
    "schema": COMMUTES_SCHEMA,
    "people": commuters(),
    "names": ["work", "home"],
    "split": _WITHOUT_STRUCTURE,
    "evaluation": {
        "classifiers": ["tree"],
        "train_rows": 400,
        "quasi_identifiers": ["work", "home"],
        "sensitive": ["home"],
        "known": ["work"],
    },
    "thresholds": {},
}


@dataclass(frozen=True)
class LearnerRow:
    """A learner.

    Attributes:
        asked: changes to the spec of the small release.
        noises: the kinds of noise that the spec may state.
        laws: tests that compare the errors of released values with the distribution stated by the events.
    """

    asked: dict[str, Any]
    noises: tuple[str, ...] = ()
    laws: tuple[str, ...] = ()

    @property
    def charges_draws(self) -> bool:
        """Whether records are drawn from exact counts, with every draw charged."""
        return bool(self.asked.get("synthesis", {}).get("guarantee") == CHARGED)

    def with_noise(self, number: int) -> dict[str, str]:
        """Return the spec's entries on the noise, if it may have any."""
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
    "pegs": LearnerRow(
        {
            "learner": {"kind": "pegs", "epsilon": 1, "key_cells": 24},
            "split": _WITHOUT_STRUCTURE,
            "synthesis": {"guarantee": CHARGED, "records": 400, "chunk_candidates": 128},
        },
        laws=(
            f"{_URNS}::test_one_record_costs_no_more_than_its_charge",
            f"{_URNS}::test_a_block_costs_no_more_than_its_charge_however_long_it_is",
            f"{_URNS}::test_the_kernel_draws_blocks_by_their_law",
            "tests/mechanisms/test_pegs.py::test_measured_orders_have_the_noise_that_is_charged",
        ),
    ),
    "pegs_noisy": LearnerRow(
        {
            "learner": {
                "kind": "pegs_noisy",
                "key_cells": 8,
                "orders": {"employed": ["school", "sex"]},
                "parameters": {"epsilon": 1},
            },
            "split": _WITHOUT_STRUCTURE,
        },
        laws=("tests/mechanisms/test_pegs_noisy.py::test_tables_have_the_noise_that_is_charged",),
    ),
    "diverse": LearnerRow(
        {
            "learner": {
                "kind": "diverse",
                "diversity": 1.5,
                "sensitive": ["school", "employed"],
                "key_cells": 24,
                "accept_no_differential_privacy": True,
            },
            "split": _WITHOUT_STRUCTURE,
            "budget": {"epsilon": 1, "delta": 1},
            "synthesis": {"guarantee": CHARGED, "records": 400, "chunk_candidates": 128},
        },
        laws=("tests/mechanisms/test_diverse.py::test_the_sampler_draws_by_the_law_of_its_priors",),
    ),
    "imputed": LearnerRow(
        {
            "learner": {"kind": "imputed", "epsilon": 2, "fit_rows": 600},
            "split": _WITHOUT_STRUCTURE,
            "synthesis": {"guarantee": CHARGED, "records": 400, "chunk_candidates": 128},
        },
        laws=(
            "tests/mechanisms/test_imputed.py::test_no_two_tables_differ_by_more_than_the_charge",
            "tests/mechanisms/test_imputed.py::test_records_are_drawn_by_their_law",
        ),
    ),
    "origin_destination": LearnerRow(
        {
            **_COMMUTES,
            "learner": {
                "kind": "origin_destination",
                "destination": "work",
                "origin": "home",
                "epsilon": 4,
                "totals_epsilon": 1,
            },
            "synthesis": {"guarantee": CHARGED, "records": 400, "chunk_candidates": 128},
        },
        laws=(
            f"{_COUNTED_URNS}::test_drawn_origins_have_the_enumerated_law",
            "tests/unit/test_origin_destination.py::test_measured_totals_have_the_noise_that_is_charged",
        ),
    ),
    "multinomial_sets": LearnerRow(
        {
            "learner": {"kind": "multinomial_sets", "epsilon": 4, "sets": 2},
            "split": _WITHOUT_STRUCTURE,
            "synthesis": {"guarantee": CHARGED, "records": 400, "chunk_candidates": 128},
        },
        laws=(f"{_COUNTED_URNS}::test_drawn_sets_have_the_enumerated_law",),
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
    "aim": LearnerRow(
        {
            "learner": {"kind": "aim", "max_model": 0.05, "parameters": {"epsilon": 1, "delta": 1e-6}},
            "split": _WITHOUT_STRUCTURE,
        },
        laws=(
            f"{_AIM}::test_a_table_has_the_noise_that_is_charged",
            f"{_AIM}::test_a_choice_has_the_law_that_is_charged",
        ),
    ),
}
"""By the name that a spec asks for them by."""

SAMPLERS: dict[str, dict[str, Any]] = {
    "seedless": {"synthesis": SEEDLESS["synthesis"]},
    CHARGED: {
        "learner": {
            "kind": "pegs",
            "epsilon": 4,
            "key_cells": 24,
            "block": 8,
            "draws_per_row": 2,
            "division": "values",
            "structure": {"epsilon": 1},
        },
        "split": {"seeds": 0.3, "structure": 0.2, "parameters": 0.3, "holdout": 0.2},
        "synthesis": {"guarantee": CHARGED, "records": 400, "chunk_candidates": 128, "delta": 1e-6},
    },
    "tested_seeds": {"synthesis": SPEC["synthesis"]},
    "histogram_seeds": HISTOGRAM,
    "poisson_seeds": {
        "synthesis": {
            "guarantee": "poisson_seeds",
            "omega": 2,
            "plausible": 4,
            "epsilon": 2,
            "delta": 1e-6,
            "public_rows": 400,
            "records": 400,
            "chunk_candidates": 128,
        }
    },
}
"""What the spec of a small release says otherwise, by the name that a spec asks for them by."""

CERTIFIED: dict[str, dict[str, Any]] = {
    kind: {
        **SAMPLERS["seedless"],
        **LEARNERS[kind].asked,
        "learner": {**LEARNERS[kind].asked["learner"], "certificate": {"share": 0.05}},
    }
    for kind in ("mst", "pegs_noisy")
}
"""The same of learners with a certificate: one with each law of its noise."""

VARIANTS: dict[str, dict[str, Any]] = {
    "tested_seeds on some of the records": {
        "synthesis": {
            **SPEC["synthesis"],
            "k": 15,
            "given_omega": True,
            "max_plausible": 40,
            "max_check_plausible": 300,
        },
    },
    "per_draw from seeds of a public file": {
        "learner": {
            "kind": "pegs",
            "epsilon": 2,
            "key_cells": 24,
            "block": 4,
            "draws_per_row": 2,
            "sweeps": 2,
            "alpha_shape": {"school": [1, 2, 1]},
            "seed_file": {"path": "public.csv", "sha256": sha256(public_table().encode()).hexdigest()},
        },
        "split": _WITHOUT_STRUCTURE,
        "synthesis": {"guarantee": CHARGED, "records": 400, "chunk_candidates": 128},
    },
    "per_draw of origins whose destinations are public": {
        **_COMMUTES,
        "learner": {
            "kind": "origin_destination",
            "destination": "work",
            "origin": "home",
            "privacy": "pdp",
            "epsilon": 4,
            "delta": 1e-5,
            "totals": {"mill": 900, "port": 400, "school": 150, "farm": 50},
        },
        "budget": {"dataset": "people-replaced", "epsilon": 10, "delta": 0.01},
        "synthesis": {"guarantee": CHARGED, "records": 1500, "chunk_candidates": 512, "delta": 1e-5},
    },
}
"""Entries of mechanisms that are planned, drawn and charged otherwise than the smallest one."""

ROWS: dict[str, dict[str, Any]] = {
    **{f"learner {kind}": {**SAMPLERS["seedless"], **row.asked, **row.with_noise(0)} for kind, row in LEARNERS.items()},
    **{f"learner {kind} with a certificate": row for kind, row in CERTIFIED.items()},
    **{f"sampler {kind}": {**LEARNERS["marginals"].asked, **row} for kind, row in {**SAMPLERS, **VARIANTS}.items()},
}
"""All of them: what the spec of a small release says otherwise."""
