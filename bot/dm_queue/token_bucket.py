"""
A steady rate of starts: pure arithmetic on the moments it is given.

The rate is the one that is achieved, whatever an answer takes: starts are counted from the moment a token was there and
somebody wanted it, not from the moment the loop came round to it. So a loop that is late by a part of the interval
loses nothing, while an idle bucket still holds one token and no more. Source: 03-delivery.md, "DM queue".
"""

import datetime as dt

_NOTHING = dt.timedelta(0)


class TokenBucket:
    """Holds one token, begins with one, and gains one every ``1 / rate`` seconds."""

    def __init__(self, rate: float) -> None:
        """
        Make a full bucket; ``rate`` is in tokens a second.

        Raises:
            ValueError: the rate is not more than zero.
        """
        self._interval = _interval(rate)
        self._ready_at: dt.datetime | None = None

    def change(self, rate: float, *, now: dt.datetime) -> None:
        """
        Gain tokens at another rate from ``now`` on; what there is of the next token, or too much, stays what it is.

        So a change gives no token and takes none, however often it comes.

        Raises:
            ValueError: the rate is not more than zero.
        """
        before, self._interval = self._interval, _interval(rate)
        if self._ready_at is not None:
            # A bucket full for longer than an interval holds one token all the same.
            parts = min(1.0, max(-1.0, (self._ready_at - now) / before))
            self._ready_at = now + parts * self._interval

    def take(self, *, now: dt.datetime, wanted_since: dt.datetime) -> dt.timedelta:
        """
        Spend one token; return how long the caller must wait first, zero if not at all: only then it is spent.

        ``wanted_since`` is since when somebody has been waiting for it. At most one token is made up for, so that two
        starts may come close together where the caller was late. A clock that is set back costs one interval at most.
        """
        ready_at = now if self._ready_at is None else min(self._ready_at, now + self._interval)
        if ready_at > now:
            self._ready_at = ready_at  # kept, so that a clock set back is made good once, not at every call
            return ready_at - now
        self._ready_at = max(ready_at, min(wanted_since, now), now - self._interval) + self._interval
        return _NOTHING


def _interval(rate: float) -> dt.timedelta:
    if not rate > 0:
        message = f"a rate is more than zero, not {rate}"
        raise ValueError(message)
    return dt.timedelta(seconds=1 / rate)
