"""
Moves a world's time from one due moment to the next and runs the real bodies there.

Nothing waits: the clock is set to the next moment that any body names, the heartbeat comes first, and each due body is
awaited to its end. The same bodies run in the real loops.
"""

import datetime as dt
from collections.abc import Awaitable, Callable

import structlog

from bot.bootstrap import Services
from bot.clock import Clock
from bot.demo.world import World
from bot.scheduling.agenda import Body
from bot.scheduling.bodies import INSTANCE_HEARTBEAT

_log = structlog.get_logger(__name__)

AfterPass = Callable[[str], Awaitable[None]]
"""Called with a body's name after each of its passes, before anything else of that moment."""

# A body that names its own present for ever would hold the world's time; no real moment needs this many rounds.
_MOST_ROUNDS = 1_000


class StuckBodyError(RuntimeError):
    """A body asks to run again and again at the same moment."""


async def _nothing(_body: str) -> None:
    return None


class Driver:
    """
    Drives the services of one bot process through the world's time.

    ``clock``: what the process takes for the time, None: the world's own.
    """

    def __init__(
        self,
        world: World,
        services: Services,
        *,
        clock: Clock | None = None,
        is_stopped: Callable[[], bool] = lambda: False,
        after_pass: AfterPass = _nothing,
    ) -> None:
        self._world = world
        self._clock = clock or world.clock
        self._services = services
        self._is_stopped = is_stopped
        self._after_pass = after_pass

    async def run_until(self, end: dt.datetime, *, after_moment: Callable[[], Awaitable[None]] | None = None) -> None:
        """Run everything due before ``end``, then leave the clock there; stops early once ``is_stopped``."""
        while not self._is_stopped():
            await self.run_moment()
            if after_moment is not None:
                await after_moment()
            upcoming = self.next_moment()
            if self._is_stopped() or upcoming is None or upcoming >= end:
                break
            self._world.advance_to(upcoming)
        if not self._is_stopped():
            self._world.advance_to(end)

    def next_moment(self) -> dt.datetime | None:
        """Return the next moment that any body names, by the world's time."""
        named = [self._services.agenda.next(body.name) for body in self._services.bodies]
        upcoming = min((moment for moment in named if moment is not None), default=None)
        return upcoming + (self._world.now() - self._clock.now()) if upcoming is not None else None

    async def run_moment(self) -> None:
        """
        Run everything due at the world's present, to its end.

        Raises:
            StuckBodyError: a body asks for the same moment again and again.
        """
        await self._run(self._services.body(INSTANCE_HEARTBEAT), self._clock.now())
        now = self._clock.now()
        for _ in range(_MOST_ROUNDS):
            due = [body for body in self._services.bodies if self._is_due(body, now)]
            if not due or self._is_stopped():
                return
            for body in due:
                await self._run(body, now)
                if self._is_stopped():
                    return  # what is still under way is its owner's to end, or to cut off
            await self._services.settle()
        names = ", ".join(body.name for body in self._services.bodies if self._is_due(body, now))
        message = f"{names} would run for ever at {now.isoformat()}"
        raise StuckBodyError(message)

    def _is_due(self, body: Body, now: dt.datetime) -> bool:
        at = self._services.agenda.next(body.name)
        return at is not None and at <= now

    async def _run(self, body: Body, now: dt.datetime) -> None:
        try:
            await self._services.agenda.run(body, now)
        except Exception:  # noqa: BLE001 -- as the real loop: it outlives what its body raises
            _log.exception("loop_pass_failed", loop=body.name)
        if not self._is_stopped():
            await self._after_pass(body.name)
