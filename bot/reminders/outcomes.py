"""What a sent or failed announcement changes beside the message log: its due row, and the event's one post."""

import datetime as dt

from bot.leases.failures import ErrorClass, SendError
from bot.leases.ports import Attempt, Delivered
from bot.ops_notes import raise_fault
from bot.scheduling import due_rows
from bot.scheduling.agenda import Agenda
from bot.scheduling.bodies import CHECK_EVENT_REMINDERS, SYNC_DISCORD_EVENTS, TELL_OPS_NOTES
from bot.transactions import fetch

# What ended a reminder without a note of its own: a forbidden channel and the like are told by bot.ops_notes.
_TOLD_BY_NOBODY_ELSE = frozenset(
    {ErrorClass.OUTAGE, ErrorClass.RATE_LIMITED, ErrorClass.CDN_BLOCK, ErrorClass.EVENT_STARTED}
)


class DueRowObserver:
    """Keeps the due row of a reminder true; for every source that the registry names."""

    def __init__(self, agenda: Agenda) -> None:
        self._agenda = agenda

    async def on_sent(self, attempt: Attempt, delivered: Delivered, *, now: dt.datetime) -> None:
        """The reminder is no longer due."""
        del delivered, now
        await due_rows.sent(attempt.key.source_id, attempt.key.source)

    async def on_failed(
        self, attempt: Attempt, error: SendError, *, next_attempt_at: dt.datetime | None, now: dt.datetime
    ) -> None:
        """The reminder is due when it may be tried again; its guild is told where no attempt is left."""
        given_up = await due_rows.postpone(attempt.key.source_id, attempt.key.source)
        self._agenda.wake(CHECK_EVENT_REMINDERS, next_attempt_at)
        if given_up and error.error_class in _TOLD_BY_NOBODY_ELSE and attempt.guild_id is not None:
            says = (
                f"A reminder of event #{attempt.key.source_id} was not sent before its event began, up to"
                f" <t:{int(now.timestamp())}:F>: Discord could not be reached."
            )
            await raise_fault(attempt.guild_id, "missed", says, now=now)
            self._agenda.wake(TELL_OPS_NOTES, now)

    async def on_released(self, attempt: Attempt, *, now: dt.datetime) -> None:
        """The due row still stands: the next poll claims the reminder anew."""


class PostObserver:
    """Keeps in the event where its one post is; for the announcement and for its reposts."""

    def __init__(self, agenda: Agenda, *, debounce: dt.timedelta) -> None:
        self._agenda = agenda
        self._debounce = debounce

    async def on_sent(self, attempt: Attempt, delivered: Delivered, *, now: dt.datetime) -> None:
        """Store the post, and have it edited if the event changed since it was rendered."""
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
