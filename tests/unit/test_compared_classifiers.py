"""`make bench-classifiers` evaluates releases by turns, and its page has what it kept and says nothing else."""

import json
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import fmean

import numpy as np
import pandas as pd
import pytest

from benchmarks import evaluation
from benchmarks.evaluation import (
    AGAIN,
    BEFORE,
    BESIDE_MOST,
    FEWER,
    KEPT,
    KINDS,
    LEARNERS,
    LIMITS,
    MOST,
    OF_ALL,
    PAGE,
    SECONDS,
    SHOWN,
    USED,
    Comparison,
    Figures,
    Kept,
    conclusions,
    evaluator,
    measured,
    of_ours,
    page,
    releases,
    same_ranks,
    same_verdicts,
    side_by_side,
)
from benchmarks.utility import Half, Released
from deniable.foundation.domain import Attribute, Codes, Domain
from deniable.foundation.errors import InvalidInput

PLACES = ("bench-classifiers", "bench-classifiers, of each release", "bench-classifiers, beside 100 trees")


def kept() -> Kept:
    """The kept figures."""
    found: Kept = json.loads(KEPT.read_text(encoding="utf-8"))
    return found


def figures(seconds: float, **own: float) -> Figures:
    """The figures of a release, .5 unless stated otherwise."""
    return dict.fromkeys(SHOWN, 0.5) | own | {SECONDS: seconds}


def made_up(change: float = 0.0) -> Kept:
    """Figures of all releases by all kinds of the page; ours have other shares of distinguished records."""
    found: Kept = {}
    for of in (BESIDE_MOST, OF_ALL):
        for kind in of.kinds:
            own = change if kind == USED else 0.0
            found[kind] = {name: figures(1.0, distinguished=0.6 + own) for name in releases(of.keys)}
    return found


def half(rows: int = 600) -> Half:
    """Two halves of one population in which two attributes determine the target of seven records in eight."""
    codes = np.random.Generator(np.random.PCG64(7)).integers(0, 4, (2 * rows, 3))
    codes[:, 2] = (codes[:, 0] + codes[:, 1] > 2) ^ (np.arange(2 * rows) % 8 == 0)
    attributes = tuple(Attribute(name, tuple(range(4)), "nominal", tuple(range(4))) for name in "abc")
    people = pd.DataFrame(codes, columns=list("abc"))
    domain = Domain(attributes, target="c")
    return Half({}, domain, people[:rows].reset_index(drop=True), people[rows:].reset_index(drop=True))


def test_the_page_has_the_figures_that_were_kept() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert page(text, kept()) == text


@pytest.mark.parametrize("place", PLACES)
def test_a_table_that_was_edited_by_hand_is_not_what_the_command_writes(place: str) -> None:
    text = PAGE.read_text(encoding="utf-8")
    before, begin, after = text.partition(f"<!-- figures: begin; written by make {place} -->")
    table, end, rest = after.partition("<!-- figures: end -->")
    edited = before + begin + table.replace(".5", ".6", 1).replace("100", "101", 1).replace("0.", "1.", 1) + end + rest
    assert edited != text
    assert page(edited, kept()) == text
    with pytest.raises(ValueError, match="must have the lines"):
        page(before + after, kept())


def test_all_that_the_page_shows_is_kept_and_can_be_measured() -> None:
    found = kept()
    assert {kind: set(own) for kind, own in found.items()} == {
        kind: set(releases(of.keys)) for of in (BESIDE_MOST, OF_ALL) for kind in of.kinds
    }
    assert set(found) <= set(KINDS)
    assert "not measured" not in page(PAGE.read_text(encoding="utf-8"), found).partition("## Classifiers")[2]


def same(of: Comparison) -> dict[str, float]:
    """The percentage of equal verdicts of each kind but the first, by the kept figures."""
    rows = [line.strip("| ").split(" | ") for line in conclusions(kept(), of).splitlines()[3:]]
    return {row[0]: float(row[-3].rstrip("%")) for row in rows}


@pytest.mark.parametrize("kind", [USED, FEWER])
def test_ours_change_fewer_than_one_verdict_in_a_hundred_and_twice_as_many_as_other_random_numbers(kind: str) -> None:
    own, again = (100 - same(OF_ALL)[each] for each in (kind, f"{BEFORE}, {AGAIN}"))
    assert 1.5 * again < own < min(1, 2.5 * again)


@pytest.mark.parametrize("kind", [USED, FEWER, f"{BEFORE}, {AGAIN}"])
def test_most_changed_verdicts_are_on_forests_that_learn_from_records_without_relations(kind: str) -> None:
    there, elsewhere = 0, 0
    for name, own in kept()[kind].items():
        before = kept()[BEFORE][name]
        for figure in set(own) - {SECONDS}:
            number = int(((own[figure] < LIMITS) != (before[figure] < LIMITS)).sum())
            if "forest" in figure and name.startswith(("marginals", "independent")):
                there += number
            else:
                elsewhere += number
    assert there > elsewhere


