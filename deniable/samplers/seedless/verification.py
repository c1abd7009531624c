"""What the steps of this sampler must do: there are none that cost."""

from collections.abc import Mapping
from typing import Final

from deniable.privacy.planned import ExpectedStep

EXPECTED_STEPS: Final[Mapping[str, ExpectedStep]] = {}

MAY_FALL_SHORT: Final = False
"""As many are drawn as are wanted."""
