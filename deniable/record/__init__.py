"""What a release says of itself, and how it is signed.

attestation: in-toto statements in DSSE envelopes. trust: whose signatures count. statement: the privacy statement in
figures. summary: the record in lines. shape, record.schema.json: its form. released_table: the table against its
domain.
snapshot_commitment: a keyed commitment to the rows. publication_rules: what the publication itself tells.

How a record is collected is for `stores.record`.
"""
