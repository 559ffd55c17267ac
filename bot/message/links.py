"""Links into Discord itself."""


def channel_link(guild_id: int, channel_id: int | None) -> str:
    """Return the link to a channel of a server; nothing where there is no channel."""
    return f"https://discord.com/channels/{guild_id}/{channel_id}" if channel_id is not None else ""


def native_link(guild_id: int, native_id: int | None) -> str:
    """Return the link to an event in a server's own list; nothing where it is not there."""
    return f"https://discord.com/events/{guild_id}/{native_id}" if native_id is not None else ""


def post_link(guild_id: int, channel_id: int | None, message_id: int | None) -> str:
    """Return the link to a post of a server; nothing where there is no post."""
    if channel_id is None or message_id is None:
        return ""
    return f"{channel_link(guild_id, channel_id)}/{message_id}"
