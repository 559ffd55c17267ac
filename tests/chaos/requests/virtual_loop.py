"""
An event loop whose time is virtual although its sockets are real: it jumps to the next timer as soon as nothing waits.

Both ends of every connection must be tasks of this loop: what one end writes is then there for the other at once. What
the databases do happens elsewhere, in threads and servers; it is counted, and while any of it is under way time stands
still.
"""

import asyncio
import datetime as dt
import functools
import selectors
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from typing import Any, TypeVar, TypeVarTuple

import aiosqlite
import asyncpg

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")

# A loop that waits for nothing that could ever come is a fault of the proof, and must not hang it.
_REAL_PATIENCE_SECONDS = 60.0
# On a busy machine what was written is not yet there for the other end: the kernel gets this long to hand it over.
_UNDER_WAY_SECONDS = 0.002


class _JumpingSelector(selectors.DefaultSelector):
    """Looks at the sockets, and once more for what is under way; then it lets the loop's time jump over the wait."""

    loop: "VirtualLoop"

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if ready or timeout == 0:
            return ready
        if self.loop.outside or timeout is None:
            ready = super().select(_REAL_PATIENCE_SECONDS)
            if not ready:
                raise RuntimeError("everything waits for what never comes")
            return ready
        if ready := super().select(_UNDER_WAY_SECONDS):
            return ready
        self.loop.jump(timeout)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """Its time begins at zero; ``outside``: how many calls of a database are under way."""

    def __init__(self) -> None:
        selector = _JumpingSelector()
        selector.loop = self
        self.outside = 0
        self._virtual = 0.0
        super().__init__(selector)

    def time(self) -> float:
        """Return the virtual seconds since the loop was made."""
        return self._virtual

    def jump(self, seconds: float) -> None:
        """Let time pass."""
        self._virtual += max(seconds, 0.0)

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[*Arguments], T], *args: *Arguments
    ) -> asyncio.Future[T]:
        """Count what a thread does, like a database."""
        self.outside += 1
        future = super().run_in_executor(executor, func, *args)
        future.add_done_callback(lambda _: self._is_back())
        return future

    def _is_back(self) -> None:
        self.outside -= 1


class VirtualClock:
    """The bot's clock on a virtual loop: ``start`` is its moment zero."""

    def __init__(self, start: dt.datetime) -> None:
        self._start = start

    def now(self) -> dt.datetime:
        """Return the present moment, aware UTC."""
        return self._start + dt.timedelta(seconds=asyncio.get_running_loop().time())

    async def sleep(self, seconds: float) -> None:
        """Wait for virtual seconds."""
        await asyncio.sleep(max(0.0, seconds))


def run_virtually(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end in virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(work)


def _counted(owner: Any, name: str) -> None:  # noqa: ANN401 -- whatever has the method
    method: Callable[..., Coroutine[Any, Any, Any]] = getattr(owner, name)

    @functools.wraps(method)
    async def _call(*args: Any, **named: Any) -> Any:  # noqa: ANN401 -- handed through
        loop = asyncio.get_running_loop()
        if not isinstance(loop, VirtualLoop):
            return await method(*args, **named)
        loop.outside += 1
        try:
            return await method(*args, **named)
        finally:
            loop.outside -= 1

    setattr(owner, name, _call)


for _name in ("_execute", "_connect"):
    _counted(aiosqlite.core.Connection, _name)
for _name in ("_execute", "execute", "_executemany", "reset", "close"):
    _counted(asyncpg.connection.Connection, _name)
_counted(asyncpg.connect_utils, "_connect")
