"""By day some positions are tried, evenly spaced; at night all are."""

import pytest

from tests import extent


@pytest.mark.parametrize(("share", "tried"), [(1.0, list(range(34))), (0.25, [0, 5, 9, 14, 19, 24, 28, 33])])
def test_positions_are_evenly_apart_and_hold_both_ends(
    monkeypatch: pytest.MonkeyPatch, share: float, tried: list[int]
) -> None:
    monkeypatch.setattr(extent, "_SHARE", share)
    assert extent.spread(range(34)) == tried


@pytest.mark.parametrize("count", [2, 3, 5, 6])
def test_few_positions_are_all_tried_up_to_the_least(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr(extent, "_SHARE", 0.25)
    tried = extent.spread(range(count))
    assert len(tried) == min(count, 5)
    assert (tried[0], tried[-1]) == (0, count - 1)
