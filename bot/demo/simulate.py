"""
``tocsin simulate``: what a schedule would send, by the real bodies in a simulated Discord, in virtual time.

Midnight UTC of the start date is the first moment. Messages whose due moment lies in [start, start + days) count; the
run goes on past the end only until those are at rest.
"""

import contextlib
import datetime as dt
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass

from bot.client import TocsinBot
from bot.database import opened, shown_url
from bot.demo.counts import Counts
from bot.demo.crashes import CrashingTransport, PlannedCrash, SimulatedCrashError, plan_crashes
from bot.demo.driver import Driver
from bot.demo.people import PROFILE_FIELDS, Members, member_names
from bot.demo.sightings import Sighting, Watcher
from bot.demo.world import World
from bot.errors import BotError
from bot.events.series import create_series
from bot.events.series_spec import SeriesSpec
from bot.migrating import migrate
from bot.scheduling.bodies import OPEN_SCHEDULED_SIGNUPS
from bot.transactions import fetch, integer
from models.guild_settings import GuildSettings

# How long a process that died takes to come back.
_RESTART_AFTER = dt.timedelta(seconds=5)
# A key is at rest 90 s after a crash; a crash of the restarted process comes on top.
_AT_REST_WITHIN = dt.timedelta(minutes=15)
_SWITCHES = (
    "discord_announcement",
    "discord_signup_reminder",
    "discord_confirm_attendance",
    "discord_confirm_attendance_dm",
    "discord_profile_reminder",
)
_HOURS = (
    "discord_announcement_hours",
    "discord_signup_reminder_hours",
    "discord_confirm_attendance_hours",
    "discord_profile_reminder_hours",
)


class DatabaseNotEmptyError(BotError):
    """The database to simulate in holds rows already."""

    def __init__(self, url: str) -> None:
        super().__init__(f"The database at {shown_url(url)} is not empty; a simulation needs one of its own.")


@dataclass(frozen=True, slots=True)
class Simulation:
    """What to simulate: which series, for how many members, from when on, how long, and how often the process dies."""

    series: Sequence[SeriesSpec]
    start: dt.datetime
    days: int
    database_url: str
    members: int = 5
    seed: int = 0
    crashes: int = 0

    @property
    def end(self) -> dt.datetime:
        """The first moment that no longer counts."""
        return self.start + dt.timedelta(days=self.days)


def with_all_reminders(series: Sequence[SeriesSpec]) -> list[SeriesSpec]:
    """Return the series with all four reminders on, at their default hours."""
    hours = {name: SeriesSpec.model_fields[name].default for name in _HOURS}
    return [one.model_copy(update=dict.fromkeys(_SWITCHES, True) | hours) for one in series]


