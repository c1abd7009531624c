"""Runs migrations on the connection it is given, within the transaction that it is in."""

from alembic import context

from stores.ledger.migrations import VERSION_TABLE

context.configure(
    connection=context.config.attributes["connection"], version_table=VERSION_TABLE, transactional_ddl=True
)
with context.begin_transaction():
    context.run_migrations()
