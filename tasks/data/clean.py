"""Keep the rows that are in scope, complete and valid, some per person if people are identified, and encode them."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from deniable.foundation.domain import Person
from deniable.foundation.errors import Refused
from deniable.foundation.uniform import words_of_64_bits
from deniable.privacy.one_person import first_records, kept_in_chunks, person_keys
from deniable.record.exact_stops import NO_ROW, decided_exactly
from schemas.references import Audience, Reference
from stores.tables.tables import VALID, CodesWriter, encode, read_frames
from stores.tracking.step_run import recorded_step
from stores.vault.workspace import Workspace
from tasks.running.step import as_task


def clean(workspace: Workspace, checked: Reference) -> Reference:
    """Keep the rows that validation marked as valid, each independently of the others, and replace values by codes.

    If the schema identifies people, at most so many valid rows of each person are kept as it allows, chosen at random
    from that person's rows alone. If it allows several, the codes also have the place of the first row of each row's
    person, for the split.

    Args:
        workspace: the release.
        checked: recoded rows with their marks.

    Returns:
        Codes of the rows kept, in their original order.

    Raises:
        Refused: no row is kept.
    """
    domain, person = workspace.spec.domain, workspace.spec.person
    with recorded_step(workspace, "clean", inputs=[checked]) as step:
        with workspace.writing("codes.parquet", Audience.RESTRICTED) as path:
            several = person is not None and person.most_records > 1
            with CodesWriter(path, domain, workspace.spec.chunk_rows, of_people=several) as writer:
                valid_rows = 0
                kept = repeat(_Kept(slice(None))) if person is None else _some_of_each(workspace, checked, person)
                for frame, chosen in zip(read_frames(checked.path), kept, strict=person is not None):
                    valid = frame[frame[VALID]]
                    valid_rows += len(valid)
                    writer.write(encode(valid[chosen.rows], domain), chosen.first_rows)
            if writer.rows == 0:
                msg = (
                    "a release must have records, and no row is in scope, complete and valid; see the report of the "
                    "step validate, and the schema's universe and codes for missing values."
                )
                raise decided_exactly(NO_ROW, Refused(msg))
        step.figures({"rows_clean": writer.rows}, Audience.INTERNAL)
        if person is not None:
            step.figures({"rows_of_the_same_person": valid_rows - writer.rows}, Audience.INTERNAL)
        return step.output(workspace.refer("codes", "codes.parquet", Audience.RESTRICTED, writer.rows))


@dataclass(frozen=True)
class _Kept:
    """Which valid rows of a frame are kept.

    Attributes:
        rows: whether each row is kept, shape (valid rows,); or a slice of all.
        first_rows: places of the first rows of the people of the rows kept, if several of one person may be.
    """

    rows: NDArray[np.bool_] | slice
    first_rows: NDArray[np.int64] | None = None


def _some_of_each(workspace: Workspace, checked: Reference, person: Person) -> Iterator[_Kept]:
    """Yield which valid rows of each frame are kept, some per person; this takes about 40 bytes of memory per row.

    Each row has its own random word, from its frame's stream.
    """
    key = workspace.key()
    people, words = [], []
    for chunk, frame in enumerate(read_frames(checked.path)):
        valid = frame.loc[frame[VALID], person.column]
        stream = key.stream(
            step="clean",
            mechanism="one record of each person",
            inputs=checked.digest,
            parameters={"person": person.column, "most_records": person.most_records},
            chunk=chunk,
        )
        people.append(_keys_of(valid))
        words.append(words_of_64_bits(stream, len(valid)))
    kept = kept_in_chunks(people, words, person.most_records)
    if person.most_records == 1:
        yield from map(_Kept, kept)
        return
    of_rows = [own[rows] for own, rows in zip(people, kept, strict=True)]
    ends = np.cumsum([len(own) for own in of_rows])[:-1]
    first_rows = np.split(first_records(np.concatenate(of_rows)), ends) if of_rows else []
    yield from map(_Kept, kept, first_rows)


def _keys_of(identifiers: pd.Series) -> NDArray[np.uint64]:
    """Return the key of each row's person."""
    codes, distinct = pd.factorize(identifiers)
    keys: NDArray[np.uint64] = person_keys(map(str, distinct))[codes]
    return keys


clean_task = as_task(clean)
