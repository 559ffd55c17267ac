"""A series is deleted with what nobody knows of; the rest is cancelled or stays, as it was shown or not at all."""

import asyncio

import pytest

from bot.changes.event_time import EventTimes
from bot.changes.series_removal import SeriesRemoval
from bot.changes.stale import StaleError
from bot.errors import BotError
from bot.events.generate import Generator, generate_events_for_repeater
from bot.message.proposal import NOTHING_CHANGED, Reply
from bot.scheduling.agenda import Agenda
from bot.scheduling.bodies import SYNC_DISCORD_EVENTS
from models.audit_log import AuditLog
from models.event import Event
from models.event_repeater import EventRepeater
from models.event_signup import EventSignup
from models.repeater_exception import RepeaterException
from models.repeater_subscription import RepeaterSubscription
from models.states import EventState, ExceptionKind
from tests.admin_hands import ADMIN, shown, take
from tests.builders import (
    GUILD,
    HOUR,
    OTHER_GUILD,
    SECOND,
    audit_actions,
    derived_due,
    make_event,
    make_series,
    stored_due,
)
from tests.conftest import START
from tests.people import sign_up, subscribe

NOW = START
DEBOUNCE = 3 * SECOND


async def propose(series: EventRepeater, *, agenda: Agenda | None = None) -> Reply:
    desk = SeriesRemoval(agenda or Agenda(), debounce=DEBOUNCE, instance="one")
    return await desk.propose(str(series.id), guild_id=GUILD, actor=ADMIN, now=NOW)


async def with_events(**fields: object) -> tuple[EventRepeater, list[Event]]:
    series = await make_series(now=NOW, **fields)
    await generate_events_for_repeater(series, now=NOW)
    return series, await Event.filter(series_id=series.id).order_by("scheduled_at")


async def test_what_nobody_knows_of_goes_what_was_announced_is_cancelled_and_the_rest_stays(database: str) -> None:
    agenda = Agenda()
    series, (opened, announced, quiet) = await with_events(discord_signup_reminder=True, signup_opens_hours=500)
    await Event.filter(id=opened.id).update(state=EventState.SIGNUPS_OPEN, announcement_message_id=1)
    await Event.filter(id=announced.id).update(announcement_channel_id=1, announcement_message_id=2)
    over = await make_event(now=NOW, series_id=series.id, state=EventState.COMPLETED, starts_in=-HOUR)
    await sign_up(opened, [101])
    await subscribe(series.id, [101, 102])
    await RepeaterException.create(series_id=series.id, local_date=series.starts_at, kind=ExceptionKind.SKIP)

    reply = await propose(series, agenda=agenda)
    at = {event.id: f"<t:{int(event.scheduled_at.timestamp())}:F>" for event in (opened, announced, quiet)}
    assert shown(reply).splitlines() == [
        "Delete the series **London Sunday**?",
        f"Events that go, as nobody knows of them: {at[quiet.id]}.",
        f"Events that are cancelled, and their posts say so: {at[announced.id]}.",
        f"Events that stay, with their sign-ups, and belong to no series: {at[opened.id]}.",
        "Nobody is reminded to sign up any more; 2 asked for that.",
        "This cannot be undone; /series pause only stops it.",
    ]
    assert await take(reply, now=NOW, label="Back") == NOTHING_CHANGED
    assert await EventRepeater.all().count() == 1
    says = await take(await propose(series, agenda=agenda), now=NOW)

    assert says == "The series **London Sunday** was deleted: 1 event went with it, 1 was cancelled and 1 stays."
    assert await EventRepeater.all().count() == await RepeaterSubscription.all().count() == 0
    assert await RepeaterException.all().count() == 0
    left = {event.id: event for event in await Event.all()}
    assert set(left) == {opened.id, announced.id, over.id}
    assert all(event.series_id is None for event in left.values())
    assert left[opened.id].state is EventState.SIGNUPS_OPEN
    assert (left[announced.id].state, left[announced.id].post_due_at) == (EventState.CANCELLED, NOW + DEBOUNCE)
    assert left[opened.id].post_due_at == NOW + DEBOUNCE
    assert await EventSignup.all().count() == 1
    assert await stored_due() == await derived_due()
    row = await AuditLog.get(action="series.delete")
    assert (row.actor_user_id, row.subject_id, row.instance) == (ADMIN, series.id, "one")
    assert row.after == {"deleted": [quiet.id], "cancelled": [announced.id]}
    assert await audit_actions() == ["event.cancel", "series.delete"]
    assert agenda.next(SYNC_DISCORD_EVENTS) == NOW + DEBOUNCE


