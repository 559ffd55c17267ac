"""What follows an edit of one event, in its transaction: its due rows, the mark on its post, the audit."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass

from bot import audit
from bot.events.posts import mark_changed
from bot.scheduling import due_rows
from models.event import Event


@dataclass(frozen=True, slots=True)
class Editor:
    """Who edits, and the process in which: as the audit has both."""

    user_id: int
    instance: str | None


async def follow_edit(
    event: Event,
    *,
    by: Editor,
    before: Mapping[str, object],
    after: Mapping[str, object],
    now: dt.datetime,
    debounce: dt.timedelta,
) -> None:
    """Bring what hangs on a stored event in line with it; ``before`` and ``after`` are what the audit keeps."""
    await due_rows.refresh([event.id])
    await mark_changed(event.id, now=now, debounce=debounce)
    await audit.record(
        "event.edit",
        guild_id=event.guild_id,
        actor_user_id=by.user_id,
        subject_id=event.id,
        now=now,
        before=before,
        after=after,
        instance=by.instance,
    )
