"""The tables as the migrations make them: the hand-written indexes, two processes at once, and the times in rows."""

import asyncio
import datetime as dt
import importlib
import pkgutil
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from tortoise.context import require_context
from tortoise.exceptions import IntegrityError
from tortoise.migrations.autodetector import MigrationAutodetector
from tortoise.migrations.executor import MigrationTarget
from tortoise.models import Model

import models
from bot.clock import ManualClock
from bot.database import MODEL_MODULES, opened
from bot.migrating import UnmigratedError, _executor, migrate, pending_migrations, require_migrated
from bot.scheduling.bodies import GENERATE_UPCOMING_EVENTS
from bot.transactions import Dialect, dialect, fetch, moment
from models.fields import NaiveDatetimeError
from models.instance import Instance
from tests.builders import HOUR, FakeDiscord, Process, make_event, make_series, stored_due

NOON = dt.datetime(2026, 3, 1, 12, 0, tzinfo=dt.UTC)
NAIVE = dt.datetime(2026, 3, 1, 12, 0)  # noqa: DTZ001 -- what is refused
IN_TOKYO = dt.datetime(2026, 3, 1, 21, 0, tzinfo=ZoneInfo("Asia/Tokyo"))
UNIQUE = "uniq_discord_message_log_source_event_when_pending_or_success"
INDEXES = {
    UNIQUE,
    "ix_discord_message_log_held",
    "ix_discord_message_log_failed_next",
    "ix_discord_message_log_failed_key",
}


async def index_definitions() -> dict[str, str]:
    query = (
        "SELECT name, sql AS definition FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"
        if dialect() is Dialect.SQLITE
        else "SELECT indexname AS name, indexdef AS definition FROM pg_indexes WHERE schemaname = 'public'"
    )
    return {str(row["name"]): str(row["definition"]) for row in await fetch(query)}


async def write(*, success: bool | None, source_id: int = 1, recipient_id: int = 0, part: int = 0) -> None:
    await fetch(
        "INSERT INTO discord_message_log (source, source_id, recipient_id, part, success, claimed_at, created_at,"
        " history_after, attempts) VALUES ('event_announcement', $1, $2, $3, $4, $5, $5, 0, 1)",
        [source_id, recipient_id, part, success, NOON],
    )


async def test_the_hand_written_indexes_exist_with_their_conditions(database: str) -> None:
    definitions = await index_definitions()

    assert set(definitions) >= INDEXES
    assert {name for name in INDEXES if "WHERE" in definitions[name]} == INDEXES
    assert "UNIQUE" in definitions[UNIQUE]


@pytest.mark.parametrize("second", [None, True], ids=["held", "sent"])
@pytest.mark.parametrize("first", [None, True], ids=["held", "sent"])
async def test_a_key_has_one_held_or_sent_row(database: str, first: bool | None, second: bool | None) -> None:
    await write(success=first)

    with pytest.raises(IntegrityError):
        await write(success=second)


@pytest.mark.parametrize("standing", [None, True, False], ids=["held", "sent", "failed"])
async def test_a_key_may_have_any_number_of_failed_rows(database: str, standing: bool | None) -> None:
    await write(success=standing)

    await write(success=False)
    await write(success=False)

    assert (await fetch("SELECT COUNT(*) AS n FROM discord_message_log"))[0]["n"] == 3


async def test_failed_rows_leave_the_key_free(database: str) -> None:
    await write(success=False)
    await write(success=False)

    await write(success=None)

    assert (await fetch("SELECT COUNT(*) AS n FROM discord_message_log"))[0]["n"] == 3


@pytest.mark.parametrize("other", [{"source_id": 2}, {"recipient_id": 5}, {"part": 1}], ids=str)
async def test_another_event_recipient_or_part_is_another_key(database: str, other: dict[str, int]) -> None:
    await write(success=None)

    await write(success=None, **other)

    assert (await fetch("SELECT COUNT(*) AS n FROM discord_message_log"))[0]["n"] == 2


async def test_a_row_that_turns_from_failed_to_held_meets_the_constraint(database: str) -> None:
    await write(success=False)
    await write(success=None)

    with pytest.raises(IntegrityError):
        await fetch("UPDATE discord_message_log SET success = NULL WHERE NOT success")


