"""Finds how the records were split for the release whose model a further release reads, so that its holdout is fresh.

People who are held out of a further release may be among those that the model was learnt from. Which people the
first release read can be drawn again from its key, if it is still kept here and the table is the same to the last byte.
Otherwise nothing is known, and the holdout is that of the further release alone.
"""

import filecmp
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import ReleaseKey
from deniable.mechanisms import EarlierRelease
from schemas.references import Audience, Reference
from stores.vault.scratch import state_of
from stores.vault.workspace import Workspace
from tasks.data.earlier_release import EarlierDocuments

_PARTS = ("seeds", "structure", "parameters", "shared", "holdout")
"""The order of a draw; a split has a shared part or those before it."""


@dataclass(frozen=True)
class EarlierSplit:
    """What determined the parts of the release that paid for a model.

    Attributes:
        key: its key.
        inputs: digest of its records under that key.
        probabilities: probability of each part, in the order of the draw.
    """

    key: ReleaseKey
    inputs: str
    probabilities: Mapping[str, Fraction]


def split_of_the_model(workspace: Workspace, codes: Reference) -> EarlierSplit | None:
    """The split of the release that the model was learnt for; None if the model is learnt here, or it is not known.

    Args:
        workspace: the further release.
        codes: its records.

    Raises:
        DeniableError: the earlier release is missing, or is not the one that the spec names.
    """
    learner: Any = workspace.spec.learner
    if not learner.is_paid_elsewhere:
        return None
    release, record, cost = learner.release, learner.record, (learner.epsilon, learner.delta)
    while True:
        epsilon, delta = (float(Fraction(each)) for each in cost)
        earlier = EarlierRelease(release=release, record=record, files={}, epsilon=epsilon, delta=delta)
        said: Any = EarlierDocuments(workspace, earlier).statement.predicate
        document = said["spec"]["document"]
        if "record" not in document["learner"]:
            break
        # It read the model of a still earlier one.
        release, record = document["learner"]["release"], document["learner"]["record"]
        cost = (document["learner"]["epsilon"], document["learner"]["delta"])
    first = Workspace(
        state=state_of(workspace.state), release_id=release, spec=workspace.spec, mlflow_run_id=workspace.mlflow_run_id
    )
    own = first.vault / "codes.parquet"
    try:
        key = first.key()
    except InvalidInput:
        return None
    if key.commitment() != said["input"]["key"] or not own.is_file():
        return None
    if not filecmp.cmp(own, codes.path, shallow=False):
        return None
    stated = {name: Fraction(document["split"].get(name, 0)) for name in _PARTS}
    return EarlierSplit(
        key=key,
        inputs=first.describe("codes", own, Audience.RESTRICTED).digest,
        probabilities={name: probability for name, probability in stated.items() if probability > 0},
    )
