"""The claim: of many one wins, a failure keeps its key until its time, a sent message keeps it for ever."""

import asyncio
import datetime as dt
from dataclasses import replace

import pytest

from bot.clock import InjectedLeaseClock, ManualClock
from bot.database import DatabaseLeaseClock, opened
from bot.leases import ledger
from bot.leases.failures import ErrorClass, SendError
from bot.leases.keys import MessageKey
from bot.leases.ledger import Claim, Lease
from bot.leases.ports import Delivered
from tests.fake_discord import CHANNEL, GUILD, log_rows, outcomes

KEY = MessageKey("event_announcement", 1)
TICK = dt.timedelta(microseconds=1)
MINUTE = dt.timedelta(minutes=1)
REFUSED = SendError(ErrorClass.OUTAGE, "503", status=503)


def claim_of(key: MessageKey) -> Claim:
    return Claim(key, GUILD, CHANNEL, {"marker": "#1"}, history_after=5)


async def claim(key: MessageKey, lease_clock: InjectedLeaseClock, *, instance: str = "here") -> Lease | None:
    return await ledger.claim_lease(claim_of(key), instance=instance, lease_clock=lease_clock)


async def claimed(lease_clock: InjectedLeaseClock, key: MessageKey = KEY) -> Lease:
    lease = await claim(key, lease_clock)
    assert lease is not None
    return lease


async def test_a_claim_is_written_down_before_anything_leaves(
    database: str, clock: ManualClock, lease_clock: InjectedLeaseClock
) -> None:
    lease = await claimed(lease_clock)

    row = (await log_rows())[0]
    assert (row["source"], row["source_id"], row["recipient_id"], row["part"]) == ("event_announcement", 1, 0, 0)
    assert (row["guild_id"], row["channel_id"], row["history_after"]) == (GUILD, CHANNEL, 5)
    assert (row["success"], row["instance"], row["attempts"]) == (None, "here", 1)
    assert row["lease_token"] == lease.token
    assert lease.claimed_at == clock.now()


async def test_of_eight_racing_claimers_one_wins_each_time(database: str, lease_clock: InjectedLeaseClock) -> None:
    for number in range(30):
        key = MessageKey("event_announcement", number)

        leases = await asyncio.gather(*(claim(key, lease_clock, instance=f"i{place}") for place in range(8)))

        assert [lease is not None for lease in leases].count(True) == 1
    assert len(await log_rows()) == 30


@pytest.mark.postgres
async def test_of_eight_claimers_on_connections_of_their_own_one_wins_each_time(
    postgres_url: str, lease_clock: InjectedLeaseClock
) -> None:
    async with opened(postgres_url, pool_size=8):
        await asyncio.gather(*(ledger.held_rows() for _ in range(8)))
        for number in range(30):
            key = MessageKey("event_announcement", number)

            leases = await asyncio.gather(*(claim(key, lease_clock, instance=f"i{place}") for place in range(8)))

            assert [lease is not None for lease in leases].count(True) == 1


async def test_of_eight_racing_claimers_one_wins_by_the_databases_own_clock(database: str) -> None:
    async def _claim(place: int) -> Lease | None:
        return await ledger.claim_lease(claim_of(KEY), instance=f"i{place}", lease_clock=DatabaseLeaseClock())

    leases = await asyncio.gather(*(_claim(place) for place in range(8)))
    told = await DatabaseLeaseClock().now()

    won = [lease for lease in leases if lease is not None]
    assert len(won) == 1
    assert dt.timedelta(0) <= told - won[0].claimed_at < dt.timedelta(seconds=10)


async def test_of_eight_racing_claimers_of_a_key_that_failed_one_wins(
    database: str, clock: ManualClock, lease_clock: InjectedLeaseClock
) -> None:
    lease = await claimed(lease_clock)
    await ledger.finalize_failed(lease, REFUSED, next_attempt_at=clock.now(), lease_clock=lease_clock)

    leases = await asyncio.gather(*(claim(KEY, lease_clock) for _ in range(8)))

    assert [lease is not None for lease in leases].count(True) == 1


async def test_a_sent_message_refuses_every_later_claim(
    database: str, clock: ManualClock, lease_clock: InjectedLeaseClock
) -> None:
    lease = await claimed(lease_clock)
    await ledger.finalize_sent(lease, Delivered(9, CHANNEL), lease_clock=lease_clock)

    clock.advance(dt.timedelta(days=3650))

    assert await claim(KEY, lease_clock) is None
    assert await outcomes() == [True]


@pytest.mark.parametrize(
    ("shift", "allowed"),
    [
        pytest.param(-TICK, False, id="just before"),
        pytest.param(dt.timedelta(0), True, id="exactly"),
        pytest.param(TICK, True, id="just past"),
    ],
)
async def test_a_failure_keeps_its_key_until_its_next_attempt(
    database: str, clock: ManualClock, lease_clock: InjectedLeaseClock, shift: dt.timedelta, allowed: bool
) -> None:
    lease = await claimed(lease_clock)
    await ledger.finalize_failed(lease, REFUSED, next_attempt_at=clock.now() + MINUTE, lease_clock=lease_clock)

    clock.advance(MINUTE + shift)

    assert (await claim(KEY, lease_clock) is not None) is allowed


