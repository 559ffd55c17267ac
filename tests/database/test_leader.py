"""Which of several processes does what only one may do."""

import asyncio
import contextvars
import datetime as dt

import pytest

from bot.clock import InjectedLeaseClock, ManualClock
from bot.database import DatabaseLeaseClock, opened
from bot.leases.instances import InstanceRegister
from bot.leases.leader import Leadership
from bot.migrating import migrate
from bot.scheduling.bodies import CLEANUP_STALE_EVENTS, GENERATE_UPCOMING_EVENTS
from bot.transactions import atomic, fetch
from models.leader_lease import LeaderLease
from tests.builders import DAY, HOUR, SECOND, FakeDiscord, Process, make_guild, make_series, process

TERM = 30 * SECOND
TICK = dt.timedelta(microseconds=1)
TASK = "a_task"


def leader(lease_clock: InjectedLeaseClock | DatabaseLeaseClock, instance: str) -> Leadership:
    return Leadership(instance, lease_clock=lease_clock, term=TERM)


async def leases() -> dict[str, tuple[str, dt.datetime]]:
    return {row.name: (row.holder, row.expires_at) for row in await LeaderLease.all()}


@pytest.mark.parametrize("contenders", [2, 16])
@pytest.mark.parametrize("before", ["nobody", "a dead one"])
async def test_of_many_at_once_one_leads_each_time(
    database: str, clock: ManualClock, lease_clock: InjectedLeaseClock, contenders: int, before: str
) -> None:
    for turn in range(20):
        name = f"{TASK}_{turn}"
        if before == "a dead one":
            assert await leader(lease_clock, "dead").holds(name)
            clock.advance(TERM)

        won = await asyncio.gather(*(leader(lease_clock, f"i{one}").holds(name) for one in range(contenders)))

        assert sum(won) == 1
        assert (await leases())[name] == (f"i{won.index(True)}", clock.now() + TERM)


async def test_of_many_at_once_one_leads_by_the_databases_own_clock(database: str) -> None:
    clock = DatabaseLeaseClock()

    for turn in range(20):
        won = await asyncio.gather(*(leader(clock, f"i{one}").holds(f"{TASK}_{turn}") for one in range(5)))

        assert sum(won) == 1


_WAITING = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


@pytest.mark.postgres
async def test_whoever_asked_first_and_was_overtaken_takes_no_lease_from_the_winner(postgres_url: str) -> None:
    clock = DatabaseLeaseClock()
    one, two = leader(clock, "one"), leader(clock, "two")
    async with opened(postgres_url):
        await migrate(postgres_url)
        outside = contextvars.copy_context()

        async def _unit() -> "asyncio.Task[bool]":
            await one.holds(TASK)
            overtaken = asyncio.create_task(two.holds(TASK), context=outside)
            async with asyncio.timeout(60):
                # Asked outside as well: inside a transaction the server shows what it showed at first.
                while not await asyncio.create_task(fetch(_WAITING), context=outside.copy()):  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
            # Its end is now later than the one that the other reckoned with before it had to wait.
            await one.holds(TASK)
            return overtaken

        overtaken = await atomic(_unit)

        assert not await overtaken
        assert (await leases())[TASK][0] == "one"


async def test_by_the_databases_own_clock_one_leads_and_keeps_it(database: str) -> None:
    clock = DatabaseLeaseClock()
    one, two = leader(clock, "one"), leader(clock, "two")

    held = [await one.holds(TASK), await two.holds(TASK), await one.holds(TASK)]
    await one.keep(await clock.now())
    ahead = (await leases())[TASK][1] - await clock.now()
    # As if half a minute had passed.
    await LeaderLease.filter(name=TASK).update(expires_at=await clock.now() - SECOND)
    after = [await two.holds(TASK), await one.holds(TASK)]

    assert held == [True, False, True]
    assert TERM - 10 * SECOND < ahead <= TERM
    assert after == [True, False]


@pytest.mark.parametrize(
    ("silence", "taken"),
    [
        pytest.param(TERM - TICK, False, id="just before the term ends"),
        pytest.param(TERM, True, id="exactly at its end"),
        pytest.param(TERM + TICK, True, id="just past its end"),
    ],
)
async def test_a_silent_holder_is_followed_once_its_term_ends(
    database: str, clock: ManualClock, lease_clock: InjectedLeaseClock, silence: dt.timedelta, taken: bool
) -> None:
    old, new = leader(lease_clock, "old"), leader(lease_clock, "new")
    await old.holds(TASK)

    clock.advance(silence)

    assert await new.holds(TASK) is taken
    assert await old.holds(TASK) is not taken


