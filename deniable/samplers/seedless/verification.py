"""What the steps of this sampler must do: it has no step with a cost."""

from collections.abc import Mapping
from typing import Final

from deniable.privacy.planned import ExpectedStep

EXPECTED_STEPS: Final[Mapping[str, ExpectedStep]] = {}

MAY_FALL_SHORT: Final = False
"""The number of records drawn is the number wanted."""
