"""Direct messages, by the real client against a simulated Discord: opened, sent, found again, and refused."""

import datetime as dt
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import discord
import pytest
from simcord.builders import UserHandle

from bot.client import TocsinBot
from bot.clock import InjectedLeaseClock
from bot.delivery.channel_poster import ChannelPoster
from bot.leases.failures import ErrorClass, SendError, Verdict
from bot.leases.keys import MessageKey, nonce
from bot.leases.ports import DmTarget, HistoryUnreadableError, LeaseLostError
from bot.leases.snowflakes import snowflake_at
from bot.message.custom_ids import Verb, encode
from bot.message.outgoing import Button, ButtonStyle, Embed, OutgoingMessage
from tests.discord.openapi import described

if TYPE_CHECKING:
    from tests.discord.simulated import SimulatedDiscord

MARKER = "#7 sign-up"
MESSAGE = OutgoingMessage(
    marker=MARKER,
    content="Sign-ups are open.",
    embed=Embed(title="Raid night", footer=MARKER),
    buttons=(
        Button("Sign up", encode(Verb.SIGN_UP, 7), ButtonStyle.SUCCESS),
        Button("Maybe", encode(Verb.MAYBE, 7), disabled=True),
    ),
)
OPENING, SENDING = "/users/@me/channels", "/channels/*/messages"
LONG_AGO = 0


async def unasked() -> None:
    """Let every request go."""


@dataclass
class Post:
    """A bot in a world, and one person of its guild whom it writes to."""

    discord_: "SimulatedDiscord"
    bot: TocsinBot

    @property
    def who(self) -> int:
        return self.discord_.place.player_ids[0]

    @property
    def poster(self) -> ChannelPoster:
        return ChannelPoster(self.bot)

    @property
    def person(self) -> UserHandle:
        env = self.discord_.env
        return UserHandle(env, env.backend.get_user(self.who))

    async def open(self, who: int | None = None) -> DmTarget:
        who = who or self.who
        return DmTarget(who, await self.poster.open_dm(who))

    async def send(self, target: DmTarget, message: OutgoingMessage = MESSAGE) -> int:
        key = nonce(MessageKey("signup_reminder", 7, target.recipient_id), target_id=target.channel_id)
        sent = await self.poster.send(target, message, nonce=key, before_request=unasked)
        assert sent.channel_id == target.channel_id
        return sent.message_id

    async def found(self, target: DmTarget, *, marker: str = MARKER, after: int = LONG_AGO) -> int | None:
        delivered = await self.poster.find(target, marker=marker, after=after)
        return delivered.message_id if delivered is not None else None

    def read(self) -> list[discord.Message]:
        """What the person sees, oldest first."""
        return self.person.dm_channel.history()

    def requests(self, method: str, path: str) -> list[Any]:
        return [one for one in self.discord_.env.http_requests if one.method == method and one.path == path]

    async def restart(self) -> None:
        """End the bot's process and start another in the same world, which knows nothing of what was opened."""
        world = self.discord_.world
        await world.detach()
        self.bot = TocsinBot(clock=world.clock, lease_clock=InjectedLeaseClock(world.clock), extensions_to_load=())
        await world.attach(self.bot)


@pytest.fixture
async def post(simcord_world: "SimulatedDiscord") -> Post:
    return Post(simcord_world, simcord_world.bot)


async def refusal(call: Callable[[], Awaitable[object]]) -> SendError:
    with pytest.raises(SendError) as caught:
        await call()
    return caught.value


# ------------------------------------------------------------------------------------------------------------- opened


async def test_opening_a_channel_twice_gives_the_same_one_and_says_nothing_to_anybody(post: Post) -> None:
    first, second = await post.open(), await post.open()

    assert first == second
    assert post.read() == []


async def test_each_person_has_a_channel_of_their_own(post: Post) -> None:
    targets = [await post.open(who) for who in post.discord_.place.player_ids]

    assert len({target.channel_id for target in targets}) == len(targets) == 2


