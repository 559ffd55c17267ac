"""What is said when the database is of no use, and by whom: once in the log, once to the admins when it is back."""

import contextlib
import datetime as dt
import sqlite3

import aiohttp
import asyncpg
import pytest
from structlog.testing import capture_logs
from tortoise.exceptions import IntegrityError, OperationalError

from bot.clock import ManualClock
from bot.database_watch import FAULT, DatabaseWatch
from bot.scheduling.agenda import Agenda
from bot.scheduling.bodies import TELL_OPS_NOTES
from bot.transactions import database_trouble
from models.ops_note import OpsNote
from tests.builders import GUILD, MINUTE, OTHER_GUILD, SECOND, make_guild
from tests.conftest import START


def sqlite_error(code: int) -> OperationalError:
    inner = sqlite3.OperationalError("what SQLite says")
    inner.sqlite_errorcode = code
    return OperationalError(inner)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        pytest.param(sqlite_error(sqlite3.SQLITE_FULL), "its disk is full", id="sqlite full"),
        pytest.param(sqlite_error(sqlite3.SQLITE_IOERR_WRITE), "its disk cannot be read or written", id="sqlite disk"),
        pytest.param(sqlite_error(sqlite3.SQLITE_READONLY), "it can only be read", id="sqlite read-only"),
        pytest.param(sqlite_error(sqlite3.SQLITE_BUSY), "another process keeps it locked", id="sqlite locked"),
        pytest.param(asyncpg.DiskFullError("x"), "its disk is full", id="postgres full"),
        pytest.param(asyncpg.ReadOnlySQLTransactionError("x"), "it can only be read", id="postgres read-only"),
        pytest.param(asyncpg.TooManyConnectionsError("x"), "it takes no more connections", id="postgres connections"),
        pytest.param(asyncpg.CannotConnectNowError("x"), "it is stopping or starting", id="postgres starting"),
        pytest.param(asyncpg.ConnectionDoesNotExistError("x"), "its connection was lost", id="postgres cut"),
        pytest.param(ConnectionRefusedError(), "it cannot be reached", id="refused"),
        pytest.param(TimeoutError(), "it does not answer", id="no answer"),
        pytest.param(sqlite_error(sqlite3.SQLITE_ERROR), None, id="a wrong statement"),
        pytest.param(asyncpg.UndefinedTableError("x"), None, id="a missing table"),
        pytest.param(IntegrityError("x"), None, id="a conflict"),
        pytest.param(aiohttp.ClientOSError("x"), None, id="Discord cut"),
        pytest.param(aiohttp.ServerTimeoutError("x"), None, id="Discord's time-out"),
    ],
)
def test_an_error_is_told_by_what_is_wrong_with_the_database(error: Exception, words: str | None) -> None:
    assert database_trouble(error) == words


class Heart:
    """A heartbeat that fails when told to."""

    def __init__(self) -> None:
        self.error: Exception | None = None

    async def beat(self, _now: dt.datetime) -> dt.datetime | None:
        if self.error is not None:
            raise self.error
        return None


async def beat(watch: DatabaseWatch, clock: ManualClock, *, until: dt.timedelta) -> None:
    end = clock.now() + until
    while clock.now() < end:
        with contextlib.suppress(OSError):
            await watch.beat(clock.now())
        clock.advance(5 * SECOND)


async def test_an_outage_is_logged_once_and_told_once_in_every_server_with_an_ops_channel(
    database: str, clock: ManualClock
) -> None:
    await make_guild()
    await make_guild(OTHER_GUILD, ops_channel_id=None)
    heart, agenda = Heart(), Agenda()
    watch = DatabaseWatch(heart.beat, agenda=agenda)

    with capture_logs() as said:
        heart.error = ConnectionRefusedError()
        await beat(watch, clock, until=2 * MINUTE)
        heart.error = None
        await beat(watch, clock, until=2 * MINUTE)

    assert [one["event"] for one in said] == ["database_away", "database_back"]
    assert [(note.guild_id, note.fault, note.revision) for note in await OpsNote.all()] == [(GUILD, FAULT, 1)]
    note = await OpsNote.get(guild_id=GUILD)
    assert note.says == (
        f"My database failed from {START:%Y-%m-%d} 12:00:00 to {START:%Y-%m-%d} 12:01:55 UTC: it cannot be reached."
        " What I could not claim I did not send; what is still ahead goes out now."
    )
    assert agenda.next(TELL_OPS_NOTES) is not None


async def test_a_second_process_tells_nobody_of_the_same_outage_again(database: str, clock: ManualClock) -> None:
    await make_guild()
    hearts = [Heart(), Heart()]
    watches = [DatabaseWatch(heart.beat, agenda=Agenda()) for heart in hearts]

    for error in (ConnectionRefusedError(), None):
        for heart in hearts:
            heart.error = error
        for _ in range(12):
            for watch in watches:
                await beat(watch, clock, until=5 * SECOND)

    assert [note.revision for note in await OpsNote.all()] == [1]


async def test_a_later_outage_is_told_anew(database: str, clock: ManualClock) -> None:
    await make_guild()
    heart = Heart()
    watch = DatabaseWatch(heart.beat, agenda=Agenda())

    for error in (ConnectionRefusedError(), None, TimeoutError(), None):
        heart.error = error
        await beat(watch, clock, until=MINUTE)

    note = await OpsNote.get(guild_id=GUILD)
    assert (note.revision, "it does not answer" in note.says) == (2, True)


async def test_an_outage_of_a_few_seconds_is_only_logged(database: str, clock: ManualClock) -> None:
    await make_guild()
    heart = Heart()
    watch = DatabaseWatch(heart.beat, agenda=Agenda())

    with capture_logs() as said:
        heart.error = ConnectionRefusedError()
        await beat(watch, clock, until=10 * SECOND)
        heart.error = None
        await beat(watch, clock, until=MINUTE)

    assert [one["event"] for one in said] == ["database_away", "database_back"]
    assert await OpsNote.all() == []


async def test_a_wrong_statement_says_nothing_about_the_database(database: str, clock: ManualClock) -> None:
    watch = DatabaseWatch(Heart().beat, agenda=Agenda())

    with capture_logs() as said:
        watch.failed(IntegrityError("x"), clock.now())
        await beat(watch, clock, until=MINUTE)

    assert said == []
