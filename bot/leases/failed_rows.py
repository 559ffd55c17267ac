"""What becomes of failed rows of the message log afterwards: let go of with age, or free to be tried at once."""

import datetime as dt
from collections.abc import Sequence

from bot.clock import LeaseClock
from bot.leases.failures import PERMANENT, ErrorClass
from bot.leases.keys import MessageKey
from bot.leases.ledger import run_stamped
from bot.scheduling.registry import ScheduledReminder
from bot.transactions import fetch, in_list, integer, moment


async def free_failures(
    sources: Sequence[str], source_id: int, *, guild_id: int, lease_clock: LeaseClock
) -> list[MessageKey]:
    """
    Let the failed keys of these sources be claimed at once; return them.

    Left as they are: what is sent, held or due anyway, what nothing tries again, and a person who takes no DM.
    """
    never = (ErrorClass.UNKNOWN_OUTCOME, ErrorClass.EVENT_STARTED)
    template = (
        "UPDATE discord_message_log SET next_attempt_at = {now}"  # noqa: S608 -- parameters and our own words only
        " WHERE NOT success AND source_id = $1 AND guild_id = $2 AND next_attempt_at > {now}"
        f" AND error_class NOT IN ({', '.join(repr(one.value) for one in never)})"
        f" AND (recipient_id = 0 OR error_class NOT IN ({', '.join(repr(one.value) for one in sorted(PERMANENT))}))"
        " AND NOT EXISTS (SELECT 1 FROM discord_message_log live WHERE live.source = discord_message_log.source"
        " AND live.source_id = discord_message_log.source_id AND live.part = discord_message_log.part"
        " AND live.recipient_id = discord_message_log.recipient_id AND (live.success IS NULL OR live.success))"
        f" AND source IN {in_list(sources, first=3)} RETURNING source, source_id, recipient_id, part"
    )
    rows = await run_stamped(template, [source_id, guild_id, *sources], lease_clock)
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


async def next_failure_expiry(*, retention: dt.timedelta) -> dt.datetime | None:
    """Return when the first failed row may go: past its age and past its next attempt; None if there is none."""
    rows = await fetch(
        "SELECT claimed_at, next_attempt_at FROM discord_message_log WHERE NOT success AND next_attempt_at IS NOT NULL"
    )
    ends = [max(moment(row["claimed_at"]) + retention, moment(row["next_attempt_at"])) for row in rows]
    return min(ends, default=None)
