"""Models of learners that measure give records from seeds, and what was measured answers questions as without seeds.

They are golden releases too, and compared with their digests.
"""

import io
import json
from pathlib import Path

import pandas as pd
import pytest

from deniable.data_user import read_release
from deniable.inference.answers import Asked
from deniable.inference.estimation import Inference
from stores.ledger.charging import note_publication
from tests.golden.made import KEY, MEASURING, NOTED, SEEDED, cases, compared, digests
from tests.published import InMemory, Published, faults
from tests.small_release import NAMES, made_up_people
from tests.whole_release import drawn_release

HALF_WIDTHS = 6
"""Half-widths of 95 % intervals within which every one of these must be: 1e-30 of a false alarm."""


@pytest.mark.parametrize("sampler", SEEDED)
@pytest.mark.parametrize("learner", MEASURING)
def test_records_from_seeds_verify_and_what_was_measured_answers(learner: str, sampler: str, tmp_path: Path) -> None:
    case = f"{learner} {sampler}"
    drawn = drawn_release(tmp_path, f"people-{learner}", KEY, **cases()[case])
    note_publication(drawn.workspace, drawn.publish())
    assert compared(digests(drawn.workspace)) == compared(json.loads(NOTED.read_text())[case])
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
