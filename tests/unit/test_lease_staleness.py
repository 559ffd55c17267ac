"""From when on an open lease may be looked into, for every holder and at every boundary."""

import datetime as dt

import pytest

from bot.leases.keys import MessageKey
from bot.leases.ledger import HeldRow, Lease
from bot.leases.staleness import Holder, SweepOptions, reconcilable_at

CLAIMED = dt.datetime(2026, 3, 1, 12, 0, tzinfo=dt.UTC)
TICK = dt.timedelta(microseconds=1)
SECOND = dt.timedelta(seconds=1)
MINUTE = dt.timedelta(minutes=1)


def held(
    *, heartbeat: dt.timedelta | None = None, renewed: dt.timedelta | None = None, marker: str | None = "#1"
) -> HeldRow:
    """A row claimed at noon; the last heartbeat of its instance and its renewal by how long after."""
    return HeldRow(
        lease=Lease(1, MessageKey("event_announcement", 1), "token", 1, CLAIMED),
        guild_id=7,
        channel_id=70,
        marker=marker,
        version=0,
        history_after=0,
        instance="there",
        renewed_at=CLAIMED + renewed if renewed is not None else None,
        heartbeat_at=CLAIMED + heartbeat if heartbeat is not None else None,
    )


BOUNDARIES = [
    pytest.param(-TICK, False, id="just before"),
    pytest.param(dt.timedelta(0), True, id="exactly"),
    pytest.param(TICK, True, id="just past"),
]


def may_be_looked_into(row: HeldRow, holder: Holder, after: dt.timedelta) -> bool:
    return reconcilable_at(row, holder, SweepOptions()) <= CLAIMED + after


@pytest.mark.parametrize(("shift", "expected"), BOUNDARIES)
def test_what_this_process_does_not_know_waits_a_minute(shift: dt.timedelta, expected: bool) -> None:
    row = held(heartbeat=MINUTE)

    assert may_be_looked_into(row, Holder.MINE_UNKNOWN, MINUTE + shift) is expected


def test_what_this_process_claimed_without_hearing_of_it_waits_for_nothing() -> None:
    assert may_be_looked_into(held(heartbeat=MINUTE), Holder.MINE_UNSENT, dt.timedelta(0))


@pytest.mark.parametrize(("shift", "expected"), BOUNDARIES)
def test_a_running_task_of_this_process_keeps_its_lease_for_five_minutes(shift: dt.timedelta, expected: bool) -> None:
    row = held(heartbeat=dt.timedelta(0))

    assert may_be_looked_into(row, Holder.MINE_RUNNING, 5 * MINUTE + shift) is expected


@pytest.mark.parametrize(("shift", "expected"), BOUNDARIES)
def test_a_living_other_keeps_its_lease_for_five_minutes(shift: dt.timedelta, expected: bool) -> None:
    row = held(heartbeat=5 * MINUTE)

    assert may_be_looked_into(row, Holder.OTHER, 5 * MINUTE + shift) is expected


@pytest.mark.parametrize(("shift", "expected"), BOUNDARIES)
def test_a_row_whose_instance_is_gone_waits_a_minute(shift: dt.timedelta, expected: bool) -> None:
    row = held(heartbeat=None)

    assert may_be_looked_into(row, Holder.OTHER, MINUTE + shift) is expected


@pytest.mark.parametrize(("shift", "expected"), BOUNDARIES)
def test_an_other_is_dead_after_thirty_seconds_of_silence(shift: dt.timedelta, expected: bool) -> None:
    row = held(heartbeat=2 * MINUTE)

    assert may_be_looked_into(row, Holder.OTHER, 2 * MINUTE + 30 * SECOND + shift) is expected


@pytest.mark.parametrize(("shift", "expected"), BOUNDARIES)
def test_even_a_dead_others_row_waits_a_minute(shift: dt.timedelta, expected: bool) -> None:
    row = held(heartbeat=-10 * MINUTE)

    assert may_be_looked_into(row, Holder.OTHER, MINUTE + shift) is expected


@pytest.mark.parametrize(("shift", "expected"), BOUNDARIES)
@pytest.mark.parametrize(
    ("holder", "heartbeat", "patience"),
    [
        pytest.param(Holder.MINE_UNKNOWN, dt.timedelta(0), MINUTE, id="mine, unknown"),
        pytest.param(Holder.MINE_RUNNING, dt.timedelta(0), 5 * MINUTE, id="mine, running"),
        pytest.param(Holder.OTHER, None, MINUTE, id="of an instance that is gone"),
        pytest.param(Holder.OTHER, dt.timedelta(0), MINUTE, id="of a dead instance"),
        pytest.param(Holder.OTHER, 8 * MINUTE, 5 * MINUTE, id="of a living instance"),
    ],
)
def test_a_renewed_lease_counts_from_its_renewal(
    holder: Holder, heartbeat: dt.timedelta | None, patience: dt.timedelta, shift: dt.timedelta, expected: bool
) -> None:
    row = held(heartbeat=heartbeat, renewed=3 * MINUTE)

    assert may_be_looked_into(row, holder, 3 * MINUTE + patience + shift) is expected


@pytest.mark.parametrize(("shift", "expected"), BOUNDARIES)
@pytest.mark.parametrize(
    ("holder", "heartbeat", "patience"),
    [
        pytest.param(Holder.MINE_UNKNOWN, dt.timedelta(0), dt.timedelta(0), id="mine, unknown"),
        pytest.param(Holder.OTHER, None, dt.timedelta(0), id="of an instance that is gone"),
        pytest.param(Holder.OTHER, -10 * MINUTE, dt.timedelta(0), id="of an instance dead before"),
        pytest.param(Holder.OTHER, 10 * SECOND, 40 * SECOND, id="of an instance that dies"),
        pytest.param(Holder.OTHER, 8 * MINUTE, 5 * MINUTE, id="of a living instance"),
        pytest.param(Holder.MINE_RUNNING, dt.timedelta(0), 5 * MINUTE, id="mine, running"),
    ],
)
def test_a_row_without_a_message_waits_for_its_holder_alone(
    holder: Holder, heartbeat: dt.timedelta | None, patience: dt.timedelta, shift: dt.timedelta, expected: bool
) -> None:
    row = held(heartbeat=heartbeat, marker=None)

    assert may_be_looked_into(row, holder, patience + shift) is expected


@pytest.mark.parametrize(("shift", "expected"), BOUNDARIES)
def test_a_row_without_a_message_counts_from_its_renewal_too(shift: dt.timedelta, expected: bool) -> None:
    row = held(heartbeat=None, renewed=3 * MINUTE, marker=None)

    assert may_be_looked_into(row, Holder.OTHER, 3 * MINUTE + shift) is expected


def test_a_renewal_older_than_the_claim_changes_nothing() -> None:
    row = held(renewed=-MINUTE)

    assert row.last_touched == CLAIMED


def test_the_figures_can_be_set() -> None:
    options = SweepOptions(lease_timeout=2 * MINUTE, dead_after=90 * SECOND)

    living = reconcilable_at(held(heartbeat=MINUTE), Holder.OTHER, options)
    silent = reconcilable_at(held(heartbeat=dt.timedelta(0)), Holder.OTHER, options)

    assert (living, silent) == (CLAIMED + 2 * MINUTE, CLAIMED + 90 * SECOND)
