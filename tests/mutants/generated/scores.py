"""What share of its mutants each mechanism's tests find, and the page on it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.mutants.generated.equivalents import PROOFS, equivalent
from tests.mutants.generated.generating import MOST_GENERIC, Generated
from tests.mutants.generated.trying import Outcome

HEADING = "## Generated faults"
_SHOWN = 100
_SECTION = (
    HEADING
    + """

`tests/mutants/generated` makes {count} more faults of {kinds} kinds from the sources: it leaves out a parameter of a
stream, lets counts mask noise, doubles the epsilon of a choice, takes the best candidate, charges one answer fewer,
shifts a boundary, and so on, wherever this is possible in the privacy core. Generic faults are limited to {most} for
each mechanism, those with the smallest digests. Each is tried by the tests that run the mutated function, the fastest
first, with the draws of `make test`. Tests of recorded bytes are left out: a fault that only they would find counts as
alive.

`make mutants` tries all of them; an interrupted run goes on where it stopped. The score is the share killed of those
that are not equivalent, where all were tried. Not tried yet: {untried}. Commits tested, with the number of mutants:
{commits}.

{scores}

### Generated faults that no test found

{alive}

### Generated faults that no test can find

{proofs}
"""
)


@dataclass(frozen=True)
class Score:
    """Figures of one mechanism."""

    mechanism: str
    generated: int
    tried: int
    killed: int
    equivalent: int
    alive: int

    @property
    def share(self) -> float:
        """Share of the mutants that were tried and are not equivalent."""
        counted = self.killed + self.alive
        return self.killed / counted if counted else 1.0


def scores(mutants: Sequence[Generated], outcomes: Mapping[str, Outcome]) -> list[Score]:
    """Figures of each mechanism, and of all."""
    found = []
    for mechanism in [*dict.fromkeys(each.mechanism for each in mutants), "all"]:
        own = [each for each in mutants if mechanism in {each.mechanism, "all"}]
        states = Counter(_state(each, outcomes.get(each.name)) for each in own)
        tried = len(own) - states["untried"]
        found.append(Score(mechanism, len(own), tried, states["killed"], states["equivalent"], states["alive"]))
    return found


def _state(mutant: Generated, outcome: Outcome | None) -> str:
    if outcome is not None and outcome.is_killed:
        return "killed"
    if equivalent(mutant):
        return "equivalent"
    return "untried" if outcome is None else "alive"


def table(mutants: Sequence[Generated], outcomes: Mapping[str, Outcome]) -> str:
    """The scores as a table in Markdown."""
    lines = ["| mechanism | generated | tried | killed | equivalent | alive | score |", "|---|---|---|---|---|---|---|"]
    for each in scores(mutants, outcomes):
        share = f"{100 * each.share:.1f} %" if each.tried == each.generated else ""
        figures = [each.generated, each.tried, each.killed, each.equivalent, each.alive]
        lines.append(f"| {each.mechanism} | {' | '.join(map(str, figures))} | {share} |")
    return "\n".join(lines)


def section(mutants: Sequence[Generated], outcomes: Mapping[str, Outcome]) -> str:
    """The part of the page on generated faults, in Markdown, from its heading to its end."""
    states = {each.name: _state(each, outcomes.get(each.name)) for each in mutants}
    alive = [each for each in mutants if states[each.name] == "alive"]
    proofs = [
        f"| {', '.join(f'`{name}`' for name in here)} | {_cell(proof.proof)} |"
        for proof in PROOFS
        if (here := [name for name in proof.mutants if states.get(name) == "equivalent"])
    ]
    commits = Counter(outcomes[name].commit for name, state in states.items() if state in {"killed", "alive"})
    return _SECTION.format(
        count=len(mutants),
        kinds=len({each.kind for each in mutants}),
        commits=", ".join(f"{commit} ({count})" for commit, count in commits.most_common()) or "none yet",
        scores=table(mutants, outcomes),
        alive="\n".join(_line(each) for each in alive) or "None.",
        proofs="\n".join(["| mutants | why no test can fail |", "|---|---|", *proofs]) if proofs else "None.",
        untried=sum(state == "untried" for state in states.values()),
        most=MOST_GENERIC,
    )


def _line(mutant: Generated) -> str:
    place = f"`{mutant.file}`" + (f", `{mutant.function}`" if mutant.function else "")
    change = f"`{_code(mutant.before)}` becomes `{_code(mutant.after)}`"
    return f"- `{mutant.name}` ({mutant.mechanism}), {place}: {mutant.kind}, {_cell(change)}"


def _code(text: str) -> str:
    shown = " ".join(text.split()).replace("`", "'")
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]} ..."


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
