"""Storage: sources, the vault, the ledger, MLflow, the release folder. No mathematics and no flows.

Each package may use only those before it: own_files, locks, servers, vault, statement, keys, tables, ledger,
publication, lineage, tracking, record, releases, surveys. Pages and plots belong to `reports`.
"""
