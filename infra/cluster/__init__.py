"""A release on several processes or machines: Dask's scheduler and workers, and how a flow is sent to them.

choosing: which cluster a flow is sent to. local: scheduler and workers on this machine. runner: sends tasks to workers.
worker_checks, joining: no worker that sees or runs something else is given work. settings: files and addresses.
"""
