"""
``tocsin simulate``: what a schedule would send, by the real bodies in a simulated Discord, in virtual time.

Midnight UTC of the start date is the first moment. Messages whose due moment lies in [start, start + days) count; the
run goes on past the end only until those are at rest.
"""

import datetime as dt
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields

from bot.client import TocsinBot
from bot.database import migrate, opened, shown_url
from bot.demo.crashes import CrashingTransport, PlannedCrash, SimulatedCrashError, plan_crashes
from bot.demo.driver import Driver
from bot.demo.sightings import Sighting, Watcher, announcement_due_at
from bot.demo.world import Place, World
from bot.errors import BotError
from bot.events.series import create_series
from bot.events.series_spec import SeriesSpec
from bot.reminders.tasks import ANNOUNCEMENT
from bot.transactions import fetch, integer
from models.event import Event
from models.guild_settings import GuildSettings
from models.states import EventState

# How long a process that died takes to come back.
_RESTART_AFTER = dt.timedelta(seconds=5)
# A key is at rest 90 s after a crash; a crash of the restarted process comes on top.
_AT_REST_WITHIN = dt.timedelta(minutes=15)


class DatabaseNotEmptyError(BotError):
    """The database to simulate in holds rows already."""

    def __init__(self, url: str) -> None:
        super().__init__(f"The database at {shown_url(url)} is not empty; a simulation needs one of its own.")


@dataclass(frozen=True, slots=True)
class Simulation:
    """What to simulate: which series, from when on, how long, and how often the process dies."""

    series: Sequence[SeriesSpec]
    start: dt.datetime
    days: int
    database_url: str
    seed: int = 0
    crashes: int = 0

    @property
    def end(self) -> dt.datetime:
        """The first moment that no longer counts."""
        return self.start + dt.timedelta(days=self.days)


