"""The requirements on this learner's step, derived from spec and domain."""

from collections.abc import Mapping
from typing import Final

from deniable.learners.cfs.verification import EXPECTED_STEPS as _OF_A_GRAPH
from deniable.privacy.planned import ExpectedStep

EXPECTED_STEPS: Final[Mapping[str, ExpectedStep]] = {
    "learn_structure": ExpectedStep(part=None, makes={"graph": "graph.json"}),
    "learn_parameters": _OF_A_GRAPH["learn_parameters"],
}
