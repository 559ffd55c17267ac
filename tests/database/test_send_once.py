"""The one way out: what it answers, what it writes down, and what it never sends twice."""

import asyncio
import datetime as dt
import itertools
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from bot.clock import InjectedLeaseClock, ManualClock
from bot.leases import ledger
from bot.leases.failures import Backoff, ErrorClass, SendError, Verdict
from bot.leases.keys import MessageKey, nonce
from bot.leases.ledger import Lease
from bot.leases.ports import Attempt, ChannelTarget, Delivered
from bot.leases.reports import SendResult, WithdrawnError
from bot.leases.send_once import OneWayOut, SendOptions
from bot.leases.snowflakes import snowflake_at
from bot.message.outgoing import OutgoingMessage
from bot.scheduling.agenda import Agenda
from bot.scheduling.bodies import SWEEP_STALE_DISCORD_LEASES
from bot.transactions import Dialect, connection, dialect, moment
from models.guild_settings import GuildSettings
from tests.fake_discord import (
    CHANNEL,
    GUILD,
    MINUTE,
    SECOND,
    TARGET,
    Accepted,
    FakeDiscord,
    Refused,
    log_rows,
    lost_answer,
    outcomes,
    saying,
    way_out,
)

KEY = MessageKey("waitlist", 1)
TO_ONE = MessageKey("waitlist", 1, 5)
TICK = dt.timedelta(microseconds=1)
HOUR = dt.timedelta(hours=1)
OTHER_TARGET = ChannelTarget(GUILD, 71)
_GUILDS = itertools.count(1_000)


@pytest.fixture
def discord(clock: ManualClock) -> FakeDiscord:
    return FakeDiscord(clock)


async def send(
    out: OneWayOut,
    key: MessageKey = KEY,
    *,
    target: ChannelTarget | None = TARGET,
    text: str = "Raid tonight",
    not_after: dt.datetime | None = None,
) -> SendResult:
    return await out.send_once(key, guild_id=GUILD, target=target, render=saying(text), not_after=not_after)


async def only_row() -> dict[str, object]:
    rows = await log_rows()
    assert len(rows) == 1
    return rows[0]


async def take_over_as_another(lease_clock: InjectedLeaseClock) -> Lease:
    """Another process takes the only open lease."""
    row = (await ledger.held_rows())[0]
    taken = await ledger.take_over(row.lease, instance="there", lease_clock=lease_clock)
    assert taken is not None
    return taken


class Watcher:
    """Writes down what it is told, a guild's row per call; raises once where it is told to."""

    def __init__(self, *, error: Exception | None = None) -> None:
        self.told: list[tuple[str, Attempt, object]] = []
        self.error = error

    async def _note(self, what: str, attempt: Attempt, fact: object) -> None:
        await GuildSettings.create(guild_id=next(_GUILDS))
        error, self.error = self.error, None
        if error is not None:
            raise error
        self.told.append((what, attempt, fact))

    async def on_sent(self, attempt: Attempt, delivered: Delivered | None, *, now: dt.datetime) -> None:
        await self._note("sent", attempt, delivered.message_id if delivered is not None else None)

    async def on_failed(
        self, attempt: Attempt, error: SendError, *, next_attempt_at: dt.datetime | None, now: dt.datetime
    ) -> None:
        await self._note("failed", attempt, (error.error_class, next_attempt_at))

    async def on_released(self, attempt: Attempt, *, now: dt.datetime) -> None:
        await self._note("released", attempt, None)


def failing_first(work: Callable[..., Awaitable[Any]], error: BaseException, *, after: bool) -> Callable[..., Any]:
    """Return ``work`` whose first call fails: before it did anything, or ``after``, so that its answer is lost."""
    failed = False

    async def _call(*values: Any, **options: Any) -> Any:  # noqa: ANN401
        nonlocal failed
        if failed:
            return await work(*values, **options)
        failed = True
        if after:
            await work(*values, **options)
        raise error

    return _call


# ------------------------------------------------------------------------------------------------ what it answers


