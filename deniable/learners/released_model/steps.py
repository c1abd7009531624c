"""The step that reads the public files of an earlier release."""

from collections.abc import Mapping
from typing import Any, cast

from deniable.foundation.domain import Domain
from deniable.foundation.keys import StreamOpener
from deniable.learners.released_model.spec import Entry
from deniable.mechanisms import (
    GRAPH,
    MODEL,
    Counter,
    EarlierRelease,
    Made,
    PartDelta,
    PlannedStep,
    ReleasedDocuments,
)
from deniable.roles import Role

_CAUTION = (
    "the model was learnt for an earlier release: people whom that release read are left out of the holdout only if "
    "its key is still kept here and the table is the same; otherwise some of those held out may be among them, and how "
    "useful the model is, and what it gives away, was measured for that release alone"
)


def steps(entry: Entry, domain: Domain, _: PartDelta) -> tuple[PlannedStep, ...]:  # noqa: ARG001 - as all learners plan
    """Plan the step of a spec; see `deniable.learners.registry.steps_of`."""
    return (
        PlannedStep(
            name=Role.PARAMETERS,
            part=None,
            public=EarlierRelease(
                release=entry.release,
                record=entry.record,
                files={MODEL.file: entry.model},
                epsilon=float(entry.epsilon),
                delta=float(entry.delta),
            ),
            shown={"learner": entry.kind, "release": entry.release},
            caution=_CAUTION,
            makes=(GRAPH, MODEL),
            run=_read,
        ),
    )


def _read(counter: Counter, _: Mapping[str, Any], __: StreamOpener) -> Made:
    files = cast("ReleasedDocuments", counter)
    return Made(products={product.name: files.document(product) for product in (GRAPH, MODEL)})
