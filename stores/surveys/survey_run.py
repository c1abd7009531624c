"""The run of a survey in MLflow. Everything logged is public: it follows from responses."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

from mlflow.entities import Metric, Param

from deniable.local.responses import Collected
from deniable.local.survey import Survey
from stores.tracking.client import closing_run, place_of_artifacts, recording
from stores.vault.private_files import make_private_folder

EXPERIMENT = "surveys"
_MOST_AT_ONCE = 500


@contextmanager
def recorded_survey(
    state: Path,
    survey: Survey,
    collected: Collected,
    rows: Sequence[Sequence[str]],
    staged: Path,
    *,
    prefect_flow_run: str,
) -> Iterator[str]:
    """Open the run of a survey, with its parameters, its estimates and its files; close it at the end of the block.

    Args:
        state: the state folder.
        survey: the survey.
        collected: the responses.
        rows: the rows of the estimates.
        staged: the folder with the files that will be published.
        prefect_flow_run: id of its run in Prefect; empty outside a flow.

    Yields:
        The id of the run.

    Raises:
        RecordFailed: MLflow does not accept the record.
    """
    make_private_folder(state / "mlflow")
    with recording(state) as client:
        known = client.get_experiment_by_name(EXPERIMENT)
        place = place_of_artifacts(state, EXPERIMENT)
        experiment = known.experiment_id if known is not None else client.create_experiment(EXPERIMENT, place)
        run = client.create_run(
            experiment,
            run_name=survey.name,
            tags={"survey": survey.digest, "deniable.version": version("deniable"), "prefect_run": prefect_flow_run},
        )
        number = run.info.run_id
        params = {"survey": survey.name, "digest": survey.digest, "epsilon_per_respondent": repr(survey.epsilon)}
        params |= {f"{each.name}.design": each.design.kind for each in survey.questions}
        counts = {
            "respondents": len(collected.rows),
            "repeated": collected.repeated,
            "unreadable": collected.unreadable,
        }
        shares = [
            (f"{question.name}.{place}.{column}", float(row[index]))
            for question in survey.questions
            for place, row in enumerate(each for each in rows if each[0] == question.name)
            for column, index in (("share", 3), ("low", 6), ("high", 7))
        ]
        metrics = [Metric(name, value, 0, 0) for name, value in [*counts.items(), *shares]]
        client.log_batch(number, params=[Param(name, value) for name, value in list(params.items())[:100]])
        for first in range(0, len(metrics), _MOST_AT_ONCE):
            client.log_batch(number, metrics=metrics[first : first + _MOST_AT_ONCE])
        for file in sorted(staged.iterdir()):
            client.log_artifact(number, str(file))
    with closing_run(state, number):
        yield number
