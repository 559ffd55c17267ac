"""An event that is removed while its announcement is on its way: nothing is sent after it is gone, nothing is lost."""

import asyncio
import datetime as dt
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from bot.changes.series_edit import SeriesEditing, Wish
from bot.clock import ManualClock
from bot.events.generate import generate_events_for_repeater
from bot.leases import ledger, sweep
from bot.leases.event_rows import event_sources
from bot.leases.ledger import Claim, Lease
from bot.message.outgoing import OutgoingMessage
from bot.message.proposal import Proposal
from bot.scheduling.bodies import CHECK_EVENT_REMINDERS, SYNC_DISCORD_EVENTS
from models.event import Event
from models.states import EventState
from tests.builders import (
    GUILD,
    MINUTE,
    SECOND,
    FakeDiscord,
    Process,
    audit_actions,
    log_rows,
    make_guild,
    make_series,
    process,
    utc,
)

NOW = utc("2026-03-02 12:00")
TUESDAY, THURSDAY = utc("2026-03-03 19:00"), utc("2026-03-05 19:00")
ADMIN = 42


@pytest.fixture
async def bot(database: str, clock: ManualClock) -> Process:
    """Return a process with a series on Tuesdays whose first event is due to be announced, the second is not."""
    clock.set(NOW)
    await make_guild()
    series = await make_series(now=NOW, day_of_week="TU", discord_announcement_hours=48, signup_opens_hours=1)
    await generate_events_for_repeater(series, now=NOW)
    return await process(FakeDiscord(clock), clock)


async def to_thursday(bot: Process, now: dt.datetime) -> str:
    """Show and confirm the edit; where it is refused as stale, the new preview."""
    series_id = (await Event.all().order_by("id"))[0].series_id
    assert series_id is not None
    editing = SeriesEditing(bot.services.agenda, debounce=3 * SECOND)
    reply = await editing.propose(Wish(series_id, GUILD, ADMIN, {"day_of_week": "TH"}), now=now)
    while isinstance(reply, Proposal):
        reply = await reply.ways[0].then(now)
    return reply


def discord_of(bot: Process) -> FakeDiscord:
    port = bot.services.out._handover._port
    assert isinstance(port, FakeDiscord)
    return port


def around_the_claim(
    monkeypatch: pytest.MonkeyPatch, *, before: Callable[[], Awaitable[object]] | None = None,
    after: Callable[[], Awaitable[object]] | None = None,
) -> None:  # fmt: skip
    """Let something happen once, right before or right after the first lease is taken."""
    claim_lease, once = ledger.claim_lease, [True]

    async def _claim(claim: Claim, **rest: Any) -> Lease | None:  # noqa: ANN401 -- passed on as they came
        if not once:
            return await claim_lease(claim, **rest)
        once.clear()
        if before is not None:
            await before()
        lease = await claim_lease(claim, **rest)
        if after is not None:
            await after()
        return lease

    monkeypatch.setattr(ledger, "claim_lease", _claim)


async def test_an_event_removed_right_before_the_claim_is_not_announced(
    bot: Process, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    discord = discord_of(bot)
    around_the_claim(monkeypatch, before=lambda: to_thursday(bot, NOW))

    await bot.run(CHECK_EVENT_REMINDERS)

    assert discord.posts == []
    assert await log_rows() == []
    assert {event.scheduled_at.isoweekday() for event in await Event.all()} == {4}
    await bot.run_until(THURSDAY - 47 * dt.timedelta(hours=1))
    assert discord.titles() == ["London Sunday"]


async def test_an_event_removed_between_claim_and_request_stays_as_a_row_and_its_post_says_so(
    bot: Process, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    discord = discord_of(bot)
    first = (await Event.all().order_by("id"))[0]
    around_the_claim(monkeypatch, after=lambda: to_thursday(bot, NOW))

    await bot.run(CHECK_EVENT_REMINDERS)

    # Withdrawn before its request was written: it is not sent at all.
    row = await Event.get(id=first.id)
    assert (row.state, row.is_withdrawn, row.moved_to) == (EventState.CANCELLED, True, THURSDAY)
    assert (discord.posts, await log_rows()) == ([], [])


async def test_an_event_removed_while_the_request_is_on_its_way_gets_its_post_and_the_post_is_edited(
    bot: Process, clock: ManualClock
) -> None:
    discord = discord_of(bot)
    first = (await Event.all().order_by("id"))[0]

    async def _edit(_message: OutgoingMessage) -> None:
        discord.before_send = None
        assert await to_thursday(bot, clock.now()) == "**London Sunday** was changed; events: 2 moved."

    discord.before_send = _edit
    await bot.run(CHECK_EVENT_REMINDERS)
    clock.advance(MINUTE)
    await bot.run(SYNC_DISCORD_EVENTS)

    (row,) = await log_rows()
    event = await Event.get(id=first.id)
    assert (row.success, row.source_id) == (True, event.id)
    assert (event.state, event.is_withdrawn, event.announcement_message_id) == (
        EventState.CANCELLED,
        True,
        row.discord_message_id,
    )
    assert discord.titles() == ["Moved: London Sunday"]
    assert [field.name for field in discord.posts[0].shown.embed.fields[:2]] == ["Moved to", "Was to be"]  # type: ignore[union-attr]
    assert "event.realign" in await audit_actions()


async def test_an_edit_and_a_send_that_meet_anywhere_leave_no_post_without_its_event(
    bot: Process, clock: ManualClock
) -> None:
    discord = discord_of(bot)

    await asyncio.gather(bot.run(CHECK_EVENT_REMINDERS), to_thursday(bot, NOW))
    clock.advance(MINUTE)
    await bot.run(SYNC_DISCORD_EVENTS)

    for row in await log_rows():
        assert row.success
        event = await Event.get(id=row.source_id)
        assert event.is_withdrawn
    assert discord.titles() in ([], ["Moved: London Sunday"])
    assert {event.scheduled_at.isoweekday() for event in await Event.filter(state=EventState.UPCOMING)} == {4}


def test_every_source_of_an_events_messages_is_known_to_whoever_removes_one() -> None:
    assert set(event_sources()) == sweep._EVENT_SOURCES
