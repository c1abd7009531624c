"""Records of an evaluation: figures and a document in MLflow, and pictures of the results.

The pictures are drawn by `reports.plots.plots`.
"""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from deniable.evaluation.utility import compared_marginals
from deniable.foundation.domain import Domain
from reports.plots.plots import Attack, attack_panels, distance_boxes, inference_panel, learning_panels, marginal_panels
from schemas.references import Audience
from schemas.spec.evaluation import EvaluationFigures, inferred
from schemas.spec.release_spec import Evaluation
from stores.tracking.step_run import StepRecord

_SUFFIXES = {"released": "", "training": "_training", "baseline": "_baseline"}
_ATTACKS = {
    "exact_match": ("Copies", "released records identical to a real record"),
    "reproduced": ("Reproduced people", "people whose exact record was released"),
    "unique_found": ("Unique people", "unique people matched by a unique record"),
}
"""Title of each attack, with what it counts."""


def record_evaluation(
    step: StepRecord, name: str, evaluation: EvaluationFigures, pictures: Mapping[str, Figure]
) -> None:
    """Record an evaluation, all of it internal.

    Args:
        step: the step that evaluated.
        name: name of the document.
        evaluation: the results.
        pictures: the pictures, by name.
    """
    step.figures(evaluation.figures, Audience.INTERNAL)
    step.document(evaluation.model_dump(mode="json"), f"{name}.json", Audience.INTERNAL)
    for title, picture in pictures.items():
        step.plot(picture, f"{title}.png", Audience.INTERNAL)


def utility_pictures(found: EvaluationFigures, domain: Domain) -> dict[str, Figure]:
    """Draw the results of the utility evaluation.

    Args:
        found: its figures.
        domain: the release's domain.

    Returns:
        Pictures named `distances`, `learning` and `marginals`.
    """
    return {**comparison_pictures(found, domain), "marginals": _marginals_picture(found, domain)}


def comparison_pictures(found: EvaluationFigures, domain: Domain) -> dict[str, Figure]:
    """Draw how the tables compare with the holdout.

    Args:
        found: figures of the utility evaluation.
        domain: the release's domain.

    Returns:
        Pictures named `distances` and `learning`.
    """
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


def _marginals_picture(found: EvaluationFigures, domain: Domain) -> Figure:
    """The distribution of every attribute, real and released."""
    series, names = found.series, domain.names
    return marginal_panels(
        domain.attributes,
        {name: series[f"shares_holdout/{name}"] for name in names},
        {name: series[f"shares_released/{name}"] for name in names},
        dict(zip(names, series["tvd_1way"], strict=True)),
    )


def risk_pictures(found: EvaluationFigures, evaluation: Evaluation) -> dict[str, Figure]:
    """Draw the results of the risk evaluation.

    Args:
        found: its figures.
        evaluation: the specification of the evaluation.

    Returns:
        Pictures named `attacks` and `inference`.
    """
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