async def test_a_deleted_rows_id_is_never_given_again(database: str) -> None:
    await write(success=None)
    before = (await fetch("DELETE FROM discord_message_log RETURNING id"))[0]["id"]

    await write(success=None)

    assert (await fetch("SELECT id FROM discord_message_log"))[0]["id"] != before


async def test_migrating_a_migrated_database_changes_nothing(database: str) -> None:
    before = await index_definitions()

    applied = [await migrate(database), await migrate(database)]

    assert applied == [[], []]
    assert await index_definitions() == before
    assert await pending_migrations() == []


async def _migrate(url: str) -> list[str]:
    async with opened(url):
        return await migrate(url)


async def test_of_two_migrations_at_once_on_sqlite_one_does_the_work(tmp_path: Path) -> None:
    url = f"sqlite://{tmp_path / 'new.db'}"

    applied = await asyncio.gather(_migrate(url), _migrate(url))

    assert sorted(bool(names) for names in applied) == [False, True]
    async with opened(url):
        await require_migrated()


@pytest.mark.postgres
async def test_of_two_migrations_at_once_on_postgresql_one_does_the_work(empty_postgres_url: str) -> None:
    applied = await asyncio.gather(_migrate(empty_postgres_url), _migrate(empty_postgres_url))

    assert sorted(bool(names) for names in applied) == [False, True]
    async with opened(empty_postgres_url):
        await require_migrated()


async def test_an_empty_database_is_refused_with_what_to_do(tmp_path: Path) -> None:
    async with opened(f"sqlite://{tmp_path / 'new.db'}"):
        with pytest.raises(UnmigratedError, match=r"0001_initial first; run `tocsin migrate`"):
            await require_migrated()


@pytest.fixture
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the address of a database without any table, on each backend in turn."""
    if request.param == "sqlite":
        return f"sqlite://{tmp_path / 'new.db'}"
    address: str = request.getfixturevalue("empty_postgres_url")
    return address


EVERYWHERE = pytest.mark.parametrize(
    "empty_url", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)], indirect=True
)


VERSIONS = [one.name for one in pkgutil.iter_modules([str(Path(__file__).parents[2] / "migrations")])]
"""Every version of the tables, in order."""


async def tables() -> dict[str, dict[str, str]]:
    """Return every table's columns with their types, in lower case."""
    query = (
        "SELECT m.name AS place, c.name AS name, c.type AS type FROM sqlite_master m, pragma_table_info(m.name) c"
        " WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%'"
        if dialect() is Dialect.SQLITE
        else "SELECT table_name AS place, column_name AS name, data_type AS type FROM information_schema.columns"
        " WHERE table_schema = 'public'"
    )
    found: dict[str, dict[str, str]] = {}
    for row in await fetch(query):
        found.setdefault(str(row["place"]), {})[str(row["name"])] = str(row["type"]).lower()
    return {name: columns for name, columns in found.items() if "migrations" not in name}


async def write_row(table: str, **values: str) -> None:
    """Write one row as the version of its table allows it: values as SQL literals, any others by their type."""
    told = {"json": "'[]'", "timestamp": f"'{NOON.isoformat(sep=' ')}'", "date": "'2026-03-01'", "bool": "'1'"}
    columns = (await tables())[table]
    literals = {
        name: values.get(name, next((value for kind, value in told.items() if kind in type_name), "'1'"))
        for name, type_name in columns.items()
    }
    named = ", ".join(f'"{name}"' for name in literals)
    await fetch(f'INSERT INTO "{table}" ({named}) VALUES ({", ".join(literals.values())})')  # noqa: S608


@EVERYWHERE
@pytest.mark.parametrize("version", VERSIONS[:-1])
async def test_what_an_older_version_stored_is_all_there_afterwards(empty_url: str, version: str) -> None:
    async with opened(empty_url):
        await _executor().migrate([MigrationTarget("models", version)])
        before = await tables()
        # Parents first: whatever they reach has the id 1.
        first = ("event_repeater", "event")
        for table in (*first, *sorted(before.keys() - set(first))):
            await write_row(table)
        stored = {table: await fetch(f'SELECT * FROM "{table}"') for table in before}  # noqa: S608

        indexes = await index_definitions()

        applied = await migrate(empty_url)

        assert applied == VERSIONS[VERSIONS.index(version) + 1 :]
        after = {
            table: await fetch("SELECT " + ", ".join(f'"{name}"' for name in columns) + f' FROM "{table}"')  # noqa: S608
            for table, columns in before.items()
        }
        assert after == stored
        now = await index_definitions()
        assert {name: now.get(name) for name in indexes} == indexes
        assert all(len(rows) == 1 for rows in stored.values())


