"""What Discord allows the bot is divided among the processes that live, as the heartbeats tell."""

import datetime as dt

import pytest

from bot.bootstrap import Ports, ServiceOptions, build_services
from bot.clock import InjectedLeaseClock, ManualClock
from bot.dm_queue.worker import DmWorker
from bot.leases.instances import InstanceRegister
from bot.scheduling.bodies import DRAIN_DM_QUEUE
from models.instance import Instance
from tests.builders import SECOND, FakeDiscord, Process, make_guild, process
from tests.conftest import START
from tests.database.test_dm_worker import Letter, know, offer

TICK = dt.timedelta(microseconds=1)
BEAT = 10 * SECOND
PEOPLE = 700


def most_within(span: dt.timedelta, moments: list[dt.datetime]) -> int:
    """The most of any span of that length, which includes its begin and not its end."""
    return max(sum(begin <= moment < begin + span for moment in moments) for begin in moments)


class Told:
    """A process's register, and what it told of the others."""

    def __init__(self, lease_clock: InjectedLeaseClock, name: str) -> None:
        self.counts: list[int] = []
        self.register = InstanceRegister(name, name, lease_clock=lease_clock, share=self.counts.append)


async def test_who_comes_knows_of_the_others_at_once_and_they_at_their_next_heartbeat(
    database: str, clock: ManualClock, lease_clock: InjectedLeaseClock
) -> None:
    one, two, three = (Told(lease_clock, name) for name in ("one", "two", "three"))

    for who in (one, two, three):
        await who.register.enter()
    await one.register.beat(clock.now())
    await one.register.beat(clock.now())

    assert (one.counts, two.counts, three.counts) == ([3], [2], [3])


async def test_who_leaves_is_no_longer_counted(
    database: str, clock: ManualClock, lease_clock: InjectedLeaseClock
) -> None:
    one, two = Told(lease_clock, "one"), Told(lease_clock, "two")
    await one.register.enter()
    await two.register.enter()
    await one.register.beat(clock.now())

    await two.register.leave()
    await one.register.beat(clock.now())
    at_the_first_look = list(one.counts)
    await one.register.beat(clock.now())

    assert (at_the_first_look, one.counts) == ([2], [2, 1])


async def test_after_an_outage_of_the_database_nobody_takes_the_others_for_dead_at_the_first_look(
    database: str, clock: ManualClock, lease_clock: InjectedLeaseClock
) -> None:
    told = [Told(lease_clock, name) for name in ("one", "two", "three")]
    for who in (*told, *told):
        await who.register.beat(clock.now())

    clock.advance(dt.timedelta(minutes=5))
    for who in (*told, *told):
        await who.register.beat(clock.now())
        clock.advance(3 * SECOND)

    assert [who.counts[-1] for who in told] == [3, 3, 3]
    assert not any(1 in who.counts for who in told)


@pytest.mark.parametrize(
    ("silence", "alive"),
    [
        pytest.param(30 * SECOND - TICK, [2], id="just before it counts as dead"),
        pytest.param(30 * SECOND, [2, 1], id="exactly"),
        pytest.param(30 * SECOND + TICK, [2, 1], id="just past"),
    ],
)
async def test_who_is_silent_for_as_long_as_a_dead_one_is_no_longer_counted(
    database: str, clock: ManualClock, lease_clock: InjectedLeaseClock, silence: dt.timedelta, alive: list[int]
) -> None:
    one, two = Told(lease_clock, "one"), Told(lease_clock, "two")
    await two.register.enter()
    await one.register.enter()

    clock.advance(silence)
    await one.register.beat(clock.now())
    await one.register.beat(clock.now())

    assert one.counts == alive


async def test_whoever_wakes_after_being_counted_dead_counts_all_again(
    database: str, clock: ManualClock, lease_clock: InjectedLeaseClock
) -> None:
    one, two = Told(lease_clock, "one"), Told(lease_clock, "two")
    await one.register.enter()
    await two.register.enter()
    await one.register.beat(clock.now())

    for _ in range(6):
        clock.advance(BEAT)
        await one.register.beat(clock.now())
    await two.register.beat(clock.now())
    await one.register.beat(clock.now())

    assert (one.counts, two.counts) == ([2, 1, 2], [2])


