"""People at work in the simulated Discord: who they are, what they type and press, and what they read."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import discord
from simcord.actors import MemberActor
from simcord.builders import ChannelHandle, GuildHandle, RoleHandle
from simcord.results import InteractionResult, ResponseMessage

from bot.client import COMMAND_COGS, TocsinBot
from bot.clock import InjectedLeaseClock
from tests.builders import make_guild

if TYPE_CHECKING:
    from tests.discord.simulated import SimulatedDiscord

SLASH = 1


@dataclass
class Stage:
    """
    One server with an admin (its owner), somebody who holds its manager role, and two plain members.

    Everybody is shown every command, as a server may decide, so that what refuses is the bot's own code.
    """

    discord_: "SimulatedDiscord"
    admin: MemberActor
    manager: MemberActor
    member: MemberActor
    other_member: MemberActor
    manager_role: RoleHandle
    channel: ChannelHandle

    @property
    def guild_id(self) -> int:
        return self.discord_.place.guild_id

    @property
    def bot(self) -> TocsinBot:
        return self.discord_.bot

    def now(self) -> Any:  # noqa: ANN401 -- a datetime
        return self.discord_.world.now()

    async def run(self, actor: MemberActor, command: str, **options: object) -> ResponseMessage:
        """Let somebody use a command in the public channel; return what they read."""
        return answered(await actor.slash(self.channel, command, **options))

    async def says(self, actor: MemberActor, command: str, **options: object) -> str:
        """Let somebody use a command; return the text that they read."""
        return (await self.run(actor, command, **options)).content


def answered(result: InteractionResult) -> ResponseMessage:
    """Return the one answer to something that somebody did, which is theirs alone."""
    shown = result.response
    assert shown is not None, "there was no answer"
    assert shown.ephemeral
    assert result.followups == []
    return shown


def labels(shown: ResponseMessage) -> list[str]:
    """Return the labels of an answer's buttons, in order."""
    return [one["label"] for row in shown.components for one in row["components"]]


async def press(actor: MemberActor, shown: ResponseMessage, label: str) -> InteractionResult:
    """Let somebody press a button of an answer."""
    return await actor.click(shown, label=label)


def show_to_everybody(stage_guild: GuildHandle, commands: Iterable[int]) -> None:
    """Let a server's admins show these commands to everybody, whatever the bot asked of Discord."""
    for command_id in commands:
        stage_guild.set_command_permissions(command_id, {stage_guild.default_role: True})


async def set_stage(discord_: "SimulatedDiscord") -> Stage:
    """Fill a world's server with people, and show them every command."""
    guild = discord_.guild
    role = guild.create_role("Wardens' hands")
    people = [discord_.env.create_user(name) for name in ("mara", "nils", "olga")]
    manager = guild.add_member(people[0], roles=[role])
    member, other = guild.add_member(people[1]), guild.add_member(people[2])
    channel = guild.create_text_channel("hall")
    await make_guild(
        guild.id,
        announcement_channel_id=discord_.place.announcements_id,
        ops_channel_id=discord_.place.ops_id,
        manager_role_id=role.id,
    )
    await discord_.env.settle()
    show_commands(discord_, guild)
    admin = discord_.world.member_handle(discord_.place, discord_.place.admin_id)
    return Stage(discord_, admin, manager, member, other, role, channel)


def show_commands(discord_: "SimulatedDiscord", guild: GuildHandle) -> None:
    """Show every command that Discord was told to everybody in a server."""
    known = (discord_.backend.find_command(one.name, guild.id, type=SLASH) for one in discord_.bot.tree.get_commands())
    show_to_everybody(guild, [int(one["id"]) for one in known if one is not None])


async def post_buttons(stage: Stage, *custom_ids: str) -> discord.Message:
    """
    Let the bot post a message with a button for each custom id, labelled B0, B1 and so on.

    As any earlier version may have posted it, or as a second press in flight carries it.
    """
    channel = stage.bot.get_channel(stage.channel.id)
    assert isinstance(channel, discord.TextChannel)
    view = discord.ui.View(timeout=None)
    for number, custom_id in enumerate(custom_ids):
        view.add_item(discord.ui.Button(label=f"B{number}", custom_id=custom_id))
    view.stop()
    return await channel.send("Buttons", view=view)


def custom_ids(shown: ResponseMessage) -> list[str]:
    """Return the custom ids of an answer's buttons, in order."""
    return [str(one["custom_id"]) for row in shown.components for one in row["components"]]


async def restart(stage: Stage, *, extensions: tuple[str, ...] = COMMAND_COGS) -> TocsinBot:
    """End the bot's process and start another in the same world."""
    world = stage.discord_.world
    await world.detach()
    bot = TocsinBot(clock=world.clock, lease_clock=InjectedLeaseClock(world.clock), extensions_to_load=extensions)
    await world.attach(bot)
    return bot


def again(stage: Stage, actor: MemberActor, message: discord.Message) -> tuple[MemberActor, discord.Message]:
    """Return somebody, and a message of the public channel, as the process now running knows them."""
    world, place = stage.discord_.world, stage.discord_.place
    (found,) = [one for one in world.channel_handle(place, stage.channel.id).history() if one.id == message.id]
    return world.member_handle(place, actor.id), found


async def elsewhere(stage: Stage) -> tuple[MemberActor, ChannelHandle]:
    """Found another server of the same admin's that shows every command; return them there, and a channel."""
    env = stage.discord_.env
    guild = env.create_guild("Elsewhere", owner=stage.admin.user)
    channel = guild.create_text_channel("lobby")
    await env.settle()
    show_commands(stage.discord_, guild)
    return MemberActor(env, guild, stage.admin.user), channel
