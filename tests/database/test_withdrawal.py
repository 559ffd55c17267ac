"""An event that its series leaves is deleted where nobody was told of it, else withdrawn, and revived as that row."""

import pytest

from bot.changes.withdrawal import Removal, revive, withdraw, withdraw_all
from bot.clock import InjectedLeaseClock, ManualClock
from bot.leases.failures import ErrorClass, SendError
from bot.leases.keys import MessageKey
from bot.leases.ledger import Claim, claim_lease, finalize_failed, finalize_sent
from bot.leases.ports import Delivered
from models.audit_log import AuditLog
from models.discord_message_log import DiscordMessageLog
from models.event import Event
from models.event_signup import EventSignup
from models.states import EventState, SignupStatus
from tests.builders import (
    CHANNEL,
    DAY,
    GUILD,
    HOUR,
    SECOND,
    audit_actions,
    derived_due,
    make_event,
    make_series,
    stored_due,
    utc,
)

NOW = utc("2026-03-01 12:00")
ADMIN = 42
DEBOUNCE = 3 * SECOND
SLOT = "2026-03-08T19:00[Europe/London]"


async def upcoming(**fields: object) -> Event:
    series = await make_series(now=NOW)
    return await make_event(now=NOW, starts_in=7 * DAY, **({"series_id": series.id, "slot": SLOT} | fields))


async def claimed(event: Event, *, source: str = "event_announcement", recipient_id: int = 0) -> None:
    """Leave the outcome of a message open."""
    claim = Claim(MessageKey(source, event.id, recipient_id), GUILD, CHANNEL, None, 0)
    assert await claim_lease(claim, instance="one", lease_clock=InjectedLeaseClock(ManualClock(NOW))) is not None


async def failed(event: Event, *, source: str = "event_announcement") -> None:
    clock = InjectedLeaseClock(ManualClock(NOW))
    lease = await claim_lease(
        Claim(MessageKey(source, event.id), GUILD, CHANNEL, None, 0), instance="one", lease_clock=clock
    )
    assert lease is not None
    error = SendError(ErrorClass.FORBIDDEN, "no")
    assert await finalize_failed(lease, error, next_attempt_at=NOW + HOUR, lease_clock=clock)


async def sent(event: Event, *, source: str = "event_announcement", recipient_id: int = 0) -> None:
    clock = InjectedLeaseClock(ManualClock(NOW))
    claim = Claim(MessageKey(source, event.id, recipient_id), GUILD, CHANNEL, None, 0)
    lease = await claim_lease(claim, instance="one", lease_clock=clock)
    assert lease is not None
    assert await finalize_sent(lease, Delivered(77, CHANNEL), lease_clock=clock)


async def test_what_nobody_was_told_of_is_deleted_with_what_failed_for_it(database: str) -> None:
    event, other = await upcoming(), await make_event(now=NOW)
    await failed(event)
    await failed(other)

    done = await withdraw(event, now=NOW, debounce=DEBOUNCE, actor_user_id=ADMIN)

    assert done is Removal.DELETED
    assert not await Event.filter(id=event.id).exists()
    assert {row.source_id for row in await DiscordMessageLog.all()} == {other.id}
    assert {event_id for event_id, _ in await stored_due()} == {other.id}


@pytest.mark.parametrize("source", ["event_announcement", "signup_reminder", "event_repost", "attendance_post"])
@pytest.mark.parametrize("recipient_id", [0, 9], ids=["to all", "to one"])
@pytest.mark.parametrize("is_open", [False, True], ids=["sent", "open"])
async def test_what_was_told_or_may_be_stays_as_a_withdrawn_row(
    database: str, source: str, recipient_id: int, *, is_open: bool
) -> None:
    event = await upcoming()
    await (claimed if is_open else sent)(event, source=source, recipient_id=recipient_id)
    there = utc("2026-03-10 19:00")

    done = await withdraw(event, now=NOW, debounce=DEBOUNCE, moved_to=there, actor_user_id=ADMIN, instance="one")

    assert done is Removal.CANCELLED
    row = await Event.get(id=event.id)
    assert (row.state, row.is_withdrawn, row.moved_to, row.post_version) == (EventState.CANCELLED, True, there, 1)
    assert await stored_due() == {}
    assert await audit_actions() == ["event.realign"]
    audit = await AuditLog.get()
    assert (audit.guild_id, audit.actor_user_id, audit.subject_id) == (GUILD, ADMIN, event.id)
    assert (audit.before, audit.after) == ({"state": "upcoming"}, {"state": "cancelled"})


