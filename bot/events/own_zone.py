"""A person's own clock in a server: what they type is read by it, once they have set one."""

import datetime as dt
from dataclasses import dataclass, replace
from typing import Final
from zoneinfo import ZoneInfo

from bot.errors import BotError
from bot.events.browse import guild_timezone
from bot.events.profiles import prefer, preferences_of
from bot.message.choice import Found
from bot.message.escaping import escape
from bot.message.limits import CHOICES
from bot.times.known_timezones import known_timezones
from bot.times.timezones import search_timezones
from bot.times.typed_time import shown

SERVERS_CLOCK: Final = "server"
"""What is given to go back to the server's clock."""


class NoSuchZoneError(BotError):
    """What was typed is no time zone."""

    def __init__(self, typed: str) -> None:
        super().__init__(
            f"I know no time zone {shown(typed)}; type a city or a country and choose from the list that appears."
        )
        self.typed = typed


@dataclass(frozen=True, slots=True)
class TypedClock:
    """By whose clock what somebody types is read: ``timezone``, an IANA key, and the server's own."""

    timezone: str
    guild_timezone: str

    @property
    def notes(self) -> list[str]:
        """Return the sentence to show beside what was read, where it was not by the server's clock."""
        if self.timezone == self.guild_timezone:
            return []
        return [f"Read by your own clock, {escape(self.timezone)}; this server's is {escape(self.guild_timezone)}."]


async def zone_for(guild_id: int, user_id: int, *, default: str) -> TypedClock:
    """
    Return by whose clock a moment is read that this person types here: their own where they set one, else the server's.

    For every option that takes a moment: give its ``timezone`` to :func:`bot.times.when.read_moment`, and show its
    ``notes`` with the time that was read. What belongs to a series keeps the series' own zone. ``default`` is for a
    server that has set up nothing yet.
    """
    of_guild = await guild_timezone(guild_id, default=default)
    own = (await preferences_of(user_id, guild_id=guild_id)).timezone
    # A zone that a newer database of zones no longer has is as good as none.
    return TypedClock(own if own is not None and own in known_timezones() else of_guild, of_guild)


async def set_own_zone(typed: str, *, guild_id: int, user_id: int, default: str, now: dt.datetime) -> str:
    """
    Read what a person types in a server by the clock of this zone from now on; return the sentence to show.

    ``default`` is the zone of a server that has set up none.

    Raises:
        NoSuchZoneError: it is no zone.
    """
    text = typed.strip()
    own = None if text.casefold() == SERVERS_CLOCK else text
    if own is not None and own not in known_timezones():
        raise NoSuchZoneError(typed)
    before, after = await prefer(
        lambda known: replace(known, timezone=own), guild_id=guild_id, user_id=user_id, now=now
    )
    of_guild = await guild_timezone(guild_id, default=default)
    clock = escape(own) if own is not None else f"this server, {escape(of_guild)}"
    already = "already" if before == after else "from now on"
    # A server's zone may be one that the database of zones has no more.
    zone = own or (of_guild if of_guild in known_timezones() else "UTC")
    return (
        f"Times that you type are read by the clock of {clock} {already}: it is {now.astimezone(ZoneInfo(zone)):%H:%M}"
        " there now. Times that I write are shown to you by your own device's clock."
    )


async def search_own_zones(typed: str, *, guild_id: int, user_id: int, now: dt.datetime) -> list[Found]:
    """Return at most 25 zones by what was typed; to who has one of their own also the way back, first."""
    found = search_timezones(typed, now=now)
    own = (await preferences_of(user_id, guild_id=guild_id)).timezone
    if own is not None and typed.strip().casefold() in SERVERS_CLOCK:
        found.insert(0, Found("This server's clock", SERVERS_CLOCK))
    return found[:CHOICES]
