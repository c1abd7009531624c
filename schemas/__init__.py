"""What may enter and what may leave: table schemas, the release spec, the provenance record, references.

table: how a table of people is described. catalog: finds a schema; datasets: those that ship. spec: the release spec.
provenance: the record of a release. record_schema: its JSON Schema. references: what
steps hand each other. acs_codes: code lists of the American Community Survey. plain_text, regular_files: what people
may write, and which files they may name.
"""
