"""Which guilds this process can send to now: those of its shards that Discord says are there."""

from collections.abc import Collection
from typing import Protocol


class GuildLike(Protocol):
    """A guild in the client's cache."""

    @property
    def unavailable(self) -> bool: ...  # noqa: D102


class GuildSource(Protocol):
    """The part of a client that knows guilds."""

    def get_guild(self, guild_id: int, /) -> GuildLike | None:
        """Return a guild from the cache, None if it is not there."""
        ...


class GuildPresence:
    """
    Whether a guild can be sent to.

    One that is not in the cache, or that Discord calls unavailable during an outage, only pauses: nothing of it is
    changed or deleted.
    """

    def __init__(self, client: GuildSource, *, allow_list: Collection[int] = ()) -> None:
        self._client = client
        self._allow_list = frozenset(allow_list)

    def is_allowed(self, guild_id: int) -> bool:
        """Return whether the guild may be served at all, whether it is there now or not."""
        return not self._allow_list or guild_id in self._allow_list

    def is_available(self, guild_id: int) -> bool:
        """Return whether the guild is there, on one of this process's shards, and allowed."""
        if not self.is_allowed(guild_id):
            return False
        guild = self._client.get_guild(guild_id)
        return guild is not None and not guild.unavailable
