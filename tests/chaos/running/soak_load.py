"""What a bot has to do during a soak: posts, direct messages, presses and edits, beat by beat; and what came of it."""

import asyncio
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from bot.clock import SystemClock
from bot.database import opened
from bot.message.custom_ids import Verb, encode
from bot.reminders import markers
from models.repeater_subscription import RepeaterSubscription
from models.states import EventState
from tests.builders import HOUR, make_event, make_guild, make_series
from tests.wire.discord_stub import CHANNEL, GUILD, OPS, DiscordStub, dm_channel

_PEOPLE = range(601, 611)
_PRESSES = 3
_VERBS = (Verb.SIGN_UP, Verb.MAYBE, Verb.CANT)


@dataclass(slots=True)
class SoakLoad:
    """The work of one soak; ``wanted`` is what has to stand where: (channel, marker)."""

    url: str
    stub: DiscordStub
    draw: random.Random
    wanted: set[tuple[int, str]] = field(default_factory=set)
    pressed: int = 0
    beats: int = 0

    async def prepare(self) -> None:
        """Store the server that everything happens in."""
        async with opened(self.url):
            await make_guild(GUILD, announcement_channel_id=CHANNEL, ops_channel_id=OPS)

    async def beat(self) -> None:
        """Let a post and a reminder to some people fall due, and let people press the newest posts."""
        self.beats += 1
        now = SystemClock().now()
        asked = self.draw.sample(_PEOPLE, 3)
        async with opened(self.url):
            post = await make_event(
                now=now, starts_in=12 * HOUR, guild_id=GUILD, state=EventState.SIGNUPS_OPEN, max_players=2
            )
            series = await make_series(now=now, guild_id=GUILD, is_active=False, name=f"Series {self.beats}")
            for who in asked:
                await RepeaterSubscription.create(series_id=series.id, user_id=who, created_at=now)
            reminder = await make_event(
                now=now,
                starts_in=12 * HOUR,
                guild_id=GUILD,
                series_id=series.id,
                state=EventState.SIGNUPS_OPEN,
                discord_announcement=False,
                discord_signup_reminder=True,
            )
        self.wanted.add((CHANNEL, markers.mark_post(post.id, reposts=0)))
        self.wanted |= {(dm_channel(who), markers.mark(markers.SIGNUP_REMINDER, reminder.id)) for who in asked}
        await self._press()

    async def _press(self) -> None:
        for message in self.stub.messages[CHANNEL][-3:]:
            event_id = int(_footer(message).removeprefix("#"))
            for who in self.draw.sample(_PEOPLE, _PRESSES):
                await self.stub.press(encode(self.draw.choice(_VERBS), event_id), who, message=message)
                self.pressed += 1
                await asyncio.sleep(0)

    def shown(self) -> Counter[tuple[int, str]]:
        """Return what stands where, and how often."""
        return Counter(self._shown())

    def _shown(self) -> Iterator[tuple[int, str]]:
        for channel, messages in self.stub.messages.items():
            for message in messages:
                yield channel, _footer(message)


def _footer(message: dict[str, Any]) -> str:
    return str(message["embeds"][0]["footer"]["text"])
