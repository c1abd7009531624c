"""Faults are made wherever they are possible, and what no test notices is said to be alive."""

import ast
from dataclasses import replace
from pathlib import Path

import pytest

from deniable.learners.registry import LEARNERS
from deniable.samplers.registry import SAMPLERS
from tests.extent import spread
from tests.mutants.generated import scores
from tests.mutants.generated.choosing import ALWAYS, OF_FAULTS, RECORDED, Reached
from tests.mutants.generated.core import MECHANISMS
from tests.mutants.generated.equivalents import PROOFS
from tests.mutants.generated.generating import MOST_GENERIC, Generated, made_of, mutants
from tests.mutants.generated.trying import Outcome, Trial, read_outcomes, small_copy
from tests.mutants.mutant import ROOT
from tests.mutants.record import section_of, with_section

FEWEST = 800
DRAW = """
def run(counts, names, open_stream, chunk):
    parameters = {"names": names, "scale": 3, **names}
    noise = law.sample(open_stream(mechanism="counts", parameters=parameters, chunk=chunk), 3)
    return counts + noise
"""
CHOICE = """
def run(scores, plan, stream):
    return choose(scores, sensitivity=plan.sensitivity, epsilon=plan.epsilon, stream=stream)
"""
CHARGE = """
def events(tables, amount):
    return first(amount), count_events(tables, "laplace", amount)
"""
REFUSAL = """
def require(a, b):
    if a < b:
        raise ValueError("never mutated: 1 + 1")
    return max(a - b, 0)
"""


def changes(text: str) -> set[tuple[str, str, str]]:
    """Kinds of faults in a source, with what is replaced by what."""
    return {(each.kind, each.before, each.after) for each in made_of("made up", "made_up.py", text, ("*",))}


@pytest.mark.slow
def test_there_are_many_of_every_mechanism_and_no_two_are_the_same() -> None:
    assert len({each.name for each in mutants()}) == len(mutants()) >= FEWEST
    assert {each.mechanism for each in mutants()} == set(MECHANISMS)
    generic = [each.mechanism for each in mutants() if not each.is_private]
    assert max(generic.count(mechanism) for mechanism in MECHANISMS) == MOST_GENERIC


@pytest.mark.slow
def test_every_registered_mechanism_has_some() -> None:
    assert {*LEARNERS, *SAMPLERS} - set(MECHANISMS) == {"uniform"}, "the learner that reads no row"


@pytest.mark.slow
def test_every_one_fits_its_source_and_can_be_read() -> None:
    for each in spread(mutants(), most=100):
        assert each.mutated() != (ROOT / each.file).read_text(encoding="utf-8")
        ast.parse(each.mutated())


@pytest.mark.parametrize(
    ("text", "change"),
    [
        (
            DRAW,
            ("parameter left out", '{"names": names, "scale": 3, **names}', '{"scale": 3, **names}'),
        ),
        (DRAW, ("parameter left out", '{"names": names, "scale": 3, **names}', '{"names": names, "scale": 3}')),
        (DRAW, ("chunk shared", "chunk", "0")),
        (DRAW, ("noise masked by counts", "counts + noise", "((counts) * 1 + noise * ((counts) > 0))")),
        (CHOICE, ("epsilon of a choice doubled", "plan.epsilon", "2 * (plan.epsilon)")),
        (CHOICE, ("sensitivity halved", "plan.sensitivity", "max((plan.sensitivity) // 2, 1)")),
        (CHARGE, ("charged once too little", "tables", "max((tables) - 1, 1)")),
        (CHARGE, ("charged for wider noise", "amount", "2 * (amount)")),
        (
            CHARGE,
            (
                "event left out",
                'first(amount), count_events(tables, "laplace", amount)',
                '(count_events(tables, "laplace", amount), )',
            ),
        ),
        (REFUSAL, ("refusal left out", "a < b", "False")),
        (REFUSAL, ("boundary", "a < b", "(a <= b)")),
        (REFUSAL, ("floor dropped", "max(a - b, 0)", "(a - b)")),
        (REFUSAL, ("arithmetic", "a - b", "(a + b)")),
    ],
)
def test_a_fault_is_made_where_it_is_possible(text: str, change: tuple[str, str, str]) -> None:
    assert change in changes(text)


def test_choices_are_replaced_by_the_best_candidate_and_by_those_that_counts_support() -> None:
    kinds = [kind for kind, _, _ in changes(CHOICE)]
    assert kinds.count("best taken") == 2
    assert "candidates filtered by counts" in kinds


def test_words_types_and_texts_of_refusals_are_left_as_they_are() -> None:
    text = 'X: TypeAlias = "int | str"\n"""Words: 1 + 1."""\n' + REFUSAL
    assert not {before for _, before, _ in changes(text)} & {"1 + 1", "int | str", "1"}


