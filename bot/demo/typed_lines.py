"""What is typed into the terminal, line by line, without holding the loop that the demo runs in."""

import asyncio
import codecs
import os
import threading
from typing import Final

_A_READ: Final = 4_096
# A line of a person is short; what never ends is cut.
_LONGEST_LINE: Final = 1_000
# Who types no end, as a program does, waits: else the lines would fill the memory, and Ctrl-C find no turn in the loop.
_MOST_WAITING: Final = 100


class TypedLines:
    """
    Reads a file descriptor in a thread of its own, since not every kind of input can be waited for otherwise.

    The thread holds nothing that the interpreter waits for at its end, also where nobody ever types anything.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lines: asyncio.Queue[str] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        self._room = threading.Semaphore(_MOST_WAITING)

    def start(self) -> None:
        """Begin to read."""
        threading.Thread(target=self._read, name="typed-lines", daemon=True).start()

    async def next(self, *, within: float) -> str | None:
        """Return the next line, None where none came within so many seconds, as when the input has ended."""
        try:
            line = await asyncio.wait_for(self._lines.get(), within)
        except TimeoutError:
            return None
        self._room.release()
        return line

    def _read(self) -> None:
        decoder, kept = codecs.getincrementaldecoder("utf-8")(errors="replace"), ""
        while True:
            try:
                read = os.read(self._descriptor, _A_READ)
            except OSError:
                read = b""
            *lines, kept = (kept + decoder.decode(read, final=not read)).split("\n")
            if not read and kept:
                lines.append(kept)
            for line in lines:
                self._room.acquire()  # given back by whoever takes a line
                self._hand_over(line[:_LONGEST_LINE])
            kept = kept[:_LONGEST_LINE]
            if not read:
                return

    def _hand_over(self, line: str) -> None:
        try:
            self._loop.call_soon_threadsafe(self._lines.put_nowait, line)
        except RuntimeError:
            return  # the loop has ended: nobody listens any more
