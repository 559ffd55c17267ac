"""
Look a message of the bot up in its channel.

The nonce of a message cannot be read back, so it is told by the marker that it carries. History is walked newest first
until it is older than asked: reading forwards from a point is not what Discord's ``after`` does with a full page.
"""

import datetime as dt

import discord

from bot.delivery.channels import ChannelSource, may_read_history, resolve
from bot.delivery.failures import error_class_of
from bot.delivery.request_trace import GuardedCall, at_once
from bot.leases.failures import ErrorClass, SendError
from bot.leases.ports import Delivered, HistoryUnreadableError, Target

_UNKNOWN_CHANNEL = 10003
_UNKNOWN_GUILD = 10004


async def find_own_message(
    client: ChannelSource, target: Target, *, marker: str, after: int, longest_request: dt.timedelta
) -> Delivered | None:
    """
    Return the bot's own message with ``marker`` that is no older than the snowflake ``after``; None: there is none.

    A channel that is gone shows nothing to anybody: None. Each of its requests takes ``longest_request`` at most.

    Raises:
        HistoryUnreadableError: it could not be read to that point, whatever the reason.
    """
    try:
        with GuardedCall(at_once, timeout=longest_request):
            return await _walk(client, target, marker, after)
    except HistoryUnreadableError:
        raise
    except SendError as error:
        if error.error_class is ErrorClass.GONE:
            return None
        raise HistoryUnreadableError(error.text) from error
    except discord.HTTPException as error:
        # Only Discord's own word for it: a bare 404 may come from anybody on the way.
        if error.code in {_UNKNOWN_CHANNEL, _UNKNOWN_GUILD}:
            return None
        kind = error_class_of(error.status, error.code, error.text)
        raise HistoryUnreadableError(
            f"{error.status} {error.code}", lacks_permission=kind is ErrorClass.FORBIDDEN, error_class=kind
        ) from error
    except Exception as error:
        # An answer that the library cannot take apart is one more history that nobody has read.
        raise HistoryUnreadableError(type(error).__name__) from error


async def _walk(client: ChannelSource, target: Target, marker: str, after: int) -> Delivered | None:
    channel = await resolve(client, target)
    readable = may_read_history(client, channel)
    if client.user is None or readable is None:
        raise HistoryUnreadableError("the server is not known now")
    if not readable:
        raise HistoryUnreadableError("the bot may not read the history there", lacks_permission=True)
    async for message in channel.history(limit=None, oldest_first=False):
        if message.id < after:
            return None
        if message.author.id == client.user.id and carries(message, marker):
            return Delivered(message_id=message.id, channel_id=target.channel_id)
    return None


def carries(message: discord.Message, marker: str) -> bool:
    """Return whether the message is the one of that marker: in a footer, or as a line of its own in the text."""
    footers = {embed.footer.text.strip() for embed in message.embeds if embed.footer.text}
    return marker in footers or marker in {line.strip() for line in message.content.splitlines()}
