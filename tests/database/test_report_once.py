"""What the DM queue asks of the one way out beside a send: why it failed, a failure without an attempt, kept leases."""

import asyncio
import datetime as dt

import pytest

from bot.clock import InjectedLeaseClock, LeaseClock, ManualClock
from bot.leases import ledger
from bot.leases.failures import ErrorClass, SendError
from bot.leases.keys import MessageKey
from bot.leases.ledger import Claim, Lease
from bot.leases.ports import Attempt, ChannelTarget, Delivered, DmTarget, Target
from bot.leases.recorder import Outcome
from bot.leases.reports import SendReport, SendResult, WithdrawnError
from bot.leases.send_once import OneWayOut, SendOptions
from bot.message.outgoing import OutgoingMessage
from bot.scheduling.agenda import Agenda
from bot.scheduling.bodies import SWEEP_STALE_DISCORD_LEASES
from bot.transactions import fetch, moment
from tests.fake_discord import (
    GUILD,
    MINUTE,
    SECOND,
    Accepted,
    FakeDiscord,
    Refused,
    log_rows,
    lost_answer,
    outcomes,
    saying,
    way_out,
)

WHO, DM_CHANNEL = 4_001, 500_004_001
KEY = MessageKey("greeting", 1, WHO)
DM = DmTarget(WHO, DM_CHANNEL)
TICK = dt.timedelta(microseconds=1)
HOUR = dt.timedelta(hours=1)
CLOSED = SendError(ErrorClass.RECIPIENT_UNREACHABLE, "Cannot send messages to this user", status=403)


@pytest.fixture
def discord(clock: ManualClock) -> FakeDiscord:
    return FakeDiscord(clock)


async def report(
    out: OneWayOut, key: MessageKey = KEY, *, target: Target | None = DM, not_after: dt.datetime | None = None
) -> SendReport:
    return await out.report_once(
        key, guild_id=GUILD, target=target, render=saying("Sign up, please"), not_after=not_after
    )


async def fail(out: OneWayOut, key: MessageKey = KEY, *, error: SendError = CLOSED) -> SendReport:
    return await out.fail_once(key, guild_id=GUILD, error=error)


# -------------------------------------------------------------------------------------------------------- the report


async def test_a_sent_dm_has_nothing_to_report_and_its_row_says_to_whom(database: str, discord: FakeDiscord) -> None:
    told = await report(way_out(discord))

    row = (await log_rows())[0]
    assert told == SendReport(SendResult.SENT)
    assert (row["recipient_id"], row["channel_id"], row["success"]) == (WHO, DM_CHANNEL, True)
    assert await report(way_out(discord, instance="there")) == SendReport(SendResult.ALREADY_CLAIMED)


@pytest.mark.parametrize(
    ("error", "result", "wait"),
    [
        pytest.param(CLOSED, SendResult.FAILED_PERMANENT, HOUR, id="closed DMs"),
        pytest.param(
            SendError(ErrorClass.OUTAGE, "503", status=503), SendResult.FAILED_TRANSIENT, 30 * SECOND, id="outage"
        ),
        pytest.param(
            SendError(ErrorClass.RATE_LIMITED, "429", retry_after=95 * SECOND),
            SendResult.FAILED_TRANSIENT,
            95 * SECOND,
            id="told how long to wait",
        ),
    ],
)
async def test_a_failure_is_reported_with_its_reason_and_its_next_attempt(
    database: str, discord: FakeDiscord, error: SendError, result: SendResult, wait: dt.timedelta
) -> None:
    discord.answers.append(Refused(error))

    told = await report(way_out(discord))

    row = (await log_rows())[0]
    assert told == SendReport(result, error, discord.now() + wait)
    assert moment(row["next_attempt_at"]) == told.next_attempt_at


async def test_an_unknown_outcome_is_reported_with_its_reason_and_no_next_attempt(
    database: str, discord: FakeDiscord
) -> None:
    error = lost_answer()
    discord.answers.append(Accepted(then=error))

    assert await report(way_out(discord)) == SendReport(SendResult.UNKNOWN, error)
    assert await outcomes() == [None]


