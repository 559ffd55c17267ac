"""A date is left out of a series and stays out, and may return; whatever was cancelled by itself stays cancelled."""

import asyncio
import datetime as dt

import pytest

from bot.changes.event_time import EventTimes
from bot.changes.series_skips import SeriesSkips, search_dates
from bot.changes.skip_plan import NoOccurrenceError
from bot.changes.stale import StaleError
from bot.errors import BotError
from bot.events.generate import Generator, generate_events_for_repeater
from bot.events.transitions import Transitions
from bot.message.proposal import Proposal, Reply
from bot.scheduling.agenda import Agenda
from models.audit_log import AuditLog
from models.event import Event
from models.event_repeater import EventRepeater
from models.repeater_exception import RepeaterException
from models.states import EventState, ExceptionKind, Frequency
from tests.admin_hands import ADMIN, columns, shown, take
from tests.builders import (
    DAY,
    GUILD,
    HOUR,
    OTHER_GUILD,
    SECOND,
    audit_actions,
    derived_due,
    make_event,
    make_series,
    stored_due,
    utc,
)
from tests.conftest import START
from tests.people import sign_up

NOW = START
DEBOUNCE = 3 * SECOND
# The series is London Sundays at seven: NOW is noon of one of them.
FIRST, SECOND_SUNDAY, FAR = "2026-03-01", "2026-03-08", "2026-05-03"


async def with_events(**fields: object) -> EventRepeater:
    series = await make_series(now=NOW, **fields)
    await generate_events_for_repeater(series, now=NOW)
    return series


def skips() -> SeriesSkips:
    return SeriesSkips(Agenda(), debounce=DEBOUNCE, instance="one")


async def skip(series: EventRepeater, date: str, *, now: dt.datetime = NOW) -> Reply:
    return await skips().propose_skip(str(series.id), date, guild_id=GUILD, actor=ADMIN, now=now)


async def unskip(series: EventRepeater, date: str, *, now: dt.datetime = NOW) -> Reply:
    return await skips().propose_return(str(series.id), date, guild_id=GUILD, actor=ADMIN, now=now)


async def event_on(series: EventRepeater, date: str) -> Event | None:
    return await Event.get_or_none(series_id=series.id, slot=f"{date}T19:00[Europe/London]")


async def generate() -> None:
    await Generator(Agenda(), instance="one", debounce=DEBOUNCE, every=HOUR).generate_upcoming_events(NOW)


async def test_a_skipped_date_loses_its_event_and_is_never_made_again(database: str) -> None:
    series = await with_events()

    reply = await skip(series, SECOND_SUNDAY)
    assert shown(reply).splitlines() == [
        f"Skip **London Sunday** on 8 March 2026 (<t:{int(utc('2026-03-08 19:00').timestamp())}:F>)?",
        "Its event goes; nobody knows of it.",
        "No event is made for that day; the series goes on.",
    ]
    assert await RepeaterException.all().count() == 0
    says = await take(reply, now=NOW)
    await generate()

    assert says == "**London Sunday** skips 8 March 2026."
    assert await event_on(series, SECOND_SUNDAY) is None
    note = await RepeaterException.get()
    assert (note.series_id, note.local_date, note.kind) == (series.id, dt.date(2026, 3, 8), ExceptionKind.SKIP)
    assert await Event.filter(series_id=series.id).count() == 2
    assert await stored_due() == await derived_due()
    row = await AuditLog.get(action="series.edit")
    assert (row.actor_user_id, row.subject_id, row.after) == (ADMIN, series.id, {"skipped": SECOND_SUNDAY})


async def test_an_announced_event_of_a_skipped_date_is_cancelled_and_its_post_edited(database: str) -> None:
    series = await with_events()
    event = await event_on(series, SECOND_SUNDAY)
    assert event is not None
    await Event.filter(id=event.id).update(announcement_channel_id=1, announcement_message_id=2)

    reply = await skip(series, SECOND_SUNDAY)
    await take(reply, now=NOW)
    await generate()

    assert "Its event is cancelled, and its post says so." in shown(reply)
    await event.refresh_from_db()
    assert (event.state, event.post_due_at) == (EventState.CANCELLED, NOW + DEBOUNCE)
    assert await stored_due() == await derived_due()
    await take(await unskip(series, SECOND_SUNDAY), now=NOW)
    await event.refresh_from_db()
    assert event.state is EventState.UPCOMING
    assert await audit_actions() == ["event.skip", "series.edit", "event.unskip", "series.edit"]


async def test_people_who_signed_up_for_a_skipped_date_are_counted_and_kept(database: str) -> None:
    series = await with_events()
    event = await event_on(series, FIRST)
    assert event is not None
    await Event.filter(id=event.id).update(state=EventState.SIGNUPS_OPEN)
    await sign_up(event, [101, 102])

    reply = await skip(series, FIRST)
    await take(reply, now=NOW)

    assert "2 signed up" in shown(reply)
    assert "tell them yourself" in shown(reply)
    await event.refresh_from_db()
    assert (event.state, event.is_withdrawn) == (EventState.CANCELLED, False)
    assert await audit_actions() == ["event.skip", "series.edit"]
    assert await event.signups.all().count() == 2  # type: ignore[attr-defined]


