"""
What stands before each request of the process, whoever makes it: Discord's limits, and what it answered before.

No request leaves before a Retry-After is over, none beyond the bot's share of 50 a second, none once Discord refused
the token, and none while it counts too many invalid ones. Interactions are not bound by the bot's global limit, so that
an answer to a person never waits for it. Source: Discord's documentation, "Rate Limits"; 03-delivery.md.
"""

import asyncio
import contextlib
import datetime as dt
import math
from collections.abc import Awaitable, Callable, Mapping

import aiohttp
import discord
import structlog
import yarl

from bot.delivery.request_bucket import SHORTEST_WAIT, RequestBucket
from bot.delivery.request_budget import NO_DMS_FROM, NOTHING_FROM, WINDOW_SECONDS, InvalidRequests
from bot.delivery.request_pauses import Pauses, route_of
from bot.leases.failures import ErrorClass

_log = structlog.get_logger(__name__)

_UNAUTHORIZED, _NOT_FOUND, _RATE_LIMITED = 401, 404, 429
_FIRST_REFUSAL = 400
_INVALID = frozenset({_UNAUTHORIZED, 403, _RATE_LIMITED})
# As long as the library waits; beyond it whoever asked hears of it, and comes again.
_LONGEST_WAIT = 30.0
_WITHOUT_RETRY_AFTER = 1.0
# Whoever names more means for ever; no moment may be too far off to reckon with.
_LONGEST_RETRY_AFTER = 86_400.0
_TOO_MANY_REFUSED = "Discord refused too many requests of late"


class RequestStoppedError(aiohttp.ClientError):
    """A request was not let out: nothing was written. ``retry_after`` None: nothing will be."""

    def __init__(self, error_class: ErrorClass, text: str, retry_after: dt.timedelta | None = None) -> None:
        super().__init__(text)
        self.error_class = error_class
        self.text = text
        self.retry_after = retry_after


class _NeverShut(asyncio.Event):
    """An event that stays set."""

    def __init__(self) -> None:
        super().__init__()
        self.set()

    def clear(self) -> None:
        """Change nothing."""


