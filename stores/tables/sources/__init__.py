"""Sources of records: files of many programs, folders, object stores, databases, wheels. All are read in chunks.

reading: finds a source, and reads the columns that a schema needs. contract: what every kind of file does; kinds: what
opens each. text_tables: CSV and other text; fixed_width: text without separators; dialects: how it is written.
statistics_files: Stata, SPSS, SAS.
spreadsheets, parquet_files, arrow_files, json_lines, zip_files: what they say. partitions: Parquet in folders and
object stores. databases: tables and queries. headers: names of columns alone.
"""
