"""Versions of the ledger's database schema, applied by Alembic when a ledger is opened.

What the entries say does not belong here: a new kind of entry needs no new schema.
"""

TABLE = "deniable_ledger"
VERSION_TABLE = "deniable_ledger_version"
"""Of its own name: in a shared database MLflow and Prefect keep their versions in Alembic's default table."""
REVISIONS = ("0001",)
"""All revisions, oldest first; one that is not among them was made by a later version of this program."""
