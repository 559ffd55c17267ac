"""
The rows that say what is still to be sent: the only writer of ``ReminderDue``.

They are derived by :func:`bot.scheduling.due.due_rows` and written in the same transaction as whatever changed them, so
that a tick reads one short index range per reminder, however many events are stored.
"""

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bot.scheduling.due import Tried, due_rows, is_wanted
from bot.scheduling.registry import ScheduledReminder, registered
from bot.transactions import fetch, in_list, integer, moment
from models.event import Event
from models.reminder_due import ReminderDue
from models.states import EventState

_CHUNK = 400
_UNOPENED_FOR = dt.timedelta(days=1)
# As bot.leases spells the class; leases stand above scheduling.
_UNKNOWN_OUTCOME = "unknown_outcome"


@dataclass(frozen=True, slots=True)
class Unsent:
    """A reminder whose event began before it was sent; ``has_row`` False: as it never opened, no row said it is due."""

    event_id: int
    guild_id: int
    log_source: str
    has_row: bool = True


async def refresh(event_ids: Iterable[int], *, reminders: Sequence[ScheduledReminder] | None = None) -> None:
    """Derive the rows of these events anew; call it inside the transaction that changed them."""
    entries = registered() if reminders is None else reminders
    ids = sorted(set(event_ids))
    for start in range(0, len(ids), _CHUNK):
        await _refresh_chunk(ids[start : start + _CHUNK], entries)


async def _refresh_chunk(ids: list[int], reminders: Sequence[ScheduledReminder]) -> None:
    events = await _locked(ids)
    tried = await tried_of(ids, [one.log_source for one in reminders])
    await ReminderDue.filter(event_id__in=ids).delete()
    rows = [
        ReminderDue(event_id=event.id, key=key, due_at=due)
        for event in events
        for key, due in due_rows(event, reminders, tried.get(event.id, {})).items()
    ]
    if rows:
        await ReminderDue.bulk_create(rows, ignore_conflicts=True)


async def _locked(ids: Sequence[int]) -> list[Event]:
    """
    Return the events, held until the transaction ends, in the order of their ids.

    Whoever writes due rows asks for their event first: else a state move and an outcome recorded at the same time would
    wait for each other on PostgreSQL, or one would derive from what the other is about to change. On SQLite the
    transaction itself is alone.
    """
    return await Event.filter(id__in=ids).order_by("id").select_for_update(no_key=True)


async def tried_of(ids: Sequence[int], sources: Sequence[str]) -> dict[int, dict[str, Tried]]:
    """Return what the log says of each reminder of a few hundred events, by event and log source; none: not tried."""
    # In two halves, since the sent and the failed rows of the log have an index each.
    half = (
        "SELECT id, source_id, source, success, next_attempt_at, error_class, finished_at"  # noqa: S608 -- parameters only
        " FROM discord_message_log"
        f" WHERE recipient_id = 0 AND part = 0 AND source IN {in_list(sources, first=1)}"
        f" AND source_id IN {in_list(ids, first=1 + len(sources))}"
    )
    rows = await fetch(f"{half} AND success UNION ALL {half} AND NOT success ORDER BY id", [*sources, *ids])
    tried: dict[int, dict[str, Tried]] = {}
    for row in rows:
        of_event = tried.setdefault(integer(row["source_id"]), {})
        source = str(row["source"])
        if row["success"] or of_event.get(source, Tried()).sent:
            of_event[source] = Tried(sent=True)
        else:
            of_event[source] = _failed(row)
    return tried


# A failure that nothing tries again stays in the log as the reason.
_NEVER = dt.datetime.max.replace(tzinfo=dt.UTC)
# The log's clock may be behind the one by which the event had begun.
_CLOCKS_APART = dt.timedelta(minutes=1)


