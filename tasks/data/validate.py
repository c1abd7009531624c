"""Check every row against the schema, and stop the release if too many are invalid or left out.

Failures are counted by column and check. No value of a record is kept, logged or quoted.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from pandera.config import ValidationDepth, config_context
from pandera.errors import SchemaError, SchemaErrors
from pandera.pandas import DataFrameSchema

from deniable.foundation.errors import InvalidInput
from deniable.record.exact_stops import TOO_MANY_INVALID, TOO_MANY_LEFT_OUT, UNREADABLE, ExactStop, decided_exactly
from schemas.references import Audience, Reference
from schemas.spec.release_spec import ReleaseSpec
from schemas.table import holds_text
from stores.tables.overlapped import ParquetBehind
from stores.tables.tables import VALID, empty_rows, malformed_rows, read_frames
from stores.tracking.step_run import recorded_step
from stores.vault.exact_counts import refused_by_counts
from stores.vault.workspace import Workspace
from tasks.running.step import as_task


@dataclass
class Findings:
    """The findings in a table; all are internal, because they count real records.

    Attributes:
        rows: number of rows read.
        malformed: number of rows of the source with too few or too many fields, which are not among the rows read.
        empty: number of rows of the source whose every field is empty, which are no records; not among the rows read.
        out_of_universe: number of rows out of scope.
        missing: number of rows in scope that lack a value, but have no invalid one.
        invalid: number of rows in scope with a value that fails a check.
        missing_by_column: numbers of missing cells, by column.
        invalid_by_check: numbers of invalid cells, by column and check.
    """

    rows: int = 0
    malformed: int = 0
    empty: int = 0
    out_of_universe: int = 0
    missing: int = 0
    invalid: int = 0
    missing_by_column: Counter[str] = field(default_factory=Counter)
    invalid_by_check: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add_invalid(self, column: str, check: str, rows: pd.Index) -> None:
        """Count the invalid cells of a column.

        Args:
            column: the column, or `row`.
            check: the check that they fail.
            rows: their rows, as the frame numbers them.
        """
        self.invalid_by_check[column, check] += len(rows)

    def add_missing(self, column: str, rows: pd.Index) -> None:
        """Count the missing cells of a column.

        Args:
            column: the column.
            rows: their rows, as the frame numbers them.
        """
        self.missing_by_column[column] += len(rows)

    @property
    def valid(self) -> int:
        """Number of valid rows."""
        return self.rows - self.out_of_universe - self.missing - self.invalid

    @property
    def share_invalid(self) -> Fraction:
        """Share of invalid and malformed rows among all that may be in scope."""
        return Fraction(self.invalid + self.malformed, self.in_scope or 1)

    @property
    def in_scope(self) -> int:
        """Number of rows that may be in scope; malformed ones may be."""
        return self.rows - self.out_of_universe + self.malformed

    @property
    def share_dropped(self) -> Fraction:
        """Share of rows left out, for whatever reason, among all that may be in scope."""
        return Fraction(self.missing + self.invalid + self.malformed, self.in_scope or 1)

    def report(self) -> dict[str, object]:
        """Return the findings in a form that JSON can hold."""
        return {
            "rows": self.rows,
            "valid": self.valid,
            "out_of_universe": self.out_of_universe,
            "missing": self.missing,
            "invalid": self.invalid,
            "malformed": self.malformed,
            "empty": self.empty,
            "missing_cells": dict(self.missing_by_column),
            "invalid_cells": {f"{column} {check}": count for (column, check), count in self.invalid_by_check.items()},
        }

    def in_words(self) -> Iterator[str]:
        """Yield lines on how many rows are left out, why, and because of which columns, the most frequent first."""
        yield left_out_in_words(self.in_scope, missing=self.missing, invalid=self.invalid, malformed=self.malformed)
        yield f"{self.out_of_universe:,} rows are out of scope"
        if self.empty:
            yield f"{self.empty:,} empty lines are no rows"
        for column, count in self.missing_by_column.most_common():
            yield f"missing, {column}: {count:,}"
        for (column, check), count in self.invalid_by_check.most_common():
            yield f"invalid, {column} {check}: {count:,}"


def left_out_in_words(in_scope: int, *, missing: int, invalid: int, malformed: int) -> str:
    """Return how many rows in scope are left out, and why; for cleared staff.

    Args:
        in_scope: number of rows that may be in scope.
        missing: number of rows that lack a value, but have no invalid one.
        invalid: number of rows with an invalid value.
        malformed: number of rows with too few or too many fields.
    """
    dropped = missing + invalid + malformed
    share = dropped / max(in_scope, 1)
    return (
        f"{dropped:,} of {in_scope:,} rows in scope ({share:.3%}) are left out: {missing:,} lack a value, {invalid:,} "
        f"have an invalid one, {malformed:,} have too few or too many fields"
    )


def validate(workspace: Workspace, snapshot: Reference) -> Reference:
    """Recode the rows of the snapshot, and mark which are valid.

    Args:
        workspace: the release.
        snapshot: the rows as they were read.

    Returns:
        The recoded rows, each with a mark of whether it is in scope, complete and valid.

    Raises:
        RefusedByCounts: more rows are invalid, or left out for any reason, than the spec allows.
        InvalidInput: the schema does not fit the snapshot.
    """
    schema = workspace.spec.schema
    with recorded_step(workspace, "validate", inputs=[snapshot]) as step:
        findings = Findings(malformed=malformed_rows(snapshot.path), empty=empty_rows(snapshot.path))
        with workspace.writing("checked.parquet", Audience.RESTRICTED) as path:
            layout = _layout(schema)
            with ParquetBehind(path, layout) as writer:
                for frame in read_frames(snapshot.path):
                    recoded = examine(schema, frame, findings)
                    writer.write_batch(pa.RecordBatch.from_pandas(recoded, layout, preserve_index=False))
            step.document(findings.report(), "validation.json", Audience.INTERNAL)
            counted = ("valid", "out_of_universe", "missing", "invalid", "malformed")
            step.figures({f"rows_{name}": getattr(findings, name) for name in counted}, Audience.INTERNAL)
            for stop, said, share, allowed in _limits(workspace.spec, findings):
                if share > allowed:
                    raise refused_by_counts(workspace, "validate", stop, said, findings.in_words())
        return step.output(workspace.refer("checked", "checked.parquet", Audience.RESTRICTED, findings.rows))


def _limits(spec: ReleaseSpec, findings: Findings) -> Iterator[tuple[ExactStop, str, Fraction, Fraction]]:
    """Yield for each limit in the spec the decision, the refusal beyond it, the share found, and the share allowed."""
    remedy = "got more; repair the source, correct the schema, or raise"
    if (allowed := spec.max_invalid_share) is not None:
        said = f"at most {float(allowed):.3%} of the rows in scope may be invalid, {remedy} max_invalid_share"
        yield TOO_MANY_INVALID, said, findings.share_invalid, allowed
    if (allowed := spec.max_dropped_share) is not None:
        reasons = "because they lack a value or have an invalid one"
        said = (
            f"at most {float(allowed):.3%} of the rows in scope may be left out {reasons}, {remedy} max_dropped_share"
        )
        yield TOO_MANY_LEFT_OUT, said, findings.share_dropped, allowed


def examine(schema: DataFrameSchema, frame: pd.DataFrame, findings: Findings) -> pd.DataFrame:
    """Recode and check some rows.

    Args:
        schema: the description of the table.
        frame: rows as they were read, numbered from 0.
        findings: the findings, to which these rows' are added.

    Returns:
        The schema's columns and the mark for all rows; rows out of scope have no values.

    Raises:
        InvalidInput: the schema does not fit the rows, or one of its checks does not test values one by one.
    """
    errors: list[SchemaError] = []
    # An environment variable can switch pandera off; this overrides it.
    with config_context(validation_enabled=True, validation_depth=ValidationDepth.SCHEMA_AND_DATA):
        try:
            recoded = schema.validate(frame, lazy=True)
        except SchemaErrors as failure:
            recoded, errors = failure.data, failure.schema_errors
    invalid = _count_failures(errors, len(frame), findings)
    present = np.zeros(len(frame), bool)
    present[recoded.index] = True
    missing = np.zeros(len(frame), bool)
    for name in schema.columns:
        absent = recoded[name].isna().to_numpy()
        if absent.any():
            findings.add_missing(name, recoded.index[absent])
            missing[recoded.index[absent]] = True
    findings.rows += len(frame)
    findings.out_of_universe += int((~present).sum())
    findings.invalid += int(invalid.sum())
    findings.missing += int((missing & ~invalid).sum())
    return recoded.reindex(frame.index).assign(**{VALID: present & ~missing & ~invalid})


def _count_failures(errors: Iterable[SchemaError], rows: int, findings: Findings) -> NDArray[np.bool_]:
    """Count invalid cells, and mark their rows."""
    invalid = np.zeros(rows, bool)
    for error in errors:
        column, check = error.column_name or "row", getattr(error.check, "name", None) or str(error.check)
        if not isinstance(error.check_output, pd.Series):
            msg = (
                f"the schema must fit the source and check values one by one, and {check} of {column} does not; "
                f"correct the schema."
            )
            raise decided_exactly(UNREADABLE, InvalidInput(msg))
        refused = error.check_output.index[~error.check_output.to_numpy(bool)]
        findings.add_invalid(column, check, refused)
        invalid[refused] = True
    return invalid


def _layout(schema: DataFrameSchema) -> pa.Schema:
    """Return the Arrow schema of the recoded rows."""
    columns = [(name, pa.string() if holds_text(schema, name) else pa.float64()) for name in schema.columns]
    return pa.schema([*columns, (VALID, pa.bool_())])


validate_task = as_task(validate)
