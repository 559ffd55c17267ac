"""``tocsin check``: is what the bot needs there? Configuration, database, zone data, and what Discord grants."""

import importlib.metadata
import zoneinfo
from collections.abc import AsyncIterator
from dataclasses import dataclass
from enum import StrEnum

import aiohttp
import discord

from bot.database import opened, pending_migrations, shown_url
from bot.errors import BotError
from bot.transactions import DATABASE_ERRORS
from models.guild_settings import GuildSettings

# One of each kind: whole hours, half hours, both hemispheres, a zone without change, and UTC.
_ZONES_TO_RESOLVE = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Tokyo", "UTC")


class Verdict(StrEnum):
    """How one finding turned out."""

    GOOD = "ok"
    NOTE = "note"
    BAD = "FAIL"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at, and what to do where it is not good."""

    verdict: Verdict
    says: str

    def __str__(self) -> str:
        """Return the line that is printed."""
        return f"{self.verdict.value:>4}  {self.says}"


async def findings(database_url: str, *, pool_size: int, token: str | None) -> AsyncIterator[Finding]:
    """Yield what was found, one after the other; a fault of one does not hide the rest."""
    yield Finding(Verdict.GOOD, "The configuration is valid.")
    yield _zone_data()
    guilds: list[GuildSettings] = []
    try:
        async with opened(database_url, pool_size=pool_size):
            pending = await pending_migrations()
            yield _database(database_url, pending)
            if not pending:
                guilds = await GuildSettings.all()
    except BotError as error:
        yield Finding(Verdict.BAD, str(error))
    except DATABASE_ERRORS as error:
        yield Finding(Verdict.BAD, f"The database at {shown_url(database_url)} fails: {type(error).__name__}.")
    if token is None:
        yield Finding(Verdict.NOTE, "No token is set (DISCORD_TOKEN), so that Discord was not asked.")
        return
    async for finding in _discord(token, guilds):
        yield finding


def _zone_data() -> Finding:
    try:
        for key in _ZONES_TO_RESOLVE:
            zoneinfo.ZoneInfo(key)
    except zoneinfo.ZoneInfoNotFoundError as error:
        return Finding(Verdict.BAD, f"The zone data is incomplete ({error}); install the package tzdata.")
    return Finding(Verdict.GOOD, f"The zone data is there: tzdata {importlib.metadata.version('tzdata')}.")


def _database(url: str, pending: list[str]) -> Finding:
    if pending:
        return Finding(Verdict.NOTE, f"The database opens; it waits for {len(pending)} migration(s): `tocsin migrate`.")
    return Finding(Verdict.GOOD, f"The database at {shown_url(url)} opens and has every table.")


async def _discord(token: str, guilds: list[GuildSettings]) -> AsyncIterator[Finding]:
    client = discord.Client(intents=discord.Intents(guilds=True))
    try:
        await client.login(token)
        user = client.user
        yield Finding(Verdict.GOOD, f"Discord accepts the token; the bot is {user}.")
        member_of = {guild.id async for guild in client.fetch_guilds(limit=None)}
        yield Finding(Verdict.GOOD, f"It is a member of {len(member_of)} guild(s).")
        for settings in guilds:
            yield await _guild(client, settings, member_of)
    except discord.LoginFailure:
        yield Finding(Verdict.BAD, "Discord refuses the token; set DISCORD_TOKEN to the bot's current one.")
    except (discord.HTTPException, aiohttp.ClientError, OSError, TimeoutError) as error:
        yield Finding(Verdict.BAD, f"Discord could not be asked: {type(error).__name__}.")
    finally:
        await client.close()


async def _guild(client: discord.Client, settings: GuildSettings, member_of: set[int]) -> Finding:
    guild_id, channel_id = settings.guild_id, settings.announcement_channel_id
    if guild_id not in member_of:
        return Finding(Verdict.BAD, f"Guild {guild_id} has series here, but the bot is no member: invite it again.")
    if channel_id is None:
        return Finding(Verdict.NOTE, f"Guild {guild_id} has no announcement channel: set one.")
    try:
        channel = await client.fetch_channel(channel_id)
    except (discord.NotFound, discord.Forbidden, discord.InvalidData):
        return Finding(Verdict.BAD, f"Guild {guild_id}: the bot cannot see channel {channel_id}; grant View Channel.")
    if not isinstance(channel, discord.abc.GuildChannel | discord.Thread) or channel.guild.id != guild_id:
        return Finding(Verdict.BAD, f"Guild {guild_id}: channel {channel_id} belongs to another guild; set another.")
    return Finding(Verdict.GOOD, f"Guild {guild_id} announces in channel {channel_id}, which the bot can see.")
