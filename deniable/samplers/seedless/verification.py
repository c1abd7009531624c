"""The requirements on this sampler's steps: it has none with a cost."""

from collections.abc import Mapping
from typing import Final

from deniable.privacy.planned import ExpectedStep

EXPECTED_STEPS: Final[Mapping[str, ExpectedStep]] = {}

MAY_FALL_SHORT: Final = False
"""The number of records must be the requested one."""

HOLDS_FOR_SEVERAL_RECORDS: Final = True
"""Whether the guarantee for one record gives one for a person with several, so that several of each may be used."""
