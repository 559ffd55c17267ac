"""Roles through the real client: what Discord's refusals mean, told apart by their codes."""

import pytest

from bot.delivery.member_roles import MemberRoles
from bot.events.signups.attendee_roles import RoleError, RoleFault
from tests.discord.acting import Stage


@pytest.mark.parametrize(
    ("status", "code", "fault"),
    [
        (404, 10007, RoleFault.MEMBER_LEFT),
        (404, 10013, RoleFault.MEMBER_LEFT),
        (404, 10011, RoleFault.ROLE_GONE),
        (403, 50013, RoleFault.NOT_ALLOWED),
        (403, 50001, RoleFault.NOT_ALLOWED),
        (503, 0, RoleFault.NOT_REACHED),
    ],
)
async def test_each_refusal_is_told_apart(stage: Stage, status: int, code: int, fault: RoleFault) -> None:
    members, role = MemberRoles(stage.bot), stage.manager_role.id
    calls = (("PUT", members.give_role), ("DELETE", members.take_role))

    for method, call in calls:
        stage.discord_.env.inject_error(method, "/guilds/*/members/*/roles/*", status=status, code=code)
        with pytest.raises(RoleError) as refused:
            await call(stage.guild_id, stage.member.id, role)
        assert refused.value.fault is fault


async def test_who_has_left_is_known_and_where_discord_does_not_say_nobody_has(stage: Stage) -> None:
    members = MemberRoles(stage.bot)

    here = await members.has_left(stage.guild_id, stage.member.id)
    stage.discord_.guild.remove_member(stage.member)
    await stage.discord_.env.settle()
    gone = await members.has_left(stage.guild_id, stage.member.id)
    stage.discord_.env.inject_error("GET", "/guilds/*/members/*", status=503)
    unknown = await members.has_left(stage.guild_id, stage.member.id)

    assert (here, gone, unknown) == (False, True, False)
