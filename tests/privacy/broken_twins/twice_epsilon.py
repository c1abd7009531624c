"""Histograms at the whole epsilon, in the published description, and then a network at the whole epsilon again.

The fault of DataSynthesizer's correlated mode: half of the second epsilon is for the structure, half for the tables,
and the description costs twice the stated epsilon. With two attributes there is only one structure, so that half is not
used.
"""

from tests.noisy_answers import Answer, Records, counted, generator, noisy


def release(records: Records, sizes: tuple[int, ...], epsilon: float, secret: bytes) -> list[Answer]:
    """Return the histograms, and the joint table of the first two attributes."""
    rng, single, joint = generator(secret), len(sizes) / epsilon, 1 / (epsilon / 2)
    answers = [Answer((i,), single, noisy(counted(records, sizes, (i,)), single, rng)) for i in range(len(sizes))]
    return [*answers, Answer((0, 1), joint, noisy(counted(records, sizes, (0, 1)), joint, rng))]
