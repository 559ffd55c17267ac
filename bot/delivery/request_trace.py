"""
What happens to each request, seen at the HTTP client itself.

Three things can only be known here: Discord's own time (the Date header of its last answer), whether the request of a
send was written at all, and how long it has been under way without the waits for a rate limit. It is also the one
place where nothing is missed, so that the :mod:`gate <bot.delivery.request_gate>` is asked here. It is aiohttp's own
tracing, handed to discord.py as ``http_trace``.
"""

import asyncio
import datetime as dt
import time
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from email.utils import parsedate_to_datetime
from types import SimpleNamespace, TracebackType
from typing import Self

import aiohttp

from bot.clock import Clock
from bot.delivery.request_gate import RequestGate

_REFUSALS = range(400, 500)


class GuardedCall:
    """
    One call of the client that may write requests: ``before_request`` runs right before each, ``timeout`` bounds each.

    ``goes_ahead``: its requests do not stand in line behind others, since they come at a pace of their own.

    Used as a context manager round the call. What ``before_request`` raised is kept in ``stopped_by``.

    Raises:
        TimeoutError: a request went unanswered for ``timeout``. Somebody else's cancellation stays one.
    """

    def __init__(
        self, before_request: Callable[[], Awaitable[None]], *, timeout: dt.timedelta, goes_ahead: bool = False
    ) -> None:
        self.goes_ahead = goes_ahead
        self._before_request = before_request
        self._timeout = timeout.total_seconds()
        self._task: asyncio.Task[object] | None = None
        self._cancels_before = 0
        self._timer: asyncio.TimerHandle | None = None
        self._expired = False
        self._is_out = False
        self._in_doubt = False
        self.stopped_by: Exception | None = None

    @property
    def written(self) -> bool:
        """Whether a request left that Discord did not refuse, be it an earlier one that the library then repeated."""
        return self._in_doubt or self._is_out

    async def ask(self) -> None:
        """Ask ``before_request``; whatever it raises stops the call."""
        try:
            await self._before_request()
        except Exception as error:
            self.stopped_by = error
            raise

    async def begin(self) -> None:
        """Let one request go, unless ``before_request`` raises."""
        self._in_doubt, self._is_out = self.written, False
        await self.ask()
        self.end()
        self._timer = asyncio.get_running_loop().call_later(self._timeout, self._expire)

    def leave(self) -> None:
        """Note that the request is being written: from now on it may arrive."""
        self._is_out = True

    def answered(self, status: int) -> None:
        """Note Discord's answer: what it refused did not arrive; after a 5xx nobody knows."""
        if status in _REFUSALS:
            self._is_out = False

    def end(self) -> None:
        """Note that the request under way has ended."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _expire(self) -> None:
        if self._task is not None:
            self._expired = True
            self._task.cancel()

    def __enter__(self) -> Self:
        """Make this the call that requests of this task belong to."""
        self._task = asyncio.current_task()
        self._cancels_before = self._task.cancelling() if self._task is not None else 0
        self._token = _CURRENT.set(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        """End it, and turn its own cancellation into what it means, as ``asyncio.timeout`` does."""
        self.end()
        _CURRENT.reset(self._token)
        if not self._expired or self._task is None:
            return
        if self._task.uncancel() <= self._cancels_before and kind is asyncio.CancelledError:
            raise TimeoutError from error


async def at_once() -> None:
    """Let a request go unasked: one that can be repeated does no harm."""


_CURRENT: ContextVar[GuardedCall | None] = ContextVar("guarded_call", default=None)


class RequestTrace:
    """
    Follows every request of one client; is Discord's clock as the leases need it.

    ``gate`` lets each of them out, None: nothing holds them. ``sees_requests``: a request was seen. A simulated
    transport shows none.
    """

    def __init__(self, clock: Clock, gate: RequestGate | None = None) -> None:
        self._clock = clock
        self._gate = gate
        self._answered: tuple[dt.datetime, float] | None = None
        self.sees_requests = False
        self.config = aiohttp.TraceConfig()
        self.config.on_request_start.append(self._started)
        self.config.on_request_headers_sent.append(self._leaving)
        self.config.on_request_end.append(self._ended)
        self.config.on_request_exception.append(self._failed)
        self.config.on_response_chunk_received.append(self._read)

    def now(self) -> dt.datetime:
        """
        Return the time of Discord's last answer, carried on by the monotonic clock; before the first the machine's.

        A suspended host makes it late, never early: the history is then read further back than needed. So does a
        machine whose clock is behind; one on the way whose Date is ahead of the machine is not believed.
        """
        if self._answered is None:
            return self._clock.now()
        date, at = self._answered
        return min(date + dt.timedelta(seconds=time.monotonic() - at), self._clock.now())

    async def _started(
        self, _session: aiohttp.ClientSession, _context: SimpleNamespace, params: aiohttp.TraceRequestStartParams
    ) -> None:
        self.sees_requests = True
        call = _CURRENT.get()
        if call is not None:
            call.end()  # an answer without a body left its deadline running
        if self._gate is not None:
            await self._gate.admit(params.method, params.url, goes_ahead=call is not None and call.goes_ahead)
        if call is not None:
            await call.begin()  # only now: the lease is asked for after the wait, which is none of the deadline's

    async def _leaving(
        self, _session: aiohttp.ClientSession, _context: SimpleNamespace, _params: aiohttp.TraceRequestHeadersSentParams
    ) -> None:
        if (call := _CURRENT.get()) is not None:
            call.leave()

    async def _ended(
        self, _session: aiohttp.ClientSession, _context: SimpleNamespace, params: aiohttp.TraceRequestEndParams
    ) -> None:
        if (call := _CURRENT.get()) is not None:
            call.answered(params.response.status)
        if self._gate is not None:
            self._gate.answered(params.method, params.url, params.response.status, params.response.headers)
        date = _date(params.response.headers.get("Date"))
        if date is not None:
            self._answered = (date, time.monotonic())

    async def _failed(
        self, _session: aiohttp.ClientSession, _context: SimpleNamespace, _params: aiohttp.TraceRequestExceptionParams
    ) -> None:
        if (call := _CURRENT.get()) is not None:
            call.end()

    async def _read(
        self,
        _session: aiohttp.ClientSession,
        _context: SimpleNamespace,
        _params: aiohttp.TraceResponseChunkReceivedParams,
    ) -> None:
        # Only now: an answer whose body never comes is no answer. What follows is a wait for a rate limit.
        if (call := _CURRENT.get()) is not None:
            call.end()


def _date(header: str | None) -> dt.datetime | None:
    if header is None:
        return None
    try:
        found = parsedate_to_datetime(header)
    except (ValueError, OverflowError):
        return None
    return found.astimezone(dt.UTC) if found.tzinfo is not None else None
