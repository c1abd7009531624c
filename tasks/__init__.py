"""One step of a release a file, named by its verb: read, call the mathematics, write, log.

data, learning, synthesis, evaluation, publication: the steps, in their order. audit: comparisons of an audit. running:
what binds a step to Prefect; no step itself.
"""
