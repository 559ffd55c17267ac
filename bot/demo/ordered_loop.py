"""
An event loop on which a run in virtual time comes out the same each time.

What other threads and sockets answer is looked at only when nothing else is left to do, and one answer at a time: how
fast a disk was decides nothing any more. It needs a database of one connection.
"""

import asyncio
import selectors
from collections import deque
from collections.abc import Callable
from contextvars import Context
from typing import Any, Protocol, TypeVarTuple

_Values = TypeVarTuple("_Values")

# Whoever looks again and again whether an answer has come would else never let it in.
_MOST_TURNS = 100


class _Patient(selectors.DefaultSelector):
    """A selector that looks only when the loop has nothing else to do."""

    def __init__(self, take_answer: Callable[[], bool]) -> None:
        super().__init__()
        self._take_answer = take_answer
        self._turns = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return what is ready, at once and empty as long as the loop is busy."""
        is_busy = timeout is not None and timeout <= 0
        if is_busy and self._turns < _MOST_TURNS:
            self._turns += 1
            return []
        self._turns = 0
        if self._take_answer():
            return []
        return super().select(timeout)


class _HasReady(Protocol):
    """What of the library's loop is used here beside its public face."""

    _ready: deque[asyncio.Handle]

    def _write_to_self(self) -> None: ...


class OrderedLoop(asyncio.SelectorEventLoop):
    """The library's loop, which takes answers from outside one by one, when it is idle."""

    def __init__(self) -> None:
        self._answers: deque[asyncio.Handle] = deque()
        super().__init__(_Patient(self._take_answer))

    def call_soon_threadsafe(
        self, callback: Callable[[*_Values], object], *args: *_Values, context: Context | None = None
    ) -> asyncio.Handle:
        """Keep what another thread answers until the loop is idle."""
        handle = asyncio.Handle(callback, args, self, context)
        self._answers.append(handle)
        _inner(self)._write_to_self()  # noqa: SLF001 -- wakes the selector, as the library's own does
        return handle

    def _take_answer(self) -> bool:
        if not self._answers:
            return False
        _inner(self)._ready.append(self._answers.popleft())  # noqa: SLF001
        return True


def _inner(loop: Any) -> _HasReady:  # noqa: ANN401 -- what the stubs do not show
    inner: _HasReady = loop
    return inner