async def test_a_channel_is_the_same_after_a_restart(post: Post) -> None:
    before = await post.open()

    await post.restart()

    assert await post.open() == before


async def test_the_request_that_opens_a_channel_fits_discords_own_description(post: Post) -> None:
    validator = described("POST", OPENING)

    await post.open()

    (request,) = post.requests("POST", OPENING)
    # The library writes this id as a number, which Discord takes and its description does not.
    body = request.json | {"recipient_id": str(request.json["recipient_id"])}
    assert [error.message for error in validator.iter_errors(body)] == []


@pytest.mark.parametrize(
    ("status", "code", "error_class", "verdict"),
    [
        pytest.param(400, 50007, ErrorClass.RECIPIENT_UNREACHABLE, Verdict.PERMANENT, id="takes none"),
        pytest.param(403, 50278, ErrorClass.RECIPIENT_UNREACHABLE, Verdict.PERMANENT, id="no server in common"),
        pytest.param(404, 10013, ErrorClass.RECIPIENT_UNREACHABLE, Verdict.PERMANENT, id="no such account"),
        pytest.param(400, 40003, ErrorClass.OPENING_TOO_FAST, Verdict.TRANSIENT, id="too fast, as 400"),
        pytest.param(403, 40003, ErrorClass.OPENING_TOO_FAST, Verdict.TRANSIENT, id="too fast, as 403"),
        pytest.param(429, 40003, ErrorClass.OPENING_TOO_FAST, Verdict.TRANSIENT, id="too fast, as 429"),
        pytest.param(403, 20026, ErrorClass.OPENING_TOO_FAST, Verdict.TRANSIENT, id="flagged"),
        pytest.param(401, 0, ErrorClass.UNAUTHORIZED, Verdict.TRANSIENT, id="token"),
        pytest.param(500, 0, ErrorClass.OUTAGE, Verdict.TRANSIENT, id="500"),
        pytest.param(503, 0, ErrorClass.OUTAGE, Verdict.TRANSIENT, id="503"),
    ],
)
async def test_a_channel_that_is_not_opened_leaves_nothing_open(
    post: Post, status: int, code: int, error_class: ErrorClass, verdict: Verdict
) -> None:
    post.discord_.env.inject_error("POST", OPENING, status=status, code=code)

    error = await refusal(post.open)

    # Whatever became of the request: nothing was sent, so that nobody has to be looked up.
    assert (error.error_class, error.verdict, error.may_have_arrived) == (error_class, verdict, False)


async def test_an_account_that_is_gone_is_unreachable(post: Post) -> None:
    error = await refusal(lambda: post.open(1))

    assert (error.error_class, error.verdict) == (ErrorClass.RECIPIENT_UNREACHABLE, Verdict.PERMANENT)


# --------------------------------------------------------------------------------------------------------------- sent


async def test_a_dm_has_its_text_its_embed_and_its_buttons(post: Post) -> None:
    target = await post.open()

    message_id = await post.send(target)

    (message,) = post.read()
    (embed,) = message.embeds
    (row,) = message.components
    assert isinstance(row, discord.ActionRow)
    assert (message.id, message.content) == (message_id, "Sign-ups are open.")
    assert (embed.title, embed.footer.text) == ("Raid night", MARKER)
    assert [(one.label, one.custom_id, one.disabled) for one in row.children if isinstance(one, discord.Button)] == [
        ("Sign up", "t1:signup:7", False),
        ("Maybe", "t1:maybe:7", True),
    ]


async def test_a_dm_carries_a_nonce_that_discord_enforces_and_fits_its_description(post: Post) -> None:
    validator = described("POST", "/channels/{channel_id}/messages")
    target = await post.open()

    await post.send(target)

    (body,) = post.discord_.bodies_of("POST")
    assert body["enforce_nonce"] is True
    assert 0 < len(body["nonce"]) <= 25
    assert body["allowed_mentions"]["parse"] == []
    body["allowed_mentions"] |= {"roles": [], "users": []}
    assert [error.message for error in validator.iter_errors(body)] == []


