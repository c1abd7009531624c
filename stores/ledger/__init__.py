"""The privacy ledger's database, and its copies in a state folder.

ledger: charge, read, verify. charging: charges a step before it draws. gate: decides whether anything may be charged.
accounts: whose people a budget is for. approvers: whose keys approve releases, and the custodian's. state_ledger: opens
the ledger of a state folder, behind its gate. database, migrations, roles: SQLite or PostgreSQL. anchor, evidence:
witnesses of what was charged. recovery: the recovery of a ledger. moving: transfer to another database. refresh_share:
the budget of a refresh. settled_ledger: for a replay. remembered_costs: earlier results of the accountants.

Entries and charges are defined in `deniable.ledger`.
"""
