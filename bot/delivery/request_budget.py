"""
How many invalid requests (401, 403, 429) Discord counts against this process: pure arithmetic on the moments given.

Discord bans an address for some time after 10,000 of them in ten minutes. Source: 03-delivery.md, "Error classes".
"""

from collections import deque

WINDOW_SECONDS = 600.0
"""Discord's own window."""

NO_DMS_FROM = 400
"""From so many on no direct message is started, and nothing asked where it was refused, until the window has room."""

NOTHING_FROM = 1_000
"""From so many on nothing leaves the process until the window has room: a tenth of what Discord bans for."""


class InvalidRequests:
    """The invalid requests of the last ten minutes; moments are seconds of a clock that never goes back."""

    def __init__(self, window: float = WINDOW_SECONDS) -> None:
        self._window = window
        self._moments: deque[float] = deque()
        self._last: dict[str, float] = {}

    def count(self, route: str, now: float) -> int:
        """Count one more, which was of that route; return how many lie in the window with it."""
        self._forget(now)
        self._moments.append(now)
        self._last[route] = now
        return len(self._moments)

    def forgive(self, route: str) -> None:
        """Note that a request of the route was taken: it is no suspect any more."""
        self._last.pop(route, None)

    def is_suspect(self, route: str, now: float) -> bool:
        """Return whether the last answer of a route was a refusal, and lies in the window."""
        return route in self._last and self._last[route] + self._window - now > 0

    def rest(self, limit: int, now: float) -> float:
        """Return in how many seconds fewer than ``limit`` lie in the window, zero: already now."""
        self._forget(now)
        if len(self._moments) < limit:
            return 0.0
        return self._moments[len(self._moments) - limit] + self._window - now

    def _forget(self, now: float) -> None:
        # As it is added in rest(): else rounding could leave one that rest() takes for gone.
        while self._moments and self._moments[0] + self._window - now <= 0:
            self._moments.popleft()
        if len(self._last) > 2 * len(self._moments):
            self._last = {route: at for route, at in self._last.items() if at + self._window - now > 0}
