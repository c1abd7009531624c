"""Owner and user of a ledger in PostgreSQL: the owner creates and updates the schema, the user reads and appends.

The owner of a table can disable its triggers. Therefore, the role of the program owns nothing, and its only rights are
to read and to append.
"""

import os
from contextlib import suppress

from sqlalchemy import URL, Connection, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from deniable.foundation.errors import InvalidInput, Refused
from stores.ledger.database import ENTRIES, LedgerDatabase
from stores.ledger.ledger import LEDGER_VARIABLE
from stores.ledger.migrations import VERSION_TABLE

OWNER_VARIABLE = "DENIABLE_LEDGER_OWNER"
"""URL of the ledger for its owner; only the command that prepares the ledger reads it."""

# A temporary table of the same name would take precedence over the ledger's own table, even in the trigger.
_RIGHTS = (
    "REVOKE ALL ON DATABASE {database} FROM PUBLIC, {user}",
    "GRANT CONNECT ON DATABASE {database} TO {user}",
    "REVOKE ALL ON SCHEMA {schema} FROM PUBLIC, {user}",
    "GRANT USAGE ON SCHEMA {schema} TO {user}",
    "REVOKE ALL ON ALL TABLES IN SCHEMA {schema} FROM PUBLIC, {user}",
    "GRANT SELECT, INSERT ON {entries} TO {user}",
    "GRANT SELECT ON {version} TO {user}",
)
_KNOWN = "SELECT rolsuper FROM pg_roles WHERE rolname = :user"
_MAY_BE_OWNER = "SELECT pg_has_role(:user, current_user, 'MEMBER')"
_OWNED = """
SELECT relname FROM pg_class
WHERE pg_has_role(:user, relowner, 'MEMBER') AND relnamespace = current_schema()::regnamespace
"""


def prepare_ledger(place: str, user: str) -> None:
    """Create or update a ledger's schema as its owner, and grant a user the rights to read and append only.

    Args:
        place: URL of the database for its owner.
        user: role of the program.

    Raises:
        Refused: the user is the owner, is a member of the owner role, or is a superuser.
        LedgerUnavailable: the database cannot be reached, or the owner may not do this.
    """
    database = LedgerDatabase.at(place)
    if database.engine.dialect.name != "postgresql":
        raise Refused("a ledger must be in PostgreSQL to have users, got a file; the owner of a file has all rights.")
    with database.reading() as connection:
        _require_apart(connection, user)
    database.bring_up_to_date()
    with database.writing() as connection:
        quoted = connection.dialect.identifier_preparer.quote_identifier
        names = {
            "database": quoted(str(connection.execute(text("SELECT current_database()")).scalar_one())),
            "schema": quoted(str(connection.execute(text("SELECT current_schema()")).scalar_one())),
            "user": quoted(user),
            "entries": quoted(ENTRIES.name),
            "version": quoted(VERSION_TABLE),
        }
        for right in _RIGHTS:
            connection.execute(text(right.format(**names).replace(":", r"\:")))


def prepare_named_ledger() -> str:
    """Prepare the ledger named in the environment for its owner and its user; return a sentence about the result.

    Raises:
        InvalidInput: the environment does not name it for both, as a PostgreSQL database.
        DeniableError: as for `prepare_ledger`.
    """
    owner, used = (_named(variable) for variable in (OWNER_VARIABLE, LEDGER_VARIABLE))
    if owner.database != used.database or not used.username:
        raise InvalidInput(
            f"{OWNER_VARIABLE} and {LEDGER_VARIABLE} must name the same database, for its owner and for its user, got "
            f"{owner.database} and {used.database}; correct them."
        )
    prepare_ledger(owner.render_as_string(hide_password=False), used.username)
    return f"The ledger {used.database} is up to date; {used.username} may read and append, and nothing else."


def _named(variable: str) -> URL:
    """The database named in a variable; its URL may contain a password and is not quoted."""
    with suppress(ArgumentError):
        url = make_url(os.environ.get(variable, ""))
        if url.get_backend_name() in {"postgresql", "postgres"}:
            return url
    raise InvalidInput(f"{variable} must be a URL like postgresql://user:password@host/database, got none; set it.")


def _require_apart(connection: Connection, user: str) -> None:
    """Refuse a user that rights cannot prevent from altering the ledger."""
    above = connection.execute(text(_KNOWN), {"user": user}).scalar()
    if above is None:
        raise Refused(
            f"the ledger's user must be a role of its database, got {user}, which is not one; create it first."
        )
    owned = connection.execute(text(_OWNED), {"user": user}).scalars().all()
    if above or owned or connection.execute(text(_MAY_BE_OWNER), {"user": user}).scalar():
        raise Refused(
            f"the ledger's user must not be its owner, got {user}, which has all rights of its owner; the "
            f"administrator must make another role the owner, and REASSIGN OWNED BY {user} TO it."
        )
