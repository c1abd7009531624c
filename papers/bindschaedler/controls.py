"""Controls: all figures of the evaluation, of a copy of the records learnt from and of the same records shuffled."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import hypot
from typing import Final

from deniable.evaluation.classifiers import classifiers
from deniable.evaluation.contract import Figure
from deniable.evaluation.derived.verdict import Overall, verdict_of
from deniable.evaluation.disclosure import Tables
from deniable.evaluation.evidence import AttackEvidence, UtilityEvidence
from deniable.evaluation.metrics import accuracy, agreement, distinguishing_game
from deniable.evaluation.metrics.subsample import share_of
from deniable.evaluation.registry import figures_of
from deniable.evaluation.uses import USES, Grade
from deniable.foundation.domain import Codes
from papers.bindschaedler.comparing import COPY, REALS, SHUFFLED, copied, shuffled
from papers.bindschaedler.people import SPEC, People, stream_of, the_people
from papers.bindschaedler.releases import table, without_noise
from papers.findings import Check, Part, Table
from papers.learning import drawn
from papers.running import note
from reports.pages.attack_rows import AttackRow, attack_rows
from reports.pages.fitness import fitness_of
from schemas.spec.release_spec import load_spec
from tasks.evaluation.measuring import measure_figures

LOGLINEAR: Final = "log-linear"
_INDEPENDENT: Final = "independent values"
_CHANCE: Final = 0.01
"""By how much two trainings of one classifier differ at most, because their rows are in another order."""
_ROUNDED: Final = 1e-9
_ERRORS: Final = 4
"""Standard errors that chance exceeds less than once in ten thousand times."""
_WITHOUT_ERROR: Final = 0.5
"""By which share figures without a standard error, such as largest ones, differ at most between independent tables."""


@dataclass(frozen=True)
class Measured:
    """What the evaluation of a release finds of a table.

    Attributes:
        figures: the figures of utility by name, with those of real and of independent records, and those of risk.
        errors: their standard errors, as far as they are known.
        grades: the grade of each use; None if it is not decided.
        attacks: the attacks.
        verdict: the verdict on the whole release.
    """

    figures: Mapping[str, float]
    errors: Mapping[str, float]
    grades: Mapping[str, Grade | None]
    attacks: Sequence[AttackRow]
    verdict: Overall


def controls() -> Part:
    """All figures of a copy and of shuffled records."""
    return controlled(the_people())


def measured(people: People, released: Codes) -> Measured:
    """Evaluate a table as a release is evaluated; the first half of the people are the records learnt from.

    Args:
        people: the real table.
        released: the table, shape (rows, m), rows in random order.
    """
    spec, domain, (learnt, others) = load_spec(SPEC), people.domain, people.halves
    evaluation = spec.evaluation
    utility = partial(
        UtilityEvidence,
        domain=domain,
        tables={
            "released": released,
            "training": learnt,
            "baseline": drawn(without_noise(people, learnt, independent=True), len(learnt), _INDEPENDENT),
        },
        holdout=others,
        rows=evaluation.train_rows,
        classifiers=evaluation.classifiers,
        factories=classifiers(
            stream_of("controls"), attributes=[each for each in domain.attributes if each.name != domain.target]
        ),
        groups=domain.subset(spec.group_attributes),
        analyses=spec.analyses,
    )
    risk = partial(
        AttackEvidence,
        domain=domain,
        tables=Tables(released, learnt, others, domain.cardinalities),
        known=domain.subset(evaluation.known),
        quasi_identifiers=domain.subset(evaluation.quasi_identifiers),
        sensitive=evaluation.sensitive,
    )
    found = measure_figures("utility", spec, lambda pool: utility(pool=pool))
    attacked = measure_figures("risk", spec, lambda pool: risk(pool=pool))
    fitness, attacks = fitness_of(found, spec), attack_rows(attacked, evaluation.scope)
    uses = () if fitness is None else fitness.uses
    grades = {each.use.name: each.grade for each in uses}
    beyond = [each.use.name for each in uses if each.is_beyond_usable]
    verdict = verdict_of(grades, beyond, [each for each in attacks if each.is_danger])
    return Measured(
        {**found.figures, **attacked.figures}, {**found.errors, **attacked.errors}, grades, attacks, verdict
    )


def compared_figures() -> Mapping[str, Figure]:
    """The figures of utility that real records and independent ones have beside the release, by name."""
    scope = replace(load_spec(SPEC).evaluation.scope, kinds=("utility",))
    return {name: figure for name, figure in figures_of(scope).items() if all(figure.beside)}


def _of_trees() -> set[str]:
    """The figures that depend on the order of rows, because trees are grown from samples of them."""
    scope = load_spec(SPEC).evaluation.scope
    return {each.name for metric in (accuracy, agreement, distinguishing_game) for each in metric.METRIC.figures(scope)}


def controlled(people: People) -> Part:
    """The controls on a table."""
    found = {}
    for name, codes in (
        (COPY, copied(people)),
        (SHUFFLED, shuffled(people)),
        (LOGLINEAR, table(people, LOGLINEAR, of_half=True)),
    ):
        note(f"{name} ...")
        found[name] = measured(people, codes)
    copy, apart, model = found.values()
    names = [name for name in compared_figures() if name in copy.figures]
    return Part(
        name="Controls",
        title="a copy and shuffled records, by all figures of the evaluation",
        verdict="demonstrated",
        why=f"Not in the paper. The {people.half:,} records learnt from, in another order and as a release, are "
        "evaluated as a release is, with the other half as the holdout: in every figure, they score as the real "
        "half does, whose column is that of the records learnt from. The same records with every attribute "
        "shuffled score as independent values do. The evaluation would recommend the copy for everything that it "
        f"judges, {len(copy.grades)} uses, and calls it {copy.verdict}, because attacks find it. Shuffled records "
        f"give nobody away, and are good for {_good(apart)} uses, such as shares of single attributes, but not for "
        f"classification: their verdict is {apart.verdict}, because it counts uses, and most of them need no relation "
        "between attributes, so a reader must look at the uses, too. Those of the log-linear learner are good for "
        f"{_good(model)}. Figures of trees differ by "
        "chance, because rows are in another order. Figures 3 and 4 and Tables 3 to 5 compare the copy and the "
        "shuffled records by their own figures.",
        product=(
            "deniable/evaluation/registry.py",
            "deniable/evaluation/uses.py",
            "deniable/evaluation/derived/verdict.py",
            "tasks/evaluation/measuring.py",
        ),
        checks=(
            *of_the_copy(copy, names),
            *of_the_shuffled(apart, names),
            *(_of_real_people(copy, apart, model) if people.are_real else ()),
        ),
        table=Table(
            ("figure", REALS, COPY, _INDEPENDENT, SHUFFLED, LOGLINEAR),
            (
                *(
                    (name, *(f"{own.figures[each]:.4g}" for own, each in (
                        (copy, real), (copy, name), (copy, independent), (apart, name), (model, name),
                    )))
                    for name in names for real, independent in [_beside(name)]
                ),
                *(
                    (f"attack: {row.figure.words}, beyond chance", "", f"{row.excess:+.3f}", "",
                     f"{apart.attacks[place].excess:+.3f}", f"{model.attacks[place].excess:+.3f}")
                    for place, row in enumerate(copy.attacks)
                ),
                ("equivalent share of the real records, by pairs", "1", f"{copy.figures[share_of(2)]:.3f}", "",
                 f"{apart.figures[share_of(2)]:.3f}", f"{model.figures[share_of(2)]:.3f}"),
                ("uses for which it is good", "", f"{_good(copy)} of {len(copy.grades)}", "",
                 f"{_good(apart)} of {len(apart.grades)}", f"{_good(model)} of {len(model.grades)}"),
                ("verdict", "", copy.verdict, "", apart.verdict, model.verdict),
            ),
        ),
    )  # fmt: skip


def _good(found: Measured) -> int:
    """The number of uses for which a table is good."""
    return list(found.grades.values()).count("good")


def _beside(name: str) -> tuple[str, str]:
    """The figures of real and of independent records beside a figure."""
    real, independent = compared_figures()[name].beside
    return str(real), str(independent)


def of_the_copy(copy: Measured, names: Sequence[str]) -> list[Check]:
    """Whether a table scores as real, is recommended for every use, and is found by every attack.

    Args:
        copy: what the evaluation finds of it.
        names: the figures that real records have beside it.
    """
    trees = _of_trees()
    checks = []
    for name in names:
        ours, real = copy.figures[name], copy.figures[_beside(name)[0]]
        within = max(_CHANCE, _ERRORS * copy.errors.get(name, 0.0)) if name in trees else _ROUNDED
        checks.append(
            Check(
                f"a copy scores as real: {name} {ours:.6g}, {real:.6g}, within {within:g}", abs(ours - real) <= within
            )
        )
    checks += [
        Check(f"it is refused for none of {len(USES)} uses",
              len(copy.grades) == len(USES) and "do not" not in copy.grades.values()),
        Check("it is equivalent to all of the real records, by pairs and by triples",
              min(copy.figures[share_of(2)], copy.figures[share_of(3)]) > 1 - _ROUNDED),
        *(
            Check(f"an attack finds it: {row.figure.words}, {row.excess:+.3f} beyond chance", bool(row.is_danger))
            for row in copy.attacks
        ),
        Check(f"the verdict is unsafe: {copy.verdict}", copy.verdict == "unsafe"),
    ]  # fmt: skip
    return checks


def of_the_shuffled(apart: Measured, names: Sequence[str]) -> list[Check]:
    """Whether a table scores as independent values, and is found by no attack; arguments as of `of_the_copy`."""
    checks = []
    for name in names:
        ours, beside = apart.figures[name], _beside(name)[1]
        independent = apart.figures[beside]
        errors = [apart.errors[each] for each in (name, beside) if each in apart.errors]
        within = _ERRORS * hypot(*errors) if len(errors) == 2 else _WITHOUT_ERROR * independent
        checks.append(
            Check(
                f"shuffled records score as independent values: {name} {ours:.4g}, {independent:.4g}, within "
                f"{within:.2g}",
                abs(ours - independent) <= within,
            )
        )
    checks += [
        Check(f"no attack finds them: {row.figure.words}, {row.excess:+.3f}", not row.is_danger)
        for row in apart.attacks
    ]
    return checks


def _of_real_people(copy: Measured, apart: Measured, model: Measured) -> list[Check]:
    """What the text states of the uses of the three tables, and of the records of the model."""
    return [
        Check(f"a copy is good for all uses: {', '.join(copy.grades)}", {*copy.grades.values()} == {"good"}),
        Check("shuffled records are good for shares and not to be used for classification",
              (apart.grades.get("shares"), apart.grades.get("classification")) == ("good", "do not")),
        *(Check(f"no attack finds log-linear records: {row.figure.words}, {row.excess:+.3f}", not row.succeeds)
          for row in model.attacks),
        Check(f"the verdict on log-linear records is fit: {model.verdict}", model.verdict == "fit"),
    ]  # fmt: skip