async def test_a_next_attempt_kept_in_another_zone_means_the_same_moment(
    database: str, clock: ManualClock, lease_clock: InjectedLeaseClock
) -> None:
    in_new_york = (clock.now() + MINUTE).astimezone(dt.timezone(dt.timedelta(hours=-5)))
    lease = await claimed(lease_clock)
    await ledger.finalize_failed(lease, REFUSED, next_attempt_at=in_new_york, lease_clock=lease_clock)

    at_once = await claim(KEY, lease_clock)
    clock.advance(MINUTE)
    later = await claim(KEY, lease_clock)

    assert (at_once is None, later is not None) == (True, True)


async def test_each_attempt_is_a_row_of_its_own_and_counts(
    database: str, clock: ManualClock, lease_clock: InjectedLeaseClock
) -> None:
    counted = []
    for _ in range(4):
        lease = await claimed(lease_clock)
        counted.append(lease.attempts)
        await ledger.finalize_failed(lease, REFUSED, next_attempt_at=clock.now() + MINUTE, lease_clock=lease_clock)
        clock.advance(MINUTE)

    assert counted == [1, 2, 3, 4]
    assert await outcomes() == [False] * 4


async def test_an_old_failure_counts_though_a_newer_one_went(
    database: str, clock: ManualClock, lease_clock: InjectedLeaseClock
) -> None:
    lease = await claimed(lease_clock)
    await ledger.finalize_failed(lease, REFUSED, next_attempt_at=None, lease_clock=lease_clock)

    again = await claimed(lease_clock)

    assert again.attempts == 2


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(replace(KEY, source="event_repost"), id="another source"),
        pytest.param(replace(KEY, source_id=2), id="another event"),
        pytest.param(replace(KEY, recipient_id=5), id="another recipient"),
        pytest.param(replace(KEY, part=1), id="another part"),
    ],
)
async def test_another_part_recipient_or_source_is_another_key(
    database: str, clock: ManualClock, lease_clock: InjectedLeaseClock, other: MessageKey
) -> None:
    await claimed(lease_clock)
    failed = await claimed(lease_clock, other)
    await ledger.finalize_failed(failed, REFUSED, next_attempt_at=clock.now() + MINUTE, lease_clock=lease_clock)

    held = await ledger.held_rows(KEY)

    assert (failed.attempts, [row.lease.key for row in held]) == (1, [KEY])


async def test_only_the_token_of_the_lease_finalizes(database: str, lease_clock: InjectedLeaseClock) -> None:
    lease = await claimed(lease_clock)
    stale = replace(lease, token="another")

    changed = [
        await ledger.finalize_sent(stale, Delivered(9, CHANNEL), lease_clock=lease_clock),
        await ledger.finalize_failed(stale, REFUSED, next_attempt_at=None, lease_clock=lease_clock),
        await ledger.delete_held(stale),
        await ledger.hand_back(stale),
        await ledger.renew(stale, lease_clock=lease_clock),
    ]

    assert changed == [False] * 5
    assert await outcomes() == [None]


async def test_a_finished_row_is_not_finished_again(database: str, lease_clock: InjectedLeaseClock) -> None:
    lease = await claimed(lease_clock)
    await ledger.finalize_sent(lease, Delivered(9, CHANNEL), lease_clock=lease_clock)

    changed = await ledger.finalize_failed(lease, REFUSED, next_attempt_at=None, lease_clock=lease_clock)

    assert not changed
    assert (await log_rows())[0]["discord_message_id"] == 9


async def test_of_eight_who_take_a_lease_over_one_wins(database: str, lease_clock: InjectedLeaseClock) -> None:
    lease = await claimed(lease_clock)

    taken = await asyncio.gather(
        *(ledger.take_over(lease, instance=f"i{place}", lease_clock=lease_clock) for place in range(8))
    )

    assert [one is not None for one in taken].count(True) == 1


async def test_taking_over_a_handed_back_row_keeps_what_was_claimed_unless_it_is_said(
    database: str, lease_clock: InjectedLeaseClock
) -> None:
    await ledger.hand_back(await claimed(lease_clock))
    row = (await ledger.held_rows())[0]

    first = await ledger.take_over(row.lease, instance="there", lease_clock=lease_clock)
    assert first is not None
    kept = (await ledger.held_rows())[0]
    await ledger.take_over(
        first, instance="there", lease_clock=lease_clock, channel_id=71, embed_data={"marker": "#2", "version": 4}
    )
    changed = (await ledger.held_rows())[0]

    assert (kept.channel_id, kept.marker, kept.version, kept.history_after) == (CHANNEL, "#1", 0, 5)
    assert (changed.channel_id, changed.marker, changed.version, changed.history_after) == (71, "#2", 4, 5)


@pytest.mark.parametrize("length", [500, 501], ids=["exactly 500", "just past 500"])
async def test_an_error_is_cut_to_what_the_column_holds(
    database: str, lease_clock: InjectedLeaseClock, length: int
) -> None:
    lease = await claimed(lease_clock)
    error = SendError(ErrorClass.INVALID, "x" * length, status=400)

    await ledger.finalize_failed(lease, error, next_attempt_at=None, lease_clock=lease_clock)

    row = (await log_rows())[0]
    assert (len(str(row["error"])), row["error_class"], row["status_code"]) == (500, "invalid", 400)


async def test_what_was_never_attempted_is_recorded(database: str, lease_clock: InjectedLeaseClock) -> None:
    recorded = await ledger.record_unsent(
        KEY, guild_id=GUILD, error_class=ErrorClass.EVENT_STARTED, text="too late", lease_clock=lease_clock
    )

    row = (await log_rows())[0]
    assert recorded
    assert (row["success"], row["error_class"], row["next_attempt_at"]) == (False, "event_started", None)
