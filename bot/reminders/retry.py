"""
Let what failed of an event's reminders be tried again at once, where it may still be sent: an admin asks for it.

What is sent, held or of unknown fate is never touched. A post that fails once more waits its time like any other.
"""

import datetime as dt
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

import structlog

from bot import audit
from bot.clock import LeaseClock
from bot.events import browse
from bot.events.admin_wording import STANDS, named
from bot.leases import failed_rows
from bot.leases.keys import MessageKey
from bot.reminders.forecast import known_of
from bot.reminders.outlook import UNKNOWN, Known, Reason, outlook
from bot.reminders.reminder_words import kind_words
from bot.reminders.why import BESIDE
from bot.scheduling import due_rows
from bot.scheduling.agenda import Agenda
from bot.scheduling.bodies import CHECK_EVENT_REMINDERS, DRIVE_FAN_OUTS
from bot.scheduling.registry import ScheduledReminder, registered
from bot.transactions import atomic
from models.event import Event
from models.states import AHEAD

_log = structlog.get_logger(__name__)

ACTION: Final = "reminder.retry"


class Retries:
    """The retries of one process; ``instance`` signs the audit."""

    def __init__(self, agenda: Agenda, *, lease_clock: LeaseClock, instance: str | None = None) -> None:
        self._agenda = agenda
        self._lease_clock = lease_clock
        self._instance = instance

    async def retry(self, typed: str, *, guild_id: int, actor: int, now: dt.datetime) -> str:
        """
        Make what failed of an event due now; return what the admin reads.

        Raises:
            NoSuchEventError: the server has no such event.
        """
        event = await browse.find_event(typed, guild_id=guild_id)
        if event.state not in AHEAD or event.scheduled_at <= now:
            stands = STANDS[event.state] if event.state not in AHEAD else "its start has passed"
            return f"Nothing of {named(event)} is tried again: {stands}."
        sources = await _sources(event, now=now)
        freed = await atomic(partial(self._free, event, sources, actor, now)) if sources else []
        if not freed:
            return (
                f"Nothing of {named(event)} failed that could be tried again now; /reminders why tells how it stands."
            )
        _log.info("reminders_retried", guild=guild_id, event_id=event.id, count=len(freed), actor=actor)
        for body in (CHECK_EVENT_REMINDERS, DRIVE_FAN_OUTS):
            self._agenda.wake(body, now)
        return f"Tried again now for {named(event)}: {_counted(freed)}. /reminders why tells what came of it."

    async def _free(self, event: Event, sources: Sequence[str], actor: int, now: dt.datetime) -> list[MessageKey]:
        # The rows of the log first and then the event: as everybody does who changes both.
        freed = await failed_rows.free_failures(
            sources, event.id, guild_id=event.guild_id, lease_clock=self._lease_clock
        )
        if not freed:
            return []
        await due_rows.refresh([event.id])
        kinds = Counter(key.source for key in freed)
        await audit.record(
            ACTION,
            guild_id=event.guild_id,
            actor_user_id=actor,
            subject_id=event.id,
            now=now,
            after={"tried_again": dict(sorted(kinds.items()))},
            instance=self._instance,
        )
        return freed


async def _sources(event: Event, *, now: dt.datetime) -> list[str]:
    """Return the sources of what may still be sent of an event."""
    known = (await known_of(event.guild_id, [event.id])).get(event.id, {})
    open_ = [entry for entry in registered() if _may_be_sent(event, entry, known.get(entry.log_source, UNKNOWN), now)]
    return [source for entry in open_ for source in (entry.log_source, *BESIDE.get(entry.key, ()))]


def _may_be_sent(event: Event, entry: ScheduledReminder, known: Known, now: dt.datetime) -> bool:
    """Return whether a reminder may be sent, whenever its next attempt was to be."""
    at_once = replace(known, tried=replace(known.tried, next_attempt_at=None))
    return outlook(event, entry, at_once, now=now).reason in {None, Reason.UNDER_WAY}


def _counted(freed: Sequence[MessageKey]) -> str:
    """Return what is tried again: each post by its name, direct messages by their number."""
    posts = [kind_words(_kind(key.source)) for key in freed if not key.recipient_id]
    dms = sum(1 for key in freed if key.recipient_id)
    direct = [f"{dms:,} direct message{'' if dms == 1 else 's'}"] if dms else []
    return ", ".join([*posts, *direct])


def _kind(source: str) -> str:
    return next((entry.key for entry in registered() if entry.log_source == source), source)
