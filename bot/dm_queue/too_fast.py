"""Tell a guild that Discord found the bot opening DM channels too fast: a flag that costs a bot its DMs if ignored."""

import datetime as dt

from bot.clock import Clock
from bot.message import timestamps
from bot.ops_notes import raise_fault
from bot.scheduling.agenda import Agenda
from bot.scheduling.bodies import TELL_OPS_NOTES
from bot.transactions import atomic
from models.ops_note import OpsNote

FAULT = "dm_opening_too_fast"
# A flag may last for days, with a rest every few minutes: who was told of one needs no note for each.
_TOLD_AGAIN_AFTER = dt.timedelta(days=1)


async def note_too_fast(guild_id: int, until: dt.datetime, *, agenda: Agenda, clock: Clock) -> None:
    """Write the fault down; it is told in the guild's ops channel, once a day at most."""
    now = clock.now()
    says = (
        "Discord says that I open direct messages to new people too fast. All direct messages rest until"
        f" {timestamps.full(until)}; what waits is kept and goes out then. Nobody is marked as failed."
        " I tell you of it once a day; meanwhile each further time they rest as long."
        " If this comes back, fewer people at a time should get a direct message from me for the first time."
    )

    async def _unit() -> None:
        told = await OpsNote.filter(guild_id=guild_id, fault=FAULT).exclude(says="").first()
        if told is None or abs(now - told.updated_at) >= _TOLD_AGAIN_AFTER:
            await raise_fault(guild_id, FAULT, says, now=now)

    await atomic(_unit)
    agenda.wake(TELL_OPS_NOTES, now)
