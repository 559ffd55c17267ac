"""A clock that several processes share: whoever drives the time sets it, everybody else reads it."""

import asyncio
import datetime as dt
import mmap
import struct
from pathlib import Path

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECONDS = struct.Struct("<q")


class CommonClock:
    """A :class:`bot.clock.Clock` in a file of eight bytes, which outlives the processes that read it."""

    def __init__(self, path: Path) -> None:
        with path.open("r+b") as file:
            self._moment = mmap.mmap(file.fileno(), _MICROSECONDS.size)

    @classmethod
    def begun(cls, path: Path, at: dt.datetime) -> "CommonClock":
        """Return a new clock in a new file."""
        path.write_bytes(bytes(_MICROSECONDS.size))
        clock = cls(path)
        clock.set(at)
        return clock

    def now(self) -> dt.datetime:
        """Return the moment it was last set to, aware UTC."""
        (microseconds,) = _MICROSECONDS.unpack_from(self._moment)
        return _EPOCH + dt.timedelta(microseconds=microseconds)

    def set(self, moment: dt.datetime) -> None:
        """Set it for everybody."""
        _MICROSECONDS.pack_into(self._moment, 0, (moment - _EPOCH) // dt.timedelta(microseconds=1))

    def advance(self, by: dt.timedelta) -> None:
        """Move it for everybody."""
        self.set(self.now() + by)

    async def sleep(self, seconds: float) -> None:
        """Move it by ``seconds`` and let others run."""
        self.advance(dt.timedelta(seconds=max(0.0, seconds)))
        await asyncio.sleep(0)
