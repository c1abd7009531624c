"""Assign each record, or all records of each person, at random to one part of the data, or to none."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from fractions import Fraction
from itertools import accumulate, repeat
from math import lcm

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.keys import WordStream
from deniable.foundation.uniform import words_of_64_bits
from deniable.record.exact_stops import EMPTY_PART
from schemas.references import Audience, Reference
from stores.tables.tables import CodesWriter, read_codes, read_first_rows
from stores.tracking.step_run import recorded_step
from stores.vault.exact_counts import refused_by_counts
from stores.vault.workspace import Workspace
from tasks.data.earlier_split import EarlierSplit, split_of_the_model
from tasks.running.step import as_task

_WORDS = 2**64


def split(workspace: Workspace, codes: Reference) -> dict[str, Reference]:
    """Split the records into seeds, structure, parameters and holdout.

    Each record is assigned independently of all others, as amplification by sampling and parallel composition require;
    parts of a fixed size would not do. If there may be several records of a person, all of them go to the part that is
    drawn for the first (deniable.privacy.one_person).

    If the model is that of an earlier release, records that it was learnt from are left out of the holdout, as far as
    they are known (earlier_split). What is learnt from is drawn as for any release.

    Args:
        workspace: the release.
        codes: all records.

    Returns:
        Codes of each part with a positive probability, by name.

    Raises:
        RefusedByCounts: a part with a positive probability got no record.
    """
    spec, domain = workspace.spec, workspace.spec.domain
    probabilities = spec.split.probabilities
    drawn = EarlierSplit(key=workspace.key(), inputs=codes.digest, probabilities=probabilities)
    first = split_of_the_model(workspace, codes)
    with recorded_step(workspace, "split", inputs=[codes]) as step:
        step.parameters(**{name: float(probability) for name, probability in probabilities.items()})
        with ExitStack() as stack:
            writers = []
            for name in probabilities:
                path = stack.enter_context(workspace.writing(f"{name}.parquet", Audience.RESTRICTED))
                writers.append(stack.enter_context(CodesWriter(path, domain, spec.chunk_rows)))
            learnt = repeat(None) if first is None else _read_by(workspace, codes, first)
            for records, parts, before in zip(
                read_codes(codes.path, domain), _assigned(workspace, codes, drawn), learnt, strict=False
            ):
                if before is not None:
                    parts[before & (parts == _holdout(probabilities))] = len(probabilities)
                for number, writer in enumerate(writers):
                    writer.write(records[parts == number])
            if any(writer.rows == 0 for writer in writers):
                raise refused_by_counts(
                    workspace,
                    "split",
                    EMPTY_PART,
                    "each part of the split must have a record, got one without; use a larger table, larger "
                    "probabilities, or a holdout of 0",
                    [
                        f"{name}: {writer.rows:,} of {codes.rows:,} rows"
                        for name, writer in zip(probabilities, writers, strict=True)
                    ],
                )
        outputs = {}
        rows = {f"rows_{name}": writer.rows for name, writer in zip(probabilities, writers, strict=True)}
        step.figures(rows, Audience.INTERNAL)
        if spec.learner.is_paid_elsewhere:
            # Internal: it tells whether the table has changed.
            step.figures({"holdout_without_learnt_from": first is not None}, Audience.INTERNAL)
        for name, writer in zip(probabilities, writers, strict=True):
            reference = workspace.refer(name, f"{name}.parquet", Audience.RESTRICTED, writer.rows)
            outputs[name] = step.output(reference.model_copy(update={"whole": codes.digest}))
        least = spec.synthesis.fewest_seeds
        if least is not None:
            # Cleared staff see this. Stopping here would make the existence of a release depend on an exact count.
            seeds = part(outputs, "seeds")
            step.figures({"seeds_fewer_than_k": (seeds.rows or 0) < least}, Audience.INTERNAL)
        return outputs


def _assigned(workspace: Workspace, codes: Reference, split: EarlierSplit) -> Iterator[NDArray[np.int64]]:
    """Yield the part of each record, chunk by chunk, by the key and the probabilities of a release."""
    spec = workspace.spec
    several = spec.person is not None and spec.person.most_records > 1
    drawn = _Parts(read_first_rows(codes.path)) if several else None
    for chunk, records in enumerate(read_codes(codes.path, spec.domain)):
        stream = split.key.stream(
            step="split", mechanism="multinomial", inputs=split.inputs, parameters=split.probabilities, chunk=chunk
        )
        parts = draw_parts(stream, len(records), list(split.probabilities.values()))
        yield parts if drawn is None else drawn.of_people(parts)


def _read_by(workspace: Workspace, codes: Reference, first: EarlierSplit) -> Iterator[NDArray[np.bool_]]:
    """Yield whether an earlier release read each record, chunk by chunk; it held out or left out the others."""
    unread = (_holdout(first.probabilities), len(first.probabilities))
    for parts in _assigned(workspace, codes, first):
        yield ~np.isin(parts, unread)


def _holdout(probabilities: Mapping[str, Fraction]) -> int:
    """The number of the holdout among the parts; that of no part if there is none."""
    names = list(probabilities)
    return names.index("holdout") if "holdout" in names else len(names)


class _Parts:
    """The parts of people, each drawn for the person's first record.

    Args:
        first_rows: place of the first record of each record's person, shape (records,).
    """

    def __init__(self, first_rows: NDArray[np.int64]) -> None:
        self._first_rows = first_rows
        self._drawn = np.empty(len(first_rows), np.int8)
        self._filled = 0

    def of_people(self, parts: NDArray[np.int64]) -> NDArray[np.int64]:
        """The parts of the next records, given those that were drawn for each of them."""
        rows = slice(self._filled, self._filled + len(parts))
        self._drawn[rows] = parts
        self._filled += len(parts)
        return self._drawn[self._first_rows[rows]].astype(np.int64)


def part(parts: Mapping[str, Reference], name: str) -> Reference:
    """Return the records for one use: its own part, or the shared part from which everything is learnt."""
    return parts[name] if name in parts else parts["shared"]


def draw_parts(stream: WordStream, records: int, probabilities: Sequence[Fraction]) -> NDArray[np.int64]:
    """Draw a part for each record, with exactly the given probabilities.

    Let D be the common denominator. A 64-bit word below D floor(2^64 / D) is uniform over that many words, of which a
    probability p gets p D floor(2^64 / D), a whole number. Larger words are drawn again.

    Args:
        stream: a stream used for this draw only.
        records: number of records.
        probabilities: the parts' probabilities, with a sum of at most 1.

    Returns:
        Number of the part, or the number of parts for a record in no part; shape (records,).
    """
    denominator = lcm(*(probability.denominator for probability in probabilities))
    words_each = _WORDS // denominator
    usable = denominator * words_each
    words = words_of_64_bits(stream, records)
    while usable < _WORDS and (unusable := np.flatnonzero(words >= np.uint64(usable))).size:
        words[unusable] = words_of_64_bits(stream, len(unusable))
    limits = [int(total * denominator) * words_each for total in accumulate(probabilities)]
    # The last limit may be 2^64, which no word reaches.
    return np.searchsorted(np.array([limit for limit in limits if limit < _WORDS], np.uint64), words, side="right")


split_task = as_task(split)