def _failed(row: dict[str, object]) -> Tried:
    if row["next_attempt_at"] is not None:
        return Tried(next_attempt_at=moment(row["next_attempt_at"]))
    if row["error_class"] == _UNKNOWN_OUTCOME or row["finished_at"] is None:
        return Tried(gave_up_at=_NEVER)  # it may be there: it is never sent again by itself
    return Tried(gave_up_at=moment(row["finished_at"]) + _CLOCKS_APART)


def _entry_of(log_source: str) -> ScheduledReminder | None:
    return next((entry for entry in registered() if entry.log_source == log_source), None)


async def remove(event_id: int, log_source: str) -> bool:
    """
    Remove the row of a reminder that was sent or missed; call it inside the transaction that records which.

    False: there was none, as somebody else was faster.
    """
    entry = _entry_of(log_source)
    if entry is None:
        return False
    await _locked([event_id])
    rows = await fetch("DELETE FROM reminder_due WHERE event_id = $1 AND key = $2 RETURNING id", [event_id, entry.key])
    return bool(rows)


async def postpone(event_id: int, log_source: str) -> bool:
    """
    Derive the row of a reminder whose attempt failed; call it inside the transaction that records the failure.

    Return whether it is given up: still wanted, and no attempt is left before the start.
    """
    entry = _entry_of(log_source)
    if entry is None:
        return False
    await refresh([event_id])
    event = await Event.get_or_none(id=event_id)
    if event is None or event.state is EventState.CANCELLED or not is_wanted(event, entry):
        return False
    return not await ReminderDue.filter(event_id=event_id, key=entry.key).exists()


async def next_due(*, after: dt.datetime) -> dt.datetime | None:
    """Return the earliest moment past ``after`` at which any reminder is due."""
    rows = await fetch(
        _of_each_entry("SELECT due_at FROM reminder_due WHERE key = '{key}' AND due_at > $1 ORDER BY due_at LIMIT 1"),
        [after],
    )
    found = [moment(row["due_at"]) for row in rows]
    return min(found, default=None)


async def missing(*, now: dt.datetime, after: int = 0, limit: int = 500) -> list[int]:
    """
    Return events ahead that lack a row they should have: a fault that the hourly pass heals.

    They come by id, past ``after``, at most ``limit`` for each reminder; an empty list: there are no more.
    """
    by_entry: list[list[int]] = []
    for entry in registered():
        states = sorted(state.value for state in entry.required_states)
        series = " AND e.series_id IS NOT NULL" if entry.requires_repeater else ""
        rows = await fetch(
            "SELECT e.id FROM event e WHERE e.scheduled_at > $1 AND e.id > $5"  # noqa: S608 -- names are the registry's
            f" AND e.{entry.enabled_field} AND e.{entry.hours_field} > 0{series}"
            f" AND e.state IN {in_list(states, first=6)}"
            " AND NOT EXISTS (SELECT 1 FROM reminder_due d WHERE d.event_id = e.id AND d.key = $2)"
            f" AND {_UNSETTLED} ORDER BY e.id LIMIT $4",
            [now, entry.key, entry.log_source, limit, after, *states],
        )
        by_entry.append([integer(row["id"]) for row in rows])
    # Past the end of a full page an entry may have more, which the next call finds.
    ends = [ids[-1] for ids in by_entry if len(ids) == limit]
    return sorted({event_id for ids in by_entry for event_id in ids if event_id <= min(ends, default=event_id)})


# Neither sent nor being sent, and its newest failure, if any, leaves an attempt before the start. $3 is the source,
# ``e`` the event. In two halves, since the failed rows of the log have an index of their own.
_UNSETTLED = """
    NOT EXISTS (SELECT 1 FROM discord_message_log l WHERE l.source = $3 AND l.source_id = e.id
        AND l.recipient_id = 0 AND l.part = 0 AND (l.success IS NULL OR l.success))
    AND NOT EXISTS (SELECT 1 FROM discord_message_log l WHERE l.source = $3 AND l.source_id = e.id
        AND l.recipient_id = 0 AND l.part = 0 AND NOT l.success
        AND (l.error_class = 'unknown_outcome' OR l.next_attempt_at >= e.scheduled_at)
        AND NOT EXISTS (SELECT 1 FROM discord_message_log n WHERE n.source = $3 AND n.source_id = e.id
            AND n.recipient_id = 0 AND n.part = 0 AND NOT n.success AND n.id > l.id))
"""


