"""A guild in its world, and the bot's processes there, one after another; what becomes visible is handed on."""

import contextlib
import datetime as dt
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING

from bot.bootstrap import Services
from bot.database import opened
from bot.demo import bell_tower
from bot.demo.crashes import CrashingTransport, PlannedCrash, SimulatedCrashError
from bot.demo.driver import Driver
from bot.demo.faults import Faults
from bot.demo.listed import Listed, ListWatcher
from bot.demo.sightings import Sighting, Watcher
from bot.demo.world import Place, World
from bot.migrating import migrate
from bot.transactions import fetch

if TYPE_CHECKING:
    from bot.client import TocsinBot

_COMES_BACK_AFTER = dt.timedelta(seconds=5)


class Life:
    """
    One world with the demo's guild in it. Times are the world's; nothing runs but in :meth:`run_until`.

    ``tell`` gets each message as it becomes visible, ``tell_listed`` what the server's own list of events shows anew.
    """

    def __init__(
        self,
        start: dt.datetime,
        *,
        tell: Callable[[Sighting], None],
        tell_listed: Callable[[Listed], None],
        extensions: Sequence[str] = (),
        is_stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        self.world = World(start)
        self.faults = Faults(self.world)
        self._watcher = Watcher(self.world)
        self._tell_one = tell
        self._list_watcher = ListWatcher(self.world)
        self._tell_listed = tell_listed
        self._extensions = extensions
        self._is_stopped = is_stopped
        self._transport = CrashingTransport([])
        self._bot: TocsinBot | None = None
        self._place: Place | None = None
        self.series_id = 0

    @property
    def place(self) -> Place:
        """Where everything is, once the guild was founded."""
        assert self._place is not None  # noqa: S101 -- begin() founded it
        return self._place

    @property
    def services(self) -> Services:
        """The services of the process now running."""
        assert self._bot is not None  # noqa: S101 -- begin() started it
        return self._bot.services

    @property
    def crashed(self) -> bool:
        """Whether the process is dead and nobody has started another yet."""
        return self._transport.crashed

    def now(self) -> dt.datetime:
        """Return the world's present moment."""
        return self.world.now()

    async def begin(self) -> None:
        """Start the first process and found the guild."""
        await self._start()
        self._place, self.series_id = await bell_tower.found(self.world)
        await self.world.env.settle()

    def plan_crash(self, crash: PlannedCrash) -> None:
        """Let the process now running die there."""
        self._transport.plan(crash)

    async def _start(self) -> None:
        self._transport = CrashingTransport([])
        self._bot = await self.world.start_process(self._transport, name="demo", extensions=self._extensions)

    async def run_until(self, end: dt.datetime) -> None:
        """Let the world's time pass up to ``end``, telling what becomes visible; stops where the process dies."""
        driver = Driver(self.world, self.services, is_stopped=lambda: self._is_stopped() or self.crashed)
        try:
            while not (self._is_stopped() or self.crashed):
                stop_at = min(end, self.faults.next_change or end)
                await driver.run_until(stop_at, after_moment=self._tell)
                self.faults.follow()
                if stop_at >= end:
                    break
        except SimulatedCrashError:
            self._transport.crash()
        await self._tell()

    async def run_to_rest(self, limit: dt.timedelta) -> None:
        """Let time pass until nothing is being sent, or was sent without an answer, for ``limit`` at most."""
        end = self.now() + limit
        while self.now() < end and not (self._is_stopped() or self.crashed) and await _is_sending():
            await self.run_until(min(end, self.now() + dt.timedelta(seconds=1)))

    async def restart(self) -> None:
        """Kill the process where it stands, unless it is dead already, and start another a little later."""
        self._transport.crash()
        await self.services.cut_off()
        await self.world.detach()
        self.world.advance_to(self.now() + _COMES_BACK_AFTER)
        await self._start()

    async def _tell(self) -> None:
        for sighting in await self._watcher.take():
            self._tell_one(sighting)
        for listed in self._list_watcher.take():
            self._tell_listed(listed)

    async def end(self) -> None:
        """End the process now running, whatever it is doing; without one nothing happens."""
        if self._bot is not None:
            await self._bot.services.cut_off()
        await self.world.detach()


async def _is_sending() -> bool:
    # The parent of a fan-out is open for as long as any of its messages waits.
    return bool(await fetch("SELECT id FROM discord_message_log WHERE success IS NULL LIMIT 1"))


@contextlib.asynccontextmanager
async def temporary_database() -> AsyncIterator[None]:
    """Open a migrated SQLite file that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="tocsin-") as folder:
        url = f"sqlite://{folder}/demo.db"
        async with opened(url, everywhere=True):
            await migrate(url)
            yield
