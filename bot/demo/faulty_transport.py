"""
The transport of one bot process in a bad world: requests that fail on either side of their acceptance.

The simulated Discord fails before acceptance only, and shows the client's own tracing nothing. Here each request is
shown to it as the real HTTP client would, so that the bot knows what it knows in life: whether a request left, and what
Discord's clock said.
"""

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import format_datetime
from http import HTTPStatus
from types import SimpleNamespace
from typing import Any, Final

import aiohttp
import discord
import yarl

from bot.demo.crashes import MESSAGES, OPENINGS, HasRequest, SimulatedCrashError
from bot.demo.fault_plan import Fault, FaultKind
from bot.demo.trace import Trace
from bot.demo.world import World

_OPENED_TOO_FAST: Final = 40003


@dataclass(frozen=True, slots=True)
class _Effect:
    """
    What a fault does to a request.

    ``leaves``: it is written; ``accepted``: Discord takes it; ``status``: what Discord answers, None: nothing comes
    back; ``pauses``: when the time goes on; ``dies``: the process; ``again``: the library asks once more.
    """

    leaves: bool = True
    accepted: bool = True
    status: HTTPStatus | None = None
    pauses: str | None = None
    dies: bool = False
    again: bool = False


_EFFECTS: Final = {
    FaultKind.SERVER_ERROR: _Effect(accepted=False, status=HTTPStatus.SERVICE_UNAVAILABLE),
    FaultKind.SERVER_ERROR_AFTER: _Effect(status=HTTPStatus.SERVICE_UNAVAILABLE),
    FaultKind.RESET: _Effect(accepted=False),
    FaultKind.RESET_AFTER: _Effect(),
    FaultKind.UNREACHABLE: _Effect(leaves=False, accepted=False),
    FaultKind.TIMEOUT: _Effect(accepted=False, pauses="after"),
    FaultKind.TIMEOUT_AFTER: _Effect(pauses="after"),
    FaultKind.RATE_LIMIT: _Effect(accepted=False, status=HTTPStatus.TOO_MANY_REQUESTS),
    FaultKind.RATE_WAIT: _Effect(accepted=False, status=HTTPStatus.TOO_MANY_REQUESTS, pauses="after", again=True),
    FaultKind.OPENED_TOO_FAST: _Effect(accepted=False, status=HTTPStatus.FORBIDDEN),
    FaultKind.KILL_BEFORE: _Effect(accepted=False, dies=True),
    FaultKind.KILL_AFTER: _Effect(dies=True),
    FaultKind.SUSPEND_BEFORE: _Effect(status=HTTPStatus.OK, pauses="before"),
    FaultKind.SUSPEND_DURING: _Effect(status=HTTPStatus.OK, pauses="during"),
    FaultKind.SUSPEND_AFTER: _Effect(status=HTTPStatus.OK, pauses="after"),
}
_DOWN: Final = _EFFECTS[FaultKind.SERVER_ERROR]
_NO_FAULT: Final = _Effect(status=HTTPStatus.OK)


