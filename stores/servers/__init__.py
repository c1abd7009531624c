"""Servers that stores talk to: how long they are waited for, what to say when they fail, and their addresses.

patience: the waiting. prefect_failures: failures in a sentence. mlflow_database: made once. webhook: reports a refresh
that failed. ui_links: links to pages of MLflow and Prefect.
"""
