"""One event gets another time: its slot stays its own, what was sent stays sent, and of two who move it one does."""

import asyncio
import datetime as dt

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.changes.event_time import EventTimes
from bot.changes.stale import StaleError
from bot.clock import ManualClock
from bot.errors import BotError
from bot.events.generate import Generator, generate_events_for_repeater
from bot.message.outgoing import OutgoingMessage
from bot.message.proposal import NOTHING_CHANGED, Proposal, Reply
from bot.scheduling.agenda import Agenda
from bot.scheduling.bodies import CHECK_EVENT_REMINDERS, SYNC_DISCORD_EVENTS, TELL_TIME_CHANGES
from models.audit_log import AuditLog
from models.event import Event
from models.event_repeater import EventRepeater
from models.repeater_exception import RepeaterException
from models.states import EventState, ExceptionKind, SignupStatus
from tests.admin_hands import ADMIN, columns, shown, take
from tests.builders import (
    DAY,
    GUILD,
    HOUR,
    MINUTE,
    OTHER_GUILD,
    SECOND,
    FakeDiscord,
    audit_actions,
    derived_due,
    log_rows,
    make_event,
    make_guild,
    make_series,
    process,
    stored_due,
    utc,
)
from tests.conftest import START
from tests.people import sign_up

NOW = START
DEBOUNCE = 3 * SECOND


def times(agenda: Agenda | None = None) -> EventTimes:
    return EventTimes(agenda or Agenda(), debounce=DEBOUNCE, default_timezone="UTC", instance="one")


async def propose(
    event: Event, when: str, *, tell: bool | None = None, now: dt.datetime = NOW, agenda: Agenda | None = None
) -> Reply:
    return await times(agenda).propose(str(event.id), when, tell=tell, guild_id=GUILD, actor=ADMIN, now=now)


async def move(event: Event, to: dt.datetime, *, now: dt.datetime = NOW, agenda: Agenda | None = None) -> Event:
    """Move an event as an admin does, and return it as it stands then."""
    await take(await propose(event, f"<t:{int(to.timestamp())}:F>", now=now, agenda=agenda), now=now)
    return await Event.get(id=event.id)


async def occurrence(**fields: object) -> tuple[EventRepeater, Event]:
    """Store a series with its events; return the first of them too."""
    series = await make_series(now=NOW, **fields)
    await generate_events_for_repeater(series, now=NOW)
    return series, await Event.filter(series_id=series.id).order_by("scheduled_at").first()  # type: ignore[return-value]


async def test_a_one_off_moves_with_its_sign_ups_and_its_reminders(database: str) -> None:
    event = await make_event(now=NOW, starts_in=10 * DAY, signups_open_at=NOW + 3 * DAY)

    moved = await move(event, event.scheduled_at + 2 * HOUR)

    assert moved.scheduled_at == event.scheduled_at + 2 * HOUR
    assert moved.signups_open_at == NOW + 3 * DAY + 2 * HOUR
    assert (moved.overridden_fields, moved.time_changes, moved.post_version) == ([], 0, 1)
    assert await stored_due() == await derived_due()
    row = await AuditLog.get()
    assert (row.action, row.actor_user_id, row.instance) == ("event.edit", ADMIN, "one")
    assert row.before == {"scheduled_at": event.scheduled_at.isoformat()}
    assert row.after == {"scheduled_at": moved.scheduled_at.isoformat()}


async def test_the_time_is_shown_before_anything_is_stored_and_back_changes_nothing(database: str) -> None:
    event = await make_event(now=NOW, starts_in=DAY)

    reply = await propose(event, "2026-03-05 18:30")

    text = shown(reply)
    assert (
        f"from <t:{int(event.scheduled_at.timestamp())}:F> to <t:{int(utc('2026-03-05 18:30').timestamp())}:F>" in text
    )
    assert "Nobody has signed up, so nobody is told." in text
    assert await take(reply, now=NOW, label="Back") == NOTHING_CHANGED
    assert (await Event.get(id=event.id)).scheduled_at == event.scheduled_at
    assert await audit_actions() == []


async def test_an_ambiguous_time_is_asked_about_and_read_by_the_servers_clock(database: str) -> None:
    await make_guild(timezone="Europe/Berlin")
    event = await make_event(now=NOW, starts_in=DAY)

    asked = await propose(event, "03/04 18:00")
    assert isinstance(asked, Proposal)
    assert [way.label for way in asked.ways][-1] == "Discard"
    preview = await asked.ways[0].then(NOW)
    await take(preview, now=NOW)

    assert (await Event.get(id=event.id)).scheduled_at == utc("2026-03-04 17:00")


