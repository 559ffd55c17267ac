"""The events that generation will make of a series, found by what makes them, and when each of them appears."""

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass

import structlog

from bot.events.generate import Planned, excepted_dates, held_moments, new_event, rule_of, wanted_slots
from bot.times.recurrence import local_today
from models.event import Event
from models.event_repeater import EventRepeater

_log = structlog.get_logger(__name__)

# A zone may have moved a slot over midnight since the event was made.
_SLOTS_FROM = dt.timedelta(days=2)


@dataclass(frozen=True, slots=True)
class Passes:
    """When generation runs: at ``first``, then ``every`` so long, before ``end``."""

    first: dt.datetime
    every: dt.timedelta
    end: dt.datetime

    def of_each_day(self, timezone: str) -> Iterator[dt.datetime]:
        """Yield the first pass of each day of a zone: the others of that day find nothing new."""
        moment, day = self.first, None
        while moment < self.end:
            today = local_today(moment, timezone)
            if today != day:
                yield moment
            moment, day = moment + self.every, today


async def to_be_made(series: EventRepeater, passes: Passes) -> list[tuple[Event, dt.datetime]]:
    """
    Return the events that these passes will make of a series, each with the pass that does; nothing is stored.

    Those of a paused series too: what it would make.
    """
    try:
        planned = Planned(series.id, rule_of(series), series.generate_days_ahead)
        since = (local_today(passes.first, planned.rule.timezone) - _SLOTS_FROM).isoformat()
        excepted, held = await excepted_dates(series.id), await held_moments(series, now=passes.first)
        known = {event.slot for event in await Event.filter(series_id=series.id, slot__gte=since).only("id", "slot")}
        found: list[tuple[Event, dt.datetime]] = []
        for moment in passes.of_each_day(planned.rule.timezone):
            for slot, one in wanted_slots(planned, excepted, now=moment).items():
                if slot not in known and one.starts_at not in held:
                    known.add(slot)
                    found.append((new_event(series, one, moment), moment))
    except (ValueError, LookupError):
        # As generation does: what cannot be read is that series' own fault.
        _log.warning("series_not_foreseen", series=series.id)
        return []
    return found