class RequestGate:
    """
    The gate of one process. ``seconds`` is a clock that never goes back, by default the event loop's own.

    A host that was suspended waits too long rather than not long enough.
    """

    def __init__(
        self,
        *,
        seconds: Callable[[], float] = lambda: asyncio.get_running_loop().time(),
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._seconds = seconds
        self._sleep = sleep
        self._bucket = RequestBucket()
        self._pauses = Pauses()
        self._invalid = InvalidRequests()
        self._logged: dict[int, float] = {}
        self._is_refused = False
        self._on_refused: list[Callable[[], None]] = []
        # First come, first served; a direct message goes ahead, since its queue keeps a pace of its own.
        self._turn = asyncio.Lock()

    def take_over(self, http: discord.http.HTTPClient) -> None:
        """
        Hold requests in a limit of the whole bot instead of the library, once it has logged in.

        Its own lock is opened by the request that shut it, after a sleep: where that one is cancelled meanwhile, by a
        time-out of its caller, nothing would ever leave the process again.
        """
        http._global_over = _NeverShut()  # noqa: SLF001 -- there is no other way to it

    def divide(self, instances: int) -> None:
        """Keep this process's share of the bot's rate, where so many processes live."""
        self._bucket.divide(instances)

    def on_refused(self, listener: Callable[[], None]) -> None:
        """Tell ``listener`` when Discord refuses the token."""
        self._on_refused.append(listener)

    def rest_of_dms(self) -> dt.timedelta:
        """
        Return for how long no direct message should be started, zero: it may be now.

        While the rate is not back at its full, those that were started would wait here, and leave in a bunch.
        """
        now = self._seconds()
        return _span(max(self._invalid.rest(NO_DMS_FROM, now), self._bucket.rest_of_slowness(now)))

    def rest_of_all(self) -> dt.timedelta:
        """Return for how long nothing may be sent since too many requests were invalid, zero: it may be now."""
        return _span(self._invalid.rest(NOTHING_FROM, self._seconds()))

    async def admit(self, method: str, url: yarl.URL, *, goes_ahead: bool = False) -> None:
        """
        Wait until a request may leave; ``goes_ahead``: before those that wait for the rate already.

        Raises:
            RequestStoppedError: it may not, or not within half a minute.
        """
        if _is_gateway(url):
            return
        route, is_interaction = route_of(method, url.path), _is_interaction(url)
        if is_interaction:
            while wait := self._rest(route):
                await self._sleep(wait)
            return
        while not await self._has_slot(route, goes_ahead=goes_ahead):
            await self._sleep(self._rest_of_bound(route))

    async def _has_slot(self, route: str, *, goes_ahead: bool) -> bool:
        """Wait for a slot of the rate; False: the route has to wait for something else, and no slot is taken."""
        async with contextlib.nullcontext() if goes_ahead else self._turn:
            while not self._rest_of_bound(route):
                wait = self._bucket.take(self._seconds())
                if not wait:
                    return True
                await self._sleep(wait)
        return False

    def _rest_of_bound(self, route: str) -> float:
        """Return how many seconds the route has to wait, the global limit included; where it was refused, no more."""
        now, rest = self._seconds(), self._rest(route)
        if self._invalid.is_suspect(route, now) and (room := self._invalid.rest(NO_DMS_FROM, now)):
            raise RequestStoppedError(ErrorClass.RATE_LIMITED, _TOO_MANY_REFUSED, _span(room))
        return self._in_reach(max(rest, self._pauses.rest_everywhere(now)))

    def _rest(self, route: str) -> float:
        """Return how many seconds the route has to wait, whatever the global limit."""
        if self._is_refused:
            raise RequestStoppedError(ErrorClass.UNAUTHORIZED, "Discord refused the bot's token")
        if rest := self.rest_of_all():
            raise RequestStoppedError(ErrorClass.RATE_LIMITED, _TOO_MANY_REFUSED, rest)
        return self._in_reach(self._pauses.rest(route, self._seconds()))

    @staticmethod
    def _in_reach(wait: float) -> float:
        if wait > _LONGEST_WAIT:
            raise RequestStoppedError(ErrorClass.RATE_LIMITED, "rate limited for longer than 30 s", _span(wait))
        return max(wait, SHORTEST_WAIT) if wait else 0.0

    def answered(self, method: str, url: yarl.URL, status: int, headers: Mapping[str, str]) -> None:
        """Note what Discord answered."""
        now, route = self._seconds(), route_of(method, url.path)
        # Discord does not count a 429 of a limit that others filled.
        if status in _INVALID and headers.get("X-RateLimit-Scope") != "shared":
            self._count_invalid(route, now)
        elif status < _FIRST_REFUSAL or status == _NOT_FOUND:
            # An answer of a server in trouble tells nothing of what it would let through.
            self._invalid.forgive(route)
        if status == _UNAUTHORIZED and not _is_interaction(url) and not _is_gateway(url):
            self._refuse()
        if status != _RATE_LIMITED:
            self._pauses.accepted(route, now)
            return
        retry_after = _retry_after(headers)
        if _is_everywhere(headers) and not _is_interaction(url):
            self._bucket.begin_slowly(self._pauses.refused(None, retry_after, now))
        else:
            self._pauses.refused(route, retry_after, now)

    def _refuse(self) -> None:
        if not self._is_refused:
            self._is_refused = True
            for listener in self._on_refused:
                listener()

    def _count_invalid(self, route: str, now: float) -> None:
        count = self._invalid.count(route, now)
        for limit, event in ((NO_DMS_FROM, "invalid_requests_stop_dms"), (NOTHING_FROM, "invalid_requests_stop_all")):
            # Once a window: at the limit each that goes makes room for one more.
            if count >= limit and now - self._logged.get(limit, -WINDOW_SECONDS) >= WINDOW_SECONDS:
                self._logged[limit] = now
                _log.error(event, invalid=count, room_in_seconds=round(self._invalid.rest(limit, now)))


def _span(seconds: float) -> dt.timedelta:
    return dt.timedelta(seconds=seconds)


def _is_gateway(url: yarl.URL) -> bool:
    return url.scheme in {"ws", "wss"}


def _is_interaction(url: yarl.URL) -> bool:
    """Return whether it answers an interaction; a 401 there is about the interaction's token, not the bot's."""
    return "/interactions/" in url.path or "/webhooks/" in url.path


def _is_everywhere(headers: Mapping[str, str]) -> bool:
    """Return whether a 429 is about all routes: the bot's global limit, or a block before Discord, which has no Via."""
    return "X-RateLimit-Global" in headers or headers.get("X-RateLimit-Scope") == "global" or "Via" not in headers


def _retry_after(headers: Mapping[str, str]) -> float:
    try:
        seconds = float(headers["Retry-After"])
    except (KeyError, ValueError):
        return _WITHOUT_RETRY_AFTER
    return min(max(0.0, seconds), _LONGEST_RETRY_AFTER) if math.isfinite(seconds) else _WITHOUT_RETRY_AFTER
