"""Tables of people on disk: read from their sources, kept as Parquet in the vault.

sources: files, folders, object stores, packages. tables: snapshots, recoded rows, codes. overlapped: reading and
writing while rows are computed. columns: columns in MLflow's format. described_databases: a table's types, comments and
constraints as a codebook.
"""
