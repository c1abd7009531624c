"""Where things are kept: sources, the vault, the ledger, MLflow, the release folder. No mathematics, no flows.

The rooms stand on each other, from below: locks, servers, vault, statement, keys, tables, ledger, publication,
tracking, record, releases. Pages and plots are for `reports`.
"""
