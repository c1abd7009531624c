"""Records of an evaluation: figures and a document in MLflow, and pictures of the results.

The pictures are drawn by `reports.plots.plots`.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from matplotlib.figure import Figure

from deniable.evaluation.utility import compared_marginals
from deniable.foundation.domain import Domain
from reports.figures.marginals import DescribedTable, Panel, panels
from reports.plots.marginal_pictures import draw_marginals
from reports.plots.plots import Attack, attack_panels, distance_boxes, inference_panel, learning_panels
from reports.plots.theme import drawn_once, svg_file
from schemas.references import Audience
from schemas.spec.evaluation import EvaluationFigures, inferred
from schemas.spec.release_spec import Evaluation, ReleaseSpec
from stores.tracking.step_run import StepRecord

_SUFFIXES = {"released": "", "training": "_training", "baseline": "_baseline"}
_ATTACKS = {
    "exact_match": ("Copies", "released records identical to a real record"),
    "reproduced": ("Reproduced people", "people whose exact record was released"),
    "unique_found": ("Unique people", "unique people matched by a unique record"),
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
    step: StepRecord, name: str, evaluation: EvaluationFigures, pictures: Mapping[str, Figure | str]
) -> None:
    """Record an evaluation, all of it internal.

    Args:
        step: the step that evaluated.
        name: name of the document.
        evaluation: the results.
        pictures: the pictures, by name, as figures or as the text of SVG files.
    """
    step.figures(evaluation.figures, Audience.INTERNAL)
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
    return {**comparison_pictures(found, spec.domain), "marginals": draw_marginals(marginals_of(found, spec))}


def marginals_of(found: EvaluationFigures, spec: ReleaseSpec) -> list[Panel]:
    """The distribution of every attribute, in the holdout and in the release."""
    series, names = found.series, spec.domain.names
    return panels(
        DescribedTable.of(spec),
        [{name: series[f"shares_{table}/{name}"] for name in names} for table in ("holdout", "released")],
        dict(zip(names, series["tvd_1way"], strict=True)),
    )


def comparison_pictures(found: EvaluationFigures, domain: Domain) -> dict[str, Figure]:
    """Draw how the tables compare with the holdout, once for MLflow and for the report.

    Args:
        found: figures of the utility evaluation.
        domain: the release's domain.

    Returns:
        Pictures named `distances` and `learning`.
    """
    return drawn_once(_comparison_pictures, found, domain)


def _comparison_pictures(found: EvaluationFigures, domain: Domain) -> dict[str, Figure]:
    series, figures, names = found.series, found.figures, domain.names
    tables = {table: suffix for table, suffix in _SUFFIXES.items() if f"tvd_1way{suffix}" in series}
    orders = compared_marginals(domain.cardinalities)
    classifiers = [name.removeprefix("accuracy_loss_") for name in figures if name.startswith("accuracy_loss_")]
    return {
        "distances": distance_boxes(
            {order: {table: series[f"tvd_{order}way{suffix}"] for table, suffix in tables.items()} for order in orders},
            {
                order: [" and ".join(names[j] for j in marginal) for marginal in marginals]
                for order, marginals in orders.items()
            },
        ),
        "learning": learning_panels(
            {
                classifier: {table: figures[f"accuracy_{classifier}{suffix}"] for table, suffix in tables.items()}
                for classifier in classifiers
            },
            {
                classifier: {
                    table: figures[f"agreement_{classifier}{suffix}"]
                    for table, suffix in tables.items()
                    if table != "training"
                }
                for classifier in classifiers
            },
            {
                table: figures[f"distinguished{suffix}"]
                for table, suffix in tables.items()
                if f"distinguished{suffix}" in figures
            },
            figures["accuracy_majority"],
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
    figures, series = found.figures, found.series
    return {
        "attacks": attack_panels([_attack(title, series[name], note=note) for name, (title, note) in _ATTACKS.items()]),
        "inference": inference_panel(
            [
                _attack(name, series[inferred(name)], guess=figures[f"{inferred(name)}_marginal"])
                for name in evaluation.sensitive
            ]
        ),
    }


def _attack(name: str, values: Sequence[float], *, note: str = "", guess: float | None = None) -> Attack:
    """Build an attack from the series of an evaluation."""
    training, training_error, holdout, holdout_error = values
    return Attack(name, training, training_error, holdout, holdout_error, note, guess)
