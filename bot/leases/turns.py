"""How many sends are under way at once: one in a channel, so many in all; a direct message has its own pace."""

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import AsyncIterator

from bot.leases.ports import AnyTarget, DmTarget


class Turns:
    """The turns of one process; ``at_once`` bounds the posts under way."""

    def __init__(self, *, at_once: int) -> None:
        self._slots = asyncio.Semaphore(at_once)
        # Discord's bucket for messages is per channel: one at a time there, so that a lease begins at its attempt.
        self._channels: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)

    @contextlib.asynccontextmanager
    async def turn(self, target: AnyTarget | None) -> AsyncIterator[None]:
        """Wait for a turn in a channel, and for one of the slots; a DM has its own pace, which waiting would bunch."""
        if target is None or isinstance(target, DmTarget):
            yield
        else:
            async with self._channels[target.channel_id], self._slots:
                yield
