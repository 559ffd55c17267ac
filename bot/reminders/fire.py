"""
Find what is due and hand it on: the body of the ``check_event_reminders`` loop.

One query per registry entry reads a short range of the due rows; its cost does not grow with the number of stored
events. That a message was sent already is checked here only to shed load: the lease is the guard. Source:
event-reminder-scheduling.md, "Registry pattern"; 02-reminders.md, "Fire path".
"""

import datetime as dt
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass

import structlog

from bot.clock import LeaseClock
from bot.leases import ledger
from bot.leases.failures import ErrorClass
from bot.leases.keys import MessageKey
from bot.reminders.dispatch import Dispatcher
from bot.reminders.missed import tell_missed
from bot.scheduling import due_rows
from bot.scheduling.agenda import Agenda
from bot.scheduling.bodies import TELL_OPS_NOTES
from bot.scheduling.registry import ScheduledReminder, registered
from bot.transactions import atomic, fetch, integer, moment

_log = structlog.get_logger(__name__)

PAGE = 500
_EVERYTHING = dt.datetime.min.replace(tzinfo=dt.UTC)


@dataclass(frozen=True, slots=True)
class DueReminder:
    """One reminder of one event that is to be sent now."""

    event_id: int
    guild_id: int
    due_at: dt.datetime


def due_query(reminder: ScheduledReminder) -> str:
    """Return the statement that finds what of ``reminder`` is due; field names come from the registry alone."""
    # No NOT EXISTS: PostgreSQL makes a join of it, and until its statistics know a new source that join reads all the
    # rows of the source for each due one. A sub-select in brackets stays a probe of the unique index.
    states = ", ".join(f"'{state.value}'" for state in sorted(reminder.required_states))
    series = " AND e.series_id IS NOT NULL" if reminder.requires_repeater else ""
    return (
        "SELECT d.event_id, d.due_at, e.guild_id FROM reminder_due d JOIN event e ON e.id = d.event_id"  # noqa: S608
        " WHERE d.key = $1 AND d.due_at <= $2 AND (d.due_at, d.event_id) > ($3, $4)"
        f" AND e.state IN ({states}) AND e.{reminder.enabled_field} AND e.{reminder.hours_field} > 0"
        f" AND e.scheduled_at > $2{series}"
        " AND (SELECT l.id FROM discord_message_log l WHERE l.source = $5 AND l.source_id = d.event_id"
        " AND l.recipient_id = 0 AND l.part = 0 AND (l.success IS NULL OR l.success) LIMIT 1) IS NULL"
        " ORDER BY d.due_at, d.event_id LIMIT $6"
    )


async def find_due(reminder: ScheduledReminder, *, now: dt.datetime, page: int = PAGE) -> AsyncIterator[DueReminder]:
    """Yield what of ``reminder`` is due, earliest first, a page at a time until there is no more."""
    query = due_query(reminder)
    after: tuple[dt.datetime, int] = (_EVERYTHING, 0)
    while True:
        rows = await fetch(query, [reminder.key, now, *after, reminder.log_source, page])
        for row in rows:
            yield DueReminder(integer(row["event_id"]), integer(row["guild_id"]), moment(row["due_at"]))
        if len(rows) < page:
            return
        after = (moment(rows[-1]["due_at"]), integer(rows[-1]["event_id"]))


class ReminderClerk:
    """Looks for due reminders and hands them to the dispatcher."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        *,
        is_available: Callable[[int], bool],
        lease_clock: LeaseClock,
        agenda: Agenda,
        reminders: Sequence[ScheduledReminder] | None = None,
    ) -> None:
        self._dispatcher = dispatcher
        self._is_available = is_available
        self._lease_clock = lease_clock
        self._agenda = agenda
        self._reminders = registered() if reminders is None else reminders

    async def fire_due_reminders(self, now: dt.datetime) -> dt.datetime | None:
        """Dispatch what is due at ``now``; return the next moment at which anything is. A failing query skips one."""
        for reminder in self._reminders:
            try:
                async for due in find_due(reminder, now=now):
                    if self._is_available(due.guild_id):
                        self._dispatcher.dispatch(reminder, due.event_id)
            except Exception:  # noqa: BLE001 -- logged; the other reminders are as due as before
                _log.exception("reminder_query_failed", reminder=reminder.key)
        await self._record_missed(now)
        return await due_rows.next_due(after=now)

    async def _record_missed(self, now: dt.datetime) -> None:
        """Record what events began without, and tell their guilds; never send it. A failing guild stops no other."""
        by_guild: dict[int, list[due_rows.Unsent]] = {}
        for unsent in [*await due_rows.begun_unsent(now=now), *await due_rows.begun_unopened(now=now)]:
            by_guild.setdefault(unsent.guild_id, []).append(unsent)
        for guild_id, missed in by_guild.items():
            try:
                count = await self._record_guild(guild_id, missed, now)
            except Exception:  # noqa: BLE001 -- logged, and tried again at the next pass; the other guilds go on
                _log.exception("missed_not_recorded", guild=guild_id)
                continue
            if count:
                _log.warning("reminders_missed", guild=guild_id, count=count)
                self._agenda.wake(TELL_OPS_NOTES, now)

    async def _record_guild(self, guild_id: int, missed: Sequence[due_rows.Unsent], now: dt.datetime) -> int:
        """Record and tell in one transaction, so that a crash leaves nothing recorded that nobody is told of."""

        async def _unit() -> int:
            recorded = [(unsent.event_id, unsent.log_source) for unsent in missed if await self._record(unsent)]
            if recorded:
                await tell_missed(guild_id, recorded, now=now)
            return len(recorded)

        return await atomic(_unit)

    async def _record(self, unsent: due_rows.Unsent) -> bool:
        # It holds the event also where there is no row, so that of two processes one records.
        removed = await due_rows.remove(unsent.event_id, unsent.log_source)
        if not removed and (unsent.has_row or await _is_logged(unsent)):
            return False
        return await ledger.record_unsent(
            MessageKey(unsent.log_source, unsent.event_id),
            guild_id=unsent.guild_id,
            error_class=ErrorClass.EVENT_STARTED,
            text="the event began before it was sent",
            lease_clock=self._lease_clock,
        )


async def _is_logged(unsent: due_rows.Unsent) -> bool:
    rows = await fetch(
        "SELECT id FROM discord_message_log WHERE source = $1 AND source_id = $2 AND recipient_id = 0 AND part = 0"
        " LIMIT 1",
        [unsent.log_source, unsent.event_id],
    )
    return bool(rows)