async def test_a_dm_whose_event_began_is_reported_as_too_late_for_good(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    told = await report(way_out(discord), not_after=clock.now())

    assert told.result is SendResult.FAILED_PERMANENT
    assert told.error is not None
    assert (told.error.error_class, told.next_attempt_at) == (ErrorClass.EVENT_STARTED, None)
    assert discord.visible == []


async def test_a_withdrawn_dm_reports_nothing_else(database: str, discord: FakeDiscord) -> None:
    async def _render() -> OutgoingMessage:
        raise WithdrawnError

    told = await way_out(discord).report_once(KEY, guild_id=GUILD, target=DM, render=_render)

    assert (told, await log_rows()) == (SendReport(SendResult.WITHDRAWN), [])


async def test_a_pause_of_everything_has_no_reason_of_the_dms_own(database: str, discord: FakeDiscord) -> None:
    out = way_out(discord)
    out.blocks.heed(ErrorClass.CDN_BLOCK)

    told = await report(out)

    # Without an error: whoever waits for its turn keeps it.
    assert (told, await log_rows(), discord.requests) == (SendReport(SendResult.FAILED_TRANSIENT), [], 0)


async def test_channels_opened_too_fast_are_reported_and_nobody_is_marked(database: str, discord: FakeDiscord) -> None:
    error = SendError(ErrorClass.OPENING_TOO_FAST, "opening too fast", status=429)
    out = way_out(discord)
    discord.answers.append(Refused(error))

    told = await report(out)

    assert (told, await log_rows()) == (SendReport(SendResult.FAILED_TRANSIENT, error), [])
    assert (await report(out)).result is SendResult.SENT


async def test_channels_opened_too_fast_are_reported_though_the_row_cannot_be_released(
    database: str, clock: ManualClock, discord: FakeDiscord, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def _refuse(_: object) -> bool:
        raise OSError

    agenda = Agenda()
    error = SendError(ErrorClass.OPENING_TOO_FAST, "opening too fast", status=429)
    discord.answers.append(Refused(error))
    monkeypatch.setattr(ledger, "delete_held", _refuse)

    told = await report(way_out(discord, agenda=agenda))

    assert (told, await outcomes()) == (SendReport(SendResult.FAILED_TRANSIENT, error), [None])
    assert agenda.next(SWEEP_STALE_DISCORD_LEASES) == clock.now() + MINUTE


# ------------------------------------------------------------------------------------------ failed without an attempt


async def test_what_could_not_be_tried_is_recorded_without_a_request(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    told = await fail(way_out(discord))

    row = (await log_rows())[0]
    assert told == SendReport(SendResult.FAILED_PERMANENT, CLOSED, clock.now() + HOUR)
    assert (row["recipient_id"], row["channel_id"], row["attempts"]) == (WHO, None, 1)
    assert (row["success"], row["error_class"], row["status_code"]) == (False, "recipient_unreachable", 403)
    assert moment(row["next_attempt_at"]) == clock.now() + HOUR
    assert discord.requests == 0


@pytest.mark.parametrize(
    ("after", "result"),
    [
        pytest.param(30 * SECOND - TICK, SendResult.ALREADY_CLAIMED, id="just before"),
        pytest.param(30 * SECOND, SendResult.FAILED_TRANSIENT, id="exactly"),
    ],
)
async def test_what_could_not_be_tried_waits_as_any_failure_does(
    database: str, clock: ManualClock, discord: FakeDiscord, after: dt.timedelta, result: SendResult
) -> None:
    out, outage = way_out(discord), SendError(ErrorClass.OUTAGE, "503", status=503)
    await fail(out, error=outage)

    clock.advance(after)

    assert (await fail(out, error=outage)).result is result


async def test_what_was_sent_cannot_fail_afterwards(database: str, discord: FakeDiscord) -> None:
    out = way_out(discord)
    await report(out)

    assert await fail(out) == SendReport(SendResult.ALREADY_CLAIMED)
    assert await outcomes() == [True]


async def test_what_is_on_its_way_cannot_fail_meanwhile(database: str, discord: FakeDiscord) -> None:
    out, there = way_out(discord), way_out(discord, instance="there")
    results: list[SendReport] = []

    async def _meanwhile() -> None:
        results.extend([await fail(out), await fail(there)])

    discord.answers.append(_meanwhile)
    told = await report(out)

    assert (told.result, results) == (SendResult.SENT, [SendReport(SendResult.ALREADY_CLAIMED)] * 2)
    assert await outcomes() == [True]


async def test_of_eight_processes_that_record_a_failure_one_does(database: str, discord: FakeDiscord) -> None:
    outs = [way_out(discord, instance=f"i{place}") for place in range(8)]

    results = [told.result for told in await asyncio.gather(*(fail(out) for out in outs))]

    assert sorted(results) == [SendResult.ALREADY_CLAIMED] * 7 + [SendResult.FAILED_PERMANENT]
    assert await outcomes() == [False]


@pytest.mark.parametrize("database_url", [pytest.param("postgres", marks=pytest.mark.postgres)], indirect=True)
async def test_a_claim_that_did_not_see_a_failure_being_recorded_is_given_back(
    database: str, discord: FakeDiscord, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = ledger.claim_lease

    async def _claimed_without_seeing(of: Claim, *, instance: str, lease_clock: LeaseClock) -> Lease | None:
        lease = await claim(of, instance=instance, lease_clock=lease_clock)
        await fetch(
            "INSERT INTO discord_message_log (source, source_id, recipient_id, part, success, claimed_at, created_at,"
            " history_after, attempts, next_attempt_at) SELECT source, source_id, recipient_id, part, FALSE,"
            " claimed_at, created_at, 0, 1, claimed_at + INTERVAL '1 hour' FROM discord_message_log"
        )
        return lease

    monkeypatch.setattr(ledger, "claim_lease", _claimed_without_seeing)

    assert await report(way_out(discord)) == SendReport(SendResult.ALREADY_CLAIMED)
    assert discord.visible == []
    assert await outcomes() == [False]


async def test_a_failure_that_is_not_durable_is_told_to_its_caller(
    database: str, discord: FakeDiscord, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def _refuse(*_: object, **__: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(ledger, "claim_lease", _refuse)

    with pytest.raises(OSError, match="disk full"):
        await fail(way_out(discord))

    assert await log_rows() == []


# -------------------------------------------------------------------------------------------------------- kept leases


async def test_a_kept_lease_is_under_way_until_it_is_let_go(database: str, discord: FakeDiscord) -> None:
    out, key = way_out(discord), MessageKey("signup_reminder", 1)
    lease = await out.claim(Attempt(key, GUILD, None), None)
    assert lease is not None
    seen = [out.is_under_way(lease)]

    out.under_way.keep(key)
    seen.append(out.is_under_way(lease))
    out.under_way.keep(key)
    out.under_way.let_go(key)
    seen.append(out.is_under_way(lease))
    out.under_way.let_go(key)

    assert seen == [False, True, False]


async def test_a_kept_lease_that_is_too_old_has_no_call_to_break_off(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    out, key = way_out(discord), MessageKey("signup_reminder", 1)
    lease = await out.claim(Attempt(key, GUILD, None), None)
    assert lease is not None
    out.under_way.keep(key)

    out.under_way.abandon(lease)
    done = await out.recorder.finalize(Outcome(Attempt(key, GUILD, None), lease, Delivered(1, 2)))

    assert (done, await outcomes()) == (True, [True])


async def test_a_claim_without_a_message_says_nothing_that_could_be_looked_up(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await way_out(discord).claim(Attempt(MessageKey("signup_reminder", 1), GUILD, None), None)

    held = (await ledger.held_rows())[0]
    assert (held.marker, held.channel_id, held.version) == (None, None, 0)


# ------------------------------------------------------------------------------------------------------- side by side


async def test_dms_wait_for_no_turn_in_their_channel_and_leave_no_lock_behind(
    database: str, discord: FakeDiscord
) -> None:
    out, meet = way_out(discord), asyncio.Barrier(4)

    async def _answer() -> None:
        # One at a time they would never meet.
        await asyncio.wait_for(meet.wait(), timeout=10)

    discord.answers.extend([_answer] * 8)
    told = await asyncio.gather(*(report(out, MessageKey("waitlist", number, WHO)) for number in range(8)))
    await report(out, MessageKey("event_repost", 1, part=1), target=ChannelTarget(GUILD, 70))

    assert told == [SendReport(SendResult.SENT)] * 8
    assert set(out._turns._channels) == {70}


async def test_posts_share_their_slots_and_a_dm_needs_none(database: str, discord: FakeDiscord) -> None:
    out, full, go_on = way_out(discord, options=SendOptions(concurrent_sends=3)), asyncio.Event(), asyncio.Event()
    running = most = 0

    async def _post() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        if running == 3:
            full.set()
        await go_on.wait()
        running -= 1

    async def _dm() -> None:
        go_on.set()  # no post ends before, and so none gives its slot to this one

    posts = [
        asyncio.create_task(report(out, MessageKey("waitlist", at), target=ChannelTarget(GUILD, at)))
        for at in range(70, 82)
    ]
    discord.answers.extend([_post] * 3)
    await asyncio.wait_for(full.wait(), timeout=30)
    discord.answers.extend([_dm, *[_post] * 9])
    await asyncio.wait_for(asyncio.gather(report(out, MessageKey("waitlist", 1, WHO)), *posts), timeout=30)

    assert most == 3
    assert len(discord.visible) == 13


async def test_two_dms_to_one_person_keep_their_own_keys_and_nonces(database: str, discord: FakeDiscord) -> None:
    out = way_out(discord)

    await asyncio.gather(report(out, KEY), report(out, MessageKey("farewell", 1, WHO)))

    assert len({posted.nonce for posted in discord.visible}) == 2
    assert {posted.channel_id for posted in discord.visible} == {DM_CHANNEL}


async def test_the_next_attempt_is_by_the_lease_clock(database: str, clock: ManualClock, discord: FakeDiscord) -> None:
    class _Ahead(InjectedLeaseClock):
        async def now(self) -> dt.datetime:
            return clock.now() + HOUR

    discord.answers.append(Refused(CLOSED))

    told = await report(way_out(discord, lease_clock=_Ahead(clock)))

    assert told.next_attempt_at == clock.now() + 2 * HOUR
