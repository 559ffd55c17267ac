"""
What admins are told about trouble: one note per fault in the guild's ops channel, repeated only when something changes.

A fault is written down in the transaction that records it and told afterwards through the one way out. Once it is
mended its note is emptied, so that the same fault is told again when it comes back.
"""

import datetime as dt
from collections.abc import Callable

import structlog

from bot.leases.failures import ErrorClass, SendError
from bot.leases.keys import NATIVE_EVENT, OPS_NOTE, MessageKey
from bot.leases.ledger import HeldRow
from bot.leases.ports import Attempt, ChannelTarget, Delivered, HistoryUnreadableError
from bot.leases.reports import WithdrawnError
from bot.leases.send_once import OneWayOut
from bot.message import limits
from bot.message.outgoing import Embed, OutgoingMessage
from bot.scheduling.agenda import Agenda
from bot.scheduling.bodies import TELL_OPS_NOTES
from bot.transactions import fetch, integer, moment
from models.ops_note import OpsNote

_log = structlog.get_logger(__name__)

SOURCE = OPS_NOTE
LONGEST = 1_500
"""How long a note may be; it is posted in one embed with its heading and footer."""
_AMBER = 0xE0A030
_AT_ONCE = 100


async def raise_fault(guild_id: int, fault: str, says: str, *, now: dt.datetime) -> None:
    """Write a fault of a guild down; it is told unless the same was said of it last. Call it in a transaction."""
    await fetch(
        "INSERT INTO ops_note (guild_id, fault, says, revision, updated_at) VALUES ($1, $2, $3, 1, $4)"
        " ON CONFLICT (guild_id, fault) DO UPDATE SET says = excluded.says, revision = ops_note.revision + 1,"
        " updated_at = excluded.updated_at WHERE ops_note.says <> excluded.says",
        [guild_id, fault, limits.cut(says, LONGEST), now],
    )


async def raise_everywhere(fault: str, says: str, *, since: dt.datetime, now: dt.datetime) -> None:
    """Write a fault of the whole bot down for every guild, unless another process did since then; in a transaction."""
    await fetch(
        "INSERT INTO ops_note (guild_id, fault, says, revision, updated_at)"
        # COALESCE gives the moment its type, which PostgreSQL asks for and SQLite's CAST would spoil.
        " SELECT guild_id, CAST($1 AS VARCHAR(200)), CAST($2 AS VARCHAR(1500)), 1,"
        " COALESCE($3, (SELECT MIN(updated_at) FROM ops_note))"
        " FROM guild_settings WHERE ops_channel_id IS NOT NULL ON CONFLICT (guild_id, fault) DO UPDATE"
        " SET says = excluded.says, revision = ops_note.revision + 1, updated_at = excluded.updated_at"
        " WHERE ops_note.updated_at < $4",
        [fault, limits.cut(says, LONGEST), now, since],
    )


async def untold_text(guild_id: int, fault: str) -> str:
    """Return what a fault's note says as long as nobody was told, else nothing; held until the transaction ends."""
    note = await OpsNote.filter(guild_id=guild_id, fault=fault).select_for_update().first()
    if note is None or not note.says:
        return ""
    rows = await fetch(
        "SELECT 1 AS told FROM discord_message_log WHERE source = $1 AND source_id = $2 AND recipient_id = 0"
        " AND part = $3 AND (success IS NULL OR success)",
        [SOURCE, note.id, note.revision],
    )
    return "" if rows else note.says


async def mend_faults(guild_id: int, *faults: str, now: dt.datetime) -> None:
    """Note that faults are over, so that they are told again should they return."""
    await OpsNote.filter(guild_id=guild_id, fault__in=faults).exclude(says="").update(says="", updated_at=now)


def post_fault(channel_id: int | None) -> str:
    """Return the fault's name for a channel that cannot be posted to."""
    return f"post:{channel_id or 'none'}"


def post_fault_sentence(channel_id: int | None, error: SendError) -> str | None:  # noqa: PLR0911 -- one per class
    """Return what admins are told of a failed post, None where they can do nothing about it."""
    where = f"<#{channel_id}>"
    match error.error_class:
        case ErrorClass.NO_CHANNEL:
            return (
                "I have something to announce and nowhere to post it: no announcement channel is set."
                " Set one for this server; I try again every hour."
            )
        case ErrorClass.FORBIDDEN:
            lacks = ", ".join(error.missing) or "a permission"
            return f"I may not post in {where}: I lack {lacks} there. Grant it to me; I try again every hour."
        case ErrorClass.GONE:
            return f"I cannot post in {where}: it is gone, or no channel of this server for messages. Set another one."
        case ErrorClass.INVALID:
            return f"A post for {where} was refused as invalid. This is a fault of mine; it is in the log."
        case ErrorClass.CDN_BLOCK:
            return (
                "Discord's front door answered me with a web page instead of an answer, as it does to an address that"
                " asks too much. I pause everything for ten minutes, then go on by myself."
            )
        case _:
            return None


