"""Steps on confidential rows: account for the cost, ingest, validate, clean, split.

fit: how a table fits its schema, outside a release. mending: the lines that would mend what does not fit. public_rows:
the rows of public files.
"""
