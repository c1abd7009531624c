"""Records of an evaluation: figures and a document in MLflow, and pictures of the results.

The pictures are drawn by `reports.plots.plots`.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from matplotlib.figure import Figure

from deniable.evaluation.attacks import contrasts, exact_matches, inference, reproduced_people, unique_people
from deniable.evaluation.contract import Table
from deniable.evaluation.metrics import accuracy, agreement, distinguishing_game, marginal_distances
from deniable.evaluation.registry import figures_of
from deniable.evaluation.utility import compared_marginals
from deniable.foundation.domain import Domain
from reports.figures.marginals import DescribedTable, Panel, panels
from reports.plots.marginal_pictures import draw_marginals, series_of_shares
from reports.plots.plots import Attack, attack_panels, distance_boxes, inference_panel, learning_panels
from reports.plots.theme import drawn_once, svg_file
from schemas.references import Audience
from schemas.spec.evaluation import EvaluationFigures
from schemas.spec.release_spec import Evaluation, ReleaseSpec
from stores.tracking.step_run import StepRecord

_TABLES: Final[tuple[Table, ...]] = ("released", "training", "baseline")
_ATTACKS: Final = {
    exact_matches.NAME: ("Copies", "released records identical to a real record"),
    reproduced_people.NAME: ("Reproduced people", "people whose exact record was released"),
    unique_people.NAME: ("Unique people", "unique people matched by a unique record"),
}
"""Title of each attack, with what it counts."""
IN_WORDS: Final = {
    "distances": "Box plots of distances to the holdout",
    "learning": "Accuracy and agreement of classifiers, and the distinguishing game",
    "attacks": "Copies of records, and people found by an intruder",
    "inference": "How often an intruder guesses a sensitive attribute of people used and of people not used",
}
"""What each picture shows, for readers who cannot see it; a page adds figures."""


def record_evaluation(
    step: StepRecord,
    name: str,
    evaluation: EvaluationFigures,
    spec: ReleaseSpec,
    pictures: Mapping[str, Figure | str],
) -> None:
    """Record an evaluation: figures for the audience that each declares, all else for the internal one.

    Args:
        step: the step that evaluated.
        name: name of the document.
        evaluation: the results.
        spec: the release's spec.
        pictures: the pictures, by name, as figures or as the text of SVG files.
    """
    declared = figures_of(spec.evaluation.scope)
    for audience in (Audience.INTERNAL, Audience.PUBLIC):
        figures = evaluation.figures.items()
        step.figures({name: value for name, value in figures if declared[name].audience == audience}, audience)
    step.document(evaluation.model_dump(mode="json"), f"{name}.json", Audience.INTERNAL)
    for title, picture in pictures.items():
        text = picture if isinstance(picture, str) else svg_file(picture, title=f"{IN_WORDS[title]}.")
        step.drawing(text, f"{title}.svg", Audience.INTERNAL)


def utility_pictures(found: EvaluationFigures, spec: ReleaseSpec) -> dict[str, Figure | str]:
    """Draw the results of the utility evaluation.

    Args:
        found: its figures.
        spec: the release's spec.

    Returns:
        Pictures named `distances` and `learning`, and the SVG file `marginals`.
    """
    return {
        **comparison_pictures(found, spec.domain, spec.evaluation.classifiers),
        "marginals": draw_marginals(marginals_of(found, spec)),
    }


def marginals_of(found: EvaluationFigures, spec: ReleaseSpec) -> list[Panel]:
    """The distribution of every attribute, in the holdout and in the release."""
    series, names = found.series, spec.domain.names
    return panels(
        DescribedTable.of(spec),
        [{name: series[series_of_shares(table, name)] for name in names} for table in ("holdout", "released")],
        dict(zip(names, series[marginal_distances.name_of(1)], strict=True)),
    )


def comparison_pictures(found: EvaluationFigures, domain: Domain, classifiers: tuple[str, ...]) -> dict[str, Figure]:
    """Draw how the tables compare with the holdout, once for MLflow and for the report.

    Args:
        found: figures of the utility evaluation.
        domain: the release's domain.
        classifiers: names of the classifiers.

    Returns:
        Pictures named `distances` and `learning`.
    """
    return drawn_once(_comparison_pictures, found, domain, classifiers)


def _comparison_pictures(found: EvaluationFigures, domain: Domain, classifiers: Sequence[str]) -> dict[str, Figure]:
    series, figures, names = found.series, found.figures, domain.names
    distances, told = marginal_distances.name_of, distinguishing_game.name_of
    tables = [table for table in _TABLES if distances(1, table) in series]
    orders = compared_marginals(domain.cardinalities)
    return {
        "distances": distance_boxes(
            {order: {table: series[distances(order, table)] for table in tables} for order in orders},
            {
                order: [" and ".join(names[j] for j in marginal) for marginal in marginals]
                for order, marginals in orders.items()
            },
        ),
        "learning": learning_panels(
            {
                classifier: {table: figures[accuracy.name_of(classifier, table)] for table in tables}
                for classifier in classifiers
            },
            {
                classifier: {
                    table: figures[agreement.name_of(classifier, table)] for table in tables if table != "training"
                }
                for classifier in classifiers
            },
            {table: figures[told(table)] for table in tables if told(table) in figures},
            figures[accuracy.MAJORITY],
        ),
    }


def risk_pictures(found: EvaluationFigures, evaluation: Evaluation) -> dict[str, Figure]:
    """Draw the results of the risk evaluation, once for MLflow and for the report.

    Args:
        found: its figures.
        evaluation: the specification of the evaluation.

    Returns:
        Pictures named `attacks` and `inference`.
    """
    return drawn_once(_risk_pictures, found, evaluation)


def _risk_pictures(found: EvaluationFigures, evaluation: Evaluation) -> dict[str, Figure]:
    return {
        "attacks": attack_panels([_attack(title, name, found, note=note) for name, (title, note) in _ATTACKS.items()]),
        "inference": inference_panel(
            [
                _attack(name, inference.name_of(name), found, guess=found.figures[inference.guess_of(name)])
                for name in evaluation.sensitive
            ]
        ),
    }


def _attack(title: str, attack: str, found: EvaluationFigures, *, note: str = "", guess: float | None = None) -> Attack:
    """Build an attack from its success on both groups."""
    used, not_used = contrasts.used(attack), contrasts.not_used(attack)
    figures, errors = found.figures, found.errors
    return Attack(title, figures[used], errors[used], figures[not_used], errors[not_used], note, guess)
