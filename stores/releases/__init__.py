"""Releases of a dataset: which are unfinished, which snapshot each one used, which may be published.

resumable_releases: started and not finished. snapshots: whether arriving data were already released. approval,
deciding: whether a release may be published, and who decided. discoveries: values and ranges that were proposed for a
schema. discovery_run: the run of one in MLflow.
"""
