"""Prefect and MLflow on this machine's loopback, each behind a password.

local_servers: started and stopped. access: who is let in. serving: an application on a socket. mlflow_server,
prefect_server, prefect_pages: what is served. prefect_database: made once. prefect_api: asks Prefect without importing
it.
"""
