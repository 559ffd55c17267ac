"""A steady rate of starts for somebody who does not always want one: a token bucket, and since when it is wanted."""

import datetime as dt

from bot.dm_queue.token_bucket import TokenBucket


class Pace:
    """Says how long the next start must wait; what nobody wanted meanwhile is not made up."""

    def __init__(self, rate: float) -> None:
        """
        Start with one token; ``rate`` is in starts a second.

        Raises:
            ValueError: the rate is not more than zero.
        """
        self._bucket = TokenBucket(rate)
        self._wanted_since: dt.datetime | None = None

    def change(self, rate: float, now: dt.datetime) -> None:
        """
        Go on at another rate from ``now`` on, neither with a burst nor with a start lost.

        Raises:
            ValueError: the rate is not more than zero.
        """
        self._bucket.change(rate, now=now)

    def want(self, now: dt.datetime) -> None:
        """Note that somebody waits for a start, if not noted already."""
        self._wanted_since = self._wanted_since or now

    def want_none(self) -> None:
        """Note that nobody waits for one any more, or that nothing may start."""
        self._wanted_since = None

    def take(self, now: dt.datetime) -> dt.timedelta:
        """Take one start; return how long it must wait first, zero if not at all: only then it is taken."""
        self.want(now)
        return self._bucket.take(now=now, wanted_since=self._wanted_since or now)
