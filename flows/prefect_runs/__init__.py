"""Runs of the deployments in Prefect: how they end, how they are resumed, what their pages show.

outages: ends a run that an outage stopped. run_ends: ends that could not be reported to Prefect. resuming: the watch
that resumes runs. automations: Prefect's automations. run_page, run_tags, held_runs: what a person sees.
"""
