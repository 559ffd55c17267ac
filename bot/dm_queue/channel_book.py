"""Which DM channels are open already: the rows of ``DmChannel``, with those asked for lately in memory."""

import datetime as dt
from collections.abc import Collection

from bot.transactions import fetch
from models.dm_channel import DmChannel

# About 10 MB; what is beyond it is asked of the database again.
_MOST_IN_MEMORY = 50_000


class DmChannelBook:
    """Knows the channel of a person once :meth:`load` was asked for them."""

    def __init__(self) -> None:
        self._known: dict[int, int] = {}

    async def load(self, recipients: Collection[int]) -> None:
        """Read the channels of these people, as far as they are not in memory."""
        unknown = [one for one in recipients if one not in self._known]
        if unknown:
            rows = await DmChannel.filter(user_id__in=unknown).values_list("user_id", "channel_id")
            for user_id, channel_id in rows:
                self._remember(user_id, channel_id)

    def channel_of(self, recipient_id: int) -> int | None:
        """Return the channel of a person who was loaded; None: it is not open yet."""
        return self._known.get(recipient_id)

    async def opened(self, recipient_id: int, channel_id: int, *, now: dt.datetime) -> None:
        """Keep a channel that was just opened."""
        self._remember(recipient_id, channel_id)
        # In one statement, since another process may open the channel of the same person.
        await fetch(
            "INSERT INTO dm_channel (user_id, channel_id, opened_at) VALUES ($1, $2, $3) ON CONFLICT (user_id)"
            " DO UPDATE SET channel_id = excluded.channel_id, opened_at = excluded.opened_at",
            [recipient_id, channel_id, now],
        )

    async def forget(self, recipient_id: int) -> None:
        """Let a channel go that Discord no longer knows."""
        self._known.pop(recipient_id, None)
        await fetch("DELETE FROM dm_channel WHERE user_id = $1", [recipient_id])

    def _remember(self, recipient_id: int, channel_id: int) -> None:
        while len(self._known) >= _MOST_IN_MEMORY:
            del self._known[next(iter(self._known))]
        self._known[recipient_id] = channel_id