@pytest.mark.parametrize("figure", ["accuracy_adaboost", "accuracy_loss_adaboost", "agreement_adaboost"])
def test_adaboost_gives_the_same_figures_as_before(figure: str) -> None:
    found = kept()
    assert [found[USED][name][figure] for name in releases(OF_ALL.keys)] == [
        found[BEFORE][name][figure] for name in releases(OF_ALL.keys)
    ]


def test_ours_distinguish_a_few_more_records_than_before_and_a_few_less_than_the_most_expensive_forests() -> None:
    found = kept()

    def change(kind: str, other: str, of: Comparison) -> float:
        return fmean(
            found[kind][name]["distinguished"] - found[other][name]["distinguished"] for name in releases(of.keys)
        )

    # The standard error of a share of 20,000 records is at most .0035.
    assert 0 < change(USED, BEFORE, OF_ALL) < 0.0035
    assert -0.0035 < change(USED, MOST, BESIDE_MOST) < 0
    assert -0.0035 < change(BEFORE, MOST, BESIDE_MOST) < 0


@pytest.mark.parametrize("kind", [BEFORE, USED])
def test_fewer_trees_agree_with_the_most_expensive_forests_more_than_these_with_each_other(kind: str) -> None:
    assert same(BESIDE_MOST)[kind] > same(BESIDE_MOST)[f"{MOST}, {AGAIN}"]


def test_a_row_has_the_median_cpu_seconds_the_changes_and_the_agreement_with_the_first_kind() -> None:
    of = Comparison((BEFORE, USED, FEWER), 1)
    found = {
        BEFORE: {name: figures(i, distinguished=0.6) for i, name in enumerate(releases(1))},
        USED: {name: figures(i / 4, distinguished=0.61, accuracy_forest=0.499) for i, name in enumerate(releases(1))},
    }
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in conclusions(found, of).splitlines()[2:]]
    assert rows[0] == [BEFORE, "2.00", "", "", "", "", ""]
    # Changes of .01 and .001, beside standard errors of .0035, are outside one interval in four.
    assert rows[1][:4] == [USED, "0.50", "+.0100", "-.0010"]
    assert rows[1][-2:] == ["100.00%", "75.00%"]
    assert rows[2] == [FEWER, "not measured", "", "", "", "", ""]
    assert "100.00%" not in conclusions({USED: found[USED]}, of), "there is nothing to compare with"


def test_cpu_seconds_are_no_conclusion() -> None:
    one, two = (list(made_up()[BEFORE].values()) for _ in range(2))
    assert evaluation.compared(one, [own | {SECONDS: 99.0} for own in two])[2:] == ("100.00%",) * 3


def test_verdicts_differ_at_the_limits_between_two_figures() -> None:
    # Of the limits from .490 to .525, .505, .510 and .515 are between the figures.
    assert same_verdicts(np.array([0.501]), np.array([0.516])) == pytest.approx(1 - 3 / 7)
    assert same_verdicts(np.array([0.501]), np.array([0.504])) == 1


def test_ranks_are_those_of_pairs_that_surely_differ() -> None:
    one, other = np.array([0.1, 0.2, 0.201]), np.array([0.15, 0.2, 0.14])
    assert same_ranks(one, other, 0.01) == 1 / 2
    assert same_ranks(one, other, 1.0) == 1


def test_each_cell_has_the_figures_of_the_kinds_in_their_order() -> None:
    found = {BEFORE: {name: figures(1, distinguished=0.25) for name in releases(1)}, USED: made_up()[USED]}
    line = side_by_side(found, Comparison((BEFORE, USED), 1)).splitlines()[2]
    assert line == "| loglinear, 1 | .2500 / .6000 | .5000 / .5000 | .5000 / .5000 | .5000 / .5000 |"


@pytest.mark.slow
def test_a_table_is_evaluated_as_a_release_is() -> None:
    people = half()
    evaluate = evaluator(people, of_ours(5, 0.5, 1))
    itself = evaluate(people.train.to_numpy().astype(np.uint16))
    for name in ("tree", "forest", "adaboost"):
        assert (itself[f"accuracy_loss_{name}"], itself[f"agreement_{name}"]) == (0, 1)
        assert itself[f"accuracy_{name}"] > 0.7
    assert 0.4 < itself["distinguished"] < 0.6
    constant = evaluate(np.full((600, 3), 3, np.uint16))
    assert constant["distinguished"] > 0.95
    assert constant["accuracy_loss_tree"] > 0.5


