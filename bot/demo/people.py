"""
The members of a simulated guild, and what they do by themselves.

Members 1 to N subscribe to every series. The odd-numbered ones sign up the moment sign-ups open, member 1 has filled in
the profile. So the even-numbered are reminded of the sign-ups, and all odd ones but the first of their profiles.
"""

import datetime as dt
from collections.abc import Iterable, Sequence

from bot.bootstrap import Services
from bot.errors import BotError
from bot.events import profiles
from bot.events.signups.rules import Press
from bot.events.subscriptions import subscribe
from bot.transactions import atomic, fetch, integer, moment

PROFILE_FIELDS: list[dict[str, object]] = [{"key": "character", "label": "Name of your character", "required": True}]
"""What the simulated guild asks: one thing, and that is required."""


def member_names(count: int) -> list[str]:
    """Return how the members of a simulated guild are called."""
    return [f"member-{number}" for number in range(1, count + 1)]


class Members:
    """The members of one guild, by number from 1; they outlive the bot's processes."""

    def __init__(self, guild_id: int, user_ids: Sequence[int]) -> None:
        self._guild_id = guild_id
        self._user_ids = tuple(user_ids)
        self._open_since = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
        self._seen: set[int] = set()
        self._shut_out: set[tuple[int, int]] = set()

    @property
    def signing_up(self) -> tuple[int, ...]:
        """Who signs up for everything, in that order."""
        return self._user_ids[0::2]

    @property
    def only_subscribed(self) -> tuple[int, ...]:
        """Who never says anything about an event."""
        return self._user_ids[1::2]

    @property
    def without_profile(self) -> tuple[int, ...]:
        """Who signs up and has not told the guild what it requires."""
        return self.signing_up[1:]

    def was_shut_out(self, event_id: int, user_id: int) -> bool:
        """Return whether somebody wanted to sign up for an event and could not any more."""
        return (event_id, user_id) in self._shut_out

    async def prepare(self, series_ids: Iterable[int], *, now: dt.datetime) -> None:
        """Subscribe everybody to these series, and fill in the first one's profile."""

        async def _unit() -> None:
            for series_id in series_ids:
                for user_id in self._user_ids:
                    await subscribe(series_id, guild_id=self._guild_id, user_id=user_id, now=now)
            for user_id in self._user_ids[:1]:
                values = {str(field["key"]): "Brunhild" for field in PROFILE_FIELDS}
                await profiles.save(values, guild_id=self._guild_id, user_id=user_id, now=now)

        # One transaction: each subscription by itself would wait for the disk.
        await atomic(_unit)

    async def sign_up(self, services: Services, *, now: dt.datetime) -> None:
        """Sign up for every event whose sign-ups opened since the last call; call it whenever some may have."""
        rows = await fetch(
            "SELECT id, required_role_id, state_since FROM event WHERE state = 'signups_open' AND state_since >= $1"
            " ORDER BY state_since, id",
            [self._open_since],
        )
        for row in rows:
            event_id = integer(row["id"])
            if event_id in self._seen:
                continue
            for user_id in self.signing_up:
                await self._press(services, event_id, user_id, role_id=row["required_role_id"], now=now)
            self._open_since = max(self._open_since, moment(row["state_since"]))
            self._seen.add(event_id)

    async def _press(
        self, services: Services, event_id: int, user_id: int, *, role_id: object, now: dt.datetime
    ) -> None:
        # Whatever role an event asks for, the simulated members have it.
        roles = frozenset({integer(role_id)} if role_id is not None else ())
        try:
            await services.signups.press(
                Press.SIGN_UP, event_id, guild_id=self._guild_id, user_id=user_id, role_ids=roles, now=now
            )
        except BotError:
            self._shut_out.add((event_id, user_id))  # the event began meanwhile: they came too late, as people do
