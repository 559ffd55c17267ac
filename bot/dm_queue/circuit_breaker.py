"""
When to stop asking a Discord that does not answer: pure, on the moments it is given.

While it is open nothing is taken from the queue and what waits is kept. Only failures of Discord itself are told to it;
people who take no DMs say nothing about Discord. Source: 03-delivery.md, "Breaker"; dm-queue.txt, "Circuit breaker",
whose breaker burnt what came while it was open: this one holds it.
"""

import datetime as dt
from collections import deque
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BreakerOptions:
    """
    ``failures`` in a row, with no success between, ``within`` that time open the breaker for ``open_for``.

    Source of the figures: dm-queue.txt, 50 within 60 s, then 5 minutes.
    """

    failures: int = 50
    within: dt.timedelta = dt.timedelta(seconds=60)
    open_for: dt.timedelta = dt.timedelta(minutes=5)


class CircuitBreaker:
    """Counts failures; closed until too many come in a row, then open for a set time."""

    def __init__(self, options: BreakerOptions | None = None) -> None:
        self._options = options or BreakerOptions()
        self._failures: deque[dt.datetime] = deque(maxlen=self._options.failures)
        self._open_until: dt.datetime | None = None

    @property
    def open_until(self) -> dt.datetime | None:
        """When it closes, None: it is closed. Only :meth:`close_if_due` closes it."""
        return self._open_until

    @property
    def failures(self) -> int:
        """How many failures came since the last success, as far as they count."""
        return len(self._failures)

    def failed(self, *, now: dt.datetime) -> bool:
        """Count a failure of Discord; return whether this one opened the breaker. While it is open none counts."""
        if self._open_until is not None:
            return False
        self._failures.append(now)
        # A clock that was set back leaves failures ahead of now: they are as recent as can be.
        if len(self._failures) < self._options.failures or now - self._failures[0] > self._options.within:
            return False
        self._failures.clear()
        self._open_until = now + self._options.open_for
        return True

    def succeeded(self) -> None:
        """Note that Discord took a message: failures before it no longer count."""
        self._failures.clear()

    def close_if_due(self, *, now: dt.datetime) -> bool:
        """Close the breaker once its time is over; return whether this call did. A clock set back does not hold it."""
        if self._open_until is None:
            return False
        self._open_until = min(self._open_until, now + self._options.open_for)
        if now < self._open_until:
            return False
        self._open_until = None
        return True
