"""
Who pressed a button: their server, and their roles there.

In a server Discord says both with the press. In a DM it says neither, so the server is the row's own, and Discord is
asked whether the person is still in it.
"""

import asyncio
import datetime as dt
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol

import aiohttp
import discord
import structlog

from bot.errors import BotError

_log = structlog.get_logger(__name__)

_UNKNOWN_MEMBER, _UNKNOWN_USER = 10_007, 10_013


class GuildSource(Protocol):
    """The part of a client that knows guilds."""

    def get_guild(self, guild_id: int, /) -> discord.Guild | None:
        """Return a guild from the cache, None if it is not there."""
        ...


class NotAMemberError(BotError):
    """Who pressed has left the server that it is about."""

    def __init__(self) -> None:
        super().__init__("You are not in that server any more, so nothing was changed.")


class MembershipUnknownError(BotError):
    """Discord did not say whether the person is in the server."""

    def __init__(self) -> None:
        super().__init__(
            "Discord did not say whether you are still in that server, so nothing was changed: try again in a minute."
        )


@dataclass(frozen=True, slots=True)
class Presser:
    """Who pressed, and in which server; ``role_ids`` None: Discord did not say."""

    guild_id: int
    user_id: int
    role_ids: frozenset[int] | None


class Membership:
    """Asks Discord, where it did not say; ``is_available`` tells which servers the bot serves now."""

    def __init__(
        self,
        client: GuildSource,
        *,
        is_available: Callable[[int], bool],
        timeout: dt.timedelta = dt.timedelta(seconds=5),
    ) -> None:
        self._client = client
        self._is_available = is_available
        self._timeout = timeout

    async def presser(
        self, interaction: "discord.Interaction[Any]", server_of_row: Callable[[], Awaitable[int]]
    ) -> Presser:
        """
        Return who pressed; ``server_of_row`` is asked only where the press says no server, as in a DM.

        Raises:
            NotAMemberError, MembershipUnknownError: it came from a DM, and they left the server or nobody can tell.
        """
        user, guild_id = interaction.user, interaction.guild_id
        if guild_id is None:
            guild_id = await server_of_row()
            return Presser(guild_id, user.id, await self._roles_asked_for(guild_id, user.id))
        return Presser(guild_id, user.id, _roles_of(user) if isinstance(user, discord.Member) else None)

    async def _roles_asked_for(self, guild_id: int, user_id: int) -> frozenset[int]:
        guild = self._client.get_guild(guild_id)
        if guild is None or not self._is_available(guild_id):
            raise MembershipUnknownError
        member = guild.get_member(user_id)
        if member is not None:
            return _roles_of(member)
        try:
            async with asyncio.timeout(self._timeout.total_seconds()):
                return _roles_of(await guild.fetch_member(user_id))
        except discord.NotFound as error:
            if error.code in {_UNKNOWN_MEMBER, _UNKNOWN_USER}:
                raise NotAMemberError from error
            raise MembershipUnknownError from error
        except (discord.DiscordException, aiohttp.ClientError, OSError) as error:  # a timeout is an OSError
            _log.warning("membership_unknown", guild=guild_id, user=user_id, error=type(error).__name__)
            raise MembershipUnknownError from error


def _roles_of(member: discord.Member) -> frozenset[int]:
    # The role that everybody has bears the server's own id.
    return frozenset({member.guild.id, *(role.id for role in member.roles)})
