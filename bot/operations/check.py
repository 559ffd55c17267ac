"""``tocsin check``: is what the bot needs there? Configuration, database, zone data, and what Discord grants."""

import importlib.metadata
import zoneinfo
from collections.abc import AsyncIterator
from dataclasses import dataclass
from enum import StrEnum

import aiohttp
import discord

from bot.database import opened, place, shown_url
from bot.delivery.channels import PostChannel, missing_permissions
from bot.durability import require_durable
from bot.errors import BotError
from bot.migrating import pending_migrations
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


async def findings(
    database_url: str, *, pool_size: int, token: str | None, configuration: str
) -> AsyncIterator[Finding]:
    """
    Yield what was found, one after the other; a fault of one does not hide the rest.

    ``configuration`` says where the configuration came from.
    """
    yield Finding(Verdict.GOOD, f"The configuration is valid ({configuration}).")
    yield _zone_data()
    guilds: list[GuildSettings] = []
    try:
        async with opened(database_url, pool_size=pool_size):
            pending = await pending_migrations()
            yield _database(database_url, pending)
            if not pending:
                guilds = await GuildSettings.all()
            if (unsafe := await _unsafe(database_url)) is not None:
                yield unsafe
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
        return Finding(
            Verdict.NOTE,
            f"The database at {place(url)} opens; it waits for {len(pending)} migration(s): `tocsin migrate`.",
        )
    return Finding(Verdict.GOOD, f"The database at {place(url)} opens and has every table.")


async def _unsafe(url: str) -> Finding | None:
    """Return what `tocsin run` would refuse the database for, None if for nothing."""
    try:
        await require_durable(url)
    except BotError as error:
        return Finding(Verdict.BAD, str(error))
    return None


async def _discord(token: str, guilds: list[GuildSettings]) -> AsyncIterator[Finding]:
    client = discord.Client(intents=discord.Intents(guilds=True))
    try:
        await client.login(token)
        yield Finding(Verdict.GOOD, f"Discord accepts the token; the bot is {client.user}.")
        member_of = {guild.id async for guild in client.fetch_guilds(limit=None)}
        yield Finding(Verdict.GOOD, f"It is a member of {len(member_of)} guild(s).")
        for settings in guilds:
            if settings.guild_id not in member_of:
                says = f"Guild {settings.guild_id} is set up here, but the bot is no member: invite it again."
                yield Finding(Verdict.BAD, says)
                continue
            async for finding in _guild(client, settings):
                yield finding
    except discord.LoginFailure:
        yield Finding(Verdict.BAD, "Discord refuses the token; set DISCORD_TOKEN to the bot's current one.")
    except (discord.HTTPException, aiohttp.ClientError, OSError, TimeoutError) as error:
        yield Finding(Verdict.BAD, f"Discord could not be asked: {type(error).__name__}.")
    finally:
        await client.close()


async def _guild(client: discord.Client, settings: GuildSettings) -> AsyncIterator[Finding]:
    """Yield what the bot may do in the channels that it is to post in; the guild is fetched, as nothing is cached."""
    named = {"announces": settings.announcement_channel_id, "tells its admins": settings.ops_channel_id}
    guild = await client.fetch_guild(settings.guild_id)
    me = await guild.fetch_member(client.user.id) if client.user is not None else None
    for does, channel_id in named.items():
        if channel_id is None:
            says = f"Guild {guild.id} {does} nowhere: set a channel with `tocsin guild --guild {guild.id}`."
            yield Finding(Verdict.NOTE, says)
        elif me is not None:
            yield await _channel(guild, me, channel_id, does)


async def _channel(guild: discord.Guild, me: discord.Member, channel_id: int, does: str) -> Finding:
    where = f"Guild {guild.id} {does} in channel {channel_id}"
    try:
        channel = await guild.fetch_channel(channel_id)
    except (discord.NotFound, discord.Forbidden, discord.InvalidData):
        return Finding(Verdict.BAD, f"{where}, which the bot cannot see there: grant View Channel, or set another.")
    if not isinstance(channel, PostChannel):
        return Finding(Verdict.BAD, f"{where}, which takes no messages: set another.")
    if lacks := missing_permissions(channel, me):
        return Finding(Verdict.BAD, f"{where} and lacks {', '.join(lacks)} there: grant it.")
    return Finding(Verdict.GOOD, f"{where}, where it may post.")