class Stubs:
    """Stand-ins for people, learners and classifiers, which note what is asked of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self.turns: list[tuple[str, str, int]] = []
        self.page = Path(shutil.copy(PAGE, folder))
        self.kept = folder / "evaluation.json"
        kinds = {kind: (lambda seed: {"seed": seed}, number) for number, kind in enumerate(KINDS)}
        monkeypatch.setattr(evaluation, "KINDS", kinds)
        monkeypatch.setattr(evaluation, "people", lambda _: half(10))
        monkeypatch.setattr(evaluation, "released", self._released)
        monkeypatch.setattr(evaluation, "evaluator", self._evaluator)
        monkeypatch.setattr(evaluation, "PAGE", self.page)
        monkeypatch.setattr(evaluation, "KEPT", self.kept)
        self._set = monkeypatch.setattr

    def run(self, *arguments: str) -> None:
        """Run the command."""
        self._set(sys, "argv", ["evaluation", *arguments])
        evaluation.main()

    def _released(self, _: Half, entry: object, number: int) -> Released:
        learner = LEARNERS.index(entry.kind)  # type: ignore[attr-defined]
        return Released(np.array([[learner, number]], np.uint16), 0.0, 0.0)

    def _evaluator(self, _: Half, factories: Mapping[str, int]) -> Callable[[Codes], Figures]:
        kind = list(KINDS)[factories["seed"]]

        def evaluate(table: Codes) -> Figures:
            ((learner, number),) = table.tolist()
            self.turns.append((kind, LEARNERS[learner], number))
            return dict.fromkeys(SHOWN, 0.25 + number / 100)

        return evaluate


@pytest.fixture
def stubs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Stubs:
    return Stubs(monkeypatch, tmp_path)


def test_a_release_is_evaluated_by_all_kinds_before_the_next_one(
    stubs: Stubs, capsys: pytest.CaptureFixture[str]
) -> None:
    found = measured(half(10), {MOST: 1, USED: 2})
    # The first run of each kind compiles, and is not counted.
    both = [(kind, learner, 1) for learner in LEARNERS for kind in (MOST, USED)]
    assert stubs.turns == [both[0], *both[:2], *both[1:], *((USED, learner, 2) for learner in LEARNERS)]
    assert {kind: set(own) for kind, own in found.items()} == {MOST: set(releases(1)), USED: set(releases(2))}
    assert found[USED]["mst, 2"]["distinguished"] == 0.27
    said = capsys.readouterr().out.splitlines()
    assert (said[0], said[-1]) == ("release 1 of 10: loglinear, 1", "release 10 of 10: independent, 2")


def test_one_command_measures_all_tables_keeps_the_figures_and_writes_the_page(
    stubs: Stubs, capsys: pytest.CaptureFixture[str]
) -> None:
    stubs.run()
    found = json.loads(stubs.kept.read_text(encoding="utf-8"))
    assert {kind: len(own) for kind, own in found.items()} == {
        **dict.fromkeys(OF_ALL.kinds, 20),
        **dict.fromkeys((MOST, f"{MOST}, {AGAIN}"), 5),
    }
    text = stubs.page.read_text(encoding="utf-8")
    assert page(text, found) == text
    assert "| privbayes, 4 | .2900 / .2900 |" in text
    assert conclusions(found, BESIDE_MOST) in capsys.readouterr().out
    # The pages can be written again without measuring.
    stubs.turns.clear()
    shutil.copy(PAGE, stubs.page)
    stubs.run("--pages-only")
    assert stubs.page.read_text(encoding="utf-8") == text
    assert stubs.turns == []


@pytest.mark.parametrize("arguments", [["--print-only"], ["--keys", "1"], ["--kinds", USED, BEFORE]], ids=str)
def test_figures_that_are_printed_alone_are_not_kept(
    arguments: list[str], stubs: Stubs, capsys: pytest.CaptureFixture[str]
) -> None:
    stubs.run(*arguments)
    assert not stubs.kept.exists()
    assert stubs.page.read_text(encoding="utf-8") == PAGE.read_text(encoding="utf-8")
    said = capsys.readouterr().out
    assert "| independent, 1 |" in said
    if "--keys" in arguments:
        assert {kind for kind, _, _ in stubs.turns} == set(KINDS)
        assert "| independent, 2 |" not in said
    if "--kinds" in arguments:
        assert {kind for kind, _, _ in stubs.turns} == {USED, BEFORE}
        rows = [line.split("|")[1].strip() for line in said.splitlines() if line.startswith("| ours")]
        assert rows == [USED]
        assert f"{USED}; {BEFORE}" in said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--kinds", USED, "ours, 3 of all"], "--kinds must name kinds of classifiers, got 'ours, 3 of all'; name one"),
        (["--keys", "0"], "the number of releases of each learner must be 1 or more, got 0."),
        (["--pages-only", "--keys", "1"], "--kinds and --keys must not be given with it; leave them out."),
    ],
)
def test_arguments_that_measure_nothing_are_refused(
    arguments: list[str], words: str, stubs: Stubs, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as refused:
        stubs.run(*arguments)
    assert refused.value.code == 2
    assert words in capsys.readouterr().err
    assert stubs.turns == []


def test_people_who_are_not_found_are_named_in_one_sentence(stubs: Stubs, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: Path) -> Half:
        raise InvalidInput("the wheel must be on the package index.")

    monkeypatch.setattr(evaluation, "people", missing)
    with pytest.raises(SystemExit, match=r"^the wheel must be on the package index\.$"):
        stubs.run()
    assert not stubs.kept.exists()
