"""A release on several processes or machines: Dask's scheduler and workers, and how a flow is sent to them."""
