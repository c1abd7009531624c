"""Words under a fixed public key, from which all made-up data of the lecture and all noise are drawn."""

import numpy as np

from deniable.foundation.keys import WordStream
from papers.chance import KEY, Floats, Integers, uniforms

__all__ = ("Floats", "Integers", "integers", "stream_of", "uniforms")


def stream_of(what: str, number: int = 0) -> WordStream:
    """The words of one example."""
    return KEY.stream(step="paper", mechanism="lecture", inputs=what, parameters={"number": number})


def integers(stream: WordStream, below: int, *shape: int) -> Integers:
    """Integers in [0, below), uniform up to 2^-53, of a shape."""
    return (uniforms(stream, *shape) * below).astype(np.int64)
