"""An extra event stands beside the schedule of its series: as the series is, and left alone by whatever changes it."""

import asyncio
import datetime as dt

import pytest

from bot.changes.extras import ExtraEvents, ExtraTakenError
from bot.changes.series_sync import sync_future_events
from bot.changes.stale import StaleError
from bot.errors import BotError
from bot.events.generate import CASCADED_FIELDS, Generator, generate_events_for_repeater
from bot.message.proposal import NOTHING_CHANGED, Proposal, Reply
from bot.scheduling.agenda import Agenda
from bot.scheduling.bodies import CHECK_EVENT_REMINDERS
from models.audit_log import AuditLog
from models.event import Event
from models.event_repeater import EventRepeater
from models.states import EventState
from tests.admin_hands import ADMIN, columns, shown, take
from tests.builders import (
    GUILD,
    HOUR,
    MINUTE,
    OTHER_GUILD,
    SECOND,
    audit_actions,
    derived_due,
    make_guild,
    make_series,
    stored_due,
    utc,
)
from tests.conftest import START

NOW = START
DEBOUNCE = 3 * SECOND
FREE = utc("2026-03-10 20:00")


async def propose(
    series: EventRepeater, when: str = "2026-03-10 20:00", *, now: dt.datetime = NOW, agenda: Agenda | None = None
) -> Reply:
    desk = ExtraEvents(agenda or Agenda(), debounce=DEBOUNCE, default_timezone="UTC", instance="one")
    return await desk.propose(str(series.id), when, guild_id=GUILD, actor=ADMIN, now=now)


async def add(series: EventRepeater) -> Event:
    await take(await propose(series), now=NOW)
    return await Event.get(series_id=series.id, is_off_schedule=True)


async def test_an_extra_event_is_as_its_series_and_beside_its_schedule(database: str) -> None:
    agenda = Agenda()
    series = await make_series(now=NOW, description="Bring ropes.", max_players=5, discord_confirm_attendance=True)

    reply = await propose(series, agenda=agenda)
    assert "Add an extra event to **London Sunday**?" in shown(reply)
    assert f"Begins <t:{int(FREE.timestamp())}:F>" in shown(reply)
    assert await take(reply, now=NOW, label="Discard") == NOTHING_CHANGED
    assert await Event.all().count() == 0

    await take(await propose(series, agenda=agenda), now=NOW)
    event = await Event.get()
    assert (event.series_id, event.slot, event.is_off_schedule) == (series.id, None, True)
    assert (event.name, event.description, event.scheduled_at) == ("London Sunday", "Bring ropes.", FREE)
    assert (event.state, event.created_by, event.signups_open_at) == (
        EventState.UPCOMING,
        ADMIN,
        utc("2026-03-03 20:00"),
    )
    assert all(getattr(event, name) == getattr(series, name) for name in CASCADED_FIELDS)
    assert await stored_due() == await derived_due() != {}
    row = await AuditLog.get()
    assert (row.action, row.actor_user_id, row.subject_id) == ("event.create", ADMIN, event.id)
    assert agenda.next(CHECK_EVENT_REMINDERS) == NOW


async def test_neither_generation_nor_an_edit_of_the_series_touches_it(database: str) -> None:
    series = await make_series(now=NOW)
    event = await add(series)
    before = columns(event)

    series.time_of_day, series.name, series.max_players = "20:30", "Another", 9
    await series.save()
    await sync_future_events(series, realign_schedule=True, now=NOW, debounce=DEBOUNCE)
    await generate_events_for_repeater(series, now=NOW)
    await Generator(Agenda(), instance="one", debounce=DEBOUNCE, every=HOUR).generate_upcoming_events(NOW)

    assert columns(await Event.get(id=event.id)) == before


@pytest.mark.parametrize(
    ("when", "why"),
    [
        ("2026-03-08 19:00", "returns by its own rule on"),
        ("2026-08-02 18:00", "returns by its own rule on"),
        ("2026-03-10 20:00", "has an event already on"),
    ],
)
async def test_a_time_at_which_the_series_is_anyway_is_refused(database: str, when: str, why: str) -> None:
    series = await make_series(now=NOW)
    await add(series)

    with pytest.raises(ExtraTakenError, match=why):
        await propose(series, when)

    assert await Event.filter(is_off_schedule=True).count() == 1


async def test_at_the_time_of_a_cancelled_extra_event_there_may_be_another(database: str) -> None:
    series = await make_series(now=NOW)
    await add(series)
    await Event.all().update(state=EventState.CANCELLED)

    await take(await propose(series), now=NOW)

    assert await Event.filter(state=EventState.UPCOMING).count() == 1


async def test_of_several_who_add_one_at_once_one_does(database: str) -> None:
    series = await make_series(now=NOW)
    replies = [await propose(series) for _ in range(4)]

    ends = await asyncio.gather(*(take(reply, now=NOW) for reply in replies), return_exceptions=True)

    assert sum(isinstance(end, str) for end in ends) == 1
    assert sum(isinstance(end, ExtraTakenError) for end in ends) == 3
    assert await Event.all().count() == 1
    assert await audit_actions() == ["event.create"]


async def test_added_while_generation_runs_there_is_one_event_at_a_time(database: str) -> None:
    series = await make_series(now=NOW)

    await asyncio.gather(take(await propose(series), now=NOW), generate_events_for_repeater(series, now=NOW))

    times = [event.scheduled_at for event in await Event.all()]
    assert len(times) == len(set(times)) == 4


async def test_a_series_that_changed_or_went_since_is_refused(database: str) -> None:
    changed, gone = await make_series(now=NOW), await make_series(now=NOW, name="gone")
    replies = [await propose(series) for series in (changed, gone)]
    await EventRepeater.filter(id=changed.id).update(max_players=3)
    await gone.delete()

    for reply in replies:
        with pytest.raises(StaleError):
            await take(reply, now=NOW)
    assert await Event.all().count() == 0


async def test_a_time_that_passes_before_the_press_is_refused(database: str) -> None:
    series = await make_series(now=NOW)
    reply = await propose(series, f"<t:{int((NOW + MINUTE).timestamp())}:F>")

    with pytest.raises(BotError, match="has passed meanwhile"):
        await take(reply, now=NOW + MINUTE)


async def test_an_ambiguous_time_is_asked_about_and_read_by_the_servers_clock(database: str) -> None:
    await make_guild(timezone="Europe/Berlin")
    series = await make_series(now=NOW)

    asked = await propose(series, "03/04 18:00")
    assert isinstance(asked, Proposal)
    await take(await asked.ways[0].then(NOW), now=NOW)

    assert (await Event.get()).scheduled_at == utc("2026-03-04 17:00")


async def test_another_servers_series_is_answered_as_one_that_is_not_there(database: str) -> None:
    theirs = await make_series(now=NOW, guild_id=OTHER_GUILD)

    with pytest.raises(BotError, match="There is no series"):
        await propose(theirs)
