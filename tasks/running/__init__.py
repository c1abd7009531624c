"""The infrastructure of tasks; it contains no task.

step: binds a function to a Prefect task. check: the same for a comparison of an audit. progress: reports the progress
of a release. cancellation: stops its steps. data_flow: arrows between steps. workers: the workers of a cluster.
counting: counts rows here or on workers. sampling: samples for evaluations. threads: computations of a step in
parallel.
"""
