"""The requirements on this learner's step, derived from spec and domain."""

from collections.abc import Mapping
from typing import Final

from deniable.learners.cfs.verification import EXPECTED_STEPS as _OF_A_GRAPH
from deniable.privacy.planned import ExpectedStep
from deniable.roles import Role

EXPECTED_STEPS: Final[Mapping[str, ExpectedStep]] = {
    Role.STRUCTURE: ExpectedStep(part=None, makes={"graph": "graph.json"}),
    Role.PARAMETERS: _OF_A_GRAPH[Role.PARAMETERS],
}
