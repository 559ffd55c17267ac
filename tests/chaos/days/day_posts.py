"""
What becomes visible as often as its cause comes: posts that were deleted, and notes to admins.

A post is posted again once for each time it was deleted, and the bot learns of that when it next has an edit for it.
A note is posted once for each time its words changed, and its words change only where something went wrong.
"""

import datetime as dt
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from bot.leases.keys import EVENT_REPOST, OPS_NOTE
from tests.chaos.days.day_course import Course
from tests.chaos.days.day_record import DayRecord
from tests.chaos.days.day_troubles import Troubles

if TYPE_CHECKING:
    from tests.chaos.days.day_rows import Fact

_AHEAD = {"upcoming", "signups_open", "roll_call"}
_MISSED = "missed"


def too_many(record: DayRecord, troubles: Troubles) -> Iterator[str]:
    """Return what was posted without its cause, in words."""
    for one in record.seen:
        if one.kind == EVENT_REPOST:
            deleted = sum(1 for at in troubles.deletions(one.event_id) if at <= one.left_at)
            if one.part > deleted:
                yield f"{one.key} at {one.left_at}: the post was deleted {deleted} times"
        elif one.kind == OPS_NOTE:
            _, revision = record.notes.get(one.event_id, ("", 0))
            if not 1 <= one.part <= revision:
                yield f"{one.key} at {one.left_at}: the note has {revision} revisions"
    started = {(row.kind, row.event_id) for row in record.log if row.error_class == "event_started"}
    notes = [record.notes[one.event_id] for one in record.seen if one.kind == OPS_NOTE and one.event_id in record.notes]
    told = Counter(fault for fault, _ in notes)
    for fault, times in told.items():
        causes = len(started) if fault == _MISSED else troubles.harmful
        if times > causes:
            yield f"the note {fault} was posted {times} times for {causes} causes"


def wanted_again(
    record: DayRecord, event: Course, troubles: Troubles
) -> Iterator[tuple[int, dt.datetime, dt.datetime]]:
    """Return which posts again of an event are to be visible, by their number, and the span they had for it."""
    if any(troubles.was_ahead(row.starts_at) for _, row in event.versions):
        return  # an edit that is due by such a clock waits until the right one has come so far
    over = [since for since, row in event.rows if row is None or row.state not in _AHEAD]
    starts = [row.starts_at for _, row in event.versions]
    facts: list[Fact] = [("signup", event.id, user_id) for user_id in record.user_ids]
    edits = record.facts.changes([*facts, event.fact])
    for number, deleted_at in enumerate(troubles.deletions(event.id), start=1):
        begins = next((at for at in edits if at > deleted_at), None)
        ends = min([*starts, record.ended_at, *(at for at in over if at > deleted_at)])
        if begins is not None and troubles.is_quiet(begins, ends):
            yield number, begins, ends
