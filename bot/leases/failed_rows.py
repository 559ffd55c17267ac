"""What becomes of failed rows of the message log afterwards: let go of with age, or free to be tried at once."""

import datetime as dt
from collections.abc import Collection, Sequence

from bot.clock import LeaseClock
from bot.leases.failures import PERMANENT, ErrorClass
from bot.leases.keys import MessageKey
from bot.leases.ledger import run_stamped
from bot.scheduling.registry import ScheduledReminder
from bot.transactions import Dialect, dialect, fetch, in_list, integer, moment


async def failed_meanwhile(key: MessageKey, lease_clock: LeaseClock) -> bool:
    """
    Return whether a key that was just claimed has a failure whose next attempt lies ahead.

    On PostgreSQL the claim waits for whoever records one at that moment, and then goes by what it saw before it waited.
    SQLite lets one write at a time, so that its claim sees everything.
    """
    if dialect() is Dialect.SQLITE:
        return False
    template = (
        "SELECT 1 FROM discord_message_log WHERE source = $1 AND source_id = $2 AND recipient_id = $3 AND part = $4"
        " AND NOT success AND next_attempt_at > {now} LIMIT 1"
    )
    return bool(await run_stamped(template, [key.source, key.source_id, key.recipient_id, key.part], lease_clock))


async def free_failures(
    sources: Sequence[str],
    source_id: int,
    *,
    guild_id: int,
    lease_clock: LeaseClock,
    part: int | None = None,
    recipients: Collection[int] | None = None,
) -> list[MessageKey]:
    """
    Let the failed keys of these sources be claimed at once; return them.

    ``part``, ``recipients``: of these alone, None: of all. Left as they are: what is sent, held or due anyway, what
    nothing tries again, and a person who takes no DM.
    """
    if recipients is not None and not recipients:
        return []
    never = (ErrorClass.UNKNOWN_OUTCOME, ErrorClass.EVENT_STARTED)
    template = (
        "UPDATE discord_message_log SET next_attempt_at = {now}"  # noqa: S608 -- parameters and our own words only
        " WHERE NOT success AND source_id = $1 AND guild_id = $2 AND next_attempt_at > {now}"
        f" AND error_class NOT IN ({', '.join(repr(one.value) for one in never)})"
        f" AND (recipient_id = 0 OR error_class NOT IN ({', '.join(repr(one.value) for one in sorted(PERMANENT))}))"
        " AND NOT EXISTS (SELECT 1 FROM discord_message_log live WHERE live.source = discord_message_log.source"
        " AND live.source_id = discord_message_log.source_id AND live.part = discord_message_log.part"
        " AND live.recipient_id = discord_message_log.recipient_id AND (live.success IS NULL OR live.success))"
        f" AND source IN {in_list(sources, first=3)}"
    )
    values: list[object] = [source_id, guild_id, *sources]
    if part is not None:
        values.append(part)
        template += f" AND part = ${len(values)}"
    if recipients is not None:
        template += f" AND recipient_id IN {in_list(sorted(recipients), first=len(values) + 1)}"
        values += sorted(recipients)
    rows = await run_stamped(f"{template} RETURNING source, source_id, recipient_id, part", values, lease_clock)
    keys = {
        MessageKey(str(row["source"]), source_id, integer(row["recipient_id"]), integer(row["part"])) for row in rows
    }
    return sorted(keys, key=str)


async def delete_old_failures(
    reminders: Sequence[ScheduledReminder], *, before: dt.datetime, now: dt.datetime
) -> list[int]:
    """
    Let go of failed rows claimed up to ``before``; return the events whose reminder may be tried anew.

    The newest failed row of a key that nothing will try again stays as its recorded reason: only a reminder whose event
    is still ahead gives up its last one, whether it is switched on now or may be later.
    """
    await _hold_events_of_failures(before=before, now=now)
    freed: list[int] = []
    for entry in reminders:
        rows = await fetch(
            "DELETE FROM discord_message_log WHERE NOT success AND next_attempt_at <= $1 AND claimed_at <= $2"
            " AND source = $3 AND recipient_id = 0 AND part = 0 AND EXISTS (SELECT 1 FROM event e"
            " WHERE e.id = discord_message_log.source_id AND e.scheduled_at > $1) RETURNING source_id",
            [now, before, entry.log_source],
        )
        freed += [integer(row["source_id"]) for row in rows]
    await fetch(
        "DELETE FROM discord_message_log WHERE NOT success AND claimed_at <= $2"
        " AND (next_attempt_at IS NULL OR next_attempt_at <= $1)"
        " AND EXISTS (SELECT 1 FROM discord_message_log later WHERE later.source = discord_message_log.source"
        " AND later.source_id = discord_message_log.source_id AND later.part = discord_message_log.part"
        " AND later.recipient_id = discord_message_log.recipient_id AND NOT later.success"
        " AND later.id > discord_message_log.id)",
        [now, before],
    )
    await fetch(
        "UPDATE discord_message_log SET next_attempt_at = NULL"
        " WHERE NOT success AND next_attempt_at <= $1 AND claimed_at <= $2",
        [now, before],
    )
    return freed


async def _hold_events_of_failures(*, before: dt.datetime, now: dt.datetime) -> None:
    """Hold the events ahead for which something failed, before what failed: as whoever removes an event does."""
    if dialect() is Dialect.SQLITE:
        return  # the transaction itself is alone
    await fetch(
        "SELECT e.id FROM event e WHERE e.scheduled_at > $1 AND EXISTS (SELECT 1 FROM discord_message_log l"
        " WHERE l.source_id = e.id AND NOT l.success AND l.claimed_at <= $2) ORDER BY e.id FOR NO KEY UPDATE",
        [now, before],
    )


async def next_failure_expiry(*, retention: dt.timedelta) -> dt.datetime | None:
    """Return when the first failed row may go: past its age and past its next attempt; None if there is none."""
    rows = await fetch(
        "SELECT claimed_at, next_attempt_at FROM discord_message_log WHERE NOT success AND next_attempt_at IS NOT NULL"
    )
    ends = [max(moment(row["claimed_at"]) + retention, moment(row["next_attempt_at"])) for row in rows]
    return min(ends, default=None)
