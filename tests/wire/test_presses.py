"""A storm of presses over a real connection: every one is recorded and answered, and the post ends true."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bot.clock import SystemClock
from bot.database import opened
from bot.message.custom_ids import Verb, encode
from bot.migrating import migrate
from bot.transactions import fetch
from models.states import EventState
from tests.builders import HOUR, make_event, make_guild
from tests.wire.bot_process import bot_process, until
from tests.wire.discord_stub import CHANNEL, GUILD, OPS, DiscordStub, running_stub

PRESSES, PLACES = 200, 150
_SPREAD_SECONDS = 2

pytestmark = pytest.mark.timeout(120)


async def plan_an_open_event(url: str) -> int:
    """Store an event that people can sign up for and that is to be announced now; return its id."""
    now = SystemClock().now()
    async with opened(url):
        await migrate(url)
        await make_guild(GUILD, announcement_channel_id=CHANNEL, ops_channel_id=OPS)
        event = await make_event(
            now=now, starts_in=20 * HOUR, guild_id=GUILD, state=EventState.SIGNUPS_OPEN, max_players=PLACES
        )
    event_id: int = event.id
    return event_id


async def storm(stub: DiscordStub, event_id: int) -> list[str]:
    """Let 200 people press Sign up within two seconds; return the tokens of their presses."""
    (post,) = stub.messages[CHANNEL]
    tokens = []
    for person in range(PRESSES):
        tokens.append(await stub.press(encode(Verb.SIGN_UP, event_id), 700_000 + person, message=post))
        await asyncio.sleep(_SPREAD_SECONDS / PRESSES)
    return tokens


def shown(post: dict[str, Any], name: str) -> str | None:
    """Return one field of a post by the beginning of its name."""
    return next((one["name"] for one in post["embeds"][0]["fields"] if one["name"].startswith(name)), None)


async def test_two_hundred_presses_in_two_seconds_are_all_recorded_and_answered(
    sqlite_url: str, tmp_path: Path
) -> None:
    event_id = await plan_an_open_event(sqlite_url)
    async with running_stub() as stub, bot_process(tmp_path, stub, sqlite_url) as process:
        await until(lambda: len(stub.messages[CHANNEL]) == 1)

        tokens = await storm(stub, event_id)
        await until(lambda: stub.answered.keys() >= set(tokens))
        await until(_says(stub, f"Wait-list ({PRESSES - PLACES})"))
        await process.stop()

    async with opened(sqlite_url):
        rows = await fetch("SELECT status, COUNT(*) AS people FROM event_signup GROUP BY status")
    (post,) = stub.messages[CHANNEL]
    answers = [text for _, text in stub.answered.values()]
    assert {row["status"]: row["people"] for row in rows} == {"signed_up": PLACES, "waitlisted": PRESSES - PLACES}
    assert sum("You are signed up" in text for text in answers) == PLACES
    assert sum("wait-list as number" in text for text in answers) == PRESSES - PLACES
    assert shown(post, "Coming") == f"Coming ({PLACES})"
    assert stub.deferred.keys() == stub.answered.keys() == set(tokens)
    assert stub.unknown == []


def _says(stub: DiscordStub, name: str) -> Callable[[], bool]:
    return lambda: shown(stub.messages[CHANNEL][0], name) == name
