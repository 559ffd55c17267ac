"""Find the bot's own message in a channel by the marker that it carries."""

import datetime as dt
from typing import TYPE_CHECKING

import pytest

from bot.leases.ports import ChannelTarget, HistoryUnreadableError
from bot.leases.snowflakes import snowflake_at
from bot.message.outgoing import Embed, OutgoingMessage

if TYPE_CHECKING:
    from tests.discord.simulated import SimulatedDiscord

MARKER = "#7"
LONG_AGO = 0


async def unasked() -> None:
    """Let every request go."""


async def post(discord_: "SimulatedDiscord", marker: str = MARKER) -> int:
    message = OutgoingMessage(marker=marker, embed=Embed(title="Raid night", footer=marker))
    sent = await discord_.poster.send(discord_.target(), message, nonce="n", before_request=unasked)
    return sent.message_id


def say(discord_: "SimulatedDiscord", times: int, *, footer: str | None = None) -> None:
    """Let somebody else write messages, a second apart."""
    embeds = [{"title": "Raid night", "footer": {"text": footer}}] if footer else None
    for number in range(times):
        discord_.world.advance_to(discord_.world.now() + dt.timedelta(seconds=1))
        discord_.backend.create_message(
            discord_.place.announcements_id, discord_.place.player_ids[0], f"chatter {number}", embeds=embeds
        )


async def found(discord_: "SimulatedDiscord", *, marker: str = MARKER, after: int = LONG_AGO) -> int | None:
    delivered = await discord_.poster.find(discord_.target(), marker=marker, after=after)
    return delivered.message_id if delivered is not None else None


async def test_a_post_is_found_below_250_other_messages(simcord_world: "SimulatedDiscord") -> None:
    message_id = await post(simcord_world)
    say(simcord_world, 250)

    assert await found(simcord_world) == message_id


async def test_the_history_is_walked_newest_first_and_only_as_far_as_asked(
    simcord_world: "SimulatedDiscord",
) -> None:
    say(simcord_world, 150)
    after = snowflake_at(simcord_world.world.now() + dt.timedelta(seconds=1))
    say(simcord_world, 3)
    requests = len(simcord_world.env.http_requests)

    assert await found(simcord_world, after=after) is None

    (request,) = simcord_world.env.http_requests[requests:]
    assert "after" not in request.params


async def test_of_two_posts_with_one_marker_the_newest_is_found(simcord_world: "SimulatedDiscord") -> None:
    await post(simcord_world)
    say(simcord_world, 1)
    newest = await post(simcord_world)

    assert await found(simcord_world) == newest


@pytest.mark.parametrize(("offset", "expected"), [(0, True), (1, False)], ids=["exactly as old", "just older"])
async def test_a_post_older_than_asked_is_none(simcord_world: "SimulatedDiscord", offset: int, expected: bool) -> None:
    message_id = await post(simcord_world)

    assert await found(simcord_world, after=message_id + offset) == (message_id if expected else None)


async def test_somebody_elses_message_with_the_same_marker_is_none(simcord_world: "SimulatedDiscord") -> None:
    say(simcord_world, 1, footer=MARKER)

    assert await found(simcord_world) is None


@pytest.mark.parametrize("other", ["#70", "#7.1", "#17", "x#7"])
async def test_a_marker_that_only_begins_or_ends_alike_is_another(
    simcord_world: "SimulatedDiscord", other: str
) -> None:
    await post(simcord_world, other)

    assert await found(simcord_world) is None


async def test_a_marker_in_a_line_of_the_text_is_found_and_one_within_a_line_is_not(
    simcord_world: "SimulatedDiscord",
) -> None:
    in_line = OutgoingMessage(marker=MARKER, content=f"see {MARKER} below")
    of_its_own = OutgoingMessage(marker=MARKER, content=f"No embed here\n{MARKER} ")
    wanted = await simcord_world.poster.send(simcord_world.target(), of_its_own, nonce="n", before_request=unasked)
    await simcord_world.poster.send(simcord_world.target(), in_line, nonce="m", before_request=unasked)

    assert await found(simcord_world) == wanted.message_id


