"""Discord's ids as somebody types them on the command line."""

from bot.errors import UsageError


def discord_id(value: int, option: str) -> int:
    """
    Return the id that an option was given.

    Raises:
        UsageError: it can be no id.
    """
    if not 0 < value < 2**63:
        raise UsageError(f"{option} is {value}; a Discord id is a whole number such as 123456789012345678.")
    return value


def optional_id(value: int | None, option: str) -> int | None:
    """Return the id likewise, None where the option was left out."""
    return discord_id(value, option) if value is not None else None