async def test_a_date_that_has_no_event_yet_is_skipped_too(database: str) -> None:
    series = await with_events()

    await take(await skip(series, FAR), now=NOW)
    await generate_events_for_repeater(series, now=utc("2026-04-25 12:00"))

    made = {event.slot for event in await Event.filter(series_id=series.id)}
    assert "2026-04-26T19:00[Europe/London]" in made
    assert f"{FAR}T19:00[Europe/London]" not in made


@pytest.mark.parametrize(
    ("date", "why"),
    [
        ("2026-03-09", "does not return on 9 March 2026; next on <t:"),
        ("2026-02-22", "cannot skip 22 February 2026: that has passed"),
        ("2025-12-28", "does not return on 28 December 2025"),
        ("soon", "is no date that can be read"),
    ],
)
async def test_what_is_no_occurrence_ahead_is_refused(database: str, date: str, why: str) -> None:
    series = await with_events()

    with pytest.raises(BotError, match=why):
        await skip(series, date)
    assert await audit_actions() == []


async def test_an_occurrence_that_began_or_was_cancelled_is_refused(database: str) -> None:
    series = await with_events()
    await Event.filter(slot__startswith=FIRST).update(state=EventState.CANCELLED)
    await Event.filter(slot__startswith=SECOND_SUNDAY).update(state=EventState.IN_PROGRESS, scheduled_at=NOW - HOUR)

    with pytest.raises(NoOccurrenceError, match="it was cancelled"):
        await skip(series, FIRST)
    with pytest.raises(NoOccurrenceError, match="it is running"):
        await skip(series, SECOND_SUNDAY)


async def test_skipping_twice_is_said(database: str) -> None:
    series = await with_events()
    await take(await skip(series, FAR), now=NOW)

    with pytest.raises(NoOccurrenceError, match="skips 3 May 2026 already"):
        await skip(series, FAR)


async def test_an_ambiguous_date_is_asked_about(database: str) -> None:
    series = await with_events(frequency=Frequency.DAILY, day_of_week=None)

    asked = await skip(series, "05/04")

    assert isinstance(asked, Proposal)
    assert [way.label for way in asked.ways] == ["5 April 2026", "4 May 2026", "Discard"]
    await take(await asked.ways[0].then(NOW), now=NOW)
    assert (await RepeaterException.get()).local_date == dt.date(2026, 4, 5)


async def test_an_event_that_was_moved_is_found_by_the_date_of_its_slot(database: str) -> None:
    series = await with_events()
    event = await event_on(series, SECOND_SUNDAY)
    assert event is not None
    times = EventTimes(Agenda(), debounce=DEBOUNCE, default_timezone="UTC")
    moved = await times.propose(str(event.id), "2026-03-10 18:00", tell=None, guild_id=GUILD, actor=ADMIN, now=NOW)
    await take(moved, now=NOW)

    await take(await skip(series, SECOND_SUNDAY), now=NOW)

    assert await Event.get_or_none(id=event.id) is None
    assert (await RepeaterException.get()).kind is ExceptionKind.SKIP


async def test_a_skipped_date_returns_with_an_event(database: str) -> None:
    series = await with_events()
    before = await event_on(series, SECOND_SUNDAY)
    assert before is not None
    await take(await skip(series, SECOND_SUNDAY), now=NOW)

    reply = await unskip(series, SECOND_SUNDAY)
    says = await take(reply, now=NOW)

    assert "Its event is made like those of the other days." in shown(reply)
    assert says == "**London Sunday** returns on 8 March 2026 after all."
    after = await event_on(series, SECOND_SUNDAY)
    assert after is not None
    differing = {name for name, value in columns(before).items() if value != getattr(after, name)}
    assert differing == {"id"}
    assert await RepeaterException.all().count() == 0
    assert await stored_due() == await derived_due()


@pytest.mark.parametrize("is_moved", [False, True])
async def test_an_announced_event_returns_as_the_very_row_it_was(database: str, is_moved: bool) -> None:
    series = await with_events()
    event = await event_on(series, SECOND_SUNDAY)
    assert event is not None
    await Event.filter(id=event.id).update(announcement_channel_id=1, announcement_message_id=2)
    if is_moved:
        await Event.filter(id=event.id).update(scheduled_at=NOW + 9 * DAY, overridden_fields=["scheduled_at"])
        await RepeaterException.create(series_id=series.id, local_date=dt.date(2026, 3, 8), kind=ExceptionKind.MOVED)
    await take(await skip(series, SECOND_SUNDAY), now=NOW)

    reply = await unskip(series, SECOND_SUNDAY)
    await take(reply, now=NOW)

    assert "stands again, with what was sent for it" in shown(reply)
    after = await Event.get(id=event.id)
    assert (after.state, after.is_withdrawn, after.announcement_message_id) == (EventState.UPCOMING, False, 2)
    kinds = [one.kind for one in await RepeaterException.all()]
    assert kinds == ([ExceptionKind.MOVED] if is_moved else [])
    await generate()
    assert await Event.filter(series_id=series.id).count() == 3