async def test_after_a_restart_a_dm_goes_out_by_the_stored_channel_alone(post: Post) -> None:
    target = await post.open()
    await post.restart()
    before = len(post.discord_.env.http_requests)

    await post.send(target)

    assert [(one.method, one.path) for one in post.discord_.env.http_requests[before:]] == [
        ("POST", f"/channels/{target.channel_id}/messages")
    ]
    assert [message.content for message in post.read()] == ["Sign-ups are open."]


async def test_a_dm_needs_no_server_in_the_cache(post: Post) -> None:
    target = await post.open()
    post.bot._connection._guilds.clear()

    await post.send(target)

    assert len(post.read()) == 1


async def test_many_dms_leave_no_buttons_with_the_library(post: Post) -> None:
    target = await post.open()

    for _ in range(10):
        await post.send(target)

    kept = post.bot._connection._view_store
    assert (kept._views, kept._synced_message_views) == ({}, {})


async def test_a_dm_whose_lease_was_lost_is_not_sent(post: Post) -> None:
    target = await post.open()

    async def _lost() -> None:
        raise LeaseLostError

    with pytest.raises(LeaseLostError):
        await post.poster.send(target, MESSAGE, nonce="n", before_request=_lost)

    assert post.read() == []


# ------------------------------------------------------------------------------------------------------------ refused


@pytest.mark.parametrize(
    ("status", "code", "error_class", "verdict"),
    [
        pytest.param(403, 50007, ErrorClass.RECIPIENT_UNREACHABLE, Verdict.PERMANENT, id="closed"),
        pytest.param(400, 50007, ErrorClass.RECIPIENT_UNREACHABLE, Verdict.PERMANENT, id="closed, as 400"),
        pytest.param(403, 50278, ErrorClass.RECIPIENT_UNREACHABLE, Verdict.PERMANENT, id="no server in common"),
        pytest.param(429, 40003, ErrorClass.OPENING_TOO_FAST, Verdict.TRANSIENT, id="too fast"),
        pytest.param(403, 20026, ErrorClass.OPENING_TOO_FAST, Verdict.TRANSIENT, id="flagged"),
        pytest.param(404, 10003, ErrorClass.GONE, Verdict.PERMANENT, id="channel gone"),
        pytest.param(403, 50001, ErrorClass.FORBIDDEN, Verdict.PERMANENT, id="no access"),
        pytest.param(400, 50035, ErrorClass.INVALID, Verdict.PERMANENT, id="invalid"),
        pytest.param(401, 0, ErrorClass.UNAUTHORIZED, Verdict.TRANSIENT, id="token"),
        pytest.param(500, 0, ErrorClass.OUTAGE, Verdict.UNKNOWN, id="500"),
    ],
)
async def test_a_refused_dm_says_what_became_of_it(
    post: Post, status: int, code: int, error_class: ErrorClass, verdict: Verdict
) -> None:
    target = await post.open()
    post.discord_.env.inject_error("POST", SENDING, status=status, code=code)

    error = await refusal(lambda: post.send(target))

    assert (error.error_class, error.verdict, error.missing) == (error_class, verdict, ())
    assert post.read() == []


async def test_another_bot_takes_no_dm(post: Post) -> None:
    other = post.discord_.env.create_user("machine", bot=True)
    target = await post.open(other.id)

    error = await refusal(lambda: post.send(target))

    assert error.error_class is ErrorClass.RECIPIENT_UNREACHABLE


async def test_an_unknown_message_as_the_answer_to_a_dm_means_that_it_had_arrived(post: Post) -> None:
    target = await post.open()
    post.discord_.env.inject_error("POST", SENDING, status=404, code=10008, message="Unknown Message")

    assert await post.send(target) == 0


