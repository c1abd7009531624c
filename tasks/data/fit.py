"""Check how a source fits a schema, without a release: nothing is drawn, charged, tracked or published.

The counts are exact and internal: only people who may see the records may read them. Examples of values are restricted,
and are written only to the vault.
"""

import csv
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
import pyarrow as pa
from pandera.pandas import DataFrameSchema

from schemas.kinds.description import described
from schemas.spec.release_spec import ReleaseSpec
from stores.tables.sources.reading import opened_source
from stores.tables.tables import VALID, frame_of
from stores.vault.private_files import PRIVATE_FILE, make_private_folder
from tasks.data.reading import without_quoting
from tasks.data.validate import Findings, examine

_MOST_EXAMPLES = 20
_MOST_DISTINCT = 10_000
_ROW = "row"


@dataclass
class Fit(Findings):
    """How a source fits a schema. All of it is internal, and the examples are restricted.

    Attributes:
        lost_by: number of rows left out because of one column alone, by column.
        examples: invalid values, by column and finding, with their numbers of rows.
    """

    lost_by: Counter[str] = field(default_factory=Counter)
    examples: dict[tuple[str, str], Counter[str]] = field(default_factory=dict)
    _at_fault: dict[str, pd.Index] = field(default_factory=dict, repr=False)
    _of_codes: set[str] = field(default_factory=set, repr=False)
    _frame: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False)

    def take(self, schema: DataFrameSchema, frame: pd.DataFrame) -> None:
        """Examine some rows.

        Args:
            schema: the description of the table.
            frame: rows as they were read, numbered from 0.
        """
        self._at_fault, self._frame = {}, frame
        self._of_codes = {name for name, column in schema.columns.items() if described(column, name).by_code}
        recoded = examine(schema, frame, self)
        left_out = recoded.index[~recoded[VALID]]
        faults = pd.Series(0, left_out)
        for rows in self._at_fault.values():
            faults.loc[rows.intersection(left_out)] += 1
        for column, rows in self._at_fault.items():
            self.lost_by[column] += int((faults.reindex(rows) == 1).sum())
        self._at_fault, self._frame = {}, pd.DataFrame()

    def add_invalid(self, column: str, check: str, rows: pd.Index) -> None:
        """Count invalid cells, and keep some of their values."""
        if check == "number" and column in self._of_codes:
            # A code without a value is marked as not a number; another check counts it as out of the domain.
            return
        super().add_invalid(column, check, rows)
        self._note(column, rows)
        if column in self._frame:
            kept = self.examples.setdefault((column, finding_of(check)), Counter())
            for value, count in self._frame.loc[rows, column].astype(str).value_counts().items():
                if str(value) in kept or len(kept) < _MOST_DISTINCT:
                    kept[str(value)] += int(count)

    def add_missing(self, column: str, rows: pd.Index) -> None:
        """Count missing cells."""
        super().add_missing(column, rows)
        self._note(column, rows)

    def _note(self, column: str, rows: pd.Index) -> None:
        before = self._at_fault.get(column)
        self._at_fault[column] = rows.unique() if before is None else before.union(rows)

    @property
    def by_finding(self) -> dict[str, dict[str, int]]:
        """Return the numbers of cells by column and finding, for columns with any."""
        found: dict[str, Counter[str]] = {}
        for column, count in self.missing_by_column.items():
            found.setdefault(column, Counter())["missing"] += count
        for (column, check), count in self.invalid_by_check.items():
            found.setdefault(column, Counter())[finding_of(check)] += count
        for counts in found.values():
            # A value that is not a number is outside every range too.
            unreadable = counts.get("not a number", 0)
            for finding in ("out of range", "out of domain"):
                if unreadable and finding in counts:
                    counts[finding] -= unreadable
        return {
            column: {name: count for name, count in counts.items() if count}
            for column, counts in found.items()
            if any(counts.values())
        }


def finding_of(check: str) -> str:
    """Return the finding for a check of a schema: `out of domain`, `off grid`; for a rule, the rule."""
    if check.startswith("steps_of_"):
        return "off grid"
    return {"isin": "out of domain", "in_range": "out of range", "number": "not a number"}.get(check, check)


def fit_of(spec: ReleaseSpec, state: Path) -> Fit:
    """Check how the source of a spec fits its schema.

    Args:
        spec: the spec, of which only the source and the schema are used.
        state: the state folder, in whose vault an error of the schema's own code, which may quote records, is kept.

    Raises:
        InvalidInput: the source is missing or lacks columns, or the schema does not fit it.
        Refused: the schema's own code failed.
    """

    def read() -> Fit:
        fit = Fit()
        with opened_source(spec, state) as source:
            for batch in source.batches():
                fit.take(spec.schema, frame_of(pa.Table.from_batches([batch])))
            fit.malformed, fit.empty = source.malformed_rows, source.empty_rows
        return fit

    return without_quoting(read, spec, state)


def forget_examples(vault: Path, name: str) -> None:
    """Remove the examples of an earlier check, which do not concern the present table and schema.

    Args:
        vault: folder of restricted files.
        name: the spec's name.
    """
    for ending in ("csv", "error.txt"):
        (vault / "checks" / f"{name}.{ending}").unlink(missing_ok=True)


def write_examples(fit: Fit, vault: Path, name: str) -> Path:
    """Write the most frequent values that do not fit, for people who may see the records.

    Args:
        fit: the findings.
        vault: folder of restricted files.
        name: the spec's name.

    Returns:
        The file, which is readable by its owner alone; an earlier file is replaced.
    """
    place = make_private_folder(make_private_folder(vault) / "checks") / f"{name}.csv"
    place.touch(PRIVATE_FILE)
    place.chmod(PRIVATE_FILE)
    with place.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow(["column", "finding", "value", "rows"])
        lines.writerows(_examples(fit.examples))
    return place


def _examples(examples: dict[tuple[str, str], Counter[str]]) -> Iterator[Iterable[str | int]]:
    for (column, finding), values in examples.items():
        for value, count in values.most_common(_MOST_EXAMPLES):
            yield column, finding, value, count
