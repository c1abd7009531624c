"""The servers, the stack and the cluster on which a release runs; also Dockerfile, compose file and requirements.

environment: the variables that Prefect and MLflow read on import. garbage: the frequency of garbage collection.
compiled_ahead: compiles the kernels of a release during installation. servers: servers on the loopback, for one person.
stack: the servers of an agency. cluster: Dask.
"""