@EVERYWHERE
async def test_what_an_older_version_did_not_send_is_due_after_the_next_generation(empty_url: str) -> None:
    clock = ManualClock(NOON)
    start = f"'{(NOON + 3 * HOUR).isoformat(sep=' ')}'"
    off = {f"discord_{name}": "'0'" for name in ("announcement", "signup_reminder", "profile_reminder", "create_event")}
    async with opened(empty_url):
        await _executor().migrate([MigrationTarget("models", "0001_initial")])
        await write_row("guild_settings")
        # As it was left by a version that knew of no other reminder.
        await write_row(
            "event", state="'signups_open'", scheduled_at=start, series_id="NULL", slot="NULL",
            discord_confirm_attendance_hours="2", is_off_schedule="'0'", **off,
        )  # fmt: skip
        await migrate(empty_url)

        await Process(FakeDiscord(clock), clock).run(GENERATE_UPCOMING_EVENTS)

        assert await stored_due() == {(1, "attendance_reminder"): NOON + HOUR}


LARGEST_ID = 2**63 - 1
SIGNUP = (
    "INSERT INTO event_signup (event_id, user_id, status, created_at, changed_at) VALUES ($1, $2, 'declined', $3, $3)"
)
SUBSCRIPTION = "INSERT INTO repeater_subscription (series_id, user_id, created_at) VALUES ($1, $2, $3)"
PROFILE = (
    "INSERT INTO player_profile (guild_id, user_id, field_values, reminder_opt_outs, updated_at)"
    " VALUES ($1, $2, '{}', '[]', $3)"
)
DM_CHANNEL = "INSERT INTO dm_channel (channel_id, user_id, opened_at) VALUES ($1, $2, $3)"


@pytest.mark.parametrize(
    ("statement", "subject"),
    [
        pytest.param(SIGNUP, 1, id="sign-up for an event"),
        pytest.param(SUBSCRIPTION, 1, id="subscription to a series"),
        pytest.param(PROFILE, LARGEST_ID, id="profile in a server"),
        pytest.param(DM_CHANNEL, LARGEST_ID, id="DM channel"),
    ],
)
async def test_a_person_has_one_of_each(database: str, statement: str, subject: int) -> None:
    assert ((await make_event(now=NOON)).id, (await make_series(now=NOON)).id) == (1, 1)
    await fetch(statement, [subject, LARGEST_ID, NOON])
    await fetch(statement, [subject, LARGEST_ID - 1, NOON])

    with pytest.raises(IntegrityError):
        await fetch(statement, [subject, LARGEST_ID, NOON])


async def test_people_go_with_their_event_and_their_series_and_with_no_other(database: str) -> None:
    series = [await make_series(now=NOON, name=name) for name in ("One", "Two")]
    events = [await make_event(now=NOON) for _ in range(2)]
    for one in series:
        await fetch(SUBSCRIPTION, [one.id, 1, NOON])
    for event in events:
        await fetch(SIGNUP, [event.id, 1, NOON])

    await fetch("DELETE FROM event WHERE id = $1", [events[0].id])
    await fetch("DELETE FROM event_repeater WHERE id = $1", [series[0].id])

    assert [row["event_id"] for row in await fetch("SELECT event_id FROM event_signup")] == [events[1].id]
    assert [row["series_id"] for row in await fetch("SELECT series_id FROM repeater_subscription")] == [series[1].id]


@pytest.mark.parametrize(
    ("table", "columns"),
    [
        ("event_signup", "event_id, status, position"),
        ("event_signup", "event_id, user_id"),
        ("event_signup", "user_id"),
        ("repeater_subscription", "series_id, user_id"),
        ("repeater_subscription", "user_id"),
        ("player_profile", "guild_id, user_id"),
        ("event", "guild_id, scheduled_at"),
    ],
)
async def test_the_indexes_that_people_are_found_by_exist(database: str, table: str, columns: str) -> None:
    if dialect() is Dialect.SQLITE:
        rows = await fetch(
            "SELECT (SELECT group_concat(name, ', ') FROM pragma_index_info(i.name)) AS columns"
            " FROM pragma_index_list($1) i",
            [table],
        )
        found = [str(row["columns"]) for row in rows]
    else:
        definitions = await fetch("SELECT indexdef FROM pg_indexes WHERE tablename = $1", [table])
        found = [str(row["indexdef"]).partition("(")[2].rstrip(")").replace('"', "") for row in definitions]

    assert columns in found