async def test_what_is_not_skipped_or_has_passed_does_not_return(database: str) -> None:
    series = await with_events()
    await take(await skip(series, SECOND_SUNDAY), now=NOW)

    with pytest.raises(NoOccurrenceError, match="does not skip 3 May 2026"):
        await unskip(series, FAR)
    with pytest.raises(NoOccurrenceError, match="that has passed"):
        await unskip(series, SECOND_SUNDAY, now=NOW + 10 * DAY)


async def test_a_single_occurrence_that_was_cancelled_stays_so_over_every_generation(database: str) -> None:
    series = await with_events()
    event = await event_on(series, SECOND_SUNDAY)
    assert event is not None
    transitions = Transitions(Agenda(), debounce=DEBOUNCE)
    await take(await transitions.propose_cancel(str(event.id), guild_id=GUILD, actor=ADMIN, now=NOW), now=NOW)

    await generate()
    await generate_events_for_repeater(series, now=NOW + DAY)

    assert [one.state for one in await Event.filter(slot__startswith=SECOND_SUNDAY)] == [EventState.CANCELLED]


async def test_of_two_who_skip_at_once_one_does_and_a_change_since_is_refused(database: str) -> None:
    series = await with_events()
    replies = [await skip(series, SECOND_SUNDAY) for _ in range(3)]

    ends = await asyncio.gather(*(take(reply, now=NOW) for reply in replies), return_exceptions=True)

    assert sorted(type(end).__name__ for end in ends) == ["StaleError", "StaleError", "str"]
    assert await RepeaterException.all().count() == 1
    opened = await skip(series, FIRST)
    await Event.filter(slot__startswith=FIRST).update(state=EventState.SIGNUPS_OPEN)
    with pytest.raises(StaleError):
        await take(opened, now=NOW)


async def test_skipping_while_generation_runs_leaves_no_event_of_that_date(database: str) -> None:
    for week in range(6):
        series = await make_series(now=NOW, name=f"Series {week}")
        reply = await skip(series, SECOND_SUNDAY)

        await asyncio.gather(
            take(reply, now=NOW), generate_events_for_repeater(series, now=NOW), return_exceptions=True
        )

        is_skipped = await RepeaterException.filter(series_id=series.id).exists()
        assert (await event_on(series, SECOND_SUNDAY) is None) is is_skipped


async def test_another_servers_series_is_answered_as_one_that_is_not_there(database: str) -> None:
    theirs = await make_series(now=NOW, guild_id=OTHER_GUILD)

    for desk in (skip, unskip):
        with pytest.raises(BotError, match="There is no series"):
            await desk(theirs, FIRST)


async def test_a_series_whose_zone_is_lost_says_so(database: str) -> None:
    series = await make_series(now=NOW, timezone="Mars/Gone")

    with pytest.raises(BotError, match="the zone database does not have 'Mars/Gone' any more"):
        await skip(series, FIRST)
    assert await search_dates(str(series.id), "", guild_id=GUILD, now=NOW, skipped=False) == []


async def test_completion_offers_the_dates_ahead_or_those_that_are_skipped(database: str) -> None:
    series = await with_events()
    await take(await skip(series, SECOND_SUNDAY), now=NOW)

    async def offered(typed: str, *, series_id: int = series.id, skipped: bool = False) -> list[str]:
        found = await search_dates(str(series_id), typed, guild_id=GUILD, now=NOW, skipped=skipped)
        return [one.value for one in found]

    assert (await offered(""))[:3] == [FIRST, "2026-03-15", "2026-03-22"]
    assert len(await offered("")) == 25
    assert (await offered("april"))[0] == "2026-04-05"
    assert await offered("", skipped=True) == [SECOND_SUNDAY]
    assert await offered("2026-04-07", series_id=10**9) == ["2026-04-07"]
    assert await offered("nonsense", series_id=10**9) == []
    theirs = await make_series(now=NOW, guild_id=OTHER_GUILD)
    assert await offered("", series_id=theirs.id) == []


async def test_a_one_off_of_that_day_is_left_alone(database: str) -> None:
    series = await with_events()
    alone = await make_event(now=NOW, starts_in=7 * DAY + 7 * HOUR)

    await take(await skip(series, SECOND_SUNDAY), now=NOW)

    assert (await Event.get(id=alone.id)).state is EventState.UPCOMING
