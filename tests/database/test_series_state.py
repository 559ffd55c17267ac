"""A paused series makes nothing new and goes on where it should; twice is an answer."""

import asyncio
import datetime as dt

import pytest

from bot.changes.series_state import pause_series, resume_series
from bot.errors import BotError
from bot.events.generate import Generator, generate_events_for_repeater
from bot.scheduling.agenda import Agenda
from bot.scheduling.bodies import CHECK_EVENT_REMINDERS
from models.audit_log import AuditLog
from models.event import Event
from models.event_repeater import EventRepeater
from tests.builders import DAY, GUILD, HOUR, OTHER_GUILD, SECOND, derived_due, make_guild, make_series, stored_due, utc

NOW = utc("2026-03-01 12:00")
ADMIN = 42


async def pause(series: EventRepeater, *, guild_id: int = GUILD) -> str:
    return await pause_series(str(series.id), guild_id=guild_id, actor=ADMIN, now=NOW)


async def resume(
    series: EventRepeater, *, guild_id: int = GUILD, now: dt.datetime = NOW, agenda: Agenda | None = None
) -> str:
    return await resume_series(str(series.id), guild_id=guild_id, actor=ADMIN, now=now, agenda=agenda or Agenda())


async def test_a_paused_series_makes_nothing_new_and_keeps_what_it_made(database: str) -> None:
    series = await make_series(now=NOW)
    made = await generate_events_for_repeater(series, now=NOW)
    before = await stored_due()

    says = await pause(series)
    generator = Generator(Agenda(), instance="one", debounce=3 * SECOND, every=HOUR)
    await generator.generate_upcoming_events(NOW + 7 * DAY)

    assert says == (
        f"**London Sunday** is paused and makes no new events. Its {made} events that are made already stay, with the"
        " reminders."
    )
    assert await Event.filter(series_id=series.id).count() == made
    assert await stored_due() == before
    row = await AuditLog.get()
    assert (row.action, row.actor_user_id, row.before, row.after) == (
        "series.edit",
        ADMIN,
        {"is_active": True},
        {"is_active": False},
    )


async def test_a_resumed_series_makes_what_is_missing_at_once(database: str) -> None:
    agenda = Agenda()
    series = await make_series(now=NOW, is_active=False)

    says = await resume(series, agenda=agenda)

    made = await Event.filter(series_id=series.id).count()
    assert made == 3
    assert says == "**London Sunday** goes on; 3 events were made."
    assert (await EventRepeater.get(id=series.id)).is_active
    assert await stored_due() == await derived_due()
    assert agenda.next(CHECK_EVENT_REMINDERS) == NOW


async def test_twice_is_an_answer_and_leaves_no_second_trace(database: str) -> None:
    series = await make_series(now=NOW)

    says = [await pause(series), await pause(series), await resume(series), await resume(series)]

    assert says[1] == "**London Sunday** is paused already."
    assert says[3] == "**London Sunday** is not paused."
    assert await AuditLog.all().count() == 2


async def test_an_ended_series_goes_on_without_events_and_says_why(database: str) -> None:
    series = await make_series(now=NOW, is_active=False, ends_at=dt.date(2026, 2, 28))

    assert await resume(series) == "**London Sunday** goes on, but it ended on 28 February 2026, so it makes no events."
    assert await Event.all().count() == 0


async def test_a_series_that_was_given_a_past_end_while_it_was_paused_loses_what_lies_behind_it(database: str) -> None:
    series = await make_series(now=NOW)
    await generate_events_for_repeater(series, now=NOW)
    assert await Event.all().count() == 3
    await EventRepeater.filter(id=series.id).update(is_active=False, ends_at=dt.date(2026, 2, 28))

    says = await resume(series)

    assert says == (
        "**London Sunday** goes on, but it ended on 28 February 2026, so it makes no events; events: 3 removed."
    )
    assert await Event.all().count() == 0


async def test_a_series_whose_zone_is_lost_stays_paused_and_says_why(database: str) -> None:
    series = await make_series(now=NOW, is_active=False, timezone="Mars/Gone")

    with pytest.raises(BotError, match="cannot go on: the zone database does not have 'Mars/Gone' any more"):
        await resume(series)

    assert not (await EventRepeater.get(id=series.id)).is_active
    assert await AuditLog.all().count() == 0


async def test_of_two_who_pause_at_once_one_does(database: str) -> None:
    series = await make_series(now=NOW)

    says = await asyncio.gather(*(pause(series) for _ in range(5)))

    assert sum("makes no new events" in one for one in says) == 1
    assert await AuditLog.all().count() == 1


async def test_another_servers_series_and_a_deleted_one_are_not_there(database: str) -> None:
    await make_guild()
    theirs = await make_series(now=NOW, guild_id=OTHER_GUILD)
    gone = await make_series(now=NOW, name="gone")
    await gone.delete()

    for series in (theirs, gone):
        with pytest.raises(BotError, match="There is no series"):
            await pause(series)
        with pytest.raises(BotError, match="There is no series"):
            await resume(series)

    assert (await EventRepeater.get(id=theirs.id)).is_active
    assert await AuditLog.all().count() == 0


async def test_a_pause_that_cannot_be_recorded_is_not_made(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    series = await make_series(now=NOW)

    async def _fails(*_args: object, **_kwargs: object) -> None:
        raise RuntimeError

    monkeypatch.setattr("bot.audit.record", _fails)
    with pytest.raises(RuntimeError):
        await pause(series)

    assert (await EventRepeater.get(id=series.id)).is_active
