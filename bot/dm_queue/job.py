"""One DM that waits for its turn: what it is about, to whom, and who is told how it ended."""

import datetime as dt
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from bot.leases.keys import MessageKey
from bot.leases.reports import SendReport
from bot.message.outgoing import OutgoingMessage


class JobKind(StrEnum):
    """What a DM is for."""

    APPROVAL = "approval"
    RETRY = "retry"
    REMINDER = "reminder"
    SURVEY = "survey"
    ANNOUNCEMENT = "announcement"
    WAITLIST = "waitlist"


FAN_OUTS: frozenset[JobKind] = frozenset({JobKind.REMINDER, JobKind.SURVEY, JobKind.ANNOUNCEMENT})
"""Kinds of which one cause makes many; they fill at most half of the queue, their rest waits outside it."""


class JobEnd(StrEnum):
    """Why a job ended without an attempt, where it did."""

    MISSING_RECIPIENT = "missing_recipient"
    LOST_ON_RESTART = "lost_on_restart"


class Letter(Protocol):
    """What many jobs have in common: one cause, one wording, one owner."""

    async def render(self, recipient_id: int) -> OutgoingMessage:
        """
        Return the DM for one person, from fresh rows, right before it is sent.

        Raises:
            WithdrawnError: that person is not to get it any more.
        """
        ...

    def ended(self, job: "DmJob", report: SendReport | JobEnd) -> None:
        """Hear how a job of this letter ended, outside any transaction; must not wait."""
        ...


@dataclass(frozen=True, slots=True)
class DmJob:
    """
    One DM to one person.

    ``key`` is the message's own in the log. ``recipient_id`` None: the bot knows no Discord account of whoever it is
    for. ``queued_at``: since when it waits; ``not_after``: from then on it is not sent any more. ``asked_by``: who
    asked for it, None: nobody.
    """

    kind: JobKind
    key: MessageKey
    guild_id: int
    recipient_id: int | None
    letter: Letter
    queued_at: dt.datetime
    not_after: dt.datetime | None = None
    asked_by: int | None = None
