"""
Which reminders of an event are due anew once it has another time: those whose turn asked nobody, and comes again.

A roll call that began while nobody had signed up is done, and stays so while the event stays: whoever signs up later
knows the time. At another time its moment comes once more, and whoever has signed up by then is to be asked.
"""

import datetime as dt

from bot.leases.fan_out_rows import asked_nobody
from bot.scheduling.due import is_wanted
from bot.scheduling.registry import ScheduledReminder, registered
from models.event import Event


async def asked_again(event: Event, *, starts_at: dt.datetime, now: dt.datetime) -> tuple[ScheduledReminder, ...]:
    """Return the reminders that asked nobody so far, and whose moment lies ahead with the event at another time."""
    ahead = [
        entry
        for entry in registered()
        if entry.to_people and is_wanted(event, entry) and _moment(event, entry, starts_at) > now
    ]
    done = await asked_nobody(event.id, [entry.log_source for entry in ahead])
    return tuple(entry for entry in ahead if entry.log_source in done)


def _moment(event: Event, entry: ScheduledReminder, starts_at: dt.datetime) -> dt.datetime:
    hours: int = getattr(event, entry.hours_field)
    return starts_at - dt.timedelta(hours=hours)
