"""Servers that stores use: waiting for them, messages for their failures, and their addresses.

patience: waiting. prefect_failures: one sentence per failure. mlflow_database: created once. mlflow_rows: a release's
rows in it. webhook: reports failed refreshes. ui_links: links to pages of MLflow and Prefect.
"""
