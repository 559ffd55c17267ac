"""The clock of the machine that the bot runs on, which somebody may set; the world's own time goes on beside it."""

import datetime as dt
from collections.abc import Callable

from bot.clock import SharedClock, SystemClock


class Machine:
    """The machine of a world; its clock is ``off_by`` a span. It outlives the bot's processes."""

    def __init__(self, world_now: Callable[[], dt.datetime]) -> None:
        self.off_by = dt.timedelta(0)
        self._world_now = world_now

    def now(self) -> dt.datetime:
        """Return what the machine takes for the present moment, aware UTC."""
        return self._world_now() + self.off_by


class MachineClock(SystemClock):
    """A machine's clock as its processes see it."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def now(self) -> dt.datetime:
        """Return the machine's moment, aware UTC."""
        return self._machine.now()

    async def sleep(self, seconds: float) -> None:
        """Refuse: nothing may wait by itself in a world whose time the driver moves."""
        message = f"nothing sleeps in a simulated world, not even for {seconds} s"
        raise RuntimeError(message)


class FollowingClock(SharedClock, MachineClock):
    """The clock of one process that goes by its database, on a machine whose clock may be off."""

    def __init__(self, machine: Machine) -> None:
        SharedClock.__init__(self)
        MachineClock.__init__(self, machine)
