"""Drift against the release before, read from the two public tables alone, and as a page for Prefect.

What a distance is belongs to deniable.evaluation.drift.
"""

import json
from dataclasses import asdict
from pathlib import Path

import pyarrow.parquet as pq
from prefect import runtime
from prefect.artifacts import create_markdown_artifact

from deniable.evaluation.drift import Drift, drift
from deniable.foundation.domain import Domain
from schemas.references import Audience
from stores.publication.release_folder import PARQUET
from stores.servers.ui_links import artifact_name
from stores.statement.statement import TEMPLATES
from stores.tables.tables import encode
from stores.vault.workspace import Workspace

_PAIRS = 10


def drift_of(workspace: Workspace, before: str) -> Drift | None:
    """Compare a published release with one before it.

    Args:
        workspace: the release.
        before: name of the other.

    Returns:
        The distances in the attributes that both have with the same values; None where there is no such attribute.
    """
    old, new = (workspace.state / "releases" / name / PARQUET for name in (before, workspace.release_id))
    domain = _shared(workspace.spec.domain, old)
    if domain is None:
        return None
    tables = [encode(pq.read_table(place, columns=list(domain.names)).to_pandas(), domain) for place in (old, new)]
    cardinalities = [len(attribute.values) for attribute in domain.attributes]
    return drift([tables[0]], [tables[1]], domain.names, cardinalities)


def note_drift(workspace: Workspace, before: str, found: Drift) -> None:
    """Write the distances beside the release's report, and leave a page of them with Prefect's run."""
    said = {"release": workspace.release_id, "before": before, "figures": found.figures, **asdict(found)}
    with workspace.writing("drift.json", Audience.INTERNAL) as path:
        path.write_text(json.dumps(said, indent=1), encoding="utf-8")
    if runtime.flow_run.id:
        page = drift_page(workspace.release_id, before, found)
        about = f"How far the public table of {workspace.release_id} has moved from that of {before}."
        create_markdown_artifact(page, key=artifact_name("drift", workspace.spec.dataset_name), description=about)


def drift_page(release: str, before: str, found: Drift) -> str:
    """The distances, in Markdown."""
    return TEMPLATES.get_template("DRIFT.md.jinja").render(
        release=release, before=before, drift=found, pairs=found.pairs[:_PAIRS]
    )


def _shared(domain: Domain, old: Path) -> Domain | None:
    """The attributes that the table before has too, with no value that this one does not know."""
    held = set(pq.read_schema(old).names)
    shared = []
    for attribute in domain.attributes:
        if attribute.name in held:
            values = set(pq.read_table(old, columns=[attribute.name]).column(0).unique().to_pylist())
            if values <= set(attribute.values):
                shared.append(attribute)
    return Domain(tuple(shared)) if shared else None
