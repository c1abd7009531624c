"""The stages of a release are one table, in which nothing is left open; what they are in fact, flows show."""

from pathlib import Path

import pytest

from deniable.foundation.errors import InvalidInput
from deniable.ledger.standings import FOLLOWS
from stores.releases.life import LIFE, Stage, stage_of

ROOT = Path(__file__).resolve().parent.parent.parent


def reachable(begin: Stage) -> set[Stage]:
    """All stages that may come some time after one."""
    found: set[Stage] = set()
    waiting = [begin]
    while waiting:
        new = set(LIFE[waiting.pop()].then) - found
        found |= new
        waiting += new
    return found


def test_every_stage_has_a_rule_and_is_reached_from_the_beginning() -> None:
    assert set(LIFE) == set(Stage)
    assert reachable(Stage.BEGUN) == set(Stage) - {Stage.BEGUN}
    assert {stage for stage, rule in LIFE.items() if not rule.then} == {Stage.DISCARDED, Stage.WITHDRAWN}


def test_nothing_that_is_public_becomes_anything_that_is_not() -> None:
    public = {Stage.PUBLISHED, Stage.SEALED, Stage.IN_FORCE, Stage.SUPERSEDED, Stage.WITHDRAWN}
    for stage in public:
        assert reachable(stage) <= public
    assert not reachable(Stage.SEALED) & {Stage.PUBLISHED, Stage.SEALED}


def test_what_was_charged_is_never_as_if_it_had_not_been() -> None:
    assert all(Stage.BEGUN not in reachable(stage) for stage in Stage)
    assert all(Stage.CHARGED not in reachable(stage) for stage in Stage if stage != Stage.BEGUN)


def test_decisions_about_public_releases_follow_as_the_ledger_requires() -> None:
    ended = {Stage.SUPERSEDED, Stage.WITHDRAWN}
    assert {*LIFE[Stage.IN_FORCE].then} == {*map(Stage, set(FOLLOWS[None]) - {"reviewed"})}
    for stage in ended:
        assert {*LIFE[stage].then} == {*map(Stage, FOLLOWS[str(stage)])}  # type: ignore[index]


def test_the_page_of_the_life_has_the_table() -> None:
    page = (ROOT / "docs" / "developer" / "life-of-a-release.md").read_text()
    for stage, rule in LIFE.items():
        then = ", ".join(map(str, rule.then)) or "nothing"
        assert f"| {stage} | {rule.shown_by} | {then} |" in page


def test_a_release_that_was_not_started_has_no_stage(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="must be one that was started, got small-1"):
        stage_of(tmp_path, "small-1")
