"""Read a file that somebody attached to a command; what it says of itself is never believed."""

import asyncio
from typing import Final

import aiohttp
import discord

from bot.errors import BotError

_TIMEOUT_SECONDS: Final = 20.0


class AttachmentError(BotError):
    """An attached file cannot be read; nothing of it was taken."""


async def read_attachment(attachment: discord.Attachment, *, most_bytes: int) -> bytes:
    """
    Return the bytes of a file, at most ``most_bytes``; its size is looked at before it is fetched.

    Raises:
        AttachmentError: it is too large, or Discord does not hand it out.
    """
    if attachment.size > most_bytes:
        raise AttachmentError(f"The file has {attachment.size:,} bytes; at most {most_bytes:,} are read.")
    try:
        async with asyncio.timeout(_TIMEOUT_SECONDS):
            raw = await attachment.read()
    except (discord.HTTPException, aiohttp.ClientError, TimeoutError, OSError) as error:
        raise AttachmentError("Discord does not hand the file out now; attach it again, or try later.") from error
    if len(raw) > most_bytes:
        raise AttachmentError(f"The file has {len(raw):,} bytes; at most {most_bytes:,} are read.")
    return raw