async def test_the_http_side_is_told_too(database: str, clock: ManualClock) -> None:
    counts: list[int] = []
    discord = FakeDiscord(clock)
    await process(discord, clock, name="other")
    ports = Ports(
        discord=discord,
        discord_time=discord,
        clock=clock,
        lease_clock=InjectedLeaseClock(clock),
        is_available=lambda _: True,
        stop=lambda _: None,
        share=counts.append,
    )
    services = build_services(ports, ServiceOptions(), instance_name="one")

    await services.enter(clock.now())
    await Instance.filter(name="other").delete()
    for _ in range(2):
        await services.register.beat(clock.now())

    assert counts == [2, 1]
    assert services.dms.rate == 5.0


# ----------------------------------------------------------------------------------------- two processes and their DMs


class Pair:
    """Processes that drain queues of their own on one database; each beats every ten seconds from its start on."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock, self.discord = clock, FakeDiscord(clock)
        # Each with the moment of its next heartbeat.
        self.alive: dict[str, tuple[Process, dt.datetime]] = {}

    async def start(self, name: str, people: range) -> None:
        await know(*people)
        bot = await process(self.discord, self.clock, name=name)
        for who in people:
            offer(bot, Letter(), who)
        self.alive[name] = (bot, self.clock.now() + BEAT)

    async def run_until(self, end: dt.datetime) -> None:
        while self.clock.now() < end:
            moments = [end]
            for name, (bot, beat) in self.alive.items():
                if self.clock.now() >= beat:
                    await bot.services.register.beat(beat)
                    self.alive[name] = (bot, beat + BEAT)
                if bot._is_due(DRAIN_DM_QUEUE):
                    await bot.run(DRAIN_DM_QUEUE)
                moments += [self.alive[name][1], bot.next(DRAIN_DM_QUEUE) or end]
            self.clock.set(max(min(moments), self.clock.now()))

    def starts(self, begin: int, end: int) -> list[dt.datetime]:
        """When DMs were started, between two seconds of the test."""
        return [at for at, _ in self.discord.attempts if START + begin * SECOND <= at < START + end * SECOND]


async def story(clock: ManualClock) -> Pair:
    """One process alone; from 13 s on a second, known to the first at 20 s; dead at 64 s, counted dead at 110 s."""
    await make_guild()
    pair = Pair(clock)
    await pair.start("one", range(1, PEOPLE))
    await pair.run_until(START + 13 * SECOND)
    await pair.start("two", range(1_001, 1_000 + PEOPLE))
    await pair.run_until(START + 64 * SECOND)
    del pair.alive["two"]
    await pair.run_until(START + 130 * SECOND)
    return pair


async def test_two_processes_start_together_what_one_may(database: str, clock: ManualClock) -> None:
    pair = await story(clock)

    alone, known = pair.starts(0, 13), pair.starts(20, 64)
    assert (len(alone), most_within(SECOND, alone)) == (65, 5)
    assert 44 * 5 - 2 <= len(known) <= 44 * 5 + 2
    assert most_within(SECOND, known) <= 6
    assert most_within(10 * SECOND, known) <= 51


async def test_until_the_others_heartbeat_a_new_process_adds_its_part_and_no_more(
    database: str, clock: ManualClock
) -> None:
    pair = await story(clock)

    unknown = pair.starts(13, 20)
    # Five a second and half of it, and the token that the new one begins with.
    assert 7 * 7.5 <= len(unknown) <= 7 * 7.5 + 2
    assert most_within(SECOND, unknown) <= 8


async def test_the_part_of_a_dead_process_is_taken_up_once_it_counts_as_dead(database: str, clock: ManualClock) -> None:
    pair = await story(clock)

    # Its last sign of life was at 63 s; the other misses it at 100 s and looks again at 110 s.
    missed, alone = pair.starts(64, 110), pair.starts(110, 130)
    assert 46 * 2.5 - 1 <= len(missed) <= 46 * 2.5 + 1
    assert 20 * 5 - 1 <= len(alone) <= 20 * 5 + 1
    assert most_within(SECOND, [*missed[-10:], *alone]) <= 5


async def test_with_the_division_out_both_start_five_a_second(
    database: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DmWorker, "divide", lambda _worker, _instances: None)

    pair = await story(clock)

    assert most_within(SECOND, pair.starts(20, 64)) == 10
    assert most_within(10 * SECOND, pair.starts(20, 64)) == 100
