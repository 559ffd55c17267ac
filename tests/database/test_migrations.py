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
from tortoise.models import Model

import models
from bot.database import MODEL_MODULES, UnmigratedError, migrate, opened, pending_migrations, require_migrated
from bot.transactions import Dialect, dialect, fetch, moment
from models.fields import NaiveDatetimeError
from models.instance import Instance

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
