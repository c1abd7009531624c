"""The privacy ledger: a chain of entries that state what was asked of which dataset, and at what cost.

entries: the entries. state: what follows from them. budget: what charges cost together, against a cap. verification: by
someone who was not there. drawing_versions: raised whenever code draws otherwise than before.

Where a ledger is kept is for `stores.ledger`.
"""
