"""Numbers under a fixed public key, from which all that is made up or drawn for papers comes: the same in every run."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.keys import ReleaseKey, WordStream

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

KEY: Final = ReleaseKey(bytes(range(32)))


def uniforms(stream: WordStream, *shape: int) -> Floats:
    """Uniform numbers in [0, 1) of a shape."""
    words = stream.take(2 * int(np.prod(shape))).astype(np.uint64)
    return ((words[::2] << np.uint64(21)) ^ (words[1::2] >> np.uint64(11))).reshape(shape) * 2.0**-53