async def test_an_occurrence_keeps_its_slot_and_its_day_is_never_made_again(database: str) -> None:
    series, event = await occurrence()
    made = await Event.filter(series_id=series.id).count()

    moved = await move(event, event.scheduled_at + DAY)
    await generate_events_for_repeater(series, now=NOW)
    await Generator(Agenda(), instance="one", debounce=DEBOUNCE, every=HOUR).generate_upcoming_events(NOW)

    assert (moved.slot, moved.overridden_fields) == (event.slot, ["scheduled_at"])
    note = await RepeaterException.get()
    assert (note.series_id, note.local_date, note.kind) == (series.id, dt.date(2026, 3, 1), ExceptionKind.MOVED)
    assert await Event.filter(series_id=series.id).count() == made
    await moved.refresh_from_db()
    assert moved.scheduled_at == event.scheduled_at + DAY, "generation has set it back"
    # Also where the row is gone: the day itself is noted.
    await moved.delete()
    await generate_events_for_repeater(series, now=NOW)
    assert await Event.filter(series_id=series.id).count() == made - 1


async def test_moved_back_to_its_own_time_it_is_an_occurrence_like_any_other(database: str) -> None:
    _, event = await occurrence()

    moved = await move(event, event.scheduled_at + DAY)
    reply = await propose(moved, f"<t:{int(event.scheduled_at.timestamp())}:F>")
    assert "it follows the series again" in shown(reply)
    await take(reply, now=NOW)

    back = await Event.get(id=event.id)
    assert (back.scheduled_at, back.signups_open_at) == (event.scheduled_at, event.signups_open_at)
    assert (back.slot, back.overridden_fields) == (event.slot, [])
    assert await RepeaterException.all().count() == 0
    assert await stored_due() == await derived_due()


@pytest.mark.parametrize("state", ["pending", "sending", "sent"])
async def test_moved_two_hours_on_a_reminder_goes_out_once_by_the_time_that_stands(
    database: str, clock: ManualClock, state: str
) -> None:
    await make_guild()
    discord = FakeDiscord(clock)
    starts = clock.now() + 26 * HOUR
    event = await make_event(now=clock.now(), starts_in=26 * HOUR)
    bot = await process(discord, clock)
    await bot.tick()

    async def _move(_message: OutgoingMessage) -> None:
        discord.before_send = None
        await move(event, starts + 2 * HOUR, now=clock.now(), agenda=bot.services.agenda)

    if state == "pending":
        await move(event, starts + 2 * HOUR, now=clock.now(), agenda=bot.services.agenda)
    elif state == "sending":
        discord.before_send = _move
    await bot.run_until(starts - 24 * HOUR)
    if state == "sent":
        await move(event, starts + 2 * HOUR, now=clock.now(), agenda=bot.services.agenda)
    assert len(discord.in_channel()) == (0 if state == "pending" else 1)

    await bot.run_until(starts + 3 * HOUR)
    (post,) = discord.in_channel()
    assert f"<t:{int((starts + 2 * HOUR).timestamp())}:F>" in str(post.shown.embed)
    assert [row.success for row in await log_rows()] == [True]
    due = starts - 22 * HOUR if state == "pending" else starts - 24 * HOUR
    assert post.sent_at == due


async def test_what_is_on_its_way_is_shown_and_what_was_sent_is_said_to_stay_sent(
    database: str, clock: ManualClock
) -> None:
    await make_guild()
    discord = FakeDiscord(clock)
    event = await make_event(now=NOW, starts_in=6 * HOUR)
    seen: list[str] = []

    async def _look(_message: OutgoingMessage) -> None:
        seen.append(shown(await propose(event, "2026-03-05 18:30", now=clock.now())))

    discord.before_send = _look
    await (await process(discord, clock)).tick()

    assert "On its way at this moment: announcement." in seen[0]
    assert "Sent already, and not sent again: announcement." in shown(await propose(event, "2026-03-05 18:30"))


async def test_of_two_admins_who_move_at_once_one_is_refused(database: str) -> None:
    _, event = await occurrence()
    replies = [await propose(event, f"2026-03-{day} 18:00") for day in ("05", "06", "07")]

    ends = await asyncio.gather(*(take(reply, now=NOW) for reply in replies), return_exceptions=True)

    assert sum(isinstance(end, StaleError) for end in ends) == 2
    assert sum(isinstance(end, str) for end in ends) == 1
    assert await audit_actions() == ["event.edit"]
    assert "was changed since you were shown this" in str(next(end for end in ends if isinstance(end, StaleError)))


@pytest.mark.parametrize(
    ("state", "starts_in", "why"),
    [
        (EventState.IN_PROGRESS, HOUR, "it is running"),
        (EventState.COMPLETED, -HOUR, "it is over"),
        (EventState.CANCELLED, HOUR, "it was cancelled"),
        (EventState.SIGNUPS_OPEN, 0 * HOUR, "has passed"),
    ],
)
async def test_what_began_or_was_cancelled_is_not_moved(
    database: str, state: EventState, starts_in: dt.timedelta, why: str
) -> None:
    event = await make_event(now=NOW, starts_in=starts_in, state=state)

    with pytest.raises(BotError, match=rf"\*\*Raid night\*\* cannot be moved: .*{why}"):
        await propose(event, "2026-03-05 18:30")


