"""Runs of the deployments in Prefect: how they end, how they are gone on with, what their pages show.

outages: ends a run that something around it stopped. run_ends: ends that Prefect could not be told of. resuming: the
watch that goes on with runs. automations: what Prefect does by itself. run_page, run_tags, held_runs: what a person
sees.
"""
