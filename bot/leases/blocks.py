"""
What an answer of Discord asks of the whole process, whoever got it.

A block on the way pauses everything; a refused token stops the process; a flag for opening DM channels too fast is
handed on to whoever opens them. Source: 03-delivery.md, "Error classes".
"""

import datetime as dt
from collections.abc import Callable

from bot.clock import Clock
from bot.leases.failures import ErrorClass

_NEVER = dt.datetime.max.replace(tzinfo=dt.UTC)
_NO_TOKEN = "Discord refuses the bot's token: set DISCORD_TOKEN to the current one and start again."  # noqa: S105 -- words

OnFlagged = Callable[[int | None], None]
"""Told of the flag, with the guild that the message was for, None: no single one."""


class Blocks:
    """Keeps for one process whether Discord may be asked for anything; ``pause`` is how long a block lasts."""

    def __init__(
        self, *, clock: Clock, stop: Callable[[str], None], pause: dt.timedelta = dt.timedelta(minutes=10)
    ) -> None:
        self._clock = clock
        self._stop = stop
        self._pause = pause
        self._paused_until: dt.datetime | None = None
        self._is_refused = False
        self._listeners: list[OnFlagged] = []

    def on_flagged(self, listener: OnFlagged) -> None:
        """Tell ``listener`` each time that Discord finds DM channels opened too fast."""
        self._listeners.append(listener)

    def heed(self, error_class: ErrorClass | None, *, guild_id: int | None = None) -> None:
        """Do what an answer of this class asks of the whole process; None, and most classes, ask for nothing."""
        if error_class is ErrorClass.CDN_BLOCK:
            self._paused_until = self._clock.now() + self._pause
        elif error_class is ErrorClass.UNAUTHORIZED:
            # Until the process has stopped, each further request would be one more that Discord counts as invalid.
            self._is_refused = True
            self._stop(_NO_TOKEN)
        elif error_class is ErrorClass.OPENING_TOO_FAST:
            for listener in self._listeners:
                listener(guild_id)

    @property
    def paused_until(self) -> dt.datetime | None:
        """Until when nothing asks Discord for anything: after a block, or for good without a token; it may be over."""
        if self._is_refused:
            return _NEVER
        if self._paused_until is not None:
            # A clock that is set back must not make the pause longer than it was meant to be.
            self._paused_until = min(self._paused_until, self._clock.now() + self._pause)
        return self._paused_until

    def is_paused(self) -> bool:
        """Return whether nothing may ask Discord for anything now."""
        until = self.paused_until
        return until is not None and self._clock.now() < until
