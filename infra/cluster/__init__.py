"""A release on several processes or machines: Dask's scheduler and workers, and how a flow is sent to them.

choosing: the cluster for a flow. local: scheduler and workers on this machine. runner: sends tasks to workers.
worker_checks, joining: reject workers with other files or other code. settings: files and addresses.
"""
