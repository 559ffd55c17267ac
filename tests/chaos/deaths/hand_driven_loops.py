"""Drives the bodies of one process through a time that moves by hand, as their loops would through the real one."""

import datetime as dt
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from bot.bootstrap import Services
from bot.scheduling.agenda import Body

# A body that names its own present for ever would hold the time; no real moment needs this many rounds.
_MOST_ROUNDS = 200


class DrivenClock(Protocol):
    """A clock that whoever drives the time sets."""

    def now(self) -> dt.datetime: ...

    def set(self, moment: dt.datetime) -> None: ...


class StuckBodyError(RuntimeError):
    """A body asks to run again and again at the same moment."""


@dataclass(frozen=True, slots=True)
class Happening:
    """Something that comes from outside at its moment."""

    at: dt.datetime
    happen: Callable[[], Awaitable[None]]


class HandDrivenLoops:
    """
    Runs each body at the moment it names, and a period after its last pass at the latest, as its loop does.

    ``rested``: how long ago the last pass of a body was when the driving begins; a process that just started has none.
    """

    def __init__(
        self, services: Services, clock: DrivenClock, *, rested: Mapping[str, dt.timedelta] | None = None
    ) -> None:
        self._services = services
        self._clock = clock
        begun = clock.now()
        rested = rested or {}
        self._last = {body.name: begun - rested.get(body.name, dt.timedelta(0)) for body in services.bodies}

    async def run_until(self, end: dt.datetime, happenings: Sequence[Happening] = ()) -> None:
        """
        Run everything up to ``end``, and what happens on the way after the bodies of its moment.

        Raises:
            StuckBodyError: a body asks for the same moment again and again.
        """
        ahead = sorted(happenings, key=lambda one: one.at)
        while True:
            await self._run_moment()
            while ahead and ahead[0].at <= self._clock.now():
                await ahead.pop(0).happen()
                await self._run_moment()
            upcoming = min([*map(self._next, self._services.bodies), *(one.at for one in ahead[:1])])
            if upcoming > end:
                return
            self._clock.set(max(upcoming, self._clock.now()))

    def _next(self, body: Body) -> dt.datetime:
        at_the_latest = self._last[body.name] + body.period
        named = self._services.agenda.next(body.name)
        return at_the_latest if named is None else min(named, at_the_latest)

    async def _run_moment(self) -> None:
        now = self._clock.now()
        for _ in range(_MOST_ROUNDS):
            due = [body for body in self._services.bodies if self._next(body) <= now]
            if not due:
                return
            for body in due:
                self._last[body.name] = now
                await self._services.agenda.run(body, now)
            await self._services.settle()
        names = ", ".join(body.name for body in self._services.bodies if self._next(body) <= now)
        message = f"{names} would run for ever at {now.isoformat()}"
        raise StuckBodyError(message)
