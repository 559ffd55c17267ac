"""Links into Discord itself."""


def post_link(guild_id: int, channel_id: int | None, message_id: int | None) -> str:
    """Return the link to a post of a server; nothing where there is no post."""
    if channel_id is None or message_id is None:
        return ""
    return f"https://discord.com/channels/{guild_id}/{channel_id}/{message_id}"
