"""``/dm-queue status``: for admins alone, with the failures of their own server alone."""

from typing import TYPE_CHECKING

from bot.dm_queue.recent_failures import RecentFailure

if TYPE_CHECKING:
    from tests.discord.acting import Stage


async def test_an_admin_and_a_manager_see_the_queue(stage: "Stage") -> None:
    for actor in (stage.admin, stage.manager):
        says = await stage.says(actor, "dm-queue status")

        assert says.splitlines()[0] == "No direct message waits; 0 under way."


async def test_a_plain_member_does_not(stage: "Stage") -> None:
    says = await stage.says(stage.member, "dm-queue status")

    assert says == "You need the Manage Server permission here, or this server's manager role."


async def test_failures_of_another_server_are_not_shown(stage: "Stage") -> None:
    recent = stage.bot.services.dms.recent_failures
    recent.append(RecentFailure(stage.now(), stage.guild_id, 501, "takes no direct messages"))
    recent.append(RecentFailure(stage.now(), stage.guild_id + 1, 777, "somebody else's"))

    says = await stage.says(stage.admin, "dm-queue status")

    assert "<@501>: takes no direct messages" in says
    assert "777" not in says
    assert "somebody" not in says


async def test_the_last_five_failures_are_shown(stage: "Stage") -> None:
    recent = stage.bot.services.dms.recent_failures
    recent.extend(RecentFailure(stage.now(), stage.guild_id, who, "closed") for who in range(501, 508))

    says = await stage.says(stage.admin, "dm-queue status")

    assert [who for who in range(501, 508) if f"<@{who}>" in says] == [503, 504, 505, 506, 507]
