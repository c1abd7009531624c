"""Models of learners that measure give records from seeds, and what was measured answers questions as without seeds."""

import io
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from deniable.data_user import read_release
from deniable.inference.answers import Asked
from deniable.inference.estimation import Inference
from tests.mechanisms.table import LEARNERS, SAMPLERS
from tests.published import InMemory, Published, faults
from tests.small_release import NAMES, SPEC, made_up_people
from tests.whole_release import drawn_release

MEASURING = ("privbayes", "mst", "nist_mst", "aim")
SEEDED = ("tested_seeds", "histogram_seeds")
HALF_WIDTHS = 6
"""Half-widths of 95 % intervals within which every one of these must be: 1e-30 of a false alarm."""


@pytest.mark.parametrize("sampler", SEEDED)
@pytest.mark.parametrize("learner", MEASURING)
def test_records_from_seeds_verify_and_what_was_measured_answers(learner: str, sampler: str, tmp_path: Path) -> None:
    asked: dict[str, Any] = {"split": SPEC["split"], **LEARNERS[learner].asked, **SAMPLERS[sampler]}
    asked |= {name: value for name, value in LEARNERS[learner].asked.items() if name in {"learner", "split"}}
    drawn = drawn_release(tmp_path, f"people-{learner}", bytes(range(32)), **asked)
    drawn.publish()
    published = Published.of(drawn)
    report = published.verify(with_ledger=True)
    assert report.holds, faults(report)
    [table] = [name for name in published.files if name.endswith(".csv") and "synthetic" in name]
    records = pd.read_csv(io.BytesIO(published.files[table]))
    assert 100 < len(records) <= 600
    assert records["sex"].nunique() == 2
    inference = read_release(InMemory(published.files)).inference
    assert isinstance(inference, Inference)
    people = pd.DataFrame(made_up_people(), columns=NAMES)
    for sex in "fm":
        answer = inference.share(f"sex={sex}", asked=Asked(grade="measured"))
        assert answer.interval is not None
        reach = HALF_WIDTHS * max(answer.interval.high - answer.estimate, answer.estimate - answer.interval.low)
        # A part of the rows was measured, which the interval has in it.
        assert abs(answer.estimate - (people["sex"] == sex).mean()) <= reach
