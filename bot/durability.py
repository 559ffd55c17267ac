"""Refuse a PostgreSQL that may forget what it acknowledged, or that is too old: the claims stand on it."""

from collections.abc import Mapping, Sequence

from bot.database import shown_url
from bot.errors import BotError
from bot.transactions import Dialect, dialect, fetch, integer

LEAST_POSTGRES = 14
"""The oldest PostgreSQL that waits for the end of a session that it was told to end."""

_SAFETY = """
SELECT name, source, quote_ident(current_database()) AS database, quote_ident(current_user) AS role FROM pg_settings
WHERE setting = 'off' AND name IN ('fsync', 'full_page_writes', 'synchronous_commit') ORDER BY name
"""


class UnsafeDatabaseError(BotError):
    """The database may forget what it acknowledged; ``settings`` are the names of what lets it."""

    def __init__(self, url: str, settings: Sequence[str], mends: Sequence[str]) -> None:
        off = " and ".join(f"{name} = off" for name in settings)
        super().__init__(
            f"The database at {shown_url(url)} has {off}: a crash of its machine could undo claims that it"
            f" acknowledged, and messages would be sent twice; {', '.join(mends)}, then start again."
        )
        self.settings = tuple(settings)


class OldDatabaseError(BotError):
    """The database's server lacks what Tocsin asks of it."""

    def __init__(self, url: str, major: int) -> None:
        super().__init__(
            f"The database at {shown_url(url)} is PostgreSQL {major}; Tocsin needs {LEAST_POSTGRES} or newer."
        )


async def require_durable(url: str) -> None:
    """
    Refuse an open PostgreSQL that acknowledges what a crash may undo: a lease would be forgotten, its message doubled.

    It is asked for what holds in the bot's own sessions, whoever set it; on SQLite every connection is opened safely.

    Raises:
        OldDatabaseError: it is an older PostgreSQL than Tocsin runs on.
        UnsafeDatabaseError: it has ``fsync``, ``full_page_writes`` or ``synchronous_commit`` off.
    """
    if dialect() is not Dialect.POSTGRES:
        return
    (version,) = await fetch("SELECT current_setting('server_version_num')::int / 10000 AS major")
    if (major := integer(version["major"])) < LEAST_POSTGRES:
        raise OldDatabaseError(url, major)
    if rows := await fetch(_SAFETY):
        raise UnsafeDatabaseError(url, [str(row["name"]) for row in rows], [_mend(row) for row in rows])


# Where a setting was switched off, as ``pg_settings.source`` tells, and how it is switched on there.
_MENDS = {
    "command line": "start the server without {name} = off on its command line",
    "client": "take {name} out of the database's address and of PGOPTIONS",
    "database": "run `ALTER DATABASE {database} SET {name} = on;` there",
    "user": "run `ALTER ROLE {role} SET {name} = on;` there",
    "database user": "run `ALTER ROLE {role} IN DATABASE {database} SET {name} = on;` there",
}
_MEND = "run `ALTER SYSTEM SET {name} = on; SELECT pg_reload_conf();` there"


def _mend(row: Mapping[str, object]) -> str:
    return _MENDS.get(str(row["source"]), _MEND).format_map(row)
