"""Words under a fixed public key, from which all made-up data of the lecture and all noise are drawn."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.keys import ReleaseKey, WordStream

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

KEY: Final = ReleaseKey(bytes(range(32)))


def stream_of(what: str, number: int = 0) -> WordStream:
    """The words of one example."""
    return KEY.stream(step="paper", mechanism="lecture", inputs=what, parameters={"number": number})


def uniforms(stream: WordStream, *shape: int) -> Floats:
    """Uniform numbers in [0, 1) of a shape."""
    words = stream.take(2 * int(np.prod(shape))).astype(np.uint64)
    return ((words[::2] << np.uint64(21)) ^ (words[1::2] >> np.uint64(11))).reshape(shape) * 2.0**-53


def integers(stream: WordStream, below: int, *shape: int) -> Integers:
    """Integers in [0, below), uniform up to 2^-53, of a shape."""
    return (uniforms(stream, *shape) * below).astype(np.int64)
