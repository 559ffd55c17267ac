"""Which events a day's series should have made, reckoned by dateutil, and which they did."""

import datetime as dt
from collections.abc import Iterator

from tests.chaos.days.day_plan import Entry
from tests.chaos.days.day_record import DayRecord
from tests.chaos.days.day_troubles import QUIET, Troubles
from tests.schedules import expected_occurrences

_DAY = dt.timedelta(days=1)
# A series is looked at once an hour; twice that, since its days are those of its zone.
_MAKES_EVENTS_WITHIN = dt.timedelta(hours=2)


def wrong_events(record: DayRecord, troubles: Troubles) -> Iterator[tuple[str, str]]:
    """Return each event that is none of its series' occurrences, is there twice, or was never made: count and words."""
    for series_id, entry in record.series.items():
        created = record.facts.history(("active", series_id, 0))
        first = record.plan.start.date() - dt.timedelta(days=2)
        reach = dt.timedelta(days=entry["generate_days_ahead"] + 4)
        wanted = {at for at, _ in expected_occurrences(entry, first, record.ended_at.date() + reach)}
        stored = [event.starts_at for event in record.events if event.series_id == series_id]
        for at in stored:
            if at not in wanted:
                yield "unexpected", f"an event of series {series_id} at {at}"
        if len(stored) != len(set(stored)):
            yield "duplicated", f"events of series {series_id}: {sorted(stored)}"
        if len(created) > 1:
            continue  # it was paused meanwhile
        created_at, soon = created[0][0], record.ended_at - QUIET
        for at in sorted(wanted - set(stored)):
            if created_at + QUIET < at <= soon and _could_make(at, created_at, entry, troubles):
                yield "lost", f"the event of series {series_id} at {at} was never made"


def _could_make(at: dt.datetime, created_at: dt.datetime, entry: Entry, troubles: Troubles) -> bool:
    """Return whether the time in which an event is to be made had a stretch with the right clock."""
    if not troubles.clock_was_off:
        return True
    opens = max(created_at, at - entry["generate_days_ahead"] * _DAY + _MAKES_EVENTS_WITHIN)
    return troubles.is_quiet(opens, at, least=_MAKES_EVENTS_WITHIN)
