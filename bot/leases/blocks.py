"""
What an answer of Discord asks of the whole process, whoever got it.

A block on the way pauses everything; a refused token stops the process; a flag for opening DM channels too fast is
handed on to whoever opens them. What the requests themselves came to, whoever made them, is asked of a
:class:`RequestLimits`. Source: 03-delivery.md, "Error classes".
"""

import datetime as dt
from collections.abc import Callable
from typing import Protocol

from bot.clock import Clock
from bot.leases.failures import ErrorClass

_NOTHING = dt.timedelta(0)
_NEVER = dt.datetime.max.replace(tzinfo=dt.UTC)
TOKEN_REFUSED = "Discord refuses the bot's token: set DISCORD_TOKEN to the current one and start again."  # noqa: S105 -- words
"""Why the process stops, in words."""

OnFlagged = Callable[[int | None], None]
"""Told of the flag, with the guild that the message was for, None: no single one."""


class RequestLimits(Protocol):
    """What all requests of the process came to, as far as it forbids more of them."""

    def rest_of_dms(self) -> dt.timedelta:
        """Return for how long no direct message should be started, zero: it may be now."""
        ...

    def rest_of_all(self) -> dt.timedelta:
        """Return for how long nothing may be sent, zero: it may be now."""
        ...

    def on_refused(self, listener: Callable[[], None]) -> None:
        """Tell ``listener`` when Discord refuses the token, whatever was asked."""
        ...


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
        self._limits: RequestLimits | None = None

    def follow(self, limits: RequestLimits) -> None:
        """Heed what all requests came to, also those that nobody told of here."""
        self._limits = limits
        limits.on_refused(lambda: self.heed(ErrorClass.UNAUTHORIZED))

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
            self._stop(TOKEN_REFUSED)
        elif error_class is ErrorClass.OPENING_TOO_FAST:
            for listener in self._listeners:
                listener(guild_id)

    @property
    def paused_until(self) -> dt.datetime | None:
        """
        Until when nothing asks Discord for anything; it may be over.

        After a block, after too many refusals, or for good without a token.
        """
        if self._is_refused:
            return _NEVER
        now = self._clock.now()
        if self._paused_until is not None:
            # A clock that is set back must not make the pause longer than it was meant to be.
            self._paused_until = min(self._paused_until, now + self._pause)
        rest = self._limits.rest_of_all() if self._limits is not None else _NOTHING
        return max(self._paused_until or now, now + rest) if rest else self._paused_until

    @property
    def dms_pause_until(self) -> dt.datetime | None:
        """Until when no direct message is started, since Discord refused too much of late; None: it may be now."""
        rest = self._limits.rest_of_dms() if self._limits is not None else _NOTHING
        return self._clock.now() + rest if rest else None

    def is_paused(self) -> bool:
        """Return whether nothing may ask Discord for anything now."""
        until = self.paused_until
        return until is not None and self._clock.now() < until
