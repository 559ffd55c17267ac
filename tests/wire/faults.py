"""
Fault scripts for the wire stub: what goes wrong with which request, as data and by a seed.

    script = FaultScript(
        Rule("POST", MESSAGES, failed(502, accepted=True), chance=0.2),  # a fifth of all sends
        Rule("POST", OPENINGS, refused(403, 40003), after=10),           # from the eleventh opening on
        Rule("*", ANY, rate_limited(5, everywhere=True), within=(60, 65)),  # in these seconds of the script's clock
        Rule("*", ANY, slow(0.06, 0.9)),
        seed=7,
    )
    async with running_stub(middlewares=[script.middleware]) as stub: ...

Each request is held against the rules in order; of those that hit it, delays add up, and the first that does more ends
the search. ``accepted``: the stub takes the request, and only its answer is replaced; else the stub never sees it. What
was asked, when, and how it was answered stands in ``seen``. The clock is the event loop's own unless another is given.
"""

import asyncio
import json
import random
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from aiohttp import web
from aiohttp.typedefs import Middleware

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

ANY = r"/.*"
MESSAGES = r"/channels/\d+/messages"
OPENINGS = r"/users/@me/channels"
INTERACTIONS = r"/(interactions|webhooks)/.*"
NO_INTERACTIONS = r"/(?!interactions|webhooks).*"

_API = "/api/v10"
# Longer than anybody waits.
_FOR_EVER = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class Fault:
    """
    What one request meets; see the functions below for the kinds there are.

    ``answer``: what it gets, None: the stub's own. ``cut``: the connection is closed instead of any answer.
    """

    answer: Callable[[], web.Response] | None = None
    cut: bool = False
    accepted: bool = False
    delay: tuple[float, float] = (0.0, 0.0)

    @property
    def is_only_late(self) -> bool:
        return self.answer is None and not self.cut


def slow(shortest: float, longest: float | None = None) -> Fault:
    """It arrives so many seconds later."""
    return Fault(delay=(shortest, longest if longest is not None else shortest))


def hang() -> Fault:
    """It never arrives, and nobody ever answers."""
    return slow(_FOR_EVER)


def failed(status: int = 500, *, accepted: bool) -> Fault:
    """Discord itself fails, before or after it took the request."""
    return Fault(lambda: _json({"message": "Internal Server Error", "code": 0}, status), accepted=accepted)


def cut(*, accepted: bool) -> Fault:
    """The connection is closed, before or after Discord took the request."""
    return Fault(cut=True, accepted=accepted)


def refused(status: int, code: int) -> Fault:
    """Discord says no: 403 with 50007 (closed DMs), 50278 (no server in common), 50013; 40003; 401 with 0."""
    return Fault(lambda: _json({"message": "Refused", "code": code}, status))


def rate_limited(seconds: float, *, everywhere: bool = False, shared: bool = False) -> Fault:
    """Discord's own 429, which has a Via header: of the route, of the whole bot, or of what others filled too."""
    scope = "global" if everywhere else "shared" if shared else "user"
    headers = {"Via": "1.1 google", "Retry-After": f"{seconds:g}", "X-RateLimit-Scope": scope}
    if everywhere:
        headers["X-RateLimit-Global"] = "true"
    body = {"message": "You are being rate limited.", "retry_after": seconds, "global": everywhere}
    return Fault(lambda: _json(body, 429, headers))


def blocked(status: int = 429, seconds: float | None = None) -> Fault:
    """A block before Discord: a page instead of an answer, 429 or 403."""
    headers = {"Retry-After": f"{seconds:g}"} if seconds is not None else {}
    page = "<!DOCTYPE html><html><title>Access denied</title></html>"
    return Fault(lambda: web.Response(status=status, text=page, content_type="text/html", headers=headers))


@dataclass(frozen=True, slots=True)
class Rule:
    """
    Which requests meet a fault: by method (``*``: any) and by a pattern of the whole path behind the API's address.

    Of those, the ones ``after`` the first so many, at most ``times`` of them, ``within`` these seconds, by ``chance``;
    ``first``: only the first copy of a message, told by its nonce, meets it.
    """

    method: str
    path: str
    fault: Fault
    after: int = 0
    times: int | None = None
    within: tuple[float, float] = (0.0, float("inf"))
    chance: float = 1.0
    first: bool = False


