"""Buttons in the simulated Discord: posts and direct messages that carry them, and a second process."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import discord
from simcord.actors import MemberActor
from simcord.builders import ChannelHandle, UserHandle

from bot.client import COMMAND_COGS, TocsinBot
from bot.clock import InjectedLeaseClock
from bot.delivery.channel_poster import discord_view
from bot.message.custom_ids import Verb, encode
from bot.message.outgoing import Button
from tests.discord.acting import Stage

if TYPE_CHECKING:
    from tests.discord.simulated import SimulatedDiscord

LABELS = {
    Verb.SIGN_UP: "Sign up",
    Verb.MAYBE: "Maybe",
    Verb.CANT: "Can't",
    Verb.CONFIRM: "I'll be there",
    Verb.DECLINE: "Can't make it",
}


def event_buttons(event_id: int) -> list[Button]:
    """Return every button of an event, none of them disabled: old posts stay on people's screens."""
    return [Button(label, encode(verb, event_id)) for verb, label in LABELS.items()]


async def post(bot: TocsinBot, channel: ChannelHandle, buttons: Sequence[Button]) -> discord.Message:
    """Let the bot post buttons in a channel."""
    found = bot.get_channel(channel.id)
    assert isinstance(found, discord.TextChannel)
    return await found.send("Buttons", view=discord_view(buttons))


async def send_dm(bot: TocsinBot, user: UserHandle, buttons: Sequence[Button]) -> discord.Message:
    """Let the bot send buttons to somebody directly."""
    channel = await bot.create_dm(discord.Object(user.id))
    return await channel.send("Buttons", view=discord_view(buttons))


async def restarted(stage: Stage) -> TocsinBot:
    """End the bot's process and start another, with its commands, in the same world."""
    world = stage.discord_.world
    await world.detach()
    bot = TocsinBot(clock=world.clock, lease_clock=InjectedLeaseClock(world.clock), extensions_to_load=COMMAND_COGS)
    await world.attach(bot)
    return bot


def again(discord_: "SimulatedDiscord", actor: MemberActor) -> MemberActor:
    """Return the same person in the environment of the process now running."""
    return discord_.world.member_handle(discord_.place, actor.id)


def seen_again(discord_: "SimulatedDiscord", message: discord.Message) -> discord.Message:
    """Return the same message in the environment of the process now running."""
    history = discord_.world.channel_handle(discord_.place, message.channel.id).history()
    return next(one for one in history if one.id == message.id)
