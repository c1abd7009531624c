"""The privacy ledger's database, and what a state folder knows of it.

ledger: charge, read, verify. charging: charges a step before it draws. state_ledger: opens the ledger of a state
folder. database, migrations, roles: SQLite or PostgreSQL. anchor, evidence, recovery: its copies, and how it is taken
up again.
moving: into another database. refresh_share: what a refresh may spend. settled_ledger: for a replay.

What entries and charges are is for `deniable.ledger`.
"""
