"""Prefect and MLflow on this machine's loopback, each behind a password.

local_servers: starts and stops them. access: who is admitted. mlflow_rights: what users of MLflow may do. serving: an
application on a socket. mlflow_server, prefect_server, prefect_pages: the applications. prefect_database: creates it
once. prefect_api: queries Prefect without importing it.
"""
