"""An event that is removed while its announcement is held back between the claim and a request."""

import datetime as dt
from collections.abc import Awaitable, Callable

import pytest

from bot.changes.series_edit import SeriesEditing, Wish
from bot.clock import LeaseClock, ManualClock
from bot.events.generate import generate_events_for_repeater
from bot.leases import ledger
from bot.leases.failures import ErrorClass
from bot.leases.ledger import Lease
from bot.leases.ports import Delivered, Target
from bot.message.outgoing import OutgoingMessage
from bot.message.proposal import Proposal
from bot.scheduling.bodies import CHECK_EVENT_REMINDERS, SWEEP_STALE_DISCORD_LEASES
from models.event import Event
from models.states import EventState
from tests.builders import (
    GUILD,
    MINUTE,
    SECOND,
    FakeDiscord,
    Process,
    log_rows,
    make_guild,
    make_series,
    process,
    utc,
)

NOW = utc("2026-03-02 12:00")
TRUSTED = 5 * SECOND
TICK = dt.timedelta(microseconds=1)


class HoldingDiscord(FakeDiscord):
    """
    A Discord before which a throttle stands: ``held`` is awaited once, before the first request that it holds back.

    ``repeats``: the first request of a send gets no answer, and the library writes it again.
    """

    held: Callable[[], Awaitable[None]] | None = None
    repeats = False

    async def send(
        self,
        target: Target,
        message: OutgoingMessage,
        *,
        nonce: str,
        before_request: Callable[[], Awaitable[None]],
    ) -> Delivered:
        """Post a message once it is let through."""
        if self.repeats:
            await before_request()
        held, self.held = self.held, None
        if held is not None:
            await held()
        return await super().send(target, message, nonce=nonce, before_request=before_request)


@pytest.fixture
async def discord(database: str, clock: ManualClock) -> HoldingDiscord:
    """Return a Discord, with a series whose first event is due to be announced."""
    clock.set(NOW)
    await make_guild()
    series = await make_series(now=NOW, day_of_week="TU", discord_announcement_hours=48, signup_opens_hours=1)
    await generate_events_for_repeater(series, now=NOW)
    return HoldingDiscord(clock)


def to_thursday(bot: Process, clock: ManualClock, *, waits: dt.timedelta) -> Callable[[], Awaitable[None]]:
    """Return what moves the series to another day while a request is held back."""

    async def _edit() -> None:
        series_id = (await Event.all().order_by("id"))[0].series_id
        assert series_id is not None
        editing = SeriesEditing(bot.services.agenda, debounce=3 * SECOND)
        reply = await editing.propose(Wish(series_id, GUILD, 42, {"day_of_week": "TH"}), now=clock.now())
        assert isinstance(reply, Proposal)
        await reply.ways[0].then(clock.now())
        clock.advance(waits)

    return _edit


@pytest.mark.parametrize(
    ("waits", "sent"),
    [pytest.param(TRUSTED, 1, id="exactly five seconds"), pytest.param(TRUSTED + TICK, 0, id="just past")],
)
async def test_what_is_held_back_for_more_than_five_seconds_is_asked_for_once_more(
    discord: HoldingDiscord, clock: ManualClock, waits: dt.timedelta, sent: int
) -> None:
    bot = await process(discord, clock)
    discord.held = to_thursday(bot, clock, waits=waits)

    await bot.run(CHECK_EVENT_REMINDERS)

    first = await Event.all().order_by("id").first()
    assert first is not None
    assert (first.state, first.is_withdrawn) == (EventState.CANCELLED, True)
    assert len(discord.attempts) == sent
    assert [row.success for row in await log_rows()] == [True] * sent


async def test_what_was_given_up_leaves_nothing_open_and_the_new_event_is_announced(
    discord: HoldingDiscord, clock: ManualClock
) -> None:
    bot = await process(discord, clock)
    discord.held = to_thursday(bot, clock, waits=MINUTE)
    await bot.run(CHECK_EVENT_REMINDERS)

    await bot.run_until(utc("2026-03-03 20:00"))

    assert [(row.success, row.source_id) for row in await log_rows()] == [
        (True, event.id) for event in await Event.filter(scheduled_at=utc("2026-03-05 19:00"))
    ]
    assert discord.titles() == ["London Sunday"]


async def test_what_may_have_arrived_before_it_was_held_back_is_looked_for_and_not_sent_again(
    discord: HoldingDiscord, clock: ManualClock
) -> None:
    bot = await process(discord, clock)
    discord.repeats, discord.held = True, to_thursday(bot, clock, waits=6 * SECOND)
    await bot.run(CHECK_EVENT_REMINDERS)
    assert [row.success for row in await log_rows()] == [None]

    clock.advance(MINUTE)
    await bot.run(SWEEP_STALE_DISCORD_LEASES)

    assert await log_rows() == []
    assert discord.attempts == []


@pytest.mark.parametrize("sent", [pytest.param(1, id="for a minute"), pytest.param(0, id="past the start")])
async def test_a_host_that_stands_still_while_it_asks_once_more_asks_again(
    discord: HoldingDiscord, clock: ManualClock, monkeypatch: pytest.MonkeyPatch, sent: int
) -> None:
    bot = await process(discord, clock)
    first = await Event.all().order_by("id").first()
    assert first is not None
    until = [clock.now() + 2 * MINUTE if sent else first.scheduled_at]
    renew, asked = ledger.renew, []

    async def _held() -> None:
        clock.advance(MINUTE)

    async def _stands_still(lease: Lease, *, lease_clock: LeaseClock) -> bool:
        is_held = await renew(lease, lease_clock=lease_clock)
        asked.append(clock.now())
        if until:
            clock.set(until.pop())
        return is_held

    discord.held = _held
    monkeypatch.setattr(ledger, "renew", _stands_still)
    await bot.run(CHECK_EVENT_REMINDERS)

    assert (len(asked), len(discord.attempts)) == (1 + sent, sent)
    assert [(row.success, row.error_class) for row in await log_rows()] == [
        (True, None) if sent else (False, ErrorClass.EVENT_STARTED)
    ]
