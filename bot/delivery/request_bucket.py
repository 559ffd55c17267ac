"""
Discord's global limit, 50 requests in any second, with room for what the network squeezes together: pure arithmetic.

Requests that leave evenly may arrive unevenly. So no second has more than 49 departures, and no more than three of them
at one instant: a delay that changes by 60 ms between two requests still breaks nothing. Source: 08-quality.md, R9.
"""

import math

_IN_A_SECOND = 49.0
_AT_ONCE = 3.0
SHORTEST_WAIT = 1e-4
"""In seconds. A shorter sleep may end before its clock has moved, and whoever asks again then asks for ever."""

# Past this many doublings the full rate is reached, whatever it is.
_MOST_DOUBLINGS = 10.0


class RequestBucket:
    """
    A token bucket on the seconds of a clock that never goes back; begins full.

    In any second at most its size and what that second brings can be taken: both together are what is allowed.
    """

    def __init__(self) -> None:
        self._at: float | None = None
        self._slow_from: float | None = None
        self.divide(1)
        self._tokens = self._size

    def divide(self, instances: int) -> None:
        """Take one share of the bot's rate, where so many processes live; what all take together stays the same."""
        self._size = max(1.0, _AT_ONCE / instances)
        # From 49 processes on each still has its request a minute: it must be able to say that it lives.
        self._rate = max(_IN_A_SECOND / instances - self._size, 1 / 60)

    def begin_slowly(self, at: float) -> None:
        """Begin again at ``at`` with one request a second, twice as many each second: the limit was hit."""
        self._slow_from = at

    def rest_of_slowness(self, now: float) -> float:
        """Return in how many seconds it is back at its full rate, zero: it is already."""
        if self._slow_from is None:
            return 0.0
        return max(0.0, self._slow_from + math.log2(max(self._rate, 1.0)) - now)

    def take(self, now: float) -> float:
        """Take one token; return how many seconds to wait before asking again, zero if not at all: only then taken."""
        rate = self._rate_at(now)
        if self._at is not None:
            self._tokens += max(0.0, now - self._at) * rate
        self._at = now
        self._tokens = min(self._tokens, self._size if self._slow_from is None else 1.0)
        if self._tokens >= 1.0:
            self._tokens -= 1.0
            return 0.0
        return max((1.0 - self._tokens) / rate, SHORTEST_WAIT)

    def _rate_at(self, now: float) -> float:
        if self._slow_from is None:
            return self._rate
        slow: float = 2.0 ** min(max(0.0, now - self._slow_from), _MOST_DOUBLINGS)
        if slow >= self._rate:
            self._slow_from = None
            return self._rate
        return slow