# -------------------------------------------------------------------------------------------------------- found again


async def chatter(post: Post, times: int) -> None:
    """Let the person write to the bot, a second apart."""
    channel_id = post.discord_.backend.get_dm_channel(post.who).id
    for number in range(times):
        post.discord_.world.advance_to(post.discord_.world.now() + dt.timedelta(seconds=1))
        post.discord_.backend.create_message(channel_id, post.who, f"chatter {number}")


async def test_a_dm_is_found_below_what_the_person_wrote_also_after_a_restart(post: Post) -> None:
    target = await post.open()
    message_id = await post.send(target)
    await chatter(post, 120)

    before = await post.found(target)
    await post.restart()

    assert (before, await post.found(target)) == (message_id, message_id)


async def test_a_dm_is_found_by_its_own_marker_in_its_own_channel_alone(post: Post) -> None:
    target, other = [await post.open(who) for who in post.discord_.place.player_ids]
    message_id = await post.send(target)

    found = [await post.found(target, marker=marker) for marker in (MARKER, "#7", "#7 attendance", "#70 sign-up")]

    assert found == [message_id, None, None, None]
    assert await post.found(other) is None


async def test_what_the_person_copied_into_the_dm_is_not_taken_for_it(post: Post) -> None:
    target = await post.open()
    post.discord_.backend.create_message(target.channel_id, post.who, f"you wrote\n{MARKER}")

    assert await post.found(target) is None


@pytest.mark.parametrize(("offset", "expected"), [(0, True), (1, False)], ids=["exactly as old", "just older"])
async def test_a_dm_older_than_asked_is_none(post: Post, offset: int, expected: bool) -> None:
    target = await post.open()
    message_id = await post.send(target)

    assert await post.found(target, after=message_id + offset) == (message_id if expected else None)


async def test_the_history_of_a_dm_is_walked_newest_first_and_only_as_far_as_asked(post: Post) -> None:
    target = await post.open()
    await chatter(post, 150)
    after = snowflake_at(post.discord_.world.now() + dt.timedelta(seconds=1))
    await chatter(post, 3)
    requests = len(post.discord_.env.http_requests)

    assert await post.found(target, after=after) is None

    (request,) = post.discord_.env.http_requests[requests:]
    assert (request.path, "after" in request.params) == (f"/channels/{target.channel_id}/messages", False)


async def test_a_dm_is_found_without_a_server_in_the_cache(post: Post) -> None:
    target = await post.open()
    message_id = await post.send(target)
    post.bot._connection._guilds.clear()

    assert await post.found(target) == message_id


async def test_a_dm_channel_that_is_gone_shows_nothing(post: Post) -> None:
    target = await post.open()
    post.discord_.env.inject_error("GET", SENDING, status=404, code=10003)

    assert await post.found(target) is None


@pytest.mark.parametrize(
    ("status", "code", "lacks_permission"),
    [(500, 0, False), (429, 0, False), (403, 50001, True), (403, 50007, False), (404, 0, False), (401, 0, False)],
    ids=["500", "429", "no access", "closed", "bare 404", "401"],
)
async def test_a_dm_whose_history_is_not_shown_stays_unread(
    post: Post, status: int, code: int, lacks_permission: bool
) -> None:
    target = await post.open()
    await post.send(target)
    post.discord_.env.inject_error("GET", SENDING, status=status, code=code)

    with pytest.raises(HistoryUnreadableError) as caught:
        await post.found(target)

    assert caught.value.lacks_permission is lacks_permission


async def test_two_dms_of_one_event_are_told_apart(post: Post) -> None:
    target = await post.open()
    other = replace(MESSAGE, marker="#7 profile", embed=Embed(title="Raid night", footer="#7 profile"))

    ids = [await post.send(target), await post.send(target, other)]

    assert [await post.found(target, marker=marker) for marker in (MARKER, "#7 profile")] == ids