@dataclass(slots=True)
class Counts:
    """The eight counts of a run. Source: 08-quality.md."""

    attempted: int = 0
    acknowledged: int = 0
    ok: int = 0
    lost: int = 0
    duplicated: int = 0
    unexpected: int = 0
    recovered: int = 0
    unknown: int = 0
    crashes: int = field(default=0)
    crashes_after_acceptance: int = field(default=0)

    def as_line(self) -> str:
        """Return the counts on one line, name by name."""
        return " ".join(f"{one.name}={getattr(self, one.name)}" for one in fields(self))


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
        self._transport = CrashingTransport([])
        self._crashes: list[PlannedCrash] = plan_crashes(plan.crashes, seed=plan.seed, start=plan.start, end=plan.end)
        self._sightings: list[Sighting] = []

    async def run(self) -> Counts:
        """Run to the end, or until stopped; return the counts."""
        bot = await self._start_process()
        try:
            place = self._world.build(guild_name="Simulated guild")
            await self._prepare(place)
            while not await self._run_process(bot):
                await self._world.detach()
                self._world.advance_to(self._world.now() + _RESTART_AFTER)
                bot = await self._start_process()
            await bot.services.leave()
        finally:
            await self._world.detach()
        await self._count()
        return self.counts

    async def _start_process(self) -> TocsinBot:
        self._transport = CrashingTransport(self._crashes)
        return await self._world.start_process(self._transport, name="simulated")

    async def _prepare(self, place: Place) -> None:
        settings = GuildSettings(
            guild_id=place.guild_id, announcement_channel_id=place.announcements_id, ops_channel_id=place.ops_id
        )
        await settings.save(force_create=True)
        await create_series(self._plan.series, guild_id=place.guild_id, created_by=None, now=self._world.now())

    async def _run_process(self, bot: TocsinBot) -> bool:
        """Drive one process; False: it crashed."""
        driver = Driver(self._world, bot.services, is_stopped=lambda: self._is_stopped() or self._transport.crashed)
        try:
            await driver.run_until(self._plan.end, after_moment=self._flush)
            while not (self._is_stopped() or self._transport.crashed) and await self._unsettled():
                upcoming = driver.next_moment()
                limit = self._plan.end + _AT_REST_WITHIN
                if upcoming is None or upcoming >= limit:
                    break
                await driver.run_until(upcoming + dt.timedelta(microseconds=1), after_moment=self._flush)
        except SimulatedCrashError:
            self._transport.crashed = True
        await self._end_process(bot)
        return not self._transport.crashed

    async def _end_process(self, bot: TocsinBot) -> None:
        if self._transport.crashed:
            await bot.services.dispatcher.stop()
            await self._flush()
        sweeps, transport = bot.services.sweeper.counts, self._transport
        self.counts.recovered += sweeps.found + sweeps.released
        self.counts.attempted += transport.attempted
        self.counts.acknowledged += transport.acknowledged
        self.counts.crashes += transport.met
        self.counts.crashes_after_acceptance += transport.met_after_acceptance

    async def _flush(self) -> None:
        for sighting in await self._watcher.take():
            if sighting.due_at is None or sighting.due_at < self._plan.end:
                self._sightings.append(sighting)
                self._tell(sighting)

    async def _unsettled(self) -> bool:
        """Return whether something that counts is not at rest yet."""
        rows = await fetch(
            "SELECT (SELECT COUNT(*) FROM discord_message_log WHERE success IS NULL)"
            " + (SELECT COUNT(*) FROM reminder_due d JOIN event e ON e.id = d.event_id"
            " WHERE d.due_at < $1 AND e.scheduled_at > $2) AS open",
            [self._plan.end, self._world.now()],
        )
        return integer(rows[0]["open"]) > 0

    async def _count(self) -> None:
        visible = Counter(one.event_id for one in self._sightings if one.kind == ANNOUNCEMENT.key)
        self.counts.ok = sum(1 for times in visible.values() if times == 1)
        self.counts.duplicated = sum(times - 1 for times in visible.values())
        self.counts.unexpected = sum(
            1 for one in self._sightings if one.occurrence is not None and one.at >= one.occurrence
        )
        rows = await fetch("SELECT COUNT(*) AS open FROM discord_message_log WHERE success IS NULL")
        self.counts.unknown = integer(rows[0]["open"])
        self.counts.lost = await self._lost(set(visible))

    async def _lost(self, visible: set[int | None]) -> int:
        """Count the announcements that were due and have neither a message nor a recorded reason."""
        reached = min(self._plan.end, self._world.now())
        recorded = {
            integer(row["source_id"])
            for row in await fetch("SELECT source_id FROM discord_message_log WHERE source = 'event_announcement'")
        }
        due = Event.filter(discord_announcement=True, discord_announcement_hours__gt=0).exclude(
            state=EventState.CANCELLED
        )
        events = [event for event in await due if self._plan.start <= announcement_due_at(event) < reached]
        return sum(1 for event in events if event.id not in visible and event.id not in recorded)


async def simulate(
    plan: Simulation, *, tell: Callable[[Sighting], None], is_stopped: Callable[[], bool] = lambda: False
) -> Counts:
    """
    Run a simulation in a database of its own; ``tell`` gets each message as it becomes visible.

    Raises:
        DatabaseNotEmptyError: the database holds rows.
        DatabaseUnavailableError: it cannot be opened.
    """
    async with opened(plan.database_url):
        await migrate(plan.database_url)
        if await _holds_rows():
            raise DatabaseNotEmptyError(plan.database_url)
        return await Simulator(plan, tell=tell, is_stopped=is_stopped).run()


async def _holds_rows() -> bool:
    rows = await fetch(
        "SELECT (SELECT COUNT(*) FROM guild_settings) + (SELECT COUNT(*) FROM event_repeater)"
        " + (SELECT COUNT(*) FROM event) + (SELECT COUNT(*) FROM discord_message_log) AS rows_held"
    )
    return integer(rows[0]["rows_held"]) > 0
