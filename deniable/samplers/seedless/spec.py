"""The entry of this sampler in a release spec."""

from typing import ClassVar, Literal

from deniable.samplers.entry import SamplerEntry


class Entry(SamplerEntry):
    """Records drawn from the model alone.

    Attributes:
        guarantee: `seedless`.
    """

    parts: ClassVar[tuple[str, ...]] = ()

    guarantee: Literal["seedless"]
