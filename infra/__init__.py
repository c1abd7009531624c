"""Servers, stack and cluster that a release runs on; also the Dockerfile, the compose file and the requirements.

environment: the variables that Prefect and MLflow read when they are imported. garbage: how often Python collects it.
compiled_ahead: compiles the kernels of a release while the project is installed.
servers: those on the loopback, for one person. stack: those of an agency. cluster: Dask.
"""
