"""Runs migrations on the given connection, within its transaction."""

from alembic import context

from stores.ledger.migrations import VERSION_TABLE

context.configure(
    connection=context.config.attributes["connection"], version_table=VERSION_TABLE, transactional_ddl=True
)
with context.begin_transaction():
    context.run_migrations()
