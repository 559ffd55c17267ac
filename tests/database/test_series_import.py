"""Series are stored all or none, each with its first events and its audit row."""

import asyncio
import datetime as dt

import pytest
from tortoise.exceptions import OperationalError

from bot.events import generate
from bot.events.series import NameTakenError, create_series, ensure_guild
from bot.events.series_spec import SeriesSpec
from bot.transactions import atomic
from models.audit_log import AuditLog
from models.event import Event
from models.event_repeater import EventRepeater
from models.guild_settings import GuildSettings
from models.reminder_due import ReminderDue
from models.states import Frequency, MonthEnd
from tests.builders import GUILD, OTHER_GUILD, make_series, utc

NOW = utc("2026-03-01 12:00")


def spec(name: str, **fields: object) -> SeriesSpec:
    least = {"frequency": "weekly", "time_of_day": "19:00", "timezone": "Europe/London", "starts_at": "2026-03-01"}
    return SeriesSpec.model_validate({"name": name} | least | fields)


async def imported(*specs: SeriesSpec, guild_id: int = GUILD) -> list[EventRepeater]:
    return await create_series(specs, guild_id=guild_id, created_by=9, now=NOW)


async def stored() -> tuple[int, int, int, int]:
    return (
        await EventRepeater.all().count(),
        await Event.all().count(),
        await ReminderDue.all().count(),
        await AuditLog.all().count(),
    )


async def test_every_series_is_stored_with_its_events_what_is_due_and_its_audit_row(database: str) -> None:
    await imported(spec("One"), spec("Two", discord_announcement=False), spec("Three", is_active=False))

    # Three Sundays in the window of 14 days; a silent series announces nothing, a paused one makes nothing.
    assert await stored() == (3, 6, 3, 3)
    rows = await AuditLog.all().order_by("id")
    assert {(row.action, row.guild_id, row.actor_user_id, row.created_at) for row in rows} == {
        ("series.create", GUILD, 9, NOW)
    }
    assert rows[0].after == {"name": "One", "timezone": "Europe/London", "time_of_day": "19:00"}
    assert [row.subject_id for row in rows] == [series.id for series in await EventRepeater.all().order_by("id")]


async def test_every_field_of_the_rule_survives_the_way_through_the_database(database: str) -> None:
    given = spec(
        "Payday",
        frequency="monthly",
        interval=2,
        day_of_week="5MO,-1FR",
        time_of_day="02:30",
        ends_at="2027-01-31",
        month_end="skip",
        discord_announcement_role_ids=[1, 2**63 - 1],
        signup_opens_hours=None,
    )
    await imported(given)

    series = await EventRepeater.get()
    assert generate.rule_of(series) == given.rule
    assert (series.frequency, series.month_end) == (Frequency.MONTHLY, MonthEnd.SKIP)
    assert (series.starts_at, series.ends_at) == (dt.date(2026, 3, 1), dt.date(2027, 1, 31))
    assert (series.discord_announcement_role_ids, series.signup_opens_hours) == ([1, 2**63 - 1], None)


async def test_a_time_that_a_day_of_the_window_skips_is_taken(database: str) -> None:
    march = utc("2026-03-27 12:00")
    paris = spec("Night watch", frequency="daily", time_of_day="02:30", timezone="Europe/Paris", generate_days_ahead=3)

    await create_series([paris], guild_id=GUILD, created_by=None, now=march)

    # On the 29th the clock goes from 02:00 to 03:00, the first valid moment after 02:30 there.
    assert [event.scheduled_at for event in await Event.all().order_by("scheduled_at")] == [
        utc("2026-03-28 01:30"),
        utc("2026-03-29 01:00"),
        utc("2026-03-30 00:30"),
    ]


async def test_names_that_are_taken_are_refused_by_the_numbers_of_their_entries(database: str) -> None:
    await make_series(now=NOW, name="Raid night")
    before = await stored()

    with pytest.raises(NameTakenError) as refusal:
        await imported(spec("New"), spec("RAID NIGHT"), spec("Another"), spec("Another"))

    assert str(refusal.value) == (
        "Entry 2: a series named 'RAID NIGHT' exists already; rename it or leave it out.\n"
        "Entry 4: a series named 'Another' exists already; rename it or leave it out."
    )
    assert refusal.value.names == ("RAID NIGHT", "Another")
    assert await stored() == before


async def test_another_guilds_names_are_free(database: str) -> None:
    await imported(spec("Raid night"))

    await imported(spec("Raid night"), guild_id=OTHER_GUILD)

    assert await EventRepeater.all().count() == 2


async def test_the_same_import_twice_at_once_is_stored_once(database: str) -> None:
    twice = await asyncio.gather(*(imported(spec("One"), spec("Two")) for _ in range(2)), return_exceptions=True)

    assert [type(outcome) for outcome in twice if isinstance(outcome, BaseException)] == [NameTakenError]
    assert await stored() == (2, 6, 6, 2)


async def test_a_failure_in_the_middle_leaves_nothing(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = 0

    async def _fails_at_the_third(series: EventRepeater, *, now: dt.datetime) -> int:
        nonlocal made
        made += 1
        if made == 3:
            raise OperationalError("disk full")
        return await generate.generate_events_for_repeater(series, now=now)

    monkeypatch.setattr("bot.events.series.generate_events_for_repeater", _fails_at_the_third)

    with pytest.raises(OperationalError):
        await imported(spec("One"), spec("Two"), spec("Three"), spec("Four"))

    assert await stored() == (0, 0, 0, 0)


async def test_it_is_part_of_its_callers_transaction(database: str) -> None:
    async def _unit() -> None:
        await imported(spec("One"))
        raise LookupError

    with pytest.raises(LookupError):
        await atomic(_unit)

    assert await stored() == (0, 0, 0, 0)


async def test_a_guild_is_made_once_and_keeps_what_it_has(database: str) -> None:
    await asyncio.gather(*(ensure_guild(GUILD, timezone="Europe/Paris") for _ in range(3)))
    kept = await ensure_guild(GUILD, timezone="Asia/Tokyo")

    assert kept.timezone == "Europe/Paris"
    assert await GuildSettings.all().count() == 1
