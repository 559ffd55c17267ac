"""What the leases need from outside: a way to Discord, its time, and somebody to tell."""

import datetime as dt
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from bot.leases.failures import ErrorClass, SendError
from bot.leases.keys import MessageKey
from bot.message.native_event import NativeEvent
from bot.message.outgoing import OutgoingMessage


@dataclass(frozen=True, slots=True)
class ChannelTarget:
    """A channel of a guild; a channel of another guild is refused."""

    guild_id: int
    channel_id: int


@dataclass(frozen=True, slots=True)
class DmTarget:
    """The DM channel with one person, which was opened before."""

    recipient_id: int
    channel_id: int


@dataclass(frozen=True, slots=True)
class NativeTarget:
    """A server's own list of scheduled events, which takes the place of a channel."""

    guild_id: int

    @property
    def channel_id(self) -> int:
        """Return what stands for a channel: there is one such list per server."""
        return self.guild_id


Target = ChannelTarget | DmTarget
AnyTarget = Target | NativeTarget
Sendable = OutgoingMessage | NativeEvent
"""What goes out once: a message to a channel or person, or a scheduled event to its server's list."""


@dataclass(frozen=True, slots=True)
class Delivered:
    """A message that Discord holds."""

    message_id: int
    channel_id: int
    status: int = 200


class HistoryUnreadableError(Exception):
    """
    The channel's history cannot be read now, so that nobody can tell whether a message arrived.

    ``lacks_permission``: an admin can mend it. ``error_class``: what Discord answered, None where it did not refuse.
    """

    def __init__(self, reason: str, *, lacks_permission: bool = False, error_class: ErrorClass | None = None) -> None:
        super().__init__(reason)
        self.lacks_permission = lacks_permission
        self.error_class = error_class


class LeaseLostError(Exception):
    """The lease was taken away before the request was written: nothing was sent."""


class MessagePort(Protocol):
    """Discord, as the one way out uses it."""

    async def send(
        self,
        target: Target,
        message: OutgoingMessage,
        *,
        nonce: str,
        before_request: Callable[[], Awaitable[None]],
    ) -> Delivered:
        """
        Post one message; ``before_request`` is awaited right before each request is written.

        Raises:
            SendError: it did not end in an acknowledged message.
            LeaseLostError: ``before_request`` raised it; whatever else it raises comes through too.
        """
        ...

    async def find(self, target: Target, *, marker: str, after: int) -> Delivered | None:
        """
        Return the bot's own message that carries ``marker``, newest first down to the snowflake ``after``, or None.

        Raises:
            HistoryUnreadableError: the channel could not be read to that point.
        """
        ...


class NativePort(Protocol):
    """A server's list of scheduled events, as the one way out uses it."""

    async def create(
        self, guild_id: int, native: NativeEvent, *, before_request: Callable[[], Awaitable[None]]
    ) -> Delivered:
        """
        Add one scheduled event, in one request at most: Discord knows no nonce for it.

        Raises:
            SendError: it did not end in an acknowledged event.
            LeaseLostError: ``before_request`` raised it; whatever else it raises comes through too.
        """
        ...

    async def find_native(self, guild_id: int, *, marker: str, after: int) -> Delivered | None:
        """
        Return the bot's own live event that carries ``marker`` and is no older than the snowflake ``after``, or None.

        Raises:
            HistoryUnreadableError: the list could not be read.
        """
        ...


class DiscordTime(Protocol):
    """Discord's own time, which its message ids are made of."""

    def now(self) -> dt.datetime:
        """Return the time of Discord's last answer carried on to now; never ahead of Discord's clock."""
        ...


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt, as its observers are told of it; ``version`` is the one that its message was rendered from."""

    key: MessageKey
    guild_id: int | None
    channel_id: int | None
    version: int = 0


class OutcomeObserver(Protocol):
    """Whoever keeps rows beside the message log; called inside the transaction that records the outcome."""

    async def on_sent(self, attempt: Attempt, delivered: Delivered | None, *, now: dt.datetime) -> None:
        """Record that the message is visible; None: a fan-out is done, which has no message of its own."""
        ...

    async def on_failed(
        self, attempt: Attempt, error: SendError, *, next_attempt_at: dt.datetime | None, now: dt.datetime
    ) -> None:
        """Record that this attempt failed; ``next_attempt_at`` None: it is not tried again by itself."""
        ...

    async def on_released(self, attempt: Attempt, *, now: dt.datetime) -> None:
        """Record that nothing arrived, and that the key may be claimed anew."""
        ...
