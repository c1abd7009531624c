"""Schemas of all input and output: table schemas, the release spec, the provenance record, references.

table: descriptions of tables of people; kinds: their columns; hierarchies: public groups of codes; rules: a codebook's
rules on combinations of values. codebooks: drafts of schemas. catalog: finds a schema; datasets: the schemas that
ship. spec: the release spec. provenance: the record of a release. rehearsal: releases of public records.
record_schema: its JSON Schema. references: references that steps pass to each other. acs_codes: code lists of the
American Community Survey. plain_text, regular_files: the texts that users may write, and the files that they may name.
written_forms: truth values, codes and numbers as programs write them. statistics_programs: what files of Stata, SPSS
and SAS say about their columns. source_libraries: the libraries that read other programs' files. amending: writes
accepted proposals into a schema.
"""