class Simulator:
    """One run of one simulation in the database that is open."""

    def __init__(
        self, plan: Simulation, *, tell: Callable[[Sighting], None], is_stopped: Callable[[], bool] = lambda: False
    ) -> None:
        self.counts = Counts()
        self._plan = plan
        self._tell = tell
        self._is_stopped = is_stopped
        self._world = World(plan.start)
        self._watcher = Watcher(self._world)
        self._members = Members(0, ())
        self._transport = CrashingTransport([])
        self._crashes: list[PlannedCrash] = plan_crashes(plan.crashes, seed=plan.seed, start=plan.start, end=plan.end)
        self._sightings: list[Sighting] = []

    async def run(self) -> Counts:
        """Run to the end, or until stopped; return the counts."""
        bot = await self._start_process()
        try:
            self._members = await prepare(self._world, self._plan)
            while not await self._run_process(bot):
                await self._world.detach()
                self._world.advance_to(self._world.now() + _RESTART_AFTER)
                bot = await self._start_process()
            await bot.services.settle()
            await bot.services.leave()
            await self._flush()
        finally:
            await self._world.detach()
        reached = min(self._plan.end, self._world.now())
        await self.counts.judge(self._sightings, self._members, start=self._plan.start, end=reached)
        return self.counts

    async def _start_process(self) -> TocsinBot:
        self._transport = CrashingTransport(self._crashes)
        return await self._world.start_process(self._transport, name="simulated")

    async def _run_process(self, bot: TocsinBot) -> bool:
        """Drive one process; False: it crashed."""

        async def _after_pass(body: str) -> None:
            if body == OPEN_SCHEDULED_SIGNUPS:
                await self._members.sign_up(bot.services, now=self._world.now())

        driver = Driver(
            self._world,
            bot.services,
            is_stopped=lambda: self._is_stopped() or self._transport.crashed,
            after_pass=_after_pass,
        )
        try:
            await driver.run_until(self._plan.end, after_moment=self._flush)
            await self._run_to_rest(driver)
        except SimulatedCrashError:
            self._transport.crash()
        if self._transport.crashed:
            await bot.services.cut_off()
            await self._flush()
        self.counts.add_process(self._transport, bot.services.sweeper.counts)
        return not self._transport.crashed

    async def _run_to_rest(self, driver: Driver) -> None:
        """Go on past the end until what counts is at rest, with a limit."""
        limit = self._plan.end + _AT_REST_WITHIN
        while not (self._is_stopped() or self._transport.crashed) and await unsettled(
            self._plan.end, now=self._world.now()
        ):
            upcoming = driver.next_moment()
            if upcoming is None or upcoming >= limit:
                return
            await driver.run_until(upcoming + dt.timedelta(microseconds=1), after_moment=self._flush)

    async def _flush(self) -> None:
        for sighting in await self._watcher.take():
            if sighting.due_at is None or sighting.due_at < self._plan.end:
                self._sightings.append(sighting)
                self._tell(sighting)


async def prepare(world: World, plan: Simulation) -> Members:
    """Found the guild with its series, while a bot is attached; return its members, who subscribed to all of them."""
    place = world.build(guild_name="Simulated guild", players=member_names(plan.members))
    settings = GuildSettings(
        guild_id=place.guild_id,
        announcement_channel_id=place.announcements_id,
        ops_channel_id=place.ops_id,
        profile_fields=PROFILE_FIELDS,
    )
    await settings.save(force_create=True)
    now = world.now()
    series = await create_series(plan.series, guild_id=place.guild_id, created_by=None, now=now)
    members = Members(place.guild_id, place.player_ids)
    await members.prepare([one.id for one in series], now=now)
    return members


async def unsettled(end: dt.datetime, *, now: dt.datetime) -> bool:
    """Return whether something that was due before ``end`` is not at rest yet."""
    rows = await fetch(
        "SELECT (SELECT COUNT(*) FROM discord_message_log WHERE success IS NULL)"
        " + (SELECT COUNT(*) FROM reminder_due d JOIN event e ON e.id = d.event_id"
        " WHERE d.due_at < $1 AND e.scheduled_at > $2) AS open",
        [end, now],
    )
    return integer(rows[0]["open"]) > 0


async def simulate(
    plan: Simulation, *, tell: Callable[[Sighting], None], is_stopped: Callable[[], bool] = lambda: False
) -> Counts:
    """
    Run a simulation in a database of its own; ``tell`` gets each message as it becomes visible.

    Raises:
        DatabaseNotEmptyError: the database holds rows.
        DatabaseUnavailableError: it cannot be opened.
    """
    async with empty_database(plan.database_url):
        return await Simulator(plan, tell=tell, is_stopped=is_stopped).run()


@contextlib.asynccontextmanager
async def empty_database(url: str, *, pool_size: int = 5) -> AsyncIterator[None]:
    """
    Open a database that holds tables at most, and bring it to this version's.

    Raises:
        DatabaseNotEmptyError: it holds rows.
        DatabaseUnavailableError: it cannot be opened.
    """
    async with opened(url, pool_size=pool_size):
        await migrate(url)
        if await _holds_rows():
            raise DatabaseNotEmptyError(url)
        yield


async def _holds_rows() -> bool:
    rows = await fetch(
        "SELECT (SELECT COUNT(*) FROM guild_settings) + (SELECT COUNT(*) FROM event_repeater)"
        " + (SELECT COUNT(*) FROM event) + (SELECT COUNT(*) FROM discord_message_log) AS rows_held"
    )
    return integer(rows[0]["rows_held"]) > 0