async def test_whoever_was_followed_keeps_nothing_and_gives_nothing_up_with_a_late_heartbeat(
    database: str, clock: ManualClock, lease_clock: InjectedLeaseClock
) -> None:
    old, new = leader(lease_clock, "old"), leader(lease_clock, "new")
    await old.holds(TASK)
    clock.advance(TERM)
    await new.holds(TASK)
    standing = await leases()

    clock.advance(SECOND)
    await old.keep(clock.now())
    await old.give_up(["old"])

    assert await leases() == standing


async def test_a_heartbeat_keeps_every_lease_of_its_own_alone(
    database: str, clock: ManualClock, lease_clock: InjectedLeaseClock
) -> None:
    mine, other = leader(lease_clock, "mine"), leader(lease_clock, "other")
    for name in ("a", "b"):
        await mine.holds(name)
    await other.holds("c")
    began = clock.now()

    clock.advance(10 * SECOND)
    await mine.keep(clock.now())

    assert await leases() == {
        "a": ("mine", clock.now() + TERM),
        "b": ("mine", clock.now() + TERM),
        "c": ("other", began + TERM),
    }


@pytest.mark.parametrize("back", [HOUR, DAY], ids=["an hour", "a day"])
async def test_a_clock_set_back_leaves_no_lease_to_a_dead_holder_for_longer_than_a_term(
    database: str, clock: ManualClock, lease_clock: InjectedLeaseClock, back: dt.timedelta
) -> None:
    old, new = leader(lease_clock, "old"), leader(lease_clock, "new")
    await old.holds(TASK)

    clock.advance(-back)

    assert await new.holds(TASK)
    assert (await leases())[TASK] == ("new", clock.now() + TERM)
    assert not await old.holds(TASK)


async def test_a_clock_set_back_leaves_the_lease_to_a_holder_that_beats_first(
    database: str, clock: ManualClock, lease_clock: InjectedLeaseClock
) -> None:
    old, new = leader(lease_clock, "old"), leader(lease_clock, "new")
    await old.holds(TASK)

    clock.advance(-HOUR)
    await old.keep(clock.now())

    assert not await new.holds(TASK)
    assert (await leases())[TASK] == ("old", clock.now() + TERM)


@pytest.mark.parametrize("ahead", [HOUR, DAY], ids=["an hour", "a day"])
async def test_a_clock_set_forward_lets_one_lead_and_never_two(
    database: str, clock: ManualClock, lease_clock: InjectedLeaseClock, ahead: dt.timedelta
) -> None:
    old, new = leader(lease_clock, "old"), leader(lease_clock, "new")
    await old.holds(TASK)

    clock.advance(ahead)
    both = await asyncio.gather(old.holds(TASK), new.holds(TASK))

    assert sorted(both) == [False, True]


# ------------------------------------------------------------------------------------------- the bodies of a process


class Passes:
    """Counts by instance the passes of a singleton body."""

    def __init__(self) -> None:
        self.made: list[tuple[dt.datetime, str]] = []

    async def run(self, bot: Process, name: str, now: dt.datetime) -> dt.datetime:
        async def _step(moment: dt.datetime) -> dt.datetime:
            self.made.append((moment, bot.services.register.instance))
            return moment + HOUR

        upcoming = await bot.services.register.leadership.only(name, _step)(now)
        assert upcoming is not None
        return upcoming


async def two(discord: FakeDiscord, clock: ManualClock) -> tuple[Process, Process]:
    return await process(discord, clock, name="one"), await process(discord, clock, name="two")


async def test_two_living_processes_generate_and_clean_up_in_one_of_them(database: str, clock: ManualClock) -> None:
    discord = FakeDiscord(clock)
    await make_guild()
    await make_series(now=clock.now())
    bots = await two(discord, clock)

    turns = await passes_of_two_hours(bots, clock)

    first = bots[0].services.register.instance
    assert turns == {GENERATE_UPCOMING_EVENTS: [first] * 3, CLEANUP_STALE_EVENTS: [first] * 3}


