"""Who changes a series and who changes its events at the same time wait for each other, and never in a circle."""

import asyncio
import datetime as dt
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest
import structlog.testing

from bot import audit
from bot.changes import series_edit, stale
from bot.changes.event_edit import EventChanges, EventEdits
from bot.changes.event_time import EventTimes
from bot.changes.extras import ExtraEvents
from bot.changes.series_edit import SeriesEditing, Wish
from bot.changes.series_removal import SeriesRemoval
from bot.changes.series_skips import SeriesSkips
from bot.changes.series_split import SeriesSplitting
from bot.changes.series_state import pause_series, resume_series
from bot.clock import InjectedLeaseClock, ManualClock
from bot.errors import BotError
from bot.events.generate import Generator, generate_events_for_repeater
from bot.events.lifecycle import Lifecycle
from bot.events.posts import bring_forward
from bot.events.signups.rules import Press
from bot.events.signups.sign_up import Signups
from bot.events.subscriptions import subscribe
from bot.events.transitions import Transition, Transitions
from bot.leases.failed_rows import delete_old_failures
from bot.leases.failures import ErrorClass
from bot.message.proposal import Proposal, Reply
from bot.operations.guild_settings import SettingsChange, change_settings
from bot.reminders.retry import Retries
from bot.scheduling import due_rows
from bot.scheduling.agenda import Agenda
from bot.scheduling.registry import registered
from bot.transactions import Dialect, atomic, dialect
from models.discord_message_log import DiscordMessageLog
from models.event import Event
from models.event_repeater import EventRepeater
from tests.admin_hands import ADMIN
from tests.builders import (
    CHANNEL,
    GUILD,
    HOUR,
    OTHER_CHANNEL,
    SECOND,
    derived_due,
    make_guild,
    make_series,
    stored_due,
    utc,
)

NOW = utc("2026-03-01 12:00")
DEBOUNCE = 3 * SECOND
ROUNDS = {Dialect.POSTGRES: 20, Dialect.SQLITE: 2}

Deed = Callable[[], Awaitable[object]]


async def sundays(number: int) -> tuple[EventRepeater, list[Event]]:
    """Store a series with nine events; sign-ups of the first one open now, and its announcement failed."""
    series = await make_series(
        now=NOW,
        name=f"Series {number}",
        generate_days_ahead=60,
        discord_announcement_hours=9,
        discord_create_event=True,
    )
    await generate_events_for_repeater(series, now=NOW)
    events = await Event.filter(series_id=series.id).order_by("id")
    await DiscordMessageLog.bulk_create(
        DiscordMessageLog(
            guild_id=GUILD,
            source="event_announcement",
            source_id=event.id,
            channel_id=CHANNEL,
            success=False,
            error_class=ErrorClass.FORBIDDEN.value,
            next_attempt_at=NOW + HOUR,
            claimed_at=NOW,
            finished_at=NOW,
            created_at=NOW,
        )
        for event in events
    )
    return series, events


async def confirmed(reply: Reply) -> Deed:
    """Return the press of the first way of a proposal."""
    assert isinstance(reply, Proposal)
    return lambda: reply.ways[0].then(NOW)


async def renames(series: EventRepeater, _: list[Event]) -> Deed:
    return await edits(series, name=f"{series.name}, renamed")


async def retimes(series: EventRepeater, _: list[Event]) -> Deed:
    return await edits(series, time_of_day=dt.time(20), description="Later")


async def edits(series: EventRepeater, **given: object) -> Deed:
    editing = SeriesEditing(Agenda(), debounce=DEBOUNCE)
    return await confirmed(await editing.propose(Wish(series.id, GUILD, ADMIN, given), now=NOW))


async def splits(series: EventRepeater, events: list[Event]) -> Deed:
    wish = Wish(series.id, GUILD, ADMIN, {"time_of_day": dt.time(20)})
    return await confirmed(await SeriesSplitting(Agenda(), debounce=DEBOUNCE).propose(wish, events[2].id, now=NOW))


async def deletes(series: EventRepeater, _: list[Event]) -> Deed:
    removal = SeriesRemoval(Agenda(), debounce=DEBOUNCE)
    return await confirmed(await removal.propose(str(series.id), guild_id=GUILD, actor=ADMIN, now=NOW))


async def skips(series: EventRepeater, events: list[Event]) -> Deed:
    date = str(events[-1].slot).partition("T")[0]
    found = SeriesSkips(Agenda(), debounce=DEBOUNCE)
    return await confirmed(await found.propose_skip(str(series.id), date, guild_id=GUILD, actor=ADMIN, now=NOW))


async def resumes(series: EventRepeater, _: list[Event]) -> Deed:
    await pause_series(str(series.id), guild_id=GUILD, actor=ADMIN, now=NOW)
    await (await edits(series, time_of_day=dt.time(20)))()
    return lambda: resume_series(str(series.id), guild_id=GUILD, actor=ADMIN, now=NOW, agenda=Agenda())


async def lets_go_of_failures() -> None:
    freed = await delete_old_failures(registered(), before=NOW + 3 * HOUR, now=NOW + 2 * HOUR)
    await due_rows.refresh(freed)