class PostFaultObserver:
    """Writes a note where a post of any kind fails for good, and empties it once one succeeds."""

    def __init__(self, agenda: Agenda) -> None:
        self._agenda = agenda

    async def on_sent(self, attempt: Attempt, delivered: Delivered | None, *, now: dt.datetime) -> None:
        """Note that the channel takes posts, and that there is one."""
        if attempt.guild_id is not None and delivered is not None:
            await mend_faults(attempt.guild_id, post_fault(delivered.channel_id), post_fault(None), now=now)

    async def on_failed(
        self, attempt: Attempt, error: SendError, *, next_attempt_at: dt.datetime | None, now: dt.datetime
    ) -> None:
        """Write the fault down where an admin can mend it."""
        del next_attempt_at
        says = post_fault_sentence(attempt.channel_id, error)
        if says is not None and attempt.guild_id is not None:
            await raise_fault(attempt.guild_id, post_fault(attempt.channel_id), says, now=now)
            self._agenda.wake(TELL_OPS_NOTES, now)

    async def on_released(self, attempt: Attempt, *, now: dt.datetime) -> None:
        """Nothing arrived and nothing is wrong: there is nothing to tell."""


def history_fault(channel_id: int | None) -> str:
    """Return the fault's name for a channel whose history cannot be read."""
    return f"history:{channel_id}"


async def tell_unreadable(row: HeldRow, unreadable: HistoryUnreadableError | None, now: dt.datetime) -> None:
    """Write down why nobody can tell whether a message arrived; None: that is over."""
    if row.guild_id is None or row.lease.key.recipient_id:
        return  # nobody in a server can mend the history of a direct message: the log has it
    if unreadable is None:
        await mend_faults(row.guild_id, history_fault(row.channel_id), now=now)
        return
    if row.lease.key.source == NATIVE_EVENT:
        says = (
            "I cannot tell whether an event arrived in this server's list of scheduled events, since Discord does not"
            " show me the list now. I look again every minute; until then I do not make it again."
        )
        await raise_fault(row.guild_id, history_fault(row.channel_id), says, now=now)
        return
    why = (
        "since I cannot read the history there. Grant me View Channel and Read Message History."
        if unreadable.lacks_permission
        else "since Discord does not show me the history there now. I look again every minute."
    )
    says = f"I cannot tell whether a message arrived in <#{row.channel_id}>, {why} Until then I do not send it again."
    await raise_fault(row.guild_id, history_fault(row.channel_id), says, now=now)


def note_message(note: OpsNote) -> OutgoingMessage:
    """Return a note as it is posted."""
    marker = f"note #{note.id}.{note.revision}"
    return OutgoingMessage(
        marker=marker,
        embed=Embed(title="Tocsin needs you", description=note.says, footer=marker, color=_AMBER),
    )


class OpsNoteTeller:
    """Posts the notes that were not told yet."""

    def __init__(self, out: OneWayOut, *, is_available: Callable[[int], bool]) -> None:
        self._out = out
        self._is_available = is_available

    async def tell_ops_notes(self, now: dt.datetime) -> dt.datetime | None:
        """Post each note once per revision; one that fails does not stop the rest. Return the next moment."""
        clock = await self._out.lease_clock.now()
        last = 0
        # Page by page until dry: notes of guilds that cannot be reached must not stand before all others.
        while page := await _untold(clock, after=last):
            for note, channel_id in page:
                if self._is_available(note.guild_id):
                    await self._tell(note, ChannelTarget(note.guild_id, channel_id))
            last = page[-1][0].id
        again = await _next_attempt(clock)
        return now + (again - clock) if again is not None else None

    async def _tell(self, note: OpsNote, target: ChannelTarget) -> None:
        async def _render() -> OutgoingMessage:
            fresh = await OpsNote.get_or_none(id=note.id)
            if fresh is None or fresh.revision != note.revision or not fresh.says:
                raise WithdrawnError
            return note_message(fresh)

        key = MessageKey(SOURCE, note.id, part=note.revision)
        try:
            await self._out.send_once(key, guild_id=note.guild_id, target=target, render=_render)
        except Exception:  # noqa: BLE001 -- see below
            # One note that cannot be told must not keep the others back.
            _log.exception("ops_note_failed", note=note.id, guild=note.guild_id)


async def _untold(clock: dt.datetime, *, after: int) -> list[tuple[OpsNote, int]]:
    """Return the notes to tell, each with its guild's ops channel; a guild without one is told by the log alone."""
    rows = await fetch(
        "SELECT n.id, g.ops_channel_id FROM ops_note n JOIN guild_settings g ON g.guild_id = n.guild_id"
        " WHERE n.says <> '' AND g.ops_channel_id IS NOT NULL"
        # In two halves, since the sent and the failed rows of the log have an index each.
        " AND NOT EXISTS (SELECT 1 FROM discord_message_log l WHERE l.source = 'ops_note' AND l.source_id = n.id"
        " AND l.recipient_id = 0 AND l.part = n.revision AND (l.success IS NULL OR l.success) AND l.success)"
        " AND NOT EXISTS (SELECT 1 FROM discord_message_log l WHERE l.source = 'ops_note' AND l.source_id = n.id"
        " AND l.recipient_id = 0 AND l.part = n.revision AND NOT l.success"
        " AND (l.error_class = 'unknown_outcome' OR l.next_attempt_at > $1))"
        " AND n.id > $3 ORDER BY n.id LIMIT $2",
        [clock, _AT_ONCE, after],
    )
    channels = {integer(row["id"]): integer(row["ops_channel_id"]) for row in rows}
    return [(note, channels[note.id]) for note in await OpsNote.filter(id__in=list(channels)).order_by("id")]


async def _next_attempt(clock: dt.datetime) -> dt.datetime | None:
    rows = await fetch(
        "SELECT MIN(next_attempt_at) AS again FROM discord_message_log"
        " WHERE NOT success AND next_attempt_at > $1 AND source = 'ops_note'",
        [clock],
    )
    return moment(rows[0]["again"]) if rows[0]["again"] is not None else None