async def test_what_begins_or_is_cancelled_before_the_press_is_not_moved(database: str) -> None:
    begun = await make_event(now=NOW, starts_in=MINUTE)
    cancelled = await make_event(now=NOW, starts_in=DAY)
    replies = [await propose(event, "2026-03-05 18:30") for event in (begun, cancelled)]
    await Event.filter(id=cancelled.id).update(state=EventState.CANCELLED)

    for reply, now in ((replies[0], NOW + MINUTE), (replies[1], NOW)):
        with pytest.raises(BotError, match="cannot be moved"):
            await take(reply, now=now)

    assert await audit_actions() == []


async def test_a_new_time_that_passes_before_the_press_is_refused(database: str) -> None:
    event = await make_event(now=NOW, starts_in=DAY)
    reply = await propose(event, f"<t:{int((NOW + MINUTE).timestamp())}:F>")

    with pytest.raises(BotError, match="has passed meanwhile"):
        await take(reply, now=NOW + MINUTE)


async def test_the_same_time_and_another_servers_event_are_refused(database: str) -> None:
    event = await make_event(now=NOW, starts_in=DAY)
    theirs = await make_event(now=NOW, guild_id=OTHER_GUILD)

    with pytest.raises(BotError, match="already"):
        await propose(event, f"<t:{int(event.scheduled_at.timestamp())}:F>")
    with pytest.raises(BotError, match="There is no event"):
        await propose(theirs, "2026-03-05 18:30")


async def test_a_deleted_event_is_refused_at_the_press(database: str) -> None:
    event = await make_event(now=NOW, starts_in=DAY)
    reply = await propose(event, "2026-03-05 18:30")
    await event.delete()

    with pytest.raises(StaleError):
        await take(reply, now=NOW)


@pytest.mark.parametrize(
    ("status", "tell", "tells"),
    [
        (SignupStatus.SIGNED_UP, None, True),
        (SignupStatus.WAITLISTED, None, True),
        (SignupStatus.TENTATIVE, True, True),
        (SignupStatus.CONFIRMED, False, False),
        (SignupStatus.DECLINED, None, False),
        (SignupStatus.REMOVED, True, False),
    ],
)
async def test_people_hear_of_it_unless_the_admin_says_no_or_nobody_may_come(
    database: str, status: SignupStatus, tell: bool | None, tells: bool
) -> None:
    agenda = Agenda()
    event = await make_event(now=NOW, starts_in=DAY, state=EventState.SIGNUPS_OPEN)
    await sign_up(event, [101], status)

    reply = await times(agenda).propose(
        str(event.id), "2026-03-05 18:30", tell=tell, guild_id=GUILD, actor=ADMIN, now=NOW
    )
    says = await take(reply, now=NOW)

    assert ("goes once to the 1 person who signed up" in shown(reply)) is tells
    assert ("told by direct message" in says) is tells
    assert (await Event.get(id=event.id)).time_changes == tells
    assert agenda.next(CHECK_EVENT_REMINDERS) == agenda.next(TELL_TIME_CHANGES) == NOW
    assert agenda.next(SYNC_DISCORD_EVENTS) == NOW + DEBOUNCE


async def test_that_somebody_signs_up_meanwhile_makes_nothing_stale(database: str) -> None:
    event = await make_event(now=NOW, starts_in=DAY, state=EventState.SIGNUPS_OPEN)
    await sign_up(event, [101])
    reply = await propose(event, "2026-03-05 18:30")
    await sign_up(event, [102])

    assert "was moved" in await take(reply, now=NOW)


async def test_a_move_that_cannot_be_recorded_is_not_made(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _, event = await occurrence()
    reply = await propose(event, "2026-03-05 18:30")

    async def _fails(*_args: object, **_kwargs: object) -> None:
        raise RuntimeError

    monkeypatch.setattr("bot.audit.record", _fails)
    with pytest.raises(RuntimeError):
        await take(reply, now=NOW)

    assert (await Event.get(id=event.id)).scheduled_at == event.scheduled_at
    assert await RepeaterException.all().count() == 0


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(hours=st.lists(st.integers(1, 24 * 30), min_size=1, max_size=3, unique=True))
async def test_moved_anywhere_and_back_nothing_differs(database: str, hours: list[int]) -> None:
    _, event = await occurrence(name=f"Series {await EventRepeater.all().count()}")
    before, due = columns(event), await stored_due()

    for one in hours:
        to = NOW + one * HOUR + MINUTE
        await move(await Event.get(id=event.id), to)
        assert await stored_due() == await derived_due()
    await move(await Event.get(id=event.id), event.scheduled_at)

    after = columns(await Event.get(id=event.id))
    assert {name for name in before if before[name] != after[name]} == {"post_version"}
    assert await stored_due() == due
    assert await RepeaterException.all().count() == 0
