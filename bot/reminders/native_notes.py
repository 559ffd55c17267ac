"""What admins are told where a scheduled event cannot be made or changed in their server's list."""

import datetime as dt

from bot.events.native_standing import FORBIDDEN, FULL, refused
from bot.leases.failures import ErrorClass, SendError
from bot.message.escaping import escape
from bot.ops_notes import mend_faults, raise_fault
from bot.transactions import atomic
from models.event import Event
from models.states import AHEAD


async def raise_failed(event: Event, error: SendError, *, now: dt.datetime) -> bool:
    """Write down why a step failed, where admins should know; False: it is tried again by itself and soon."""
    match error.error_class:
        case ErrorClass.FORBIDDEN:
            says = (
                "I may not keep this server's list of scheduled events: grant me Create Events and Manage Events."
                " I try again every hour."
            )
            await _raise(event.guild_id, FORBIDDEN, says, now)
        case ErrorClass.INVALID:
            says = (
                f"Discord refused the scheduled event of {escape(event.name)} as invalid. This is a fault of mine;"
                " it is in the log. I try again every hour."
            )
            await _raise(event.guild_id, refused(event.id), says, now)
        case _:
            return False
    return True


async def raise_full(guild_id: int, *, most: int, now: dt.datetime) -> None:
    """Write down that a server's list takes no more."""
    says = (
        f"This server has as many scheduled events as Discord takes ({most}). The nearest have theirs; each other one"
        " gets its own once there is room."
    )
    await _raise(guild_id, FULL, says, now)


async def mend(event: Event, *, now: dt.datetime) -> None:
    """Note that a step of an event succeeded in its server."""
    await mend_faults(event.guild_id, FORBIDDEN, refused(event.id), now=now)


async def mend_full(guild_id: int, *, now: dt.datetime) -> None:
    """Note that a server's list has room, once none waits for it any more."""
    waiting = Event.filter(guild_id=guild_id, discord_create_event=True, discord_scheduled_event_id=None)
    if not await waiting.filter(state__in=AHEAD, scheduled_at__gt=now, native_due_at__gt=now).exists():
        await mend_faults(guild_id, FULL, now=now)


async def _raise(guild_id: int, fault: str, says: str, now: dt.datetime) -> None:
    async def _unit() -> None:
        await raise_fault(guild_id, fault, says, now=now)

    await atomic(_unit)
