"""
``tocsin`` without one of the mechanisms that a proof rests on.

``python -m tests.chaos.running.broken_bot MECHANISM run``. A proof that does not find the breakage is worth nothing.
"""

import asyncio
import signal
import socket
import sys
import threading
from collections.abc import Callable

from bot import process
from bot.__main__ import main
from bot.bootstrap import Services
from bot.client import TocsinBot
from bot.leases.instances import InstanceRegister
from bot.loops import LoopSet

_leaked: list[object] = []
_LEAKS_A_BEAT = 20
_LEAKED_BYTES = 250_000


def _no_watchdog() -> None:
    process._Stop.end_hard_if_it_hangs = lambda self: None  # type: ignore[method-assign]


def _deaf() -> None:
    really = process._Stop.__init__

    def _init(self: process._Stop, seconds: float) -> None:
        really(self, seconds)
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().remove_signal_handler(number)

    process._Stop.__init__ = _init  # type: ignore[method-assign]


def _does_not_leave() -> None:
    async def _stays(self: Services) -> None:
        """Leave everything as it is."""

    Services.leave = _stays  # type: ignore[method-assign]


def _no_grace() -> None:
    async def _cut_off(self: TocsinBot, *, grace: object) -> None:
        await LoopSet.stop(self.loops)
        await Services.leave(self.services)
        await self.close()

    TocsinBot.shut_down = _cut_off  # type: ignore[method-assign]


def _leaks() -> None:
    """Keep memory, descriptors, threads and tasks at every heartbeat."""
    really = InstanceRegister.beat

    async def _beat(self: InstanceRegister, now: object) -> object:
        for _ in range(_LEAKS_A_BEAT):
            # Written to: zeros that nobody wrote are no memory yet.
            _leaked.append(bytearray(b"x") * _LEAKED_BYTES)
            _leaked.append(socket.socket())
            _leaked.append(asyncio.get_running_loop().create_task(asyncio.sleep(100_000)))
            threading.Thread(target=threading.Event().wait, daemon=True).start()
        return await really(self, now)  # type: ignore[arg-type]

    InstanceRegister.beat = _beat  # type: ignore[method-assign,assignment]


BREAKS: dict[str, Callable[[], None]] = {
    "no-watchdog": _no_watchdog,
    "deaf": _deaf,
    "does-not-leave": _does_not_leave,
    "no-grace": _no_grace,
    "leaks": _leaks,
}


def command(mechanism: str) -> tuple[str, ...]:
    """Return the arguments of Python that run a broken copy."""
    return ("-m", "tests.chaos.running.broken_bot", mechanism, "run")


if __name__ == "__main__":
    BREAKS[sys.argv.pop(1)]()
    main()