@dataclass(slots=True)
class Seen:
    """One request; ``status`` None: never answered. ``nonce`` is that of a message; ``fault`` is what it met."""

    at: float
    method: str
    path: str
    nonce: str | None = None
    status: int | None = None
    answered_at: float | None = None
    headers: dict[str, str] | None = None
    fault: Fault | None = None

    @property
    def is_interaction(self) -> bool:
        return re.fullmatch(INTERACTIONS, self.path) is not None

    @property
    def is_invalid(self) -> bool:
        """Whether Discord counts it as invalid."""
        return self.status in {401, 403, 429} and (self.headers or {}).get("X-RateLimit-Scope") != "shared"


class FaultScript:
    """Stands before one stub; ``seen`` keeps every request of the API."""

    def __init__(self, *rules: Rule, seed: int = 0, seconds: Callable[[], float] | None = None) -> None:
        self.rules = list(rules)
        self.seen: list[Seen] = []
        self._chance = random.Random(seed)
        self._seconds = seconds or (lambda: asyncio.get_running_loop().time())
        self._asked: dict[int, int] = {}
        self._hit: dict[int, int] = {}
        self._copies: Counter[str | None] = Counter()

    @property
    def middleware(self) -> Middleware:
        """What is handed to ``running_stub``."""

        @web.middleware
        async def _stand_between(request: web.Request, handler: Handler) -> web.StreamResponse:
            if not request.path.startswith(_API):
                return await handler(request)
            seen = Seen(self._seconds(), request.method, request.path.removeprefix(_API), await _nonce(request))
            self.seen.append(seen)
            self._copies[seen.nonce] += 1
            answer = await self._answered(seen, request, handler)
            seen.status, seen.answered_at, seen.headers = answer.status, self._seconds(), dict(answer.headers)
            if answer.status == _CUT:
                seen.status = None
            return answer

        return _stand_between

    async def _answered(self, seen: Seen, request: web.Request, handler: Handler) -> web.StreamResponse:
        fault, delay = self._fault_of(seen)
        seen.fault = fault
        if delay:
            await asyncio.sleep(delay)
        if fault is None:
            return await handler(request)
        if fault.accepted:
            await handler(request)
        if fault.cut:
            if request.transport is not None:
                request.transport.abort()
            return web.Response(status=_CUT)
        assert fault.answer is not None
        return fault.answer()

    def _fault_of(self, seen: Seen) -> tuple[Fault | None, float]:
        delay = 0.0
        for number, rule in enumerate(self.rules):
            if not self._hits(number, rule, seen):
                continue
            delay += self._chance.uniform(*rule.fault.delay)
            if not rule.fault.is_only_late:
                return rule.fault, delay
        return None, delay

    def _hits(self, number: int, rule: Rule, seen: Seen) -> bool:
        if rule.method not in {"*", seen.method} or re.fullmatch(rule.path, seen.path) is None:
            return False
        self._asked[number] = self._asked.get(number, 0) + 1
        is_spent = rule.times is not None and self._hit.get(number, 0) >= rule.times
        is_spent |= rule.first and self._copies[seen.nonce] > 1
        in_time = rule.within[0] <= seen.at < rule.within[1]
        if self._asked[number] <= rule.after or is_spent or not in_time or self._chance.random() >= rule.chance:
            return False
        self._hit[number] = self._hit.get(number, 0) + 1
        return True


# Never written: the connection is gone by then.
_CUT = 444


async def _nonce(request: web.Request) -> str | None:
    if request.method != "POST" or not (text := await request.text()):
        return None
    body: Any = json.loads(text)
    return body.get("nonce") if isinstance(body, dict) else None


def _json(body: object, status: int, headers: dict[str, str] | None = None) -> web.Response:
    # The library takes an answer for JSON only under exactly this type.
    return web.Response(
        body=json.dumps(body).encode(), status=status, headers={"Content-Type": "application/json", **(headers or {})}
    )


def most_within(seconds: float, moments: Iterable[float]) -> int:
    """Return how many of these moments lie within the fullest span of so many seconds, its end left out."""
    ordered: Sequence[float] = sorted(moments)
    return max((bisect_left(ordered, at + seconds) - begin for begin, at in enumerate(ordered)), default=0)
