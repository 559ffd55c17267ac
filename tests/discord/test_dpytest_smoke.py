"""A small smoke set on a second simulation of Discord, which shares nothing with the first."""

import datetime as dt
from collections.abc import AsyncIterator

import discord
import pytest
from discord.ext import test as dpytest

from bot.client import TocsinBot
from bot.clock import InjectedLeaseClock, ManualClock
from bot.delivery.channel_poster import ChannelPoster
from bot.leases.ports import ChannelTarget
from bot.message.outgoing import Embed, EmbedField, OutgoingMessage

NOON = dt.datetime(2026, 3, 1, 12, 0, tzinfo=dt.UTC)
MARKER = "#7"


async def unasked() -> None:
    """Let every request go."""


@pytest.fixture
async def channel() -> AsyncIterator[discord.TextChannel]:
    """Return the first channel of a guild that the bot, without its loops, is in."""
    clock = ManualClock(NOON)
    bot = TocsinBot(clock=clock, lease_clock=InjectedLeaseClock(clock), extensions_to_load=())
    await bot._async_setup_hook()
    # It lets the bot itself join as any member does, whom the library keeps only with that intent.
    bot._connection._intents = discord.Intents(guilds=True, members=True)
    bot._connection.member_cache_flags = discord.MemberCacheFlags(voice=False, joined=True)
    dpytest.configure(bot, guilds=1, text_channels=1, members=1)
    found = dpytest.get_config().channels[0]
    assert isinstance(found, discord.TextChannel)
    yield found
    await dpytest.empty_queue()


def poster() -> ChannelPoster:
    return ChannelPoster(dpytest.get_config().client)


def target(channel: discord.TextChannel) -> ChannelTarget:
    return ChannelTarget(channel.guild.id, channel.id)


async def test_a_plain_post_reaches_the_channel(channel: discord.TextChannel) -> None:
    message = OutgoingMessage(marker=MARKER, content=f"See you there\n{MARKER}")

    sent = await poster().send(target(channel), message, nonce="n", before_request=unasked)

    arrived = dpytest.get_message()
    assert (arrived.id, arrived.channel.id) == (sent.message_id, channel.id)
    assert arrived.content == f"See you there\n{MARKER}"


async def test_an_embed_reaches_the_channel_whole(channel: discord.TextChannel) -> None:
    embed = Embed(title="Raid night", description="Bring a lamp.", fields=(EmbedField("Places", "12"),), footer=MARKER)

    await poster().send(target(channel), OutgoingMessage(marker=MARKER, embed=embed), nonce="n", before_request=unasked)

    (arrived,) = dpytest.get_message().embeds
    assert (arrived.title, arrived.description, arrived.footer.text) == ("Raid night", "Bring a lamp.", MARKER)
    assert [(one.name, one.value) for one in arrived.fields] == [("Places", "12")]


async def test_a_post_is_found_again_by_its_marker(channel: discord.TextChannel) -> None:
    message = OutgoingMessage(marker=MARKER, content=MARKER)
    sent = await poster().send(target(channel), message, nonce="n", before_request=unasked)

    assert await poster().find(target(channel), marker=MARKER, after=0) == sent