async def on_events(series: EventRepeater, events: list[Event]) -> list[Deed]:
    """Return what changes single events of a series at once, the first and the last among them, and what passes by."""
    first, *_, third, second, last = events
    transitions = Transitions(Agenda(), debounce=DEBOUNCE)
    cancel = await transitions.propose_cancel(str(last.id), guild_id=GUILD, actor=ADMIN, now=NOW)
    changes = EventEdits(Agenda(), debounce=DEBOUNCE)
    edit = await changes.propose(str(second.id), EventChanges(places=3), guild_id=GUILD, actor=ADMIN, now=NOW)
    times = EventTimes(Agenda(), debounce=DEBOUNCE, default_timezone="UTC")
    later = (third.scheduled_at + HOUR).strftime("%Y-%m-%dT%H:%MZ")
    move = await times.propose(str(third.id), later, tell=None, guild_id=GUILD, actor=ADMIN, now=NOW)
    extras = ExtraEvents(Agenda(), debounce=DEBOUNCE, default_timezone="UTC")
    extra = await extras.propose(str(series.id), "2026-03-04T12:00Z", guild_id=GUILD, actor=ADMIN, now=NOW)
    lifecycle = Lifecycle(Agenda(), instance="one", debounce=DEBOUNCE, cleanup_every=HOUR)
    generator = Generator(Agenda(), instance="one", debounce=DEBOUNCE, every=HOUR)
    retry = Retries(Agenda(), lease_clock=InjectedLeaseClock(ManualClock(NOW)))
    channel = SettingsChange(announcement_channel_id=OTHER_CHANNEL if series.id % 2 else CHANNEL)
    return [
        await confirmed(cancel),
        await confirmed(edit),
        await confirmed(move),
        await confirmed(extra),
        lambda: transitions.make(Transition.OPEN_SIGNUPS, str(events[1].id), guild_id=GUILD, actor=ADMIN, now=NOW),
        lambda: lifecycle.open_scheduled_signups(NOW),
        lambda: generator.generate_upcoming_events(NOW),
        lambda: retry.retry(str(last.id), guild_id=GUILD, actor=ADMIN, now=NOW),
        lambda: change_settings(channel, guild_id=GUILD, actor=ADMIN, default_timezone="UTC", now=NOW),
        lambda: Signups(Agenda(), debounce=DEBOUNCE).press(
            Press.SIGN_UP, first.id, guild_id=GUILD, user_id=5, role_ids=frozenset(), now=NOW
        ),
        lambda: subscribe(series.id, guild_id=GUILD, user_id=5, now=NOW),
        lambda: atomic(lets_go_of_failures),
        lambda: bring_forward("native_due_at", now=NOW - 9 * HOUR),
    ]


@pytest.mark.parametrize(
    "change", [renames, retimes, splits, deletes, skips, resumes], ids=lambda change: change.__name__
)
async def test_a_series_and_its_events_changed_at_once_wait_in_no_circle(
    database: str, change: Callable[[EventRepeater, list[Event]], Awaitable[Deed]]
) -> None:
    await make_guild()
    for number in range(ROUNDS[dialect()]):
        series, events = await sundays(number)
        deeds = [await change(series, events), *await on_events(series, events)]
        # Whoever begins first has another fate.
        deeds = deeds[number % len(deeds) :] + deeds[: number % len(deeds)]

        with structlog.testing.capture_logs() as logs:
            ends = await asyncio.gather(*(deed() for deed in deeds), return_exceptions=True)

        assert [end for end in ends if isinstance(end, BaseException) and not isinstance(end, BotError)] == []
        assert [line for line in logs if line["log_level"] == "error"] == []
        assert await stored_due() == await derived_due()


# On SQLite the transaction itself is alone.
@pytest.mark.parametrize("database_url", [pytest.param("postgres", marks=pytest.mark.postgres)], indirect=True)
@pytest.mark.parametrize("broken", [False, True], ids=["whole", "broken"])
async def test_a_rename_waits_for_an_event_before_it_writes_the_series(
    database: str, monkeypatch: pytest.MonkeyPatch, broken: bool
) -> None:
    """The copy that holds no event first comes into a circle with a cancellation that has written its event once."""
    await make_guild()
    series, events = await sundays(1)
    rename = await renames(series, events)
    transitions = Transitions(Agenda(), debounce=DEBOUNCE)
    cancel = await transitions.propose_cancel(str(events[-1].id), guild_id=GUILD, actor=ADMIN, now=NOW)
    wrote, held = asyncio.Event(), asyncio.Event()
    hold_events, refresh, record = stale.hold_events, due_rows.refresh, audit.record

    async def _held_late(series: EventRepeater, *, after: dt.datetime | None = None) -> None:
        await held.wait()
        if not broken:
            wrote.set()
            await hold_events(series, after=after)

    async def _recorded(action: str, **how: Any) -> None:  # noqa: ANN401 -- whatever is recorded
        await record(action, **how)
        if action == "series.edit":
            wrote.set()

    async def _refreshed(event_ids: Sequence[int]) -> None:
        held.set()
        await wrote.wait()
        await refresh(event_ids)

    monkeypatch.setattr(series_edit, "hold_events", _held_late)
    monkeypatch.setattr(audit, "record", _recorded)
    monkeypatch.setattr(due_rows, "refresh", _refreshed)

    ends = await asyncio.gather(rename(), (await confirmed(cancel))(), return_exceptions=True)

    circles = [end for end in ends if isinstance(end, Exception)]
    assert bool(circles) is broken
    assert all("deadlock" in str(end) for end in circles)
