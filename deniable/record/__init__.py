"""The record of a release, and its signature.

attestation: in-toto statements in DSSE envelopes. trust: the keys whose signatures are accepted. approval: what an
approver signs. statement: the privacy statement in figures. summary: the record as text. shape, record.schema.json: its
form. standing: the status file, which says which releases still hold. released_table: checks the table against its
domain. schema_document: its domain as a document. snapshot_commitment: a keyed commitment to the rows.
publication_rules, exact_stops: what the publication itself discloses, which rows are left out, and what exact counts
decide.

Collecting a record belongs in `stores.record`.
"""
