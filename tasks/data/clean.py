"""Keep the rows that are in scope, complete and valid, one per person if people are identified, and encode them."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from deniable.foundation.domain import Person
from deniable.foundation.errors import Refused
from deniable.foundation.uniform import words_of_64_bits
from deniable.privacy.one_person import kept_in_chunks, person_keys
from schemas.references import Audience, Reference
from stores.tables.tables import VALID, CodesWriter, encode, read_frames
from stores.tracking.step_run import recorded_step
from stores.vault.workspace import Workspace
from tasks.running.step import as_task


def clean(workspace: Workspace, checked: Reference) -> Reference:
    """Keep the rows that validation marked as valid, each independently of the others, and replace values by codes.

    If the schema identifies people, one valid row of each person is kept, chosen at random from that person's rows
    alone.

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
            with CodesWriter(path, domain, workspace.spec.chunk_rows) as writer:
                valid_rows = 0
                kept = None if person is None else _one_of_each(workspace, checked, person)
                for frame in read_frames(checked.path):
                    valid = frame[frame[VALID]]
                    valid_rows += len(valid)
                    writer.write(encode(valid if kept is None else valid[next(kept)], domain))
            if writer.rows == 0:
                raise Refused(
                    "a release must have records, and no row is in scope, complete and valid; see the report of the "
                    "step validate, and the schema's universe and codes for missing values."
                )
        step.figures({"rows_clean": writer.rows}, Audience.INTERNAL)
        if person is not None:
            step.figures({"rows_of_the_same_person": valid_rows - writer.rows}, Audience.INTERNAL)
        return step.output(workspace.refer("codes", "codes.parquet", Audience.RESTRICTED, writer.rows))


def _one_of_each(workspace: Workspace, checked: Reference, person: Person) -> Iterator[NDArray[np.bool_]]:
    """Return which valid rows of each frame are kept, one per person; this takes about 40 bytes of memory per row.

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
    return iter(kept_in_chunks(people, words))


def _keys_of(identifiers: pd.Series) -> NDArray[np.uint64]:
    """Return the key of each row's person."""
    codes, distinct = pd.factorize(identifiers)
    keys: NDArray[np.uint64] = person_keys(map(str, distinct))[codes]
    return keys


clean_task = as_task(clean)
