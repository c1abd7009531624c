"""What tasks need to run; no tasks itself.

step: binds a function to a Prefect task. check: the same for a comparison of an audit. progress: reports the progress
of a release. cancellation: stops its steps. data_flow: arrows between steps. workers: a cluster's, if there is one.
counting: counts rows here or on workers. sampling: samples for evaluations.
"""
