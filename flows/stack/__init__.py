"""The servers that an agency runs, on this machine's loopback: PostgreSQL, Prefect, MLflow with users, and a worker."""
