"""Histograms at the whole epsilon, kept in the published description, and then a network at the whole epsilon again.

The fault of DataSynthesizer's correlated mode: half of the second epsilon goes to the structure, half to the tables,
and the description costs twice what is stated. With two attributes there is one structure only, so half is not used.
"""

from tests.noisy_answers import Answer, Records, counted, generator, noisy


def release(records: Records, sizes: tuple[int, ...], epsilon: float, secret: bytes) -> list[Answer]:
    """The histograms, and the joint table of the first two attributes."""
    rng, single, joint = generator(secret), len(sizes) / epsilon, 1 / (epsilon / 2)
    answers = [Answer((i,), single, noisy(counted(records, sizes, (i,)), single, rng)) for i in range(len(sizes))]
    return [*answers, Answer((0, 1), joint, noisy(counted(records, sizes, (0, 1)), joint, rng))]
