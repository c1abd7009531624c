"""The entries of a ledger, one row each, which the database itself refuses to change, remove or reorder."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

# REPLACE would remove a row without firing the trigger on DELETE, so the trigger on INSERT refuses it first.
_SQLITE = """
CREATE TRIGGER deniable_ledger_keeps_rows BEFORE DELETE ON deniable_ledger
BEGIN SELECT RAISE(ABORT, 'a ledger is append-only: entries are neither changed nor removed'); END

CREATE TRIGGER deniable_ledger_keeps_values BEFORE UPDATE ON deniable_ledger
BEGIN SELECT RAISE(ABORT, 'a ledger is append-only: entries are neither changed nor removed'); END

CREATE TRIGGER deniable_ledger_keeps_order BEFORE INSERT ON deniable_ledger
WHEN NEW.number <> (SELECT coalesce(max(number) + 1, 0) FROM deniable_ledger)
    OR NEW.previous <> coalesce(
        (SELECT digest FROM deniable_ledger WHERE number = NEW.number - 1),
        '0000000000000000000000000000000000000000000000000000000000000000')
BEGIN SELECT RAISE(ABORT, 'a ledger is append-only: an entry follows the last one'); END
"""
_POSTGRESQL = """
CREATE FUNCTION deniable_ledger_keep_rows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'a ledger is append-only: entries are neither changed nor removed'; END $$

CREATE TRIGGER deniable_ledger_keeps_rows BEFORE UPDATE OR DELETE OR TRUNCATE ON deniable_ledger
FOR EACH STATEMENT EXECUTE FUNCTION deniable_ledger_keep_rows()

CREATE FUNCTION deniable_ledger_keep_order() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.number <> (SELECT coalesce(max(number) + 1, 0) FROM deniable_ledger)
        OR NEW.previous <> coalesce(
            (SELECT digest FROM deniable_ledger WHERE number = NEW.number - 1),
            '0000000000000000000000000000000000000000000000000000000000000000')
    THEN RAISE EXCEPTION 'a ledger is append-only: an entry follows the last one'; END IF;
    RETURN NEW;
END $$

CREATE TRIGGER deniable_ledger_keeps_order BEFORE INSERT ON deniable_ledger
FOR EACH ROW EXECUTE FUNCTION deniable_ledger_keep_order()
"""


def upgrade() -> None:
    """Create the table and its triggers."""
    op.create_table(
        "deniable_ledger",
        sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("previous", sa.String(64), nullable=False, unique=True),
        sa.Column("digest", sa.String(64), nullable=False, unique=True),
        sa.Column("entry", sa.Text, nullable=False),
    )
    statements = _SQLITE if op.get_context().dialect.name == "sqlite" else _POSTGRESQL
    for statement in statements.strip().split("\n\n"):
        op.execute(statement)
