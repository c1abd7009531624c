"""Prefect and MLflow on this machine's loopback, each behind a password.

local_servers: starts and stops them. access: who is admitted. serving: an application on a socket. mlflow_server,
prefect_server, prefect_pages: what is served. prefect_database: makes it once. prefect_api: queries Prefect without
importing it.
"""