async def test_a_message_is_sent_and_written_down(database: str, clock: ManualClock, discord: FakeDiscord) -> None:
    result = await send(way_out(discord))

    row, posted = await only_row(), discord.visible[0]
    assert result is SendResult.SENT
    assert (row["success"], row["discord_message_id"], row["status_code"]) == (True, posted.message_id, 200)
    assert (row["channel_id"], row["error"], row["error_class"]) == (CHANNEL, None, None)
    assert row["history_after"] == snowflake_at(clock.now() - 5 * SECOND)
    assert posted.nonce == nonce(KEY, target_id=CHANNEL)


async def test_a_sent_message_is_already_claimed_for_everybody(database: str, discord: FakeDiscord) -> None:
    here, there = way_out(discord), way_out(discord, instance="there")
    await send(here)

    results = [await send(here), await send(there)]

    assert results == [SendResult.ALREADY_CLAIMED] * 2
    assert (len(discord.visible), await outcomes()) == (1, [True])


async def test_who_opened_channels_too_fast_is_not_marked_as_failed(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    out = way_out(discord)
    discord.answers.append(Refused(SendError(ErrorClass.OPENING_TOO_FAST, "opening too fast", status=429)))

    results = [await send(out, key=TO_ONE), await send(out, key=TO_ONE)]

    assert results == [SendResult.FAILED_TRANSIENT, SendResult.SENT]
    assert await outcomes() == [True]


@pytest.mark.parametrize("error_class", ErrorClass)
async def test_a_refusal_is_recorded_with_its_class(
    database: str, clock: ManualClock, discord: FakeDiscord, error_class: ErrorClass
) -> None:
    error = SendError(error_class, "Discord said no", status=418)
    discord.answers.append(Refused(error))

    result = await send(way_out(discord))

    permanent = error.verdict is Verdict.PERMANENT
    wait = HOUR if permanent else 30 * SECOND
    row = await only_row()
    assert result is (SendResult.FAILED_PERMANENT if permanent else SendResult.FAILED_TRANSIENT)
    assert (row["success"], row["error_class"], row["error"]) == (False, error_class.value, "Discord said no")
    assert row["status_code"] == 418
    if error_class is ErrorClass.EVENT_STARTED:
        assert row["next_attempt_at"] is None
    else:
        assert moment(row["next_attempt_at"]) == clock.now() + wait


async def test_a_failing_key_waits_longer_each_time_and_goes_out_at_last(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    out, waits = way_out(discord), []
    discord.answers.extend([Refused(SendError(ErrorClass.OUTAGE, "503", status=503))] * 7)

    while await send(out) is not SendResult.SENT:
        upcoming = moment((await log_rows())[-1]["next_attempt_at"])
        waits.append(upcoming - clock.now())
        clock.set(upcoming - TICK)
        assert await send(out) is SendResult.ALREADY_CLAIMED
        clock.set(upcoming)

    assert waits == [30 * SECOND, MINUTE, 2 * MINUTE, 4 * MINUTE, 8 * MINUTE, 10 * MINUTE, 10 * MINUTE]
    assert await outcomes() == [False] * 7 + [True]


async def test_a_failure_waits_as_long_as_discord_told(database: str, clock: ManualClock, discord: FakeDiscord) -> None:
    discord.answers.append(Refused(SendError(ErrorClass.RATE_LIMITED, "429", retry_after=95 * SECOND)))

    await send(way_out(discord))

    assert moment((await only_row())["next_attempt_at"]) == clock.now() + 95 * SECOND


async def test_an_unknown_outcome_stays_open_with_its_reason(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    agenda = Agenda()
    discord.answers.append(Accepted(then=lost_answer()))

    result = await send(way_out(discord, agenda=agenda))

    row = await only_row()
    assert result is SendResult.UNKNOWN
    assert (row["success"], row["error_class"], row["error"]) == (None, "outage", "no answer in time")
    assert agenda.next(SWEEP_STALE_DISCORD_LEASES) == clock.now() + MINUTE


async def test_a_withdrawn_message_claims_nothing(database: str, discord: FakeDiscord) -> None:
    async def _render() -> OutgoingMessage:
        raise WithdrawnError

    result = await way_out(discord).send_once(KEY, guild_id=GUILD, target=TARGET, render=_render)

    assert (result, await log_rows(), discord.requests) == (SendResult.WITHDRAWN, [], 0)


async def test_a_message_that_cannot_be_rendered_is_invalid_and_not_sent(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    async def _render() -> OutgoingMessage:
        return OutgoingMessage(marker="#1", content="x" * 2_001)

    result = await way_out(discord).send_once(KEY, guild_id=GUILD, target=TARGET, render=_render)

    row = await only_row()
    assert (result, discord.requests) == (SendResult.FAILED_PERMANENT, 0)
    assert (row["success"], row["error_class"]) == (False, "invalid")
    assert row["error"] == "cannot be rendered: content is 2001 long, over the limit of 2000"
    assert moment(row["next_attempt_at"]) == clock.now() + HOUR


async def test_a_renderer_that_cannot_read_its_rows_claims_nothing(database: str, discord: FakeDiscord) -> None:
    async def _render() -> OutgoingMessage:
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        await way_out(discord).send_once(KEY, guild_id=GUILD, target=TARGET, render=_render)

    assert (await log_rows(), discord.requests) == ([], 0)


async def test_a_message_without_a_channel_is_recorded_and_tried_again_in_an_hour(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    out = way_out(discord)

    results = [await send(out, target=None), await send(out)]
    clock.advance(HOUR)
    results.append(await send(out))

    first = (await log_rows())[0]
    assert (first["error_class"], first["channel_id"]) == ("no_channel", None)
    assert results == [SendResult.FAILED_PERMANENT, SendResult.ALREADY_CLAIMED, SendResult.SENT]


async def test_a_port_that_breaks_leaves_the_row_to_the_sweep(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    agenda = Agenda()
    out = way_out(discord, agenda=agenda)
    discord.answers.append(Accepted(then=KeyError("a bug")))

    with pytest.raises(KeyError):
        await send(out)

    assert await outcomes() == [None]
    assert agenda.next(SWEEP_STALE_DISCORD_LEASES) == clock.now() + MINUTE
    assert await send(out) is SendResult.ALREADY_CLAIMED
    assert len(discord.visible) == 1


# ------------------------------------------------------------------------------------------------ races


async def test_of_eight_processes_that_send_at_once_one_does(database: str, discord: FakeDiscord) -> None:
    outs = [way_out(discord, instance=f"i{place}") for place in range(8)]

    for number in range(10):
        results = await asyncio.gather(*(send(out, MessageKey("waitlist", number)) for out in outs))

        assert sorted(results) == [SendResult.ALREADY_CLAIMED] * 7 + [SendResult.SENT]
    assert len(discord.visible) == 10


async def test_of_eight_calls_of_one_process_one_sends(database: str, discord: FakeDiscord) -> None:
    out = way_out(discord)

    results = await asyncio.gather(*(send(out) for _ in range(8)))

    assert sorted(results) == [SendResult.ALREADY_CLAIMED] * 7 + [SendResult.SENT]
    assert len(discord.visible) == 1


async def test_two_calls_of_one_process_to_different_channels_send_once(database: str, discord: FakeDiscord) -> None:
    # The channel was changed while the first call was under way: its claim must not be taken for a forgotten one.
    out = way_out(discord)

    for number in range(20):
        key = MessageKey("waitlist", number)

        results = await asyncio.gather(send(out, key), send(out, key, target=OTHER_TARGET), send(out, key, target=None))

        assert results.count(SendResult.SENT) + results.count(SendResult.FAILED_PERMANENT) == 1
    assert len(discord.visible) == len({posted.nonce for posted in discord.visible})
    assert len(await log_rows()) == 20


async def test_sends_are_bounded_and_one_at_a_time_in_a_channel(database: str, discord: FakeDiscord) -> None:
    running: list[int] = []
    most = 0

    async def _answer() -> None:
        nonlocal most
        running.append(1)
        most = max(most, len(running))
        for _ in range(5):
            await asyncio.sleep(0)
        running.pop()

    async def _most_at_once(targets: list[ChannelTarget], first: int) -> int:
        nonlocal most
        most = 0
        discord.answers.extend([_answer] * len(targets))
        sends = (send(out, MessageKey("waitlist", first + n), target=target) for n, target in enumerate(targets))
        await asyncio.gather(*sends)
        return most

    out = way_out(discord, options=SendOptions(concurrent_sends=3))

    side_by_side = await _most_at_once([ChannelTarget(GUILD, 100 + n) for n in range(9)], 0)
    in_one_channel = await _most_at_once([TARGET] * 5, 100)

    assert (side_by_side <= 3, in_one_channel) == (True, 1)
    assert len(discord.visible) == 14


async def test_no_transaction_is_open_while_discord_is_asked(database: str, discord: FakeDiscord) -> None:
    open_ones: list[bool] = []

    async def _answer() -> None:
        client: Any = connection()
        if dialect() is Dialect.SQLITE:
            open_ones.append(client._connection.in_transaction or client._lock.locked())
        else:
            open_ones.append(client._pool.get_idle_size() < client._pool.get_size())

    discord.answers.append(_answer)
    await send(way_out(discord, observers={KEY.source: (Watcher(),)}))

    assert open_ones == [False]


async def test_a_lease_taken_over_during_the_request_finalizes_nothing(
    database: str, discord: FakeDiscord, lease_clock: InjectedLeaseClock
) -> None:
    watcher = Watcher()

    async def _answer() -> None:
        await take_over_as_another(lease_clock)

    discord.answers.append(_answer)
    await send(way_out(discord, observers={KEY.source: (watcher,)}))

    row = await only_row()
    assert (row["success"], row["instance"], row["discord_message_id"]) == (None, "there", None)
    assert watcher.told == []


@pytest.mark.parametrize(
    ("waited", "requests"),
    [
        pytest.param(5 * SECOND - TICK, 1, id="just before 5 s: trusted"),
        pytest.param(5 * SECOND, 1, id="exactly 5 s: trusted"),
        pytest.param(5 * SECOND + TICK, 0, id="just past 5 s: asked"),
        pytest.param(-6 * SECOND, 0, id="clock set back: asked"),
    ],
)
async def test_a_lease_is_checked_before_the_request_once_more_than_five_seconds_passed(
    database: str, clock: ManualClock, discord: FakeDiscord, waited: dt.timedelta, requests: int
) -> None:
    async def _throttle() -> None:
        await take_over_as_another(InjectedLeaseClock(clock))
        clock.advance(waited)

    discord.throttle = _throttle
    result = await send(way_out(discord))

    assert discord.requests == requests
    assert result is (SendResult.SENT if requests else SendResult.ALREADY_CLAIMED)
    assert await outcomes() == [None]


async def test_a_lease_held_back_by_a_throttle_is_renewed_before_the_request(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    claimed = clock.now()

    async def _throttle() -> None:
        clock.advance(4 * MINUTE)

    discord.throttle = _throttle
    discord.answers.append(Accepted(then=lost_answer()))
    await send(way_out(discord))

    row = await only_row()
    assert (moment(row["claimed_at"]), moment(row["renewed_at"])) == (claimed, clock.now())


async def test_a_host_suspended_during_its_claim_does_not_trust_the_lease(
    database: str,
    clock: ManualClock,
    discord: FakeDiscord,
    lease_clock: InjectedLeaseClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    claim = ledger.claim_lease

    async def _suspended(*values: Any, **options: Any) -> Lease | None:  # noqa: ANN401
        lease = await claim(*values, **options)
        clock.advance(10 * MINUTE)
        await ledger.delete_held(await take_over_as_another(lease_clock))
        return lease

    monkeypatch.setattr(ledger, "claim_lease", _suspended)
    result = await send(way_out(discord))

    assert (result, discord.requests) == (SendResult.ALREADY_CLAIMED, 0)


# ------------------------------------------------------------------------------------------------ too late


@pytest.mark.parametrize(
    ("waited", "sent"),
    [
        pytest.param(MINUTE - TICK, True, id="just before"),
        pytest.param(MINUTE, False, id="exactly"),
        pytest.param(MINUTE + TICK, False, id="just past"),
    ],
)
async def test_from_its_end_on_no_request_is_written(
    database: str, clock: ManualClock, discord: FakeDiscord, waited: dt.timedelta, sent: bool
) -> None:
    end = clock.now() + MINUTE

    async def _throttle() -> None:
        clock.advance(waited)

    discord.throttle = _throttle
    result = await send(way_out(discord), not_after=end)

    row = await only_row()
    assert discord.requests == int(sent)
    assert result is (SendResult.SENT if sent else SendResult.FAILED_PERMANENT)
    assert row["error_class"] == (None if sent else "event_started")
    assert row["next_attempt_at"] is None


class RepeatingDiscord(FakeDiscord):
    """The client repeats a request whose answer was a 5xx, the second time when the event has begun."""

    async def send(self, target: Any, message: Any, *, nonce: str, before_request: Any) -> Delivered:  # noqa: ANN401
        """Take the message, lose the answer, and write the request again a minute later."""
        await super().send(target, message, nonce=nonce, before_request=before_request)
        assert isinstance(self.clock, ManualClock)
        self.clock.advance(MINUTE)
        return await super().send(target, message, nonce=nonce, before_request=before_request)


async def test_a_repeat_that_comes_too_late_leaves_the_first_request_unknown(database: str, clock: ManualClock) -> None:
    discord = RepeatingDiscord(clock)

    result = await send(way_out(discord), not_after=clock.now() + MINUTE)

    row = await only_row()
    assert (result, len(discord.visible)) == (SendResult.UNKNOWN, 1)
    assert (row["success"], row["error_class"]) == (None, "event_started")


# ------------------------------------------------------------------------------------------------ swallowed answers


@pytest.mark.parametrize(
    ("error", "looked_at_after"),
    [(ConnectionResetError(), 5 * SECOND), (asyncio.CancelledError(), MINUTE)],
    ids=["lost", "cancelled"],
)
async def test_a_claim_whose_answer_was_swallowed_is_adopted_by_its_own_process(
    database: str,
    clock: ManualClock,
    discord: FakeDiscord,
    monkeypatch: pytest.MonkeyPatch,
    *,
    error: BaseException,
    looked_at_after: dt.timedelta,
) -> None:
    agenda = Agenda()
    out = way_out(discord, agenda=agenda)
    monkeypatch.setattr(ledger, "claim_lease", failing_first(ledger.claim_lease, error, after=True))

    with pytest.raises(type(error)):
        await send(out)
    open_before = (await outcomes(), discord.requests, agenda.next(SWEEP_STALE_DISCORD_LEASES))
    result = await send(out)

    assert open_before == ([None], 0, clock.now() + looked_at_after)
    assert result is SendResult.SENT
    assert (len(discord.visible), await outcomes()) == (1, [True])


async def test_a_claim_whose_answer_was_swallowed_is_not_adopted_by_another_process(
    database: str, clock: ManualClock, discord: FakeDiscord, monkeypatch: pytest.MonkeyPatch
) -> None:
    swallowed = failing_first(ledger.claim_lease, ConnectionResetError(), after=True)
    monkeypatch.setattr(ledger, "claim_lease", swallowed)
    with pytest.raises(ConnectionResetError):
        await send(way_out(discord))

    clock.advance(10 * HOUR)
    result = await send(way_out(discord, instance="there"))

    assert (result, discord.requests, await outcomes()) == (SendResult.ALREADY_CLAIMED, 0, [None])


async def test_a_claim_that_is_not_durable_sends_nothing(
    database: str, discord: FakeDiscord, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger, "claim_lease", failing_first(ledger.claim_lease, OSError("disk full"), after=False))

    with pytest.raises(OSError, match="disk full"):
        await send(way_out(discord))

    assert (discord.requests, await log_rows()) == (0, [])


async def test_an_adopted_row_says_what_is_sent_now(
    database: str, clock: ManualClock, discord: FakeDiscord, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Claimed without a channel, sent with one: without the new marker nobody could find it again.
    out = way_out(discord)
    swallowed = failing_first(ledger.claim_lease, ConnectionResetError(), after=True)
    monkeypatch.setattr(ledger, "claim_lease", swallowed)
    with pytest.raises(ConnectionResetError):
        await send(out, target=None)

    discord.answers.append(Accepted(then=lost_answer()))
    result = await send(out, text="#1 in the new channel")

    held = (await ledger.held_rows())[0]
    assert result is SendResult.UNKNOWN
    assert (held.channel_id, held.marker) == (CHANNEL, "#1 in the new channel")


async def test_an_open_row_of_another_process_is_never_adopted(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    discord.answers.append(Accepted(then=lost_answer()))
    await send(way_out(discord, instance="there"))

    clock.advance(dt.timedelta(days=2))
    result = await send(way_out(discord))

    assert (result, len(discord.visible)) == (SendResult.ALREADY_CLAIMED, 1)


async def test_an_unknown_row_of_ones_own_is_never_sent_blindly(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    out = way_out(discord)
    discord.answers.append(Accepted(then=lost_answer()))
    await send(out)

    clock.advance(dt.timedelta(days=2))
    result = await send(out)

    assert (result, len(discord.visible)) == (SendResult.ALREADY_CLAIMED, 1)


async def test_a_row_fenced_to_be_looked_into_is_not_sent_by_a_sender_meanwhile(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    discord.answers.append(Accepted(then=lost_answer()))
    await send(way_out(discord, instance="dead"))
    out = way_out(discord)

    fenced = await out.fence((await ledger.held_rows())[0])
    result = await send(out)

    assert fenced is not None
    assert (result, len(discord.visible)) == (SendResult.ALREADY_CLAIMED, 1)


async def test_a_release_that_lost_its_lease_does_not_forget_what_may_have_left(
    database: str, discord: FakeDiscord
) -> None:
    out = way_out(discord)
    discord.answers.append(Accepted(then=lost_answer()))
    await send(out)
    lease = (await ledger.held_rows())[0].lease

    released = await out.recorder.release(Attempt(KEY, GUILD, CHANNEL), replace(lease, token="lost"), delete=False)
    result = await send(out)

    assert not released
    assert (result, len(discord.visible)) == (SendResult.ALREADY_CLAIMED, 1)


async def test_a_row_that_was_handed_back_goes_on_under_the_same_row_and_nonce(
    database: str, discord: FakeDiscord
) -> None:
    discord.answers.append(Refused(lost_answer()))
    await send(way_out(discord, instance="dead"))
    before = await only_row()
    held = (await ledger.held_rows())[0]
    await ledger.hand_back(held.lease)

    result = await send(way_out(discord))

    after = await only_row()
    assert result is SendResult.SENT
    assert (after["id"], after["success"], after["instance"]) == (before["id"], True, "here")
    assert after["lease_token"] not in {None, before["lease_token"]}
    assert [posted.nonce for posted in discord.visible] == [nonce(KEY, target_id=CHANNEL)]


async def test_of_eight_who_find_a_row_handed_back_one_sends(database: str, discord: FakeDiscord) -> None:
    discord.answers.append(Refused(lost_answer()))
    await send(way_out(discord, instance="dead"))
    await ledger.hand_back((await ledger.held_rows())[0].lease)
    outs = [way_out(discord, instance=f"i{place}") for place in range(8)]

    results = await asyncio.gather(*(send(out) for out in outs))

    assert results.count(SendResult.SENT) == 1
    assert len(discord.visible) == 1


# ------------------------------------------------------------------------------------------------ the record


@pytest.mark.parametrize("lost", [False, True], ids=["refused", "answer lost"])
async def test_an_outcome_that_the_database_refuses_is_kept_and_settled_later(
    database: str, discord: FakeDiscord, monkeypatch: pytest.MonkeyPatch, lost: bool
) -> None:
    watcher = Watcher()
    out = way_out(discord, observers={KEY.source: (watcher,)})
    refusing = failing_first(ledger.finalize_sent, OSError("disk full"), after=lost)
    monkeypatch.setattr(ledger, "finalize_sent", refusing)

    result = await send(out)
    between = (await outcomes(), await send(out))
    await out.recorder.settle()

    assert result is SendResult.SENT
    assert between == ([None], SendResult.ALREADY_CLAIMED)
    assert (len(discord.visible), await outcomes()) == (1, [True])
    assert [what for what, _, _ in watcher.told] == ["sent"]


async def test_a_failure_that_the_database_refuses_is_kept_with_its_next_attempt(
    database: str, clock: ManualClock, discord: FakeDiscord, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = way_out(discord)
    failed_at = clock.now()
    discord.answers.append(Refused(SendError(ErrorClass.FORBIDDEN, "Missing Access", status=403)))
    refusing = failing_first(ledger.finalize_failed, OSError("disk full"), after=False)
    monkeypatch.setattr(ledger, "finalize_failed", refusing)

    result = await send(out)
    clock.advance(MINUTE)
    between = await send(out)
    await out.recorder.settle()

    row = await only_row()
    assert (result, between) == (SendResult.FAILED_PERMANENT, SendResult.ALREADY_CLAIMED)
    assert (row["success"], moment(row["next_attempt_at"])) == (False, failed_at + HOUR)


async def test_a_settling_that_fails_or_is_cancelled_forgets_nothing(
    database: str, discord: FakeDiscord, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = way_out(discord)
    finalize = ledger.finalize_sent
    for error in (OSError("disk full"), asyncio.CancelledError()):
        refusing = failing_first(finalize, error, after=False)

        async def _refuse(*values: Any, **options: Any) -> bool:  # noqa: ANN401
            raise OSError

        monkeypatch.setattr(ledger, "finalize_sent", _refuse)
        keys = [MessageKey(type(error).__name__, number) for number in range(2)]
        for key in keys:
            await send(out, key)
        monkeypatch.setattr(ledger, "finalize_sent", refusing)
        await asyncio.gather(asyncio.create_task(out.recorder.settle()), return_exceptions=True)
        await out.recorder.settle()

    assert await outcomes() == [True] * 4


async def test_a_failure_is_recorded_though_the_databases_clock_cannot_be_read(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    class _Stopped(InjectedLeaseClock):
        async def now(self) -> dt.datetime:
            raise ConnectionResetError

    discord.answers.append(Refused(SendError(ErrorClass.FORBIDDEN, "Missing Access", status=403)))

    result = await send(way_out(discord, lease_clock=_Stopped(clock)))

    row = await only_row()
    assert result is SendResult.FAILED_PERMANENT
    assert (row["success"], moment(row["next_attempt_at"])) == (False, clock.now() + HOUR)


async def test_an_unknown_outcome_is_unknown_though_its_reason_cannot_be_noted(
    database: str, clock: ManualClock, discord: FakeDiscord, monkeypatch: pytest.MonkeyPatch
) -> None:
    agenda = Agenda()
    out = way_out(discord, agenda=agenda)
    discord.answers.append(Accepted(then=lost_answer()))
    monkeypatch.setattr(ledger, "note_unknown", failing_first(ledger.note_unknown, OSError(), after=False))

    result = await send(out)

    assert (result, await outcomes()) == (SendResult.UNKNOWN, [None])
    assert agenda.next(SWEEP_STALE_DISCORD_LEASES) == clock.now() + MINUTE
    assert await send(out) is SendResult.ALREADY_CLAIMED


async def test_observers_are_told_of_the_attempt_and_its_outcome(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    watcher = Watcher()
    out = way_out(discord, observers={KEY.source: (watcher,)})
    discord.answers.append(Refused(SendError(ErrorClass.OUTAGE, "503", status=503)))

    await send(out)
    again = clock.now() + 30 * SECOND
    clock.set(again)
    await out.send_once(KEY, guild_id=GUILD, target=TARGET, render=saying("Raid", version=3))
    await send(out, MessageKey("unwatched", 1))

    assert watcher.told == [
        ("failed", Attempt(KEY, GUILD, CHANNEL), (ErrorClass.OUTAGE, again)),
        ("sent", Attempt(KEY, GUILD, CHANNEL, version=3), discord.visible[0].message_id),
    ]


async def test_an_observer_that_raises_undoes_the_finalizing_and_nothing_is_sent_again(
    database: str, discord: FakeDiscord
) -> None:
    first, second = Watcher(), Watcher(error=LookupError("a bug"))
    out = way_out(discord, observers={KEY.source: (first, second)})

    with pytest.raises(LookupError):
        await send(out)

    assert (await outcomes(), await GuildSettings.all().count()) == ([None], 0)
    assert await send(out) is SendResult.ALREADY_CLAIMED
    assert len(discord.visible) == 1


# ------------------------------------------------------------------------------------------------ the whole process


def cdn_block() -> Refused:
    return Refused(SendError(ErrorClass.CDN_BLOCK, "<html>", status=429))


@pytest.mark.parametrize(
    ("later", "result"),
    [
        pytest.param(10 * MINUTE - TICK, SendResult.FAILED_TRANSIENT, id="just before"),
        pytest.param(10 * MINUTE, SendResult.SENT, id="exactly"),
        pytest.param(10 * MINUTE + TICK, SendResult.SENT, id="just past"),
    ],
)
async def test_a_block_pauses_everything_for_ten_minutes(
    database: str, clock: ManualClock, discord: FakeDiscord, later: dt.timedelta, result: SendResult
) -> None:
    out, other = way_out(discord), MessageKey("waitlist", 2)
    discord.answers.append(cdn_block())
    await send(out)

    at_once = await send(out, other, target=OTHER_TARGET)
    claimed_meanwhile = len(await log_rows())
    clock.advance(later)

    assert (at_once, claimed_meanwhile) == (SendResult.FAILED_TRANSIENT, 1)
    assert await send(out, other, target=OTHER_TARGET) is result


async def test_a_block_also_stops_those_who_wait_behind_it(database: str, discord: FakeDiscord) -> None:
    out = way_out(discord)
    discord.answers.append(cdn_block())

    results = await asyncio.gather(*(send(out, MessageKey("waitlist", number)) for number in range(5)))

    assert results == [SendResult.FAILED_TRANSIENT] * 5
    assert (discord.requests, len(await log_rows())) == (1, 1)


async def test_a_refused_token_stops_the_process_in_words_and_loses_nothing(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    stopped: list[str] = []
    discord.answers.append(Refused(SendError(ErrorClass.UNAUTHORIZED, "401", status=401)))

    result = await send(way_out(discord, stop=stopped.append))
    clock.advance(30 * SECOND)
    after_the_restart = await send(way_out(discord, instance="restarted"))

    assert [("DISCORD_TOKEN" in words) for words in stopped] == [True]
    assert (result, after_the_restart) == (SendResult.FAILED_TRANSIENT, SendResult.SENT)


async def test_the_waits_can_be_set(database: str, clock: ManualClock, discord: FakeDiscord) -> None:
    options = SendOptions(backoff=Backoff(transient=(2 * SECOND,)), cdn_block_pause=SECOND)
    out = way_out(discord, options=options)
    discord.answers.append(cdn_block())

    await send(out)
    clock.advance(SECOND)
    waiting = await send(out)
    clock.advance(SECOND)
    sent = await send(out)

    assert (waiting, sent) == (SendResult.ALREADY_CLAIMED, SendResult.SENT)
