"""What was sent for an event, in an admin's words: it is not sent again, whatever is changed."""

from collections.abc import Collection

from bot.scheduling.registry import ScheduledReminder, registered
from bot.transactions import fetch, in_list


async def sent_lines(event_id: int, *, again: Collection[ScheduledReminder] = ()) -> tuple[str, ...]:
    """
    Return what was sent already, and what is on its way at this moment; nothing where neither is.

    ``again``: those that asked nobody, and are due anew.
    """
    entries = registered()
    rows = await fetch(
        "SELECT source, success FROM discord_message_log WHERE source_id = $1 AND recipient_id = 0 AND part = 0"  # noqa: S608
        f" AND (success IS NULL OR success) AND source IN {in_list(entries, first=2)}",
        [event_id, *(entry.log_source for entry in entries)],
    )
    state = {str(row["source"]): bool(row["success"]) for row in rows}
    sent = [one.words for one in entries if state.get(one.log_source) is True and one not in again]
    leaving = [one.words for one in entries if state.get(one.log_source) is False]
    lines = [f"Sent already, and not sent again: {', '.join(sent)}."] if sent else []
    lines += [f"Asked nobody so far, and due anew: {', '.join(one.words for one in again)}."] if again else []
    return (*lines, *([f"On its way at this moment: {', '.join(leaving)}."] if leaving else []))
