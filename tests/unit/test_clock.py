"""Where the time comes from."""

import datetime as dt
from zoneinfo import ZoneInfo

import pytest

from bot.clock import InjectedLeaseClock, ManualClock, SharedClock, SystemClock

NOON = dt.datetime(2026, 3, 1, 12, 0, tzinfo=dt.UTC)
HOUR = dt.timedelta(hours=1)


def test_a_clock_refuses_a_naive_moment() -> None:
    with pytest.raises(ValueError, match="aware"):
        ManualClock(dt.datetime(2026, 3, 1, 12, 0))  # noqa: DTZ001 -- what is refused

    with pytest.raises(ValueError, match="aware"):
        ManualClock(NOON).set(dt.datetime(2026, 3, 1, 12, 0))  # noqa: DTZ001 -- what is refused


def test_a_clock_tells_utc_whatever_zone_it_was_set_in() -> None:
    clock = ManualClock(dt.datetime(2026, 3, 1, 21, 0, tzinfo=ZoneInfo("Asia/Tokyo")))

    assert clock.now() == NOON
    assert clock.now().tzinfo is dt.UTC


@pytest.mark.parametrize("span", [HOUR, -HOUR, dt.timedelta(0)])
def test_a_clock_moves_only_as_it_is_told(span: dt.timedelta) -> None:
    clock = ManualClock(NOON)

    clock.advance(span)

    assert clock.now() == NOON + span


def test_a_clock_can_be_set_back() -> None:
    clock = ManualClock(NOON)

    clock.set(NOON - HOUR)

    assert clock.now() == NOON - HOUR


@pytest.mark.parametrize(
    ("seconds", "moved"), [(90.0, dt.timedelta(seconds=90)), (0.0, dt.timedelta(0)), (-5.0, dt.timedelta(0))]
)
async def test_waiting_on_a_manual_clock_moves_it_forward(seconds: float, moved: dt.timedelta) -> None:
    clock = ManualClock(NOON)

    await clock.sleep(seconds)

    assert clock.now() == NOON + moved


async def test_an_injected_lease_clock_follows_its_clock_and_stamps_with_it() -> None:
    clock = ManualClock(NOON)
    lease_clock = InjectedLeaseClock(clock)

    clock.advance(HOUR)

    assert (await lease_clock.now(), lease_clock.stamp()) == (NOON + HOUR, NOON + HOUR)


async def test_the_machines_clock_is_aware_and_does_not_wait_for_the_past() -> None:
    clock = SystemClock()

    before = clock.now()
    await clock.sleep(-60)

    assert before.tzinfo is dt.UTC
    assert dt.timedelta(0) <= clock.now() - before < dt.timedelta(seconds=10)


@pytest.mark.parametrize(
    ("ahead_by", "followed"),
    [(HOUR, True), (-HOUR, True), (dt.timedelta(seconds=1), False), (dt.timedelta(0), False)],
    ids=["an hour ahead", "an hour behind", "what asking takes", "together"],
)
def test_a_process_goes_by_the_time_that_all_agree_on(
    monkeypatch: pytest.MonkeyPatch, ahead_by: dt.timedelta, followed: bool
) -> None:
    clock = SharedClock()
    monkeypatch.setattr(SystemClock, "now", lambda _: NOON + ahead_by)

    found = clock.follow(NOON)

    assert found == (ahead_by if followed else dt.timedelta(0))
    assert clock.now() == (NOON if followed else NOON + ahead_by)
