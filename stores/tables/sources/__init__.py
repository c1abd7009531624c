"""Sources of records: files of many programs, folders, object stores, wheels. All are read in chunks.

reading: finds a source, and reads the columns that a schema needs. contract: what every kind of file does; kinds: the
kinds, one line each. text_tables: CSV and other text; dialects: how it is written. parquet_files; partitions: Parquet
in folders and object stores. headers: names of columns alone.
"""
