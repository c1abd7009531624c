"""The steps of a release, one per file, each named after its verb. They read, call the mathematics, write and log.

data, learning, synthesis, evaluation, publication: the steps, in their order. audit: comparisons of an audit.
discovery: steps of a discovery. survey: steps of a survey. running: binds the steps to Prefect.
mapping: R-U maps of a table, outside releases.
"""
