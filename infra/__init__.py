"""Servers, stack and cluster: what a release runs on. The Python; beside it Dockerfile, compose and requirements.

environment: what Prefect and MLflow read when they are imported. garbage: how often Python looks for it. servers:
those on the loopback, for one person. stack: those of an agency. cluster: Dask.
"""
