"""Releases in MLflow: runs, models, the registry, and their digests.

client: MLflow's client. release_run, step_run: one run per release, one nested run per step. run_links: links to and
from Prefect's runs. run_tree, run_diff, run_index, run_artifacts: the content of runs, and changes since it was signed.
registry, model_record, model_code: models. experiment_page, release_page, release_search: pages and queries.
history_moving: transfer from one MLflow database to another.
"""
