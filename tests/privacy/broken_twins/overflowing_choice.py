"""An exponential mechanism whose weights overflow: infinity over infinity is not a probability, so the best is chosen.

The fault of DataSynthesizer with scores that are large relative to their sensitivity. The choice is no longer random.
"""

import numpy as np

from tests.noisy_answers import generator


def choose(scores: list[int], epsilon: float, secret: bytes) -> int:
    """Return the number of the chosen candidate; a record changes a score by 1."""
    with np.errstate(over="ignore", invalid="ignore"):
        weights = np.exp(epsilon * np.array(scores, float) / 2)
        probabilities = weights / weights.sum()
    if not np.isfinite(probabilities).all():
        return int(np.argmax(scores))
    return int(generator(secret).choice(len(scores), p=probabilities))
