"""What a fan-out is to do, as its owner says it."""

import datetime as dt
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum

from bot.dm_queue.job import JobKind
from bot.leases.keys import MessageKey
from bot.leases.reports import SendResult
from bot.message.outgoing import OutgoingMessage


class Standing(StrEnum):
    """How a plan stands while it is carried out: as it was made, made for what was changed since, or too late."""

    AS_PLANNED = "as_planned"
    CHANGED = "changed"
    OVER = "over"


@dataclass(frozen=True, slots=True)
class SidePost:
    """
    A channel post that counts as a child; ``send`` goes through the one way out under ``key``.

    ``send`` gets those who could not be reached by DM. ``names_unreached``: it waits until that is known, and is not
    posted where everybody was reached.
    """

    key: MessageKey
    send: Callable[[tuple[int, ...]], Awaitable[SendResult]]
    names_unreached: bool = False


@dataclass(frozen=True, slots=True)
class FanOutPlan:
    """
    One fan-out.

    ``key`` is the parent's, without a recipient. From ``ends_at`` on nothing of it is sent. ``recipients`` are as read
    when it began; ``render`` gives the DM of one of them, or says that it is no longer wanted. ``standing``: how the
    whole of it stands at a moment. ``tell_too_late`` is called in the recording transaction if some were too late.
    """

    key: MessageKey
    guild_id: int
    kind: JobKind
    ends_at: dt.datetime
    recipients: tuple[int, ...]
    render: Callable[[int], Awaitable[OutgoingMessage]]
    standing: Callable[[dt.datetime], Awaitable[Standing]]
    tell_too_late: Callable[[], Awaitable[None]]
    posts: tuple[SidePost, ...] = ()

    def child_key(self, recipient_id: int) -> MessageKey:
        """Return the key of the DM to one recipient."""
        return MessageKey(self.key.source, self.key.source_id, recipient_id, self.key.part)
