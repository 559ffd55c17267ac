"""What a sent or failed announcement changes beside the message log: its due row, and the event's one post."""

import datetime as dt

from bot.leases.failures import UNTOLD, SendError
from bot.leases.ports import Attempt, Delivered
from bot.reminders.missed import tell_missed
from bot.scheduling import due_rows
from bot.scheduling.agenda import Agenda
from bot.scheduling.bodies import CHECK_EVENT_REMINDERS, SYNC_DISCORD_EVENTS, TELL_OPS_NOTES
from bot.transactions import fetch


class DueRowObserver:
    """Keeps the due row of a reminder true; for every source that the registry names."""

    def __init__(self, agenda: Agenda) -> None:
        self._agenda = agenda

    async def on_sent(self, attempt: Attempt, delivered: Delivered | None, *, now: dt.datetime) -> None:
        """The reminder is no longer due, unless this was but one of its recipients."""
        del delivered, now
        if not attempt.key.recipient_id:
            await due_rows.remove(attempt.key.source_id, attempt.key.source)

    async def on_failed(
        self, attempt: Attempt, error: SendError, *, next_attempt_at: dt.datetime | None, now: dt.datetime
    ) -> None:
        """The reminder is due when it may be tried again; its guild is told where no attempt is left."""
        if attempt.key.recipient_id:
            return  # its fan-out drives it
        given_up = await due_rows.postpone(attempt.key.source_id, attempt.key.source)
        self._agenda.wake(CHECK_EVENT_REMINDERS, next_attempt_at)
        if given_up and error.error_class in UNTOLD and attempt.guild_id is not None:
            await tell_missed(attempt.guild_id, [(attempt.key.source_id, attempt.key.source)], now=now)
            self._agenda.wake(TELL_OPS_NOTES, now)

    async def on_released(self, attempt: Attempt, *, now: dt.datetime) -> None:
        """The due row still stands: the next poll claims the reminder anew."""


class PostObserver:
    """Keeps in the event where its one post is; for the announcement and for its reposts."""

    def __init__(self, agenda: Agenda, *, debounce: dt.timedelta) -> None:
        self._agenda = agenda
        self._debounce = debounce

    async def on_sent(self, attempt: Attempt, delivered: Delivered | None, *, now: dt.datetime) -> None:
        """Store the post, and have it edited if the event changed since it was rendered."""
        if delivered is None:
            return
        rows = await fetch(
            "UPDATE event SET announcement_channel_id = $2, announcement_message_id = $3,"
            # COALESCE gives the parameter its type, which PostgreSQL asks for and SQLite's CAST would spoil.
            " post_due_at = CASE WHEN post_version <> $4 THEN COALESCE($5, scheduled_at) END"
            " WHERE id = $1 RETURNING post_due_at",
            [
                attempt.key.source_id,
                delivered.channel_id,
                delivered.message_id,
                attempt.version,
                now + self._debounce,
            ],
        )
        if rows and rows[0]["post_due_at"] is not None:
            self._agenda.wake(SYNC_DISCORD_EVENTS, now + self._debounce)

    async def on_failed(
        self, attempt: Attempt, error: SendError, *, next_attempt_at: dt.datetime | None, now: dt.datetime
    ) -> None:
        """There is no post: nothing to keep."""

    async def on_released(self, attempt: Attempt, *, now: dt.datetime) -> None:
        """There is no post: nothing to keep."""
