"""The running processes: who says that it lives, and whose rows are removed."""

import asyncio
import datetime as dt

import pytest

from bot.clock import InjectedLeaseClock, ManualClock, SharedClock, SystemClock
from bot.leases.instances import InstanceRegister, new_instance_id
from models.instance import Instance

TICK = dt.timedelta(microseconds=1)
SECOND = dt.timedelta(seconds=1)
DAY = dt.timedelta(days=1)


def register(lease_clock: InjectedLeaseClock, instance: str, name: str = "host") -> InstanceRegister:
    return InstanceRegister(instance, name, lease_clock=lease_clock, shard_ids=(0, 1))


async def ids() -> list[str]:
    return [row.id for row in await Instance.all().order_by("id")]


def test_no_two_lives_share_an_id() -> None:
    ids = {new_instance_id() for _ in range(1_000)}

    assert len(ids) == 1_000
    assert {len(one) for one in ids} == {32}


async def test_a_process_that_enters_is_written_down(
    database: str, clock: ManualClock, lease_clock: InjectedLeaseClock
) -> None:
    predecessors = await register(lease_clock, "a").enter()

    row = await Instance.get(id="a")
    assert predecessors == 0
    assert (row.name, row.started_at, row.heartbeat_at, row.shard_ids) == ("host", clock.now(), clock.now(), [0, 1])


async def test_whoever_enters_under_a_name_removes_its_predecessors_alone(
    database: str, lease_clock: InjectedLeaseClock
) -> None:
    await register(lease_clock, "other", "elsewhere").enter()
    await register(lease_clock, "a").enter()

    predecessors = await register(lease_clock, "b").enter()

    assert (predecessors, await ids()) == (1, ["b", "other"])


@pytest.mark.parametrize(
    ("silence", "kept"),
    [
        pytest.param(DAY - TICK, True, id="just before a day"),
        pytest.param(DAY, True, id="exactly a day"),
        pytest.param(DAY + TICK, False, id="just past a day"),
    ],
)
async def test_a_process_silent_for_a_day_is_forgotten(
    database: str, clock: ManualClock, lease_clock: InjectedLeaseClock, silence: dt.timedelta, kept: bool
) -> None:
    await register(lease_clock, "old", "elsewhere").enter()

    clock.advance(silence)
    await register(lease_clock, "new").enter()

    assert await ids() == (["new", "old"] if kept else ["new"])


async def test_a_heartbeat_moves_its_own_row_alone(
    database: str, clock: ManualClock, lease_clock: InjectedLeaseClock
) -> None:
    started, beating, silent = clock.now(), register(lease_clock, "a", "one"), register(lease_clock, "b", "two")
    await beating.enter()
    await silent.enter()

    clock.advance(10 * SECOND)
    await beating.beat(clock.now())

    rows = {row.id: (row.started_at, row.heartbeat_at) for row in await Instance.all()}
    assert rows == {"a": (started, started + 10 * SECOND), "b": (started, started)}


async def test_a_heartbeat_goes_by_the_lease_clock_not_by_the_process(
    database: str, clock: ManualClock, lease_clock: InjectedLeaseClock
) -> None:
    process = register(lease_clock, "a")
    await process.enter()

    await process.beat(clock.now() + DAY)

    assert (await Instance.get(id="a")).heartbeat_at == clock.now()


async def test_a_process_whose_machine_is_ahead_goes_by_the_time_of_all(
    database: str, clock: ManualClock, lease_clock: InjectedLeaseClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = SharedClock()
    monkeypatch.setattr(SystemClock, "now", lambda _: clock.now() + 2 * DAY)
    process = InstanceRegister("a", "host", lease_clock=lease_clock, follow=own.follow)

    await process.enter()
    at_start = own.now()
    monkeypatch.setattr(SystemClock, "now", lambda _: clock.now() - DAY)
    await process.beat(own.now())

    assert (at_start, own.now()) == (clock.now(), clock.now())


async def test_a_row_that_somebody_removed_is_written_again(
    database: str, clock: ManualClock, lease_clock: InjectedLeaseClock
) -> None:
    process = register(lease_clock, "a")
    await process.enter()
    await Instance.all().delete()

    await process.beat(clock.now())

    assert await ids() == ["a"]


async def test_a_process_that_leaves_removes_its_own_row_alone(database: str, lease_clock: InjectedLeaseClock) -> None:
    leaving = register(lease_clock, "a", "one")
    await leaving.enter()
    await register(lease_clock, "b", "two").enter()

    await leaving.leave()
    await leaving.leave()

    assert await ids() == ["b"]


async def test_processes_that_enter_at_once_are_all_there(database: str, lease_clock: InjectedLeaseClock) -> None:
    await asyncio.gather(*(register(lease_clock, f"i{place}", f"host{place}").enter() for place in range(8)))

    assert await ids() == [f"i{place}" for place in range(8)]
