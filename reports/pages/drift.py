"""Drift relative to the previous release, computed from the two public tables alone, and as a page for Prefect.

The distances are defined in deniable.evaluation.drift.
"""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from prefect import runtime
from prefect.artifacts import create_markdown_artifact

from deniable.evaluation.drift import Drift, drift
from deniable.foundation.domain import Attribute, Codes, Domain
from deniable.record.released_table import codes_of_texts
from schemas.references import Audience
from stores.publication.release_folder import PARQUET
from stores.servers.ui_links import artifact_name
from stores.statement.statement import TEMPLATES
from stores.tables.tables import codes_of_column
from stores.vault.workspace import Workspace

_PAIRS = 10


def drift_of(workspace: Workspace, before: str) -> Drift | None:
    """Compare a published release with an earlier one.

    Args:
        workspace: the release.
        before: name of the earlier release.

    Returns:
        The distances for the attributes that both have with the same values; None if there is no such attribute.
    """
    old, new = (workspace.state / "releases" / name / PARQUET for name in (before, workspace.release_id))
    domain = _shared(workspace.spec.domain, old)
    if domain is None:
        return None
    tables = [_codes_of(place, domain) for place in (old, new)]
    cardinalities = [len(attribute.values) for attribute in domain.attributes]
    return drift([tables[0]], [tables[1]], domain.names, cardinalities)


def note_drift(workspace: Workspace, before: str, found: Drift) -> None:
    """Write the distances next to the release's report, and attach a page of them to the Prefect run."""
    said = {"release": workspace.release_id, "before": before, "figures": found.figures, **asdict(found)}
    with workspace.writing("drift.json", Audience.INTERNAL) as path:
        path.write_text(json.dumps(said, indent=1), encoding="utf-8")
    if runtime.flow_run.id:
        page = drift_page(workspace.release_id, before, found)
        about = f"How far the public table of {workspace.release_id} has moved from that of {before}."
        create_markdown_artifact(page, key=artifact_name("drift", workspace.spec.dataset_name), description=about)


def drift_page(release: str, before: str, found: Drift) -> str:
    """Render the distances in Markdown."""
    return TEMPLATES.get_template("DRIFT.md.jinja").render(
        release=release, before=before, drift=found, pairs=found.pairs[:_PAIRS]
    )


def _shared(domain: Domain, old: Path) -> Domain | None:
    """The attributes that the earlier table also has, with no value that this domain lacks."""
    held = set(pq.read_schema(old).names)
    shared = []
    for attribute in domain.attributes:
        if attribute.name in held:
            values = set(pq.read_table(old, columns=[attribute.name]).column(0).unique().to_pylist())
            if values <= set(attribute.stored) or _in_bins(attribute, values):
                shared.append(attribute)
    return Domain(tuple(shared)) if shared else None


def _in_bins(attribute: Attribute, values: set[Any]) -> bool:
    """Whether all values are numbers in an attribute's bins, or missing."""
    texts = ["" if value is None else str(value) for value in values]
    return attribute.bins is not None and bool((codes_of_texts(attribute, texts) >= 0).all())


def _codes_of(table: Path, domain: Domain) -> Codes:
    """The codes of some attributes of a released table, shape (records, attributes)."""
    held = pq.read_table(table, columns=list(domain.names))
    columns = [codes_of_column(held.column(each.name).combine_chunks(), each) for each in domain.attributes]
    return np.stack(columns, axis=1).astype(domain.code_type)
