"""Mark the one post of an event as behind its row; whoever brings it in line is elsewhere."""

import datetime as dt

from bot.transactions import fetch


async def mark_changed(event_id: int, *, now: dt.datetime, debounce: dt.timedelta) -> None:
    """
    Count a change of what the post shows, and let it be edited ``debounce`` after the first change not yet shown.

    Call it in the transaction of the change. An event that was not announced only counts: its post will show it.
    """
    await fetch(
        "UPDATE event SET post_version = post_version + 1, post_due_at = CASE WHEN announcement_message_id IS NULL"
        " AND reposts = 0 THEN post_due_at ELSE COALESCE(post_due_at, $2) END WHERE id = $1",
        [event_id, now + debounce],
    )
