"""Runs of the deployments in Prefect: how they end, how they are resumed, and what their pages show.

shared: what all processes of the deployments share. outages: how a run ends in an outage. run_ends: ends that could
not be reported to Prefect. resuming: the watch that resumes runs. automations: Prefect's automations. run_page,
run_tags, held_runs: what a person sees.
"""
