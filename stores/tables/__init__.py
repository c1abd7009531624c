"""Tables of people on disk: read from their sources, kept as Parquet in the vault.

sources: files, folders, object stores, packages. partitions: many Parquet files, one after the other. tables:
snapshots, recoded rows, codes. columns: as MLflow describes them.
"""