async def test_a_deleted_post_is_none(simcord_world: "SimulatedDiscord") -> None:
    message_id = await post(simcord_world)
    simcord_world.world.delete_message(simcord_world.place.announcements_id, message_id)

    assert await found(simcord_world) is None


@pytest.mark.parametrize("right", ["read_message_history", "view_channel"])
async def test_without_the_right_to_read_the_history_nobody_knows(
    simcord_world: "SimulatedDiscord", right: str
) -> None:
    await post(simcord_world)
    simcord_world.deny(**{right: True})

    # Discord itself would answer with an empty list.
    with pytest.raises(HistoryUnreadableError):
        await found(simcord_world)


async def test_a_deleted_channel_shows_nothing(simcord_world: "SimulatedDiscord") -> None:
    await post(simcord_world)
    simcord_world.backend.delete_channel(simcord_world.place.announcements_id)

    assert await found(simcord_world) is None


@pytest.mark.parametrize("code", [10003, 10004], ids=["channel", "server"])
async def test_a_channel_that_was_deleted_unnoticed_shows_nothing(simcord_world: "SimulatedDiscord", code: int) -> None:
    simcord_world.env.inject_error("GET", "/channels/*/messages", status=404, code=code)

    assert await found(simcord_world) is None


async def test_a_channel_of_another_guild_shows_nothing_of_this_one(simcord_world: "SimulatedDiscord") -> None:
    theirs = simcord_world.env.create_guild("Elsewhere").create_text_channel("theirs")

    assert (
        await simcord_world.poster.find(
            ChannelTarget(simcord_world.place.guild_id, theirs.id), marker=MARKER, after=LONG_AGO
        )
        is None
    )


@pytest.mark.parametrize(
    ("status", "code"),
    [(500, 0), (503, 0), (429, 0), (403, 50001), (403, 0), (404, 0), (401, 0)],
    ids=["500", "503", "429", "no access", "bare 403", "bare 404", "401"],
)
async def test_an_answer_that_shows_no_history_leaves_it_unread(
    simcord_world: "SimulatedDiscord", status: int, code: int
) -> None:
    await post(simcord_world)
    simcord_world.env.inject_error("GET", "/channels/*/messages", status=status, code=code)

    with pytest.raises(HistoryUnreadableError):
        await found(simcord_world)


async def test_a_failure_on_the_second_page_leaves_it_unread(simcord_world: "SimulatedDiscord") -> None:
    await post(simcord_world)
    say(simcord_world, 150)
    original, pages = simcord_world.bot.http.request, 0

    async def _second_page_fails(*args: object, **kwargs: object) -> object:
        nonlocal pages
        pages += 1
        if pages == 2:
            raise ConnectionResetError
        return await original(*args, **kwargs)  # type: ignore[arg-type]

    simcord_world.bot.http.request = _second_page_fails  # type: ignore[method-assign]

    with pytest.raises(HistoryUnreadableError):
        await found(simcord_world)


async def test_a_guild_outside_the_cache_leaves_it_unread(simcord_world: "SimulatedDiscord") -> None:
    await post(simcord_world)
    simcord_world.bot._connection._guilds.clear()

    with pytest.raises(HistoryUnreadableError):
        await found(simcord_world)


async def test_a_client_that_trips_over_an_answer_leaves_it_unread(
    simcord_world: "SimulatedDiscord", monkeypatch: pytest.MonkeyPatch
) -> None:
    async def _nonsense(*_: object, **__: object) -> list[dict[str, object]]:
        return [{"surprise": True}]

    monkeypatch.setattr(simcord_world.bot.http, "request", _nonsense)

    with pytest.raises(HistoryUnreadableError):
        await found(simcord_world)
