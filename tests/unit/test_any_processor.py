"""What is learnt and charged does not depend on what the linear algebra library chooses for a processor."""

import os
import platform
import subprocess
import sys

import numpy as np
import pytest

_MADE = """
import hashlib
import numpy as np
from deniable.privacy.dominating_pair import DominatingPair, epsilon_of_runs
from deniable.learners.loglinear.estimation.empirical_bayes import posterior_mean

draws = np.random.default_rng(3)
noisy = np.round(draws.gamma(0.3, 100.0, 3000))
law = draws.random(401)
pair = DominatingPair(0.01, np.arange(-200, 201), law / law.sum(), 0.0)
likelihood, weights = draws.random((3000, 43)), draws.random(43)
for made in (
    posterior_mean(noisy, np.full(3000, 30.0), 10.0, laplace=False),
    [epsilon_of_runs([(pair, times)], 1e-6) for times in (2, 9)],
    likelihood.T @ (1 / (likelihood @ weights)),
):
    print(hashlib.sha256(np.asarray(made).tobytes()).hexdigest())
"""


def _digests(**chosen: str) -> list[str]:
    """Digests of denoised counts, of epsilons, and of a product of matrices, in a process of its own."""
    others = {name: value for name, value in os.environ.items() if not name.startswith(("OPENBLAS_", "OMP_"))}
    done = subprocess.run(
        [sys.executable, "-c", _MADE], env=others | chosen, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


_BLAS = np.show_config(mode="dicts")["Build Dependencies"]["blas"]["name"]


@pytest.mark.skipif(
    platform.machine() != "x86_64" or "openblas" not in _BLAS,
    reason="needs OpenBLAS on x86-64, whose routines for other processors can be chosen by name",
)
def test_denoised_counts_and_epsilons_are_the_same_whatever_blas_chooses() -> None:
    old, new = (_digests(OPENBLAS_CORETYPE=processor) for processor in ("Prescott", "Haswell"))
    assert old[:2] == new[:2]
    # Products of matrices are not: the two are told apart.
    assert old[2] != new[2]
