"""The requirements on this learner's steps: they read no data."""

from collections.abc import Mapping
from typing import Final

from deniable.privacy.planned import ExpectedStep

EXPECTED_STEPS: Final[Mapping[str, ExpectedStep]] = {
    "learn_structure": ExpectedStep(part=None, makes={"graph": "graph.json"}),
    "learn_parameters": ExpectedStep(part=None, makes={"model": "model.json"}),
}