async def test_with_the_lease_out_both_generate(
    database: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def _always(leadership: Leadership, name: str) -> bool:
        return True

    monkeypatch.setattr(Leadership, "holds", _always)
    bots = await two(FakeDiscord(clock), clock)

    turns = await passes_of_two_hours(bots, clock)

    assert len(turns[GENERATE_UPCOMING_EVENTS]) == len(turns[CLEANUP_STALE_EVENTS]) == 6


async def passes_of_two_hours(bots: tuple[Process, Process], clock: ManualClock) -> dict[str, list[str]]:
    """Let processes beat and run their singleton bodies for two hours; return who made each pass."""
    made: dict[str, list[str]] = {GENERATE_UPCOMING_EVENTS: [], CLEANUP_STALE_EVENTS: []}
    end = clock.now() + 2 * HOUR
    while clock.now() <= end:
        for bot in bots:
            await bot.services.register.beat(clock.now())
            for name, turns in made.items():
                at = bot.next(name)
                if at is not None and at <= clock.now():
                    await bot.run(name)
                    # Who waits for its turn to lead asks again within seconds; a pass names the next hour.
                    upcoming = bot.next(name)
                    if upcoming is None or upcoming > clock.now() + TERM:
                        turns.append(bot.services.register.instance)
        clock.advance(10 * SECOND)
    return made


async def test_who_dies_is_followed_within_the_term_and_who_beats_is_not(database: str, clock: ManualClock) -> None:
    passes = Passes()
    dying, waiting = await two(FakeDiscord(clock), clock)
    began = upcoming = clock.now()
    await passes.run(dying, TASK, began)

    for second in range(60):
        if second in {10, 20}:  # and dead from 25 on
            await dying.services.register.beat(clock.now())
        if clock.now() >= upcoming:
            upcoming = await passes.run(waiting, TASK, clock.now())
        clock.advance(SECOND)

    assert passes.made[1:] == [(began + 50 * SECOND, waiting.services.register.instance)]


async def test_who_leaves_in_order_is_followed_when_the_next_one_asks(database: str, clock: ManualClock) -> None:
    passes = Passes()
    leaving, waiting = await two(FakeDiscord(clock), clock)
    await passes.run(leaving, TASK, clock.now())
    named = await passes.run(waiting, TASK, clock.now())

    await leaving.services.leave()
    await passes.run(waiting, TASK, clock.now())

    # A third of a term at most until it asks by itself.
    assert named == clock.now() + 10 * SECOND
    assert [who for _, who in passes.made] == [bot.services.register.instance for bot in (leaving, waiting)]


@pytest.mark.parametrize("error", [ValueError("of this one"), OSError("of its network")], ids=["a fault", "a network"])
async def test_where_a_pass_fails_another_gets_its_turn(
    database: str, clock: ManualClock, lease_clock: InjectedLeaseClock, error: Exception
) -> None:
    failing, waiting = leader(lease_clock, "failing"), leader(lease_clock, "waiting")

    async def _fails(_now: dt.datetime) -> None:
        raise error

    with pytest.raises(type(error)):
        await failing.only(TASK, _fails)(clock.now())
    await failing.keep(clock.now())

    assert await waiting.holds(TASK)


async def test_a_pass_that_hangs_is_kept_for_an_hour_and_no_longer(
    database: str, clock: ManualClock, lease_clock: InjectedLeaseClock
) -> None:
    hanging, waiting = leader(lease_clock, "hanging"), leader(lease_clock, "waiting")
    begun, goes_on = asyncio.Event(), asyncio.Event()

    async def _hangs(_now: dt.datetime) -> None:
        begun.set()
        await goes_on.wait()

    hung: asyncio.Future[dt.datetime | None] = asyncio.ensure_future(hanging.only(TASK, _hangs)(clock.now()))
    await begun.wait()
    held = []
    for _ in range(6 * 60 + 3):
        clock.advance(10 * SECOND)
        await hanging.keep(clock.now())
        held.append(not await waiting.holds(TASK))
    goes_on.set()
    await hung

    # To the end of the term that the last heartbeat within the hour gave.
    assert held == [True] * (6 * 60 + 2) + [False]


async def test_the_successor_of_a_killed_process_leads_at_once(database: str, clock: ManualClock) -> None:
    passes = Passes()
    discord = FakeDiscord(clock)
    killed = await process(discord, clock, name="one")
    await passes.run(killed, TASK, clock.now())
    await killed.crash()

    successor = await process(discord, clock, name="one")
    await passes.run(successor, TASK, clock.now())

    assert [who for _, who in passes.made] == [bot.services.register.instance for bot in (killed, successor)]


async def test_a_lease_of_a_process_that_another_name_took_stays(
    database: str, lease_clock: InjectedLeaseClock
) -> None:
    one = InstanceRegister("a", "one", lease_clock=lease_clock)
    await one.enter()
    await one.leadership.holds(TASK)

    await InstanceRegister("b", "two", lease_clock=lease_clock).enter()

    assert (await leases())[TASK][0] == "a"
