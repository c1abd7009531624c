"""Versions of the ledger's database schema, applied by Alembic when a ledger is opened.

The content of entries does not belong here: a new kind of entry needs no new schema.
"""

TABLE = "deniable_ledger"
VERSION_TABLE = "deniable_ledger_version"
"""A separate name: in a shared database, MLflow and Prefect keep their versions in Alembic's default table."""
REVISIONS = ("0001",)
"""All revisions, the oldest first; any other revision comes from a later version of this program."""
