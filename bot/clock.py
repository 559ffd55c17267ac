"""
Where the time comes from.

:class:`Clock` is what the process believes; :class:`LeaseClock` is what all processes on one database agree on. Both
give aware UTC. Below the edge a function takes ``now`` as a keyword argument and asks no clock.
"""

import asyncio
import datetime as dt
from typing import Protocol

# Below this a difference is the time that asking the database took.
_CLOSE_ENOUGH = dt.timedelta(seconds=2)


class Clock(Protocol):
    """The process's own time."""

    def now(self) -> dt.datetime:
        """Return the present moment, aware UTC."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait for ``seconds`` of this clock's time; not at all if they are zero or less."""
        ...


class LeaseClock(Protocol):
    """
    The time that claims, the sweeper and heartbeats share.

    In ``tocsin run`` it is the database's own, so that two servers whose clocks differ agree on what is stale.
    """

    def stamp(self) -> dt.datetime | None:
        """Return the moment to write, or None where a statement shall take the database's own."""
        ...

    async def now(self) -> dt.datetime:
        """Return the present moment, aware UTC."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> dt.datetime:
        """Return the present moment, aware UTC."""
        return dt.datetime.now(dt.UTC)  # noqa: TID251 -- the one place that asks the machine

    async def sleep(self, seconds: float) -> None:
        """Wait for ``seconds``, by the monotonic clock: a clock that is set back delays nothing."""
        await asyncio.sleep(max(0.0, seconds))


class SharedClock(SystemClock):
    """
    The machine's clock, put right by the time that all processes on one database agree on.

    A process whose machine is hours ahead would otherwise take events for begun that are not, and give their reminders
    up for everybody.
    """

    def __init__(self) -> None:
        self._ahead_by = dt.timedelta(0)

    def now(self) -> dt.datetime:
        """Return the agreed moment, aware UTC."""
        return super().now() - self._ahead_by

    def follow(self, agreed: dt.datetime) -> dt.timedelta:
        """Go by ``agreed`` from now on; return how far the machine is ahead of it, zero for what asking takes."""
        ahead_by = super().now() - agreed
        self._ahead_by = ahead_by if abs(ahead_by) > _CLOSE_ENOUGH else dt.timedelta(0)
        return self._ahead_by


def _aware(moment: dt.datetime) -> dt.datetime:
    if moment.tzinfo is None:
        message = "a clock needs an aware moment"
        raise ValueError(message)
    return moment.astimezone(dt.UTC)


class ManualClock:
    """
    A clock that moves only when told to: for tests and the simulation.

    It is a :class:`Clock` and, through :class:`InjectedLeaseClock`, the base of a lease clock.
    """

    def __init__(self, now: dt.datetime) -> None:
        self._now = _aware(now)

    def now(self) -> dt.datetime:
        """Return the moment it was last set to."""
        return self._now

    def set(self, moment: dt.datetime) -> None:
        """
        Set the clock, forwards or backwards.

        Raises:
            ValueError: the moment has no zone.
        """
        self._now = _aware(moment)

    def advance(self, by: dt.timedelta) -> None:
        """Move the clock by a span, which may be negative."""
        self._now += by

    async def sleep(self, seconds: float) -> None:
        """Move the clock by ``seconds`` and let others run."""
        self.advance(dt.timedelta(seconds=max(0.0, seconds)))
        await asyncio.sleep(0)


class InjectedLeaseClock:
    """A lease clock that follows another clock instead of the database."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def stamp(self) -> dt.datetime | None:
        """Return the followed clock's moment."""
        return self._clock.now()

    async def now(self) -> dt.datetime:
        """Return the followed clock's moment."""
        return self._clock.now()