async def test_an_event_with_a_native_event_is_withdrawn_and_its_native_event_falls_due(database: str) -> None:
    event = await upcoming(discord_scheduled_event_id=5)

    assert await withdraw(event, now=NOW, debounce=DEBOUNCE) is Removal.CANCELLED

    assert (await Event.get(id=event.id)).native_due_at == NOW + DEBOUNCE


async def test_an_event_that_somebody_answered_is_not_deleted(database: str) -> None:
    event = await upcoming()
    await EventSignup.create(event_id=event.id, user_id=9, status=SignupStatus.DECLINED, created_at=NOW, changed_at=NOW)

    assert await withdraw(event, now=NOW, debounce=DEBOUNCE) is Removal.CANCELLED

    assert await EventSignup.all().count() == 1


@pytest.mark.parametrize("state", [state for state in EventState if state is not EventState.UPCOMING])
async def test_what_is_not_upcoming_any_more_stays_as_it_is(database: str, state: EventState) -> None:
    event = await upcoming()
    await Event.filter(id=event.id).update(state=state)

    assert await withdraw(event, now=NOW, debounce=DEBOUNCE) is Removal.LOST

    row = await Event.get(id=event.id)
    assert (row.state, row.is_withdrawn) == (state, False)
    assert await audit_actions() == []


async def test_each_of_many_is_removed_in_its_own_way(database: str) -> None:
    series = await make_series(now=NOW)
    events = [
        await make_event(now=NOW, starts_in=day * DAY, series_id=series.id, slot=f"slot {day}") for day in range(1, 5)
    ]
    await sent(events[1])
    await Event.filter(id=events[2].id).update(state=EventState.SIGNUPS_OPEN)
    there = NOW + 2 * DAY

    done = await withdraw_all(events, now=NOW, debounce=DEBOUNCE, moved_to={events[1].id: there, events[3].id: there})

    assert [done[event.id] for event in events] == [
        Removal.DELETED,
        Removal.CANCELLED,
        Removal.LOST,
        Removal.DELETED,
    ]
    assert {row.id: row.moved_to for row in await Event.all()} == {events[1].id: there, events[2].id: None}


async def test_a_withdrawn_event_is_revived_as_that_row_and_sends_nothing_again(database: str) -> None:
    event = await upcoming(announcement_message_id=77, announcement_channel_id=CHANNEL)
    await sent(event)
    await withdraw(event, now=NOW, debounce=DEBOUNCE, moved_to=NOW + DAY)
    withdrawn = await Event.get(id=event.id)

    assert await revive(withdrawn, now=NOW + HOUR, debounce=DEBOUNCE, actor_user_id=ADMIN)

    row = await Event.get(id=event.id)
    assert (row.state, row.is_withdrawn, row.moved_to) == (EventState.UPCOMING, False, None)
    assert (row.post_version, row.post_due_at) == (2, NOW + DEBOUNCE)
    assert await stored_due() == await derived_due() == {}
    assert await audit_actions() == ["event.realign", "event.realign"]


async def test_a_revived_event_sends_what_was_not_sent(database: str) -> None:
    event = await upcoming(discord_scheduled_event_id=5)
    await withdraw(event, now=NOW, debounce=DEBOUNCE)

    assert await revive(await Event.get(id=event.id), now=NOW + HOUR, debounce=DEBOUNCE)

    assert await stored_due() == await derived_due() == {(event.id, "announcement"): event.scheduled_at - DAY}


async def test_nothing_is_revived_that_an_admin_cancelled_or_whose_time_has_passed(database: str) -> None:
    cancelled = await upcoming(state=EventState.CANCELLED)
    past = await make_event(now=NOW, state=EventState.CANCELLED, is_withdrawn=True)

    assert not await revive(cancelled, now=NOW, debounce=DEBOUNCE)
    assert not await revive(past, now=past.scheduled_at, debounce=DEBOUNCE)
    assert await revive(past, now=past.scheduled_at - SECOND, debounce=DEBOUNCE)
    assert not await revive(past, now=past.scheduled_at - SECOND, debounce=DEBOUNCE)
