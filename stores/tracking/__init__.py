"""Releases in MLflow: runs, models, the registry, and their digests.

client: MLflow's client. release_run, step_run: one run a release, one nested run a step. run_links: beside Prefect's.
run_tree, run_diff, run_index, run_artifacts: what runs hold, and what was changed since it was signed. registry,
model_record, model_code: models. experiment_page, release_page, release_search: what a person sees. history_moving:
from one MLflow database into another.
"""
