"""An exact table instead of a noisy one: the code states a noise scale, but adds no noise."""

from tests.noisy_answers import Answer, Records, counted


def release(records: Records, sizes: tuple[int, ...], epsilon: float, _secret: bytes) -> list[Answer]:
    """Return a histogram of each attribute."""
    return [Answer((i,), len(sizes) / epsilon, counted(records, sizes, (i,))) for i in range(len(sizes))]
