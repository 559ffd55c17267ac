"""Roles of members: given and taken through the client. Fulfils ``events.attendee_roles.MemberPort``."""

import datetime as dt
from collections.abc import Awaitable
from typing import Final, Protocol

import aiohttp
import discord
import structlog

from bot.delivery.failures import error_class_of
from bot.delivery.request_gate import RequestStoppedError
from bot.delivery.request_trace import GuardedCall, at_once
from bot.events.signups.attendee_roles import RoleError, RoleFault
from bot.leases.failures import ErrorClass

_log = structlog.get_logger(__name__)

_GONE: Final = {
    10_007: RoleFault.MEMBER_LEFT,
    10_013: RoleFault.MEMBER_LEFT,
    10_011: RoleFault.ROLE_GONE,
}
_REASON: Final = "Tocsin: the attendee role of an event"


class HttpSource(Protocol):
    """The part of a client that makes requests."""

    http: discord.http.HTTPClient


class MemberRoles:
    """Asks Discord through one client; ``timeout`` bounds each request."""

    def __init__(self, client: HttpSource, *, timeout: dt.timedelta = dt.timedelta(seconds=10)) -> None:
        self._client = client
        self._timeout = timeout

    async def give_role(self, guild_id: int, user_id: int, role_id: int) -> None:
        """
        Give somebody a role.

        Raises:
            RoleError: it was not given.
        """
        await self._ask(self._client.http.add_role(guild_id, user_id, role_id, reason=_REASON))

    async def take_role(self, guild_id: int, user_id: int, role_id: int) -> None:
        """
        Take a role from somebody.

        Raises:
            RoleError: it was not taken.
        """
        await self._ask(self._client.http.remove_role(guild_id, user_id, role_id, reason=_REASON))

    async def has_left(self, guild_id: int, user_id: int) -> bool:
        """Return whether somebody is not in the server any more; False where Discord does not say."""
        try:
            await self._ask(self._client.http.get_member(guild_id, user_id))
        except RoleError as error:
            return error.fault is RoleFault.MEMBER_LEFT
        return False

    async def _ask(self, request: Awaitable[object]) -> None:
        try:
            with GuardedCall(at_once, timeout=self._timeout):
                await request
        except discord.HTTPException as error:
            kind = error_class_of(error.status, error.code, error.text)
            refused = RoleFault.NOT_ALLOWED if kind is ErrorClass.FORBIDDEN else RoleFault.NOT_REACHED
            raise RoleError(_GONE.get(error.code, refused)) from error
        except (discord.DiscordException, RequestStoppedError, aiohttp.ClientError, OSError) as error:
            _log.warning("member_not_reached", error=type(error).__name__)
            raise RoleError(RoleFault.NOT_REACHED) from error