class FaultyTransport:
    """
    Wraps the transport of one process; takes the faults off the list as requests meet them.

    ``crashed``: the process is dead, and reaches Discord no more. ``is_down``: Discord answers nothing but 503.
    ``left_at``: when the request that Discord takes at this moment was written, by the world and by the bot's clock.
    """

    def __init__(
        self,
        faults: list[Fault],
        *,
        world: World,
        bot_now: Callable[[], dt.datetime],
        trace: Trace,
        on_met: Callable[[Fault], None],
    ) -> None:
        self.crashed = False
        self.killed_by: Fault | None = None
        self.is_down = False
        self.attempted = 0
        self.acknowledged = 0
        self.left_at: tuple[dt.datetime, dt.datetime] | None = None
        self._faults = faults
        self._met_times = 0
        self._world = world
        self._bot_now = bot_now
        self._trace = trace
        self._on_met = on_met
        self._hooks: aiohttp.TraceConfig | None = None

    def crash(self) -> None:
        """Let the process die now, wherever it is."""
        self.crashed = True

    def wrap(self, http: HasRequest, hooks: aiohttp.TraceConfig | None) -> None:
        """Put the wrapper round one process's transport; ``hooks`` is the tracing that its client came with."""
        self._hooks = hooks
        original = http.request

        async def _request(route: Any, **kwargs: Any) -> Any:  # noqa: ANN401 -- the library's own signature
            if self.crashed:
                raise SimulatedCrashError
            is_message = route.method == "POST" and route.path == MESSAGES
            self.attempted += is_message
            told = f"{route.method} {self._in_words(route, kwargs)}"
            try:
                answer = await self._ask(lambda: original(route, **kwargs), route)
            except BaseException as error:
                self._trace.add(f"{told} -> {_reason(error)}")
                raise
            self._trace.add(f"{told} -> ok")
            self.acknowledged += is_message
            return answer

        http.request = _request  # type: ignore[method-assign]

    async def _ask(self, ask: Callable[[], Any], route: Any) -> Any:  # noqa: ANN401
        asked = {"method": route.method, "url": yarl.URL(route.url)}
        while True:
            fault = self._next_fault(route)
            effect = _EFFECTS[fault.kind] if fault is not None else _DOWN if self.is_down else _NO_FAULT
            pause = fault.lasts if fault is not None else dt.timedelta(0)
            answer = await self._take(ask, effect, asked, pause)
            if effect.dies:
                self.crashed, self.killed_by = True, fault
                raise SimulatedCrashError
            if await self._is_told(effect, asked, pause):
                return answer

    async def _take(self, ask: Callable[[], Any], effect: _Effect, asked: dict[str, Any], pause: dt.timedelta) -> Any:  # noqa: ANN401
        """Let a request go as far as its fault allows; return Discord's answer, None: it never came to that."""
        self._pause(effect, "before", pause)
        await self._hook("on_request_start", asked)
        if effect.leaves:
            await self._hook("on_request_headers_sent", asked)
            self.left_at = (self._world.now(), self._bot_now())
        self._pause(effect, "during", pause)
        try:
            return await ask() if effect.accepted else None
        except discord.HTTPException as error:
            await self._answered(asked, error.status, pause)
            await self._hook("on_response_chunk_received", asked)
            raise
        finally:
            self.left_at = None

    async def _is_told(self, effect: _Effect, asked: dict[str, Any], pause: dt.timedelta) -> bool:
        """
        Let the client hear what Discord answers, if it does; False: the library asks once more.

        Raises:
            Exception: what the client raises where the answer is none, or bad.
        """
        if effect.status is not None:
            await self._answered(asked, effect.status, pause)
        self._pause(effect, "after", pause)
        if effect.status is None:
            await self._hook("on_request_exception", asked)
            raise _lost(effect)
        await self._hook("on_response_chunk_received", asked)
        if effect.status >= HTTPStatus.BAD_REQUEST and not effect.again:
            raise _refused(effect.status, pause)
        return not effect.again

    def _next_fault(self, route: Any) -> Fault | None:  # noqa: ANN401
        """Return the fault that this request meets, None: none."""
        if route.method != "POST" or route.path not in {MESSAGES, OPENINGS} or not self._faults:
            return None
        fault = self._faults[0]
        if fault.at > self._world.now():
            return None
        if fault.kind is FaultKind.OPENED_TOO_FAST and not self._is_dm(route):
            return None
        self._met_times += 1
        if self._met_times >= fault.times:
            self._met_times = 0
            self._faults.pop(0)
        self._trace.add(f"fault {fault}")
        self._on_met(fault)
        return fault

    def _is_dm(self, route: Any) -> bool:  # noqa: ANN401
        return route.path == OPENINGS or self._world.recipient_of(int(route.channel_id)) is not None

    def _pause(self, effect: _Effect, moment: str, span: dt.timedelta) -> None:
        if effect.pauses == moment:
            self._world.advance_to(self._world.now() + span)

    async def _answered(self, asked: dict[str, Any], status: int, wait: dt.timedelta) -> None:
        headers = {"Date": format_datetime(self._world.now(), usegmt=True), "Via": "1.1 google"}
        if status == HTTPStatus.TOO_MANY_REQUESTS:
            headers["Retry-After"] = f"{wait.total_seconds():.0f}"
        await self._hook("on_request_end", asked | {"response": SimpleNamespace(status=int(status), headers=headers)})

    async def _hook(self, name: str, params: dict[str, Any]) -> None:
        """Call what follows the requests of the client, as the real HTTP client would."""
        for follow in getattr(self._hooks, name, ()):
            await follow(None, SimpleNamespace(), SimpleNamespace(**params))

    def _in_words(self, route: Any, kwargs: dict[str, Any]) -> str:  # noqa: ANN401
        """Return what a request is about, without any id that is random."""
        path: str = route.path
        if route.channel_id is not None:
            channel_id = int(route.channel_id)
            recipient = self._world.recipient_of(channel_id)
            known = self._world.people if recipient is not None else self._world.names
            path = path.replace("{channel_id}", known.get(recipient or channel_id, "somewhere"))
        body = kwargs.get("json")
        if not isinstance(body, dict):
            return path
        if "recipient_id" in body:
            return f"{path} {self._world.people.get(int(body['recipient_id']), 'somebody')}"
        embed = (body.get("embeds") or [{}])[0]
        return f"{path} {(embed.get('footer') or {}).get('text', '')}".rstrip()


def _lost(effect: _Effect) -> Exception:
    """Return what the client raises where nothing came back."""
    if not effect.leaves:
        return ConnectionRefusedError("nobody answers")
    if effect.pauses is not None:
        return TimeoutError("no answer")
    return aiohttp.ServerDisconnectedError("the connection was cut")


def _refused(status: HTTPStatus, wait: dt.timedelta) -> Exception:
    """Return what the library raises for a status."""
    response: Any = SimpleNamespace(status=status.value, reason=status.phrase, headers={})
    match status:
        case HTTPStatus.TOO_MANY_REQUESTS:
            return discord.RateLimited(wait.total_seconds())
        case HTTPStatus.FORBIDDEN:
            return discord.Forbidden(response, {"code": _OPENED_TOO_FAST, "message": "Opening too many channels"})
        case _:
            return discord.DiscordServerError(response, {"code": 0, "message": status.phrase})


def _reason(error: BaseException) -> str:
    if isinstance(error, discord.HTTPException):
        return f"{error.status} {error.code}"
    return type(error).__name__
