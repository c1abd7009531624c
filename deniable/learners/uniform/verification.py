"""The requirements on this learner's steps: they read no data."""

from collections.abc import Mapping
from typing import Final

from deniable.privacy.planned import ExpectedStep
from deniable.roles import Role

EXPECTED_STEPS: Final[Mapping[str, ExpectedStep]] = {
    Role.STRUCTURE: ExpectedStep(part=None, makes={"graph": "graph.json"}),
    Role.PARAMETERS: ExpectedStep(part=None, makes={"model": "model.json"}),
}
