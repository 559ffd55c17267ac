"""Find the channel or DM that is meant, in the guild that is meant, and what the bot may do there."""

from typing import Protocol

import discord

from bot.leases.failures import ErrorClass, SendError
from bot.leases.ports import ChannelTarget, DmTarget, Target

PostChannel = discord.TextChannel | discord.Thread | discord.VoiceChannel | discord.StageChannel
Messageable = PostChannel | discord.PartialMessageable
"""Where a message can go: a channel of a guild, or a DM by its id."""


class ChannelSource(Protocol):
    """The part of a client that knows channels, and who it is itself."""

    async def create_dm(self, user: discord.abc.Snowflake, /) -> discord.DMChannel:
        """Open the DM channel with somebody."""
        ...

    @property
    def user(self) -> discord.ClientUser | None:
        """Return the bot's own user, None before it logged in."""
        ...

    def get_channel(self, channel_id: int, /) -> object:
        """Return a channel from the cache, None if it is not there."""
        ...

    async def fetch_channel(self, channel_id: int, /) -> object:
        """Ask Discord for a channel."""
        ...

    def get_partial_messageable(
        self,
        id: int,  # noqa: A002 -- the library's own names
        *,
        guild_id: int | None = None,
        type: discord.ChannelType | None = None,  # noqa: A002
    ) -> discord.PartialMessageable:
        """Return a channel by its id alone, without asking."""
        ...


async def resolve(client: ChannelSource, target: Target) -> Messageable:
    """
    Return the channel of a target: from the cache, else from Discord; a DM by its id alone.

    Raises:
        SendError: class ``gone`` where it is no text channel of that guild; class ``forbidden`` where it is hidden.
        discord.HTTPException, aiohttp.ClientError: Discord could not be asked.
    """
    if isinstance(target, DmTarget):
        # Neither its person nor the channel need be in the cache: the bot asks for no list of members.
        return client.get_partial_messageable(target.channel_id, type=discord.ChannelType.private)
    return await resolve_post(client, target)


async def resolve_post(client: ChannelSource, target: ChannelTarget) -> PostChannel:
    """
    Return the channel of a guild: from the cache, else from Discord.

    Raises:
        SendError: class ``gone`` where it is no text channel of that guild; class ``forbidden`` where it is hidden.
        discord.HTTPException, aiohttp.ClientError: Discord could not be asked.
    """
    channel = client.get_channel(target.channel_id) or await client.fetch_channel(target.channel_id)
    if not isinstance(channel, PostChannel) or channel.guild.id != target.guild_id:
        raise SendError(ErrorClass.GONE, f"{target.channel_id} is no channel of this server that takes messages")
    return channel


def missing_permissions(channel: PostChannel, me: discord.Member) -> tuple[str, ...]:
    """Return, in Discord's words, what the bot lacks in a channel to post there and to find its posts again."""
    if isinstance(channel, discord.Thread) and channel.parent is None:
        return ()  # what a thread grants is its parent's, which is not known
    granted = channel.permissions_for(me)
    return tuple(words for name, words in _in_words(channel).items() if not getattr(granted, name))


def may_read_history(client: ChannelSource, channel: Messageable) -> bool | None:
    """
    Return whether the history can be read, None where its server is not in the cache to tell; that of a DM always can.

    Without the permission Discord answers with an empty list, which would be taken for "not there".
    """
    if isinstance(channel, discord.PartialMessageable):
        return True
    granted = _granted(client, channel)
    return None if granted is None else granted.view_channel and granted.read_message_history


def own_member(client: ChannelSource, channel: PostChannel) -> discord.Member | None:
    """Return the bot as a member of the channel's server, None where the server is not in the cache."""
    return channel.guild.get_member(client.user.id) if client.user is not None else None


def _granted(client: ChannelSource, channel: PostChannel) -> discord.Permissions | None:
    """Return what the bot may do in a channel, None where its server is not in the cache to tell."""
    me = own_member(client, channel)
    if me is None or (isinstance(channel, discord.Thread) and channel.parent is None):
        return None
    return channel.permissions_for(me)


def _in_words(channel: PostChannel) -> dict[str, str]:
    return {
        "view_channel": "View Channel",
        **(
            {"send_messages_in_threads": "Send Messages in Threads"}
            if isinstance(channel, discord.Thread)
            else {"send_messages": "Send Messages"}
        ),
        "embed_links": "Embed Links",
        "read_message_history": "Read Message History",
    }
