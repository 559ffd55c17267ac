"""
Posts and DMs: the hands of the one way out. Fulfils ``leases.ports.MessagePort`` and the upkeep's ``PostEditor``.

Whatever the client raises comes out as one :class:`SendError` that says whether the message may have arrived.
"""

import datetime as dt
from collections.abc import Awaitable, Callable, Sequence

import discord

from bot.delivery.channels import ChannelSource, Messageable, PostChannel, missing_permissions, own_member, resolve
from bot.delivery.failures import UNKNOWN_MESSAGE, send_error
from bot.delivery.history import find_own_message
from bot.delivery.request_trace import GuardedCall, RequestTrace, at_once
from bot.leases.failures import ErrorClass, SendError
from bot.leases.ports import ChannelTarget, Delivered, DmTarget, Target
from bot.message.outgoing import Button, Embed, OutgoingMessage


class ChannelPoster:
    """
    Sends, finds and edits the bot's own messages through one client.

    ``trace`` is the one that the client's requests are followed by; None: it has none. ``timeout`` bounds each request,
    ``dm_timeout`` that of a DM.
    """

    def __init__(
        self,
        client: ChannelSource,
        *,
        trace: RequestTrace | None = None,
        timeout: dt.timedelta = dt.timedelta(seconds=30),
        dm_timeout: dt.timedelta = dt.timedelta(seconds=5),
    ) -> None:
        self._client = client
        self._trace = trace
        self._timeout = timeout
        self._dm_timeout = dm_timeout

    async def send(
        self,
        target: Target,
        message: OutgoingMessage,
        *,
        nonce: str,
        before_request: Callable[[], Awaitable[None]],
    ) -> Delivered:
        """
        Send one message under a nonce that Discord enforces.

        What ``before_request`` raises comes through as it is: nothing is written then.

        Raises:
            SendError: it did not end in an acknowledged message.
            LeaseLostError: ``before_request`` raised it.
        """
        is_dm = isinstance(target, DmTarget)
        timeout = self._dm_timeout if is_dm else self._timeout
        call = GuardedCall(before_request, timeout=timeout, goes_ahead=is_dm)
        channel = None
        try:
            channel = await self._resolve(target)
            if self._trace is None or not self._trace.sees_requests:
                # Nobody will ask at the request itself.
                await call.ask()
            with call:
                sent = await channel.send(
                    content=message.content or None,
                    embeds=discord_embeds(message.embed),
                    view=discord_view(message.buttons),
                    nonce=nonce,
                    allowed_mentions=allowed_mentions(message),
                )
        except Exception as error:
            if error is call.stopped_by or isinstance(error, SendError):
                raise
            if isinstance(error, discord.HTTPException) and error.code == UNKNOWN_MESSAGE:
                # Under an enforced nonce this answers a resend whose first copy arrived and was then deleted.
                return Delivered(message_id=0, channel_id=target.channel_id, status=error.status)
            raise self._with_missing(send_error(error, written=call.written), channel) from error
        return Delivered(message_id=sent.id, channel_id=target.channel_id)

    async def find(self, target: Target, *, marker: str, after: int) -> Delivered | None:
        """
        Return the bot's own message that carries ``marker``, or None.

        Raises:
            HistoryUnreadableError: the channel could not be read to that point.
        """
        return await find_own_message(self._client, target, marker=marker, after=after, longest_request=self._timeout)

    async def edit(self, target: ChannelTarget, message_id: int, message: OutgoingMessage) -> None:
        """
        Make one of the bot's own posts say ``message``; nobody is pinged.

        Raises:
            SendError: it could not be edited.
        """
        call = GuardedCall(at_once, timeout=self._timeout)
        channel = None
        try:
            channel = await self._resolve(target)
            with call:
                await channel.get_partial_message(message_id).edit(
                    content=message.content or None,
                    embeds=discord_embeds(message.embed),
                    view=discord_view(message.buttons),
                    allowed_mentions=discord.AllowedMentions.none(),
                )
        except SendError:
            raise
        except Exception as error:
            raise self._with_missing(send_error(error, written=call.written), channel) from error

    async def open_dm(self, recipient_id: int) -> int:
        """
        Open the DM channel with one person and return its id; opening it again gives the same.

        Raises:
            SendError: it could not be opened; nothing was sent, whatever became of the request.
        """
        try:
            with GuardedCall(at_once, timeout=self._dm_timeout):
                channel = await self._client.create_dm(discord.Object(recipient_id))
        except Exception as error:
            failed = send_error(error, written=False)
            failed.may_have_arrived = False
            raise failed from error
        return channel.id

    async def _resolve(self, target: Target) -> Messageable:
        try:
            with GuardedCall(at_once, timeout=self._timeout):
                return await resolve(self._client, target)
        except SendError:
            raise
        except Exception as error:
            failed = send_error(error, written=False)
            failed.may_have_arrived = False  # it was only looked up
            raise failed from error

    def _with_missing(self, error: SendError, channel: Messageable | None) -> SendError:
        """Add what the bot lacks in the channel, where that is why it was refused."""
        if error.error_class is ErrorClass.FORBIDDEN and isinstance(channel, PostChannel):
            me = own_member(self._client, channel)
            error.missing = missing_permissions(channel, me) if me is not None else ()
        return error


def discord_embeds(embed: Embed | None) -> list[discord.Embed]:
    """Return the library's own form of an embed, none where there is none."""
    if embed is None:
        return []
    found = discord.Embed(title=embed.title or None, description=embed.description or None, color=embed.color)
    for one in embed.fields:
        found.add_field(name=one.name, value=one.value, inline=one.inline)
    if embed.footer:
        found.set_footer(text=embed.footer)
    return [found]


def discord_view(buttons: Sequence[Button]) -> discord.ui.View:
    """
    Return the library's own form of the buttons; an empty one takes buttons away in an edit.

    It is stopped at once: the library would else keep each in memory for ever, while presses are read off custom ids.
    """
    view = discord.ui.View(timeout=None)
    for button in buttons:
        view.add_item(
            discord.ui.Button(
                label=button.label,
                custom_id=button.custom_id,
                style=discord.ButtonStyle[button.style.value],
                disabled=button.disabled,
            )
        )
    view.stop()
    return view


def allowed_mentions(message: OutgoingMessage) -> discord.AllowedMentions:
    """Return who may be pinged: the roles and people that the message names, and nobody else."""
    return discord.AllowedMentions(
        everyone=False,
        replied_user=False,
        roles=[discord.Object(role) for role in message.mention_role_ids],
        users=[discord.Object(user) for user in message.mention_user_ids],
    )
