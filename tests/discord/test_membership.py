"""Who pressed in a direct message: asked of Discord, whose silence is told apart from a no."""

import asyncio
import datetime as dt
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import aiohttp
import discord
import pytest

from bot.delivery.membership import Membership, MembershipUnknownError, NotAMemberError, Presser
from bot.errors import BotError

if TYPE_CHECKING:
    from tests.discord.simulated import SimulatedDiscord

GUILD, ADA, ROLE = 7, 11, 5


def refused(kind: type[discord.HTTPException], status: int, code: int) -> discord.HTTPException:
    response: Any = SimpleNamespace(status=status, reason="")
    return kind(response, {"code": code, "message": "no"})


async def role_ids(
    fetch: Callable[[int], Awaitable[Any]],
    *,
    is_available: bool = True,
    longest: dt.timedelta = dt.timedelta(minutes=1),
    known: object = None,
) -> frozenset[int] | None:
    guild = SimpleNamespace(id=GUILD, get_member=lambda _user_id: known, fetch_member=fetch)
    client: Any = SimpleNamespace(get_guild=lambda guild_id: guild if guild_id == GUILD else None)
    members = Membership(client, is_available=lambda _guild_id: is_available, timeout=longest)
    pressed: Any = SimpleNamespace(user=SimpleNamespace(id=ADA), guild_id=None)

    async def _row() -> int:
        return GUILD

    who = await members.presser(pressed, _row)
    assert (who.guild_id, who.user_id) == (GUILD, ADA)
    return who.role_ids


def raising(error: Exception) -> Callable[[int], Awaitable[Any]]:
    async def _fetch(_user_id: int) -> object:
        raise error

    return _fetch


async def _never(_user_id: int) -> object:
    await asyncio.Event().wait()
    raise AssertionError


@pytest.mark.parametrize(
    ("fetch", "expected"),
    [
        (raising(refused(discord.NotFound, 404, 10_007)), NotAMemberError),
        (raising(refused(discord.NotFound, 404, 10_013)), NotAMemberError),
        (raising(refused(discord.NotFound, 404, 10_004)), MembershipUnknownError),
        (raising(refused(discord.NotFound, 404, 0)), MembershipUnknownError),
        (raising(refused(discord.Forbidden, 403, 50_001)), MembershipUnknownError),
        (raising(refused(discord.DiscordServerError, 503, 0)), MembershipUnknownError),
        (raising(discord.RateLimited(60.0)), MembershipUnknownError),
        (raising(aiohttp.ServerDisconnectedError()), MembershipUnknownError),
        (raising(ConnectionResetError()), MembershipUnknownError),
    ],
    ids=lambda value: "" if isinstance(value, type) else None,
)
async def test_only_discords_own_no_means_that_somebody_left(
    fetch: Callable[[int], Awaitable[Any]], expected: type[BotError]
) -> None:
    with pytest.raises(expected):
        await role_ids(fetch)


async def test_a_silent_discord_is_waited_for_so_long_and_no_longer() -> None:
    with pytest.raises(MembershipUnknownError):
        await role_ids(_never, longest=dt.timedelta(0))


async def test_a_server_that_is_away_is_not_asked() -> None:
    with pytest.raises(MembershipUnknownError):
        await role_ids(_never, is_available=False)


async def test_roles_are_those_of_the_server_and_the_one_that_everybody_has() -> None:
    member = SimpleNamespace(guild=SimpleNamespace(id=GUILD), roles=[SimpleNamespace(id=ROLE)])

    async def _fetch(_user_id: int) -> object:
        return member

    assert await role_ids(_fetch) == frozenset({GUILD, ROLE})


async def test_a_member_whom_the_client_knows_is_not_asked_for() -> None:
    member = SimpleNamespace(guild=SimpleNamespace(id=GUILD), roles=[SimpleNamespace(id=ROLE)])

    assert await role_ids(_never, known=member) == frozenset({GUILD, ROLE})


async def test_a_press_in_a_server_is_that_servers_whatever_the_row_says(simcord_world: "SimulatedDiscord") -> None:
    guild = simcord_world.bot.get_guild(simcord_world.place.guild_id)
    assert guild is not None
    members = Membership(simcord_world.bot, is_available=simcord_world.bot.presence.is_available)
    member: Any = guild.me
    outsider: Any = SimpleNamespace(id=ADA)

    async def _never_asked() -> int:
        raise AssertionError

    told: Any = SimpleNamespace(user=member, guild_id=guild.id)
    untold: Any = SimpleNamespace(user=outsider, guild_id=guild.id)

    assert await members.presser(told, _never_asked) == Presser(
        guild.id, member.id, frozenset({guild.id, *(role.id for role in member.roles)})
    )
    assert await members.presser(untold, _never_asked) == Presser(guild.id, ADA, None)
