"""
When each background body wants to run next.

A body is ``await step(now) -> next moment``: it does what is due at ``now`` and names the next moment at which it has
something to do, or None if it knows of none. The real loops, the tests and the simulation drive the same bodies; none
of them waits by itself.
"""

import asyncio
import datetime as dt
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bot.transactions import DATABASE_ERRORS

_AGAIN_WITHIN = dt.timedelta(minutes=1)
DATABASE_AGAIN = dt.timedelta(seconds=5)
"""How soon the database is asked again for what it did not do: R5 gives a first send ten seconds once it is back."""

Step = Callable[[dt.datetime], Awaitable[dt.datetime | None]]


@dataclass(frozen=True, slots=True)
class Body:
    """One background body; ``period`` is how long a loop waits at most between two passes."""

    name: str
    period: dt.timedelta
    step: Step


def together(*steps: Step) -> Step:
    """Return one step that takes several side by side, each to its end; then it raises what the first to fail did."""

    async def _step(now: dt.datetime) -> dt.datetime | None:
        moments: list[dt.datetime] = []
        for found in await asyncio.gather(*(step(now) for step in steps), return_exceptions=True):
            if isinstance(found, BaseException):
                raise found
            moments += [found] if found is not None else []
        return min(moments, default=None)

    return _step


class Agenda:
    """
    The next moment of every body of this process, brought forward by whatever changes it.

    It lives in memory only: another process sees a change at its next pass, and so does this one after a restart.
    """

    def __init__(self) -> None:
        self._moments: dict[str, dt.datetime] = {}
        self._listeners: list[Callable[[str], None]] = []

    def next(self, body: str) -> dt.datetime | None:
        """Return when the body wants to run next, None if it knows of nothing."""
        return self._moments.get(body)

    def wake(self, body: str, at: dt.datetime | None) -> None:
        """Let the body run at ``at`` if not earlier; None changes nothing."""
        known = self._moments.get(body)
        if at is None or (known is not None and known <= at):
            return
        self._moments[body] = at
        for listener in self._listeners:
            listener(body)

    def on_wake(self, listener: Callable[[str], None]) -> None:
        """Tell ``listener`` the name of each body that was brought forward."""
        self._listeners.append(listener)

    async def run(self, body: Body, now: dt.datetime) -> None:
        """
        Run one pass of the body and note its next moment.

        A wake that arrives during the pass is kept. What the body raises comes through; it then runs again after its
        period, after a minute at most; where it was the database's fault, after five seconds.
        """
        self._moments.pop(body.name, None)
        try:
            self.wake(body.name, await body.step(now))
        except BaseException as error:
            longest = DATABASE_AGAIN if isinstance(error, DATABASE_ERRORS) else _AGAIN_WITHIN
            self.wake(body.name, now + min(body.period, longest))
            raise
