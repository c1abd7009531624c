"""A release on several processes or machines: Dask's scheduler and workers, and how a flow is sent to them.

choosing: which cluster a flow is sent to. local: scheduler and workers on this machine. runner: sends tasks to workers.
worker_checks, joining: reject workers that see other files or run other code. settings: files and addresses.
"""
