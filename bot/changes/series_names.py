"""The names of a server's series: no two that a reader takes for the same."""

from bot.events.series_requests import SeriesNameTakenError
from bot.message.folding import folded
from bot.message.limits import cut
from models.event_repeater import EventRepeater
from models.guild_settings import GuildSettings


async def hold_names(guild_id: int) -> None:
    """Let nobody else name a series of the server until the transaction ends: the index compares letter by letter."""
    _ = await GuildSettings.filter(guild_id=guild_id).select_for_update(no_key=True).first()


async def refuse_taken_name(name: str, *, guild_id: int, but: int | None = None) -> None:
    """
    Refuse a name that another series of the server has, ``but`` being the one that may have it.

    Raises:
        SeriesNameTakenError: another has it.
    """
    if folded(name) in await _taken(guild_id, but=but):
        raise SeriesNameTakenError(name)


async def free_name(name: str, *, guild_id: int, most: int) -> str:
    """Return the first of ``Name (2)``, ``Name (3)`` and so on that no series has, of at most ``most`` characters."""
    taken = await _taken(guild_id)
    number = 2
    while True:
        ending = f" ({number})"
        free = f"{cut(name, most - len(ending))}{ending}"
        if folded(free) not in taken:
            return free
        number += 1


async def _taken(guild_id: int, *, but: int | None = None) -> set[str]:
    rows = await EventRepeater.filter(guild_id=guild_id).values_list("id", "name")
    return {folded(str(name)) for series_id, name in rows if series_id != but}