async def test_models_and_migrations_agree(database: str) -> None:
    apps = require_context().apps
    assert apps is not None
    config = {"models": {"models": list(MODEL_MODULES), "migrations": "migrations"}}

    changes = await MigrationAutodetector(apps, config).changes()

    assert [writer.operations for writer in changes] == []


def test_every_table_is_registered() -> None:
    tables = {
        model.__module__
        for module in pkgutil.iter_modules(models.__path__, "models.")
        for model in vars(importlib.import_module(module.name)).values()
        if isinstance(model, type) and issubclass(model, Model) and model.__module__.startswith("models.")
        if not model._meta.abstract
    }

    assert tables == set(MODEL_MODULES)


def instance(heartbeat_at: dt.datetime) -> Instance:
    return Instance(id="a", name="host", started_at=NOON, heartbeat_at=heartbeat_at, shard_ids=[])


async def test_a_row_with_a_naive_time_is_refused(database: str) -> None:
    with pytest.raises(NaiveDatetimeError):
        await instance(NAIVE).save()

    assert await Instance.all().count() == 0


async def test_many_rows_with_a_naive_time_are_refused(database: str) -> None:
    with pytest.raises(NaiveDatetimeError):
        await Instance.bulk_create([instance(NAIVE)])

    assert await Instance.all().count() == 0


async def test_an_update_to_a_naive_time_is_refused(database: str) -> None:
    await instance(NOON).save()

    with pytest.raises(NaiveDatetimeError):
        await Instance.all().update(heartbeat_at=NAIVE)

    assert (await Instance.get(id="a")).heartbeat_at == NOON


@pytest.mark.parametrize("lookup", ["heartbeat_at", "heartbeat_at__lt", "heartbeat_at__gte"])
async def test_a_filter_by_a_naive_time_is_refused(database: str, lookup: str) -> None:
    with pytest.raises(NaiveDatetimeError):
        await Instance.filter(**{lookup: NAIVE}).count()


async def test_a_statement_with_a_naive_time_is_refused(database: str) -> None:
    with pytest.raises(NaiveDatetimeError):
        await fetch("SELECT id FROM instance WHERE heartbeat_at < $1", [NAIVE])


async def test_a_time_of_another_zone_is_stored_and_read_as_utc(database: str) -> None:
    await instance(IN_TOKYO).save()

    stored = (await fetch("SELECT heartbeat_at FROM instance"))[0]["heartbeat_at"]

    assert str(stored).startswith("2026-03-01 12:00:00+00:00")
    assert (await Instance.get(id="a")).heartbeat_at == NOON
    assert (await Instance.get(id="a")).heartbeat_at.utcoffset() == dt.timedelta(0)


@pytest.mark.parametrize(
    ("shift", "found"),
    [
        pytest.param(-dt.timedelta(microseconds=1), 0, id="just before"),
        pytest.param(dt.timedelta(0), 1, id="exactly"),
        pytest.param(dt.timedelta(microseconds=1), 1, id="just past"),
    ],
)
async def test_times_compare_by_their_moment_whatever_zone_they_are_asked_in(
    database: str, shift: dt.timedelta, found: int
) -> None:
    await instance(NOON).save()

    by_model = await Instance.filter(heartbeat_at__lte=IN_TOKYO + shift).count()
    by_statement = await fetch("SELECT heartbeat_at FROM instance WHERE heartbeat_at <= $1", [IN_TOKYO + shift])

    assert (by_model, [moment(row["heartbeat_at"]) for row in by_statement]) == (found, [NOON] * found)


async def test_a_schema_of_its_own_on_postgresql_is_migrated_and_then_fits(empty_postgres_url: str) -> None:
    async with opened(empty_postgres_url):
        await fetch("CREATE SCHEMA tocsin")
        name = (await fetch("SELECT current_database() AS name"))[0]["name"]
        await fetch(f'ALTER DATABASE "{name}" SET search_path = tocsin')

    async with opened(empty_postgres_url):
        applied = await migrate(empty_postgres_url)

        await require_migrated()
        assert len(applied) > 0
        assert await migrate(empty_postgres_url) == []