async def test_an_extra_and_a_moved_event_that_nobody_knows_of_go_too(database: str) -> None:
    series, events = await with_events()
    await make_event(now=NOW, series_id=series.id, is_off_schedule=True)
    times = EventTimes(Agenda(), debounce=DEBOUNCE, default_timezone="UTC")
    moved = await times.propose(str(events[1].id), "2026-03-10 18:00", tell=None, guild_id=GUILD, actor=ADMIN, now=NOW)
    await take(moved, now=NOW)

    await take(await propose(series), now=NOW)

    assert await Event.all().count() == 0


@pytest.mark.parametrize("what", ["announced", "opened", "another event", "renamed", "gone"])
async def test_what_is_no_longer_as_it_was_shown_is_refused(database: str, what: str) -> None:
    series, events = await with_events()
    reply = await propose(series)
    first = Event.filter(id=events[0].id)
    match what:
        case "announced":
            await first.update(announcement_message_id=2)
        case "opened":
            await first.update(state=EventState.SIGNUPS_OPEN)
        case "another event":
            await make_event(now=NOW, series_id=series.id, is_off_schedule=True)
        case "renamed":
            await EventRepeater.filter(id=series.id).update(name="Another")
        case _:
            await series.delete()

    with pytest.raises(StaleError):
        await take(reply, now=NOW)

    assert await Event.all().count() >= 3
    assert await audit_actions() == []


async def test_of_two_who_delete_at_once_one_does(database: str) -> None:
    series, _ = await with_events()
    replies = [await propose(series) for _ in range(3)]

    ends = await asyncio.gather(*(take(reply, now=NOW) for reply in replies), return_exceptions=True)

    assert sorted(type(end).__name__ for end in ends) == ["StaleError", "StaleError", "str"]
    assert await audit_actions() == ["series.delete"]


@pytest.mark.parametrize("first", ["delete", "generate"])
async def test_deleted_while_generation_runs_it_leaves_no_event_behind(database: str, first: str) -> None:
    generator = Generator(Agenda(), instance="one", debounce=DEBOUNCE, every=HOUR)
    for number in range(5):
        series = await make_series(now=NOW, name=f"Series {number}")
        works = [take(await propose(series), now=NOW), generator.generate_upcoming_events(NOW)]

        ends = await asyncio.gather(*(works if first == "delete" else works[::-1]), return_exceptions=True)

        assert not [end for end in ends if isinstance(end, Exception) and not isinstance(end, StaleError)]
        if any(isinstance(end, StaleError) for end in ends):
            # Generation was faster: what it made was not shown, so that the admin is to look again.
            await take(await propose(series), now=NOW)
        assert await Event.all().count() == 0
        assert await EventRepeater.all().count() == 0


async def test_deleted_while_its_event_is_moved_one_of_them_is_refused(database: str) -> None:
    for number in range(4):
        series, events = await with_events(name=f"Series {number}")
        times = EventTimes(Agenda(), debounce=DEBOUNCE, default_timezone="UTC")
        move = await times.propose(
            str(events[1].id), "2026-03-10 18:00", tell=None, guild_id=GUILD, actor=ADMIN, now=NOW
        )

        ends = await asyncio.gather(take(await propose(series), now=NOW), take(move, now=NOW), return_exceptions=True)

        assert sorted(type(end).__name__ for end in ends) == ["StaleError", "str"]


async def test_a_deletion_that_cannot_be_recorded_is_not_made(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    series, events = await with_events()
    reply = await propose(series)

    async def _fails(*_args: object, **_kwargs: object) -> None:
        raise RuntimeError

    monkeypatch.setattr("bot.audit.record", _fails)
    with pytest.raises(RuntimeError):
        await take(reply, now=NOW)

    assert await EventRepeater.all().count() == 1
    assert await Event.all().count() == len(events)


async def test_another_servers_series_and_a_deleted_one_are_not_there(database: str) -> None:
    theirs = await make_series(now=NOW, guild_id=OTHER_GUILD)
    gone = await make_series(now=NOW, name="gone")
    await gone.delete()

    for series in (theirs, gone):
        with pytest.raises(BotError, match="There is no series"):
            await propose(series)


async def test_a_series_of_many_events_names_a_few_and_counts_the_rest(database: str) -> None:
    series, _ = await with_events(generate_days_ahead=100)

    assert "+10 more." in shown(await propose(series))
