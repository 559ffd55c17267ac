"""
How long Discord told this process to wait, for one route or for all of them: pure arithmetic on the moments given.

The library keeps what a 429 says for the one request that got it; here it holds for whoever asks. Where the next answer
is a 429 again, the wait doubles: each of them is an invalid request.
"""

from collections import defaultdict
from dataclasses import dataclass

# So long is waited at most where Discord itself says less.
_LONGEST_BACKOFF = 60.0
_DOUBLINGS = 6
_FORGET_AT = 1_000
_KEEPS_ITS_ID = frozenset({"channels", "guilds", "webhooks"})


def route_of(method: str, path: str) -> str:
    """Return the route that shares one limit: ids are left out but those of the channel, server or webhook."""
    parts = path.split("/")
    names = [
        "{}" if part.isdigit() and before not in _KEEPS_ITS_ID else part
        for before, part in zip(["", *parts], parts, strict=False)
    ]
    return f"{method} {'/'.join(names)}"


@dataclass(slots=True)
class _Pause:
    until: float = 0.0
    in_a_row: int = 0

    def refused(self, retry_after: float, now: float) -> float:
        if now >= self.until:  # else it was on its way when another was refused
            self.in_a_row += 1
        backoff = min(2.0 ** min(self.in_a_row - 1, _DOUBLINGS), _LONGEST_BACKOFF) if self.in_a_row > 1 else 0.0
        self.until = max(self.until, now + max(retry_after, backoff))
        return self.until

    def accepted(self, now: float) -> None:
        if now >= self.until:
            self.in_a_row = 0


class Pauses:
    """What is to be waited for; moments are seconds of a clock that never goes back."""

    def __init__(self) -> None:
        self._everywhere = _Pause()
        self._routes: defaultdict[str, _Pause] = defaultdict(_Pause)

    def refused(self, route: str | None, retry_after: float, now: float) -> float:
        """Note a 429 that tells to wait ``retry_after`` seconds; ``route`` None: on every route. Return until when."""
        if route is None:
            return self._everywhere.refused(retry_after, now)
        if len(self._routes) >= _FORGET_AT:
            kept = {key: pause for key, pause in self._routes.items() if pause.until > now}
            self._routes = defaultdict(_Pause, kept)
        return self._routes[route].refused(retry_after, now)

    def accepted(self, route: str, now: float) -> None:
        """Note an answer that was no 429."""
        self._everywhere.accepted(now)
        if route in self._routes:
            self._routes[route].accepted(now)

    def rest(self, route: str, now: float) -> float:
        """Return how many seconds a route itself has to wait."""
        return max(0.0, self._routes[route].until - now) if route in self._routes else 0.0

    def rest_everywhere(self, now: float) -> float:
        """Return how many seconds every route has to wait."""
        return max(0.0, self._everywhere.until - now)
