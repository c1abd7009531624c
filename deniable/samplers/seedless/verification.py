"""What the steps of this sampler must do: there are none that cost."""

from collections.abc import Mapping
from typing import Final

from deniable.privacy.planned import ExpectedStep

EXPECTED_STEPS: Final[Mapping[str, ExpectedStep]] = {}