async def begun_unsent(*, now: dt.datetime, limit: int = 500) -> list[Unsent]:
    """
    Return the reminders that were due and whose event has begun without them.

    One whose attempt is still open is left out: it may have arrived, and if not, it is found once that is known.
    """
    rows = await fetch(
        _of_each_entry(
            "SELECT d.event_id, e.guild_id, '{source}' AS log_source"
            " FROM reminder_due d JOIN event e ON e.id = d.event_id"
            " WHERE d.key = '{key}' AND d.due_at <= $1 AND e.scheduled_at <= $1"
            " AND NOT EXISTS (SELECT 1 FROM discord_message_log l"
            " WHERE l.source = '{source}' AND l.source_id = d.event_id AND l.recipient_id = 0"
            " AND l.part = 0 AND l.success IS NULL)"
            " ORDER BY d.due_at, d.event_id LIMIT $2"
        ),
        [now, limit],
    )
    return [Unsent(integer(row["event_id"]), integer(row["guild_id"]), str(row["log_source"])) for row in rows]


async def begun_unopened(*, now: dt.datetime, limit: int = 500) -> list[Unsent]:
    """
    Return the reminders of events that began before anybody opened their sign-ups, though their moment had come.

    They wait for the opening, so that no row says that they are due. One that the log knows of already is left out, and
    so is what began more than a day ago: by then such an event is cancelled.
    """
    waiting = [entry for entry in registered() if EventState.UPCOMING not in entry.required_states]
    rows = await fetch(
        _of_each_entry(
            "SELECT e.id AS event_id, e.guild_id, '{source}' AS log_source FROM event e"  # noqa: S608 -- our own words
            f" WHERE e.state = '{EventState.UPCOMING.value}' AND e.scheduled_at <= $1 AND e.scheduled_at > $3"
            " AND e.signups_open_at < e.scheduled_at AND e.{enabled} AND e.{hours} > 0{series}"
            # In two halves, since the live and the failed rows of the log have an index each.
            " AND NOT EXISTS (SELECT 1 FROM discord_message_log l WHERE l.source = '{source}' AND l.source_id = e.id"
            " AND l.recipient_id = 0 AND l.part = 0 AND (l.success IS NULL OR l.success))"
            " AND NOT EXISTS (SELECT 1 FROM discord_message_log l WHERE l.source = '{source}' AND l.source_id = e.id"
            " AND l.recipient_id = 0 AND l.part = 0 AND NOT l.success)"
            " ORDER BY e.scheduled_at, e.id LIMIT $2",
            waiting,
        ),
        [now, limit, now - _UNOPENED_FOR],
    )
    return [
        Unsent(integer(row["event_id"]), integer(row["guild_id"]), str(row["log_source"]), has_row=False)
        for row in rows
    ]


def _of_each_entry(query: str, entries: Sequence[ScheduledReminder] | None = None) -> str:
    """Return one statement that asks ``query`` for every entry: each pass asks, and each statement is a round trip."""
    # Keys, sources and fields are the registry's own words.
    parts = (
        query.format(
            key=entry.key,
            source=entry.log_source,
            enabled=entry.enabled_field,
            hours=entry.hours_field,
            series=" AND e.series_id IS NOT NULL" if entry.requires_repeater else "",
        )
        for entry in (registered() if entries is None else entries)
    )
    return " UNION ALL ".join(f"SELECT * FROM ({part}) AS of_entry" for part in parts)  # noqa: S608 -- as above
