"""Copy the required columns from the source, and make a commitment to them."""

from pathlib import Path

from schemas.references import Audience, Reference
from schemas.spec.release_spec import DatabaseSource, FileSource, PackageSource
from schemas.table import columns_read
from stores.tables.sources.reading import opened_source
from stores.tables.tables import write_snapshot
from stores.tracking.step_run import recorded_step
from stores.vault.workspace import Workspace
from tasks.running.step import as_task


def ingest(workspace: Workspace) -> Reference:
    """Copy the source's required columns into the vault; all later steps use this copy.

    Args:
        workspace: the release.

    Returns:
        The snapshot; its keyed digest is a commitment to the rows.

    Raises:
        InvalidInput: the source is missing, incomplete, or lacks columns.
    """
    spec = workspace.spec
    with recorded_step(workspace, "ingest") as step:
        columns = columns_read(spec.schema)
        step.parameters(**describe_source(spec.source), dataset=Path(spec.dataset).name, columns=len(columns))
        with (
            opened_source(spec, workspace.state) as source,
            workspace.writing("snapshot.parquet", Audience.RESTRICTED) as path,
        ):
            rows = write_snapshot(path, source)
        step.figures({"rows_read": rows}, Audience.INTERNAL)
        return step.output(workspace.refer("snapshot", "snapshot.parquet", Audience.RESTRICTED, rows))


def describe_source(source: PackageSource | FileSource | DatabaseSource) -> dict[str, str]:
    """Return what may be recorded about a source: the name of a public package, but not where confidential data are."""
    said: dict[str, str] = {"source": source.kind}
    if isinstance(source, PackageSource):
        said |= {"package": source.package, "package_version": source.version, "package_sha256": source.sha256}
    return said


ingest_task = as_task(ingest)
