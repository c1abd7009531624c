"""Counts of shares of a part add up to the counts of the whole part."""

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from deniable.foundation.domain import Codes, Domain
from deniable.foundation.errors import Refused
from deniable.foundation.tables import FamilyCounts, PairCounts, Tally
from deniable.learners.aim.spec import Entry
from deniable.learners.loglinear.estimation.counting import Partition, RowCounter, SmallTables
from deniable.learners.loglinear.steps import InRounds
from deniable.samplers.histogram_seeds.noisy_histogram import PrefixCounts
from schemas.references import Audience, Reference
from schemas.spec.plan import plan_release
from stores.tables.tables import read_codes, row_groups, write_codes
from stores.vault.workspace import Workspace
from tasks.running.counting import PartCounter, count, counted, read_counts
from tasks.running.progress import watching
from tests.tasks.hand_made import workspace_of, write_people

WANTED = ((0,), (1, 2), (0, 1, 3))
GROUPS = 7


def drawn_codes(domain: Domain) -> Codes:
    draw = np.random.default_rng(list(b"counting"))
    return np.stack([draw.integers(0, size, 500) for size in domain.cardinalities], axis=1).astype(np.uint16)


def part_of(workspace: Workspace) -> Reference:
    with workspace.writing("parameters.parquet", Audience.RESTRICTED) as path:
        write_codes(path, workspace.spec.domain, np.array_split(drawn_codes(workspace.spec.domain), GROUPS))
    return workspace.refer("parameters", "parameters.parquet", Audience.RESTRICTED, 500)


def coarse(domain: Domain) -> Partition:
    """Two values a bucket."""
    return Partition(tuple((np.arange(size) // 2).astype(np.uint16) for size in domain.cardinalities))


TALLIES: dict[str, Callable[[Domain], Callable[[], Tally]]] = {
    "pairs": lambda domain: partial(PairCounts, domain),
    "families": lambda domain: partial(FamilyCounts, domain, ((), (0,), (0, 1), (2,))),
    "prefixes": lambda domain: partial(PrefixCounts, domain, (2, 0, 3, 1), 3),
    "rounds": lambda domain: partial(SmallTables, coarse(domain), WANTED),
}


@pytest.mark.parametrize("kind", TALLIES)
@pytest.mark.parametrize("ends", [(0, 3, 7), (0, 1, 2, 3, 4, 5, 6, 7)], ids=["two", "seven"])
def test_the_counts_of_all_shares_are_those_of_the_whole(tmp_path: Path, kind: str, ends: tuple[int, ...]) -> None:
    with workspace_of(write_people(tmp_path, [])) as workspace:
        part, empty = part_of(workspace), TALLIES[kind](workspace.spec.domain)
        assert row_groups(part.path) == GROUPS
        whole, added = counted(workspace, part, empty, kind), empty()
        for start, end in pairwise(ends):
            made = count(workspace, part, empty, range(start, end), f"counts-{start}.npz")
            assert made.audience is Audience.RESTRICTED
            assert made.path.is_relative_to(workspace.vault)
            more = empty()
            more.restore(read_counts(workspace, made))
            added.merge(more)
        assert any(table.any() for table in whole.arrays.values())
        assert whole.arrays.keys() == added.arrays.keys()
        for name, table in whole.arrays.items():
            assert np.array_equal(added.arrays[name], table), name
        assert getattr(added, "rows", 500) == getattr(whole, "rows", 500) == 500


def test_one_process_counts_rounds_as_the_learner_s_own_counter_does(tmp_path: Path) -> None:
    with workspace_of(write_people(tmp_path, [])) as workspace:
        domain, part = workspace.spec.domain, part_of(workspace)
        shared = InRounds(PartCounter(workspace, part)).tables(coarse(domain), WANTED)
        own = RowCounter(lambda: read_codes(part.path, domain)).tables(coarse(domain), WANTED)
        for table, expected in zip(shared, own, strict=True):
            assert np.array_equal(table, expected)
        assert not list(workspace.vault.glob("counts-*"))


def test_counts_that_are_not_as_they_were_written_are_refused(tmp_path: Path) -> None:
    with workspace_of(write_people(tmp_path, [])) as workspace:
        part, domain = part_of(workspace), workspace.spec.domain
        made = count(workspace, part, partial(PairCounts, domain), range(GROUPS), "counts.npz")
        content = bytearray(made.path.read_bytes())
        content[-200] ^= 1
        made.path.write_bytes(content)
        with pytest.raises(Refused, match="must be read as they were written"):
            read_counts(workspace, made)


class Heard:
    """A watcher that notes how far steps are."""

    def __init__(self) -> None:
        self.advances: list[tuple[str, int]] = []

    def started(self, step: str) -> None:
        """Nothing is noted."""

    def advanced(self, step: str, amount: int) -> None:
        self.advances.append((step, amount))

    def ended(self, step: str, *, well: bool) -> None:
        """Nothing is noted."""


def test_a_learner_reports_its_work_to_those_who_watch_its_step(tmp_path: Path) -> None:
    with workspace_of(write_people(tmp_path, [])) as workspace, watching(heard := Heard()):
        part = part_of(workspace)
        PartCounter(workspace, part, "learn_parameters").advance(7)
        PartCounter(workspace, part).advance(5)
        assert heard.advances == [("learn_parameters", 7)]


def test_the_work_of_steps_that_report_it_is_known_before_they_begin(tmp_path: Path) -> None:
    with workspace_of(write_people(tmp_path, [])) as workspace:
        spec = workspace.spec
        assert plan_release(spec).work == {"synthesize": spec.synthesis.attempts}
        learner = Entry.model_validate({"kind": "aim", "parameters": {"epsilon": 1, "delta": 1e-6}})
        asked = spec.model_copy(update={"learner": learner})
        assert plan_release(asked).work == {"learn_parameters": 100, "synthesize": spec.synthesis.attempts}
