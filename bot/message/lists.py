"""Lists in one line that fit where they stand."""

from collections.abc import Sequence

from bot.message.limits import length


def listed(items: Sequence[str], most: int, *, between: str) -> str:
    """Return as many items as fit ``most`` with how many are left out; an item is never cut."""
    text, shown = between.join(items), len(items)
    while shown and length(text) > most:
        # A list far too long is not shortened one by one.
        shown = min(shown - 1, shown * most // length(text) + 1)
        text = between.join([*items[:shown], f"+{len(items) - shown} more"])
    return text
