"""
Let what failed of an event's messages be tried again at once, where it may still be sent: an admin asks for it.

Its reminders, the word to those who got a place or are offered one, and the word about its new time.

What is sent, held or of unknown fate is never touched. A post that fails once more waits its time like any other.
"""

import datetime as dt
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import structlog

from bot import audit
from bot.clock import LeaseClock
from bot.events import browse
from bot.events.admin_wording import STANDS, named
from bot.leases import failed_rows
from bot.leases.keys import PROMOTION, TIME_CHANGED, MessageKey
from bot.reminders.forecast import known_of
from bot.reminders.outlook import UNKNOWN, Known, Reason, outlook
from bot.reminders.promotions import moved_up_at
from bot.reminders.reminder_words import kind_words
from bot.reminders.why import BESIDE
from bot.scheduling import due_rows
from bot.scheduling.agenda import Agenda
from bot.scheduling.bodies import CHECK_EVENT_REMINDERS, DRIVE_FAN_OUTS, TELL_PROMOTIONS, TELL_TIME_CHANGES
from bot.scheduling.registry import ScheduledReminder, registered
from bot.transactions import atomic
from models.event import Event
from models.states import AHEAD, OPEN_FOR_PEOPLE

_log = structlog.get_logger(__name__)

ACTION: Final = "reminder.retry"
_ABOUT: Final = {PROMOTION: " about a place", TIME_CHANGED: " about the new time"}


@dataclass(frozen=True, slots=True)
class _Tryable:
    """Messages that may still be sent; ``part``, ``recipients``: of these alone, None: of all."""

    sources: tuple[str, ...]
    part: int | None = None
    recipients: frozenset[int] | None = None


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
        tryable = await _tryable(event, now=now)
        freed = await atomic(partial(self._free, event, tryable, actor, now)) if tryable else []
        if not freed:
            return (
                f"Nothing of {named(event)} failed that could be tried again now; /reminders why tells how it stands."
            )
        _log.info("reminders_retried", guild=guild_id, event_id=event.id, count=len(freed), actor=actor)
        for body in (CHECK_EVENT_REMINDERS, DRIVE_FAN_OUTS, TELL_PROMOTIONS, TELL_TIME_CHANGES):
            self._agenda.wake(body, now)
        return f"Tried again now for {named(event)}: {_counted(freed)}. /reminders why tells what came of it."

    async def _free(self, event: Event, tryable: Sequence[_Tryable], actor: int, now: dt.datetime) -> list[MessageKey]:
        # The event before what failed for it: as whoever lets go of both does.
        _ = await Event.filter(id=event.id, guild_id=event.guild_id).select_for_update(no_key=True).first()
        freed = [
            key
            for one in tryable
            for key in await failed_rows.free_failures(
                one.sources,
                event.id,
                guild_id=event.guild_id,
                lease_clock=self._lease_clock,
                part=one.part,
                recipients=one.recipients,
            )
        ]
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


async def _tryable(event: Event, *, now: dt.datetime) -> list[_Tryable]:
    """Return what may still be sent of an event, whatever became of it so far."""
    known = (await known_of(event.guild_id, [event.id])).get(event.id, {})
    open_ = [entry for entry in registered() if _may_be_sent(event, entry, known.get(entry.log_source, UNKNOWN), now)]
    found = [_Tryable((entry.log_source, *BESIDE.get(entry.key, ()))) for entry in open_]
    if event.state not in OPEN_FOR_PEOPLE:
        return found
    if event.time_changes:
        found.append(_Tryable((TIME_CHANGED,), part=event.time_changes))
    moved_up: dict[int, set[int]] = {}
    for one in await moved_up_at(event.id, now=now):
        moved_up.setdefault(one.promotions, set()).add(one.user_id)
    return found + [_Tryable((PROMOTION,), part, frozenset(people)) for part, people in sorted(moved_up.items())]


def _may_be_sent(event: Event, entry: ScheduledReminder, known: Known, now: dt.datetime) -> bool:
    """Return whether a reminder may be sent, whenever its next attempt was to be."""
    at_once = replace(known, tried=replace(known.tried, next_attempt_at=None))
    return outlook(event, entry, at_once, now=now).reason in {None, Reason.UNDER_WAY}


def _counted(freed: Sequence[MessageKey]) -> str:
    """Return what is tried again: each post by its name, direct messages by what they are about and their number."""
    posts = [kind_words(_kind(key.source)) for key in freed if not key.recipient_id]
    dms = Counter(_ABOUT.get(key.source, "") for key in freed if key.recipient_id)
    direct = [f"{number:,} direct message{'' if number == 1 else 's'}{about}" for about, number in sorted(dms.items())]
    return ", ".join([*posts, *direct])


def _kind(source: str) -> str:
    return next((entry.key for entry in registered() if entry.log_source == source), source)
