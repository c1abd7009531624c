"""Releases of a dataset: which are unfinished, which snapshot each one used, and which may be published.

life: the stages of a release, and which may follow on which. resumable_releases: started and not finished. snapshots:
whether arriving data were already released. approval, deciding, signed_approvals: whether a release may be published,
who decided, and with which key. discoveries: values and ranges proposed for a schema. discovery_run: a discovery's run
in MLflow. status_file: which releases still hold.
"""
