"""An agency's servers, on this machine's loopback: PostgreSQL, Prefect, MLflow with users, and a worker.

command: starts and stops them. settings: files, passwords and ports. daemons: processes that outlive a command.
postgres, prefect_server, mlflow_server, servers: the processes. stack_client: queries Prefect. moving: moves ledger and
history into the stack, and back. backup: copies a state folder with its databases, and restores it.
"""
