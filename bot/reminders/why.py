"""
Why a reminder of an event was sent, will be, or is not: for each of them, and for one person if that is asked.

Read from the rows and decided by the functions that fire; nothing is remembered for it.
"""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from bot.events import browse
from bot.leases.keys import ATTENDANCE_POST, PROFILE_UNREACHABLE
from bot.reminders import explanation_wording
from bot.reminders.attempts import Attempts, LoggedAttempt, attempts_at
from bot.reminders.forecast import ANYBODYS, Prospects, known_of
from bot.reminders.notices import FreePlaces, NewTime, free_places, new_time
from bot.reminders.outlook import UNKNOWN, Outlook, outlook
from bot.reminders.personal_reason import PersonalReason, personal_reason
from bot.reminders.reach import Reach, reach_of
from bot.scheduling.registry import ScheduledReminder, registered
from models.event import Event

BESIDE = {"attendance_reminder": (ATTENDANCE_POST,), "profile_reminder": (PROFILE_UNREACHABLE,)}
"""The posts beside the DMs of a reminder, by its key."""


@dataclass(frozen=True, slots=True)
class Explained:
    """
    One reminder of an event, explained.

    ``comes``: what becomes of it from now on. ``live``: the attempt that arrived or is under way; ``failed``: the
    newest that failed. ``beside``: likewise for each post beside its DMs. ``personal``: what becomes of the person who
    was asked about, None: nobody was, or it is a post for everybody.
    """

    entry: ScheduledReminder
    comes: Outlook
    reaches: tuple[Reach, ...]
    live: LoggedAttempt | None
    failed: LoggedAttempt | None
    beside: tuple[tuple[str, LoggedAttempt | None, LoggedAttempt | None], ...] = ()
    personal: PersonalReason | None = None


@dataclass(frozen=True, slots=True)
class Notices:
    """What else is told of an event; each None where there was nothing to tell."""

    new_time: NewTime | None = None
    free_places: FreePlaces | None = None


async def explain(event: Event, *, now: dt.datetime, person: int | None = None) -> list[Explained]:
    """Return each reminder of an event, explained; with a person, what becomes of them too."""
    known = (await known_of(event.guild_id, [event.id])).get(event.id, {})
    attempts = await attempts_at(event.guild_id, event.id, person=person)
    found = []
    for entry in registered():
        comes = outlook(event, entry, known.get(entry.log_source, UNKNOWN), now=now)
        reaches = await reach_of(entry, event)
        personal = None
        if person is not None and entry.to_people:
            personal = await personal_reason(person, event, entry, comes=comes, reaches=reaches, attempts=attempts)
        found.append(_explained(entry, comes, reaches, attempts, personal))
    return found


def _explained(
    entry: ScheduledReminder,
    comes: Outlook,
    reaches: Sequence[Reach],
    attempts: Attempts,
    personal: PersonalReason | None,
) -> Explained:
    beside = [(source, attempts.live(source), attempts.last_failure(source)) for source in BESIDE.get(entry.key, ())]
    return Explained(
        entry=entry,
        comes=comes,
        reaches=tuple(reaches),
        live=attempts.live(entry.log_source),
        failed=attempts.last_failure(entry.log_source),
        beside=tuple(one for one in beside if one[1] is not None or one[2] is not None),
        personal=personal,
    )


async def why(
    typed: str, *, guild_id: int, now: dt.datetime, person: int | None = None, prospects: Prospects = ANYBODYS
) -> str:
    """
    Return in words what became and becomes of each reminder of an event, of its new time, and of its free places.

    Raises:
        NoSuchEventError: the server has no such event.
    """
    event = await browse.find_event(typed, guild_id=guild_id)
    found = await explain(event, now=now, person=person)
    notices = Notices(await new_time(event, now=now, person=person), await free_places(event, now=now, person=person))
    return explanation_wording.explanation(event, found, notices, person=person, may_post=prospects.may_post)