def test_a_name_does_not_depend_on_what_is_changed_elsewhere() -> None:
    before = made_of("made up", "made_up.py", REFUSAL, ("*",))
    after = made_of("made up", "made_up.py", DRAW + REFUSAL, ("*",))
    assert {each.name for each in before} < {each.name for each in after}


def test_a_mutant_is_tried_by_tests_that_run_its_function_and_not_by_those_of_recorded_bytes() -> None:
    mutant = next(each for each in mutants() if each.function == "respond")
    place = f"{mutant.file}::{mutant.function}"
    recorded = f"{RECORDED[0]}::test_recorded"
    reached = Reached(
        [place, "other.py::other"],
        {
            "tests/unit/test_local.py::test_slow": (20.0, [0]),
            "tests/unit/test_local.py::test_fast": (0.1, [0, 1]),
            "tests/unit/test_loss.py::test_of_something_else": (0.1, [1]),
            recorded: (0.1, [0]),
        },
    )
    assert reached.stages(mutant) == [["tests/unit/test_local.py::test_fast"], ["tests/unit/test_local.py::test_slow"]]
    assert reached.stages(replace(mutant, function="no_test_runs_this", is_kernel=False)) == []
    kernel = replace(mutant, function="compiled", subject="test_cost_of_one_output", is_kernel=True)
    assert reached.stages(kernel) == [["tests/unit/test_loss.py::test_of_something_else"]]


def test_tests_of_every_mechanism_are_tried_however_many_others_there_are_and_those_of_broken_ones_never() -> None:
    mutant = next(each for each in mutants() if each.function == "respond")
    others = {f"tests/unit/test_local.py::test_{number}": (1.0, [0]) for number in range(300)}
    audits, twins = (f"{name}[survey]" for name in (ALWAYS[1], OF_FAULTS[0]))
    reached = Reached([f"{mutant.file}::{mutant.function}"], {**others, audits: (40.0, [0]), twins: (0.1, [0])})
    tried = [test for stage in reached.stages(mutant) for test in stage]
    assert audits in tried
    assert twins not in tried
    assert 1 < len(tried) < 100


def test_scores_count_what_is_alive_and_what_no_test_runs() -> None:
    three = [replace(mutants()[0], number=number) for number in range(3)]
    said = dict.fromkeys(("test", "commit"), "")
    outcomes = {
        mutant.name: Outcome(name=mutant.name, outcome=outcome, seconds=1, **said)  # type: ignore[arg-type]
        for mutant, outcome in zip(three, ("killed", "alive", "unreached"), strict=True)
    }
    score = scores.scores(three, outcomes)[-1]
    assert (score.tried, score.killed, score.alive) == (3, 1, 2)
    assert score.share == pytest.approx(1 / 3)
    assert f"`{three[1].name}`" in scores.section(three, outcomes)
    assert f"`{three[0].name}`" not in scores.section(three, outcomes)


def test_every_proof_has_a_reason_and_names_no_mutant_twice() -> None:
    named = [name for proof in PROOFS for name in proof.mutants]
    assert len(set(named)) == len(named)
    assert all(len(proof.proof.split()) > 5 for proof in PROOFS)


def test_the_section_of_the_page_is_replaced_and_the_rest_stays() -> None:
    page = "# Page\n\nRows.\n\n## Generated\n\nOld.\n"
    assert section_of(page, "## Generated") == "## Generated\n\nOld.\n"
    assert with_section(page, "## Generated", "## Generated\n\nNew.\n") == "# Page\n\nRows.\n\n## Generated\n\nNew.\n"
    assert with_section("# Page\n", "## Generated", "") == "# Page\n"


@pytest.mark.slow
@pytest.mark.nightly
def test_what_was_found_is_found_again_and_a_change_of_nothing_is_not(tmp_path: Path) -> None:
    """The sample changes with the sources: the mutants with the smallest names that one quick test found."""
    outcomes = read_outcomes()
    quick = [
        each
        for each in sorted(mutants(), key=lambda each: each.name)
        if each.name in outcomes and _is_quick(outcomes[each.name]) and not each.is_kernel
    ]
    sample = quick[:2]
    (nothing,) = [replace(each, after=each.before) for each in sample[:1]]
    trial = Trial(small_copy(tmp_path), 1)
    try:
        reached = Reached([], {})
        found = [
            each.outcome
            for each in trial.outcomes([*sample, nothing], reached, _with(outcomes, nothing, sample[0]), "")
        ]
    finally:
        trial.close()
    assert found == ["killed", "killed", "alive"]


def _is_quick(outcome: Outcome) -> bool:
    return outcome.outcome == "killed" and outcome.test.startswith("tests/unit/") and outcome.seconds < 1.5


def _with(outcomes: dict[str, Outcome], mutant: Generated, other: Generated) -> dict[str, Outcome]:
    """The outcomes, with that of one mutant for another as well."""
    return outcomes | {mutant.name: replace(outcomes[other.name], name=mutant.name)}
