"""Posts in channels, by the real client against a simulated Discord."""

import dataclasses
from typing import TYPE_CHECKING, Any

import discord
import pytest

from bot.delivery.channel_poster import ChannelPoster, allowed_mentions
from bot.leases.failures import ErrorClass, SendError, Verdict
from bot.leases.keys import MessageKey, nonce
from bot.leases.ports import ChannelTarget, LeaseLostError
from bot.message.custom_ids import Verb, encode
from bot.message.outgoing import Button, ButtonStyle, Embed, EmbedField, OutgoingMessage
from tests.discord.openapi import described
from tests.official.checks import apart

if TYPE_CHECKING:
    from tests.discord.simulated import SimulatedDiscord

NONCE = nonce(MessageKey("event_announcement", 7), target_id=2**63 - 1)
MARKER = "#7"
MESSAGE = OutgoingMessage(
    marker=MARKER,
    content="See you there",
    embed=Embed(
        title="Raid night",
        description="Bring a lamp.",
        fields=(EmbedField("When", "<t:1772400000:F>"), EmbedField("Places", "12", inline=True)),
        footer=MARKER,
        color=0x5865F2,
    ),
)
PINGS = "@everyone party with @here, {role} and {user}"


async def unasked() -> None:
    """Let every request go."""


async def post(
    discord_: "SimulatedDiscord", message: OutgoingMessage = MESSAGE, *, target: ChannelTarget | None = None
) -> int:
    sent = await discord_.poster.send(target or discord_.target(), message, nonce=NONCE, before_request=unasked)
    return sent.message_id


async def refusal_of(discord_: "SimulatedDiscord", *, target: ChannelTarget | None = None) -> SendError:
    with pytest.raises(SendError) as caught:
        await post(discord_, target=target)
    return caught.value


# --------------------------------------------------------------------------------------------------------- what is sent


async def test_a_post_has_its_text_its_embed_and_the_marker_in_its_footer(simcord_world: "SimulatedDiscord") -> None:
    message_id = await post(simcord_world)

    (message,) = simcord_world.messages()
    (embed,) = message.embeds
    assert message.id == message_id
    assert message.content == "See you there"
    assert (embed.title, embed.description, embed.footer.text) == ("Raid night", "Bring a lamp.", MARKER)
    assert [(one.name, one.value, one.inline) for one in embed.fields] == [
        ("When", "<t:1772400000:F>", False),
        ("Places", "12", True),
    ]
    assert embed.color == discord.Color(0x5865F2)


async def test_a_post_without_an_embed_is_its_text_alone(simcord_world: "SimulatedDiscord") -> None:
    await post(simcord_world, OutgoingMessage(marker=MARKER, content=f"See you there\n{MARKER}"))

    (message,) = simcord_world.messages()
    assert message.content == f"See you there\n{MARKER}"
    assert message.embeds == []


async def test_every_request_carries_the_nonce_that_discord_enforces(simcord_world: "SimulatedDiscord") -> None:
    await post(simcord_world)

    (body,) = simcord_world.bodies_of("POST")
    assert body["nonce"] == NONCE
    assert body["enforce_nonce"] is True
    assert len(body["nonce"]) <= 25


@pytest.mark.parametrize("in_embed", [False, True], ids=["in the text", "in the embed"])
async def test_user_text_pings_nobody(simcord_world: "SimulatedDiscord", in_embed: bool) -> None:
    role = simcord_world.guild.create_role("Raiders", mentionable=True)
    text = PINGS.format(role=role.mention, user=f"<@{simcord_world.place.player_ids[0]}>")
    embed = Embed(title=text, description=text, fields=(EmbedField(text, text),), footer=MARKER)
    message = OutgoingMessage(marker=MARKER, embed=embed) if in_embed else OutgoingMessage(marker=MARKER, content=text)

    message_id = await post(simcord_world, message)

    (body,) = simcord_world.bodies_of("POST")
    stored = simcord_world.backend.get_message(simcord_world.place.announcements_id, message_id)
    assert body["allowed_mentions"]["parse"] == []
    assert not body["allowed_mentions"].get("roles")
    assert not body["allowed_mentions"].get("users")
    assert (stored.ping_role_ids, stored.ping_user_ids, stored.mention_everyone) == ([], [], False)


async def test_a_configured_role_and_a_named_person_ping_and_nobody_else(simcord_world: "SimulatedDiscord") -> None:
    wanted = simcord_world.guild.create_role("Raiders", mentionable=True)
    other = simcord_world.guild.create_role("Admins", mentionable=True)
    ada, bruno = simcord_world.place.player_ids
    content = f"{wanted.mention} {other.mention} <@{ada}> <@{bruno}> @everyone @here"
    message = OutgoingMessage(marker=MARKER, content=content, mention_role_ids=(wanted.id,), mention_user_ids=(ada,))

    message_id = await post(simcord_world, message)

    stored = simcord_world.backend.get_message(simcord_world.place.announcements_id, message_id)
    assert (stored.ping_role_ids, stored.ping_user_ids) == ([wanted.id], [ada])
    assert not stored.mention_everyone


def test_nobody_may_be_pinged_unless_named() -> None:
    mentions = allowed_mentions(MESSAGE)

    assert (mentions.everyone, mentions.replied_user, mentions.roles, mentions.users) == (False, False, [], [])


async def test_an_edit_changes_the_post_and_pings_nobody(simcord_world: "SimulatedDiscord") -> None:
    role = simcord_world.guild.create_role("Raiders", mentionable=True)
    message_id = await post(simcord_world)
    changed = OutgoingMessage(marker=MARKER, content=role.mention, embed=MESSAGE.embed, mention_role_ids=(role.id,))

    await simcord_world.poster.edit(simcord_world.target(), message_id, changed)

    (message,) = simcord_world.messages()
    (body,) = simcord_world.bodies_of("PATCH")
    stored = simcord_world.backend.get_message(simcord_world.place.announcements_id, message_id)
    assert message.content == role.mention
    assert body["allowed_mentions"]["parse"] == []
    assert stored.ping_role_ids == []


async def test_an_edit_takes_away_the_text_and_the_embed_that_are_gone(simcord_world: "SimulatedDiscord") -> None:
    message_id = await post(simcord_world)

    await simcord_world.poster.edit(
        simcord_world.target(), message_id, OutgoingMessage(marker=MARKER, content="Cancelled")
    )

    (message,) = simcord_world.messages()
    assert (message.content, message.embeds) == ("Cancelled", [])


# ------------------------------------------------------------------------------------------------------------- buttons


BUTTONS = (
    Button("Sign up", encode(Verb.SIGN_UP, 7), ButtonStyle.SUCCESS),
    Button("Maybe", encode(Verb.MAYBE, 7)),
    Button("Can't make it", encode(Verb.DECLINE, 7), ButtonStyle.DANGER, disabled=True),
    Button("Notify me", encode(Verb.NOTIFY, 2**63 - 1), ButtonStyle.PRIMARY),
)


def rows_of(message: discord.Message) -> list[list[tuple[str | None, str | None, str, bool]]]:
    """The buttons of a post, row by row: label, custom id, style, whether it cannot be pressed."""
    rows = [one for one in message.components if isinstance(one, discord.ActionRow)]
    return [
        [
            (one.label, one.custom_id, one.style.name, one.disabled)
            for one in row.children
            if isinstance(one, discord.Button)
        ]
        for row in rows
    ]


async def test_buttons_are_shown_as_meant_and_a_disabled_one_cannot_be_pressed(
    simcord_world: "SimulatedDiscord",
) -> None:
    await post(simcord_world, dataclasses.replace(MESSAGE, buttons=BUTTONS))

    (message,) = simcord_world.messages()
    assert rows_of(message) == [
        [
            ("Sign up", "t1:signup:7", "success", False),
            ("Maybe", "t1:maybe:7", "secondary", False),
            ("Can't make it", "t1:decline:7", "danger", True),
            ("Notify me", f"t1:notify:{2**63 - 1}", "primary", False),
        ]
    ]


async def test_as_many_buttons_as_fit_stand_in_rows_of_five(simcord_world: "SimulatedDiscord") -> None:
    buttons = tuple(Button(f"{number}", encode(Verb.SIGN_UP, number)) for number in range(25))

    await post(simcord_world, dataclasses.replace(MESSAGE, buttons=buttons))

    (message,) = simcord_world.messages()
    labels = [[one[0] for one in row] for row in rows_of(message)]
    assert labels == [[f"{number}" for number in range(first, first + 5)] for first in range(0, 25, 5)]


async def test_an_edit_takes_buttons_away_and_brings_others(simcord_world: "SimulatedDiscord") -> None:
    message_id = await post(simcord_world, dataclasses.replace(MESSAGE, buttons=BUTTONS))
    seen = []

    for buttons in ((), BUTTONS[:1]):
        changed = dataclasses.replace(MESSAGE, buttons=buttons)
        await simcord_world.poster.edit(simcord_world.target(), message_id, changed)
        seen.append([[one[0] for one in row] for row in rows_of(simcord_world.messages()[0])])

    assert seen == [[], [["Sign up"]]]


async def test_the_library_keeps_no_buttons_however_many_posts_have_them(simcord_world: "SimulatedDiscord") -> None:
    kept = simcord_world.bot._connection._view_store
    message_id = await post(simcord_world, dataclasses.replace(MESSAGE, buttons=BUTTONS))

    for number in range(20):
        buttons = tuple(dataclasses.replace(one, disabled=bool(number % 2)) for one in BUTTONS)
        changed = dataclasses.replace(MESSAGE, buttons=buttons)
        await post(simcord_world, changed)
        await simcord_world.poster.edit(simcord_world.target(), message_id, changed)

    assert (kept._views, kept._synced_message_views) == ({}, {})


async def test_a_thread_and_a_voice_channel_take_posts(simcord_world: "SimulatedDiscord") -> None:
    parent = simcord_world.place.announcements_id
    thread = simcord_world.backend.create_thread(parent, "side room", simcord_world.backend.bot_user.id)
    voice = simcord_world.guild.create_voice_channel("talk")
    await simcord_world.env.settle()

    for channel_id in (thread.id, voice.id):
        await post(simcord_world, target=simcord_world.target(channel_id))

    assert [len(simcord_world.messages(channel_id)) for channel_id in (thread.id, voice.id)] == [1, 1]


# ------------------------------------------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    ("rights", "missing"),
    [
        # Without the first of them Discord takes the next as not granted either.
        ({"send_messages": True}, ("Send Messages", "Embed Links")),
        (
            {"send_messages": True, "read_message_history": True},
            ("Send Messages", "Embed Links", "Read Message History"),
        ),
        ({"view_channel": True}, ("View Channel", "Send Messages", "Embed Links", "Read Message History")),
    ],
    ids=["send", "send and history", "view"],
)
async def test_a_forbidden_channel_is_told_with_what_the_bot_lacks_there(
    simcord_world: "SimulatedDiscord", rights: dict[str, bool], missing: tuple[str, ...]
) -> None:
    simcord_world.deny(**rights)

    error = await refusal_of(simcord_world)

    assert error.error_class is ErrorClass.FORBIDDEN
    assert error.verdict is Verdict.PERMANENT
    assert error.missing == missing
    assert simcord_world.messages() == []


async def test_a_forbidden_thread_is_told_by_its_own_permission(simcord_world: "SimulatedDiscord") -> None:
    parent = simcord_world.place.announcements_id
    thread = simcord_world.backend.create_thread(parent, "side room", simcord_world.backend.bot_user.id)
    simcord_world.deny(send_messages_in_threads=True)
    await simcord_world.env.settle()

    error = await refusal_of(simcord_world, target=simcord_world.target(thread.id))

    assert error.error_class is ErrorClass.FORBIDDEN
    assert error.missing[0] == "Send Messages in Threads"


async def test_a_deleted_channel_is_gone(simcord_world: "SimulatedDiscord") -> None:
    simcord_world.backend.delete_channel(simcord_world.place.announcements_id)

    error = await refusal_of(simcord_world)

    assert (error.error_class, error.verdict) == (ErrorClass.GONE, Verdict.PERMANENT)


async def test_a_channel_that_was_deleted_unnoticed_is_gone(simcord_world: "SimulatedDiscord") -> None:
    # Discord's answer, while the client still holds the channel.
    simcord_world.env.inject_error("POST", "/channels/*/messages", status=404, code=10003, message="Unknown Channel")

    error = await refusal_of(simcord_world)

    assert error.error_class is ErrorClass.GONE


async def test_a_channel_of_another_guild_is_refused_before_any_request(simcord_world: "SimulatedDiscord") -> None:
    other = simcord_world.env.create_guild("Elsewhere")
    theirs = other.create_text_channel("theirs")

    error = await refusal_of(simcord_world, target=ChannelTarget(simcord_world.place.guild_id, theirs.id))

    assert error.error_class is ErrorClass.GONE
    assert simcord_world.bodies_of("POST") == []


@pytest.mark.parametrize("kind", ["category", "forum", "direct messages"])
async def test_a_channel_that_takes_no_posts_of_a_server_is_refused(
    simcord_world: "SimulatedDiscord", kind: str
) -> None:
    if kind == "direct messages":
        user = await simcord_world.bot.fetch_user(simcord_world.place.player_ids[0])
        channel_id = (await user.create_dm()).id
    elif kind == "category":
        channel_id = simcord_world.guild.create_category("Games").id
    else:
        channel_id = simcord_world.guild.create_forum_channel("board").id

    error = await refusal_of(simcord_world, target=simcord_world.target(channel_id))

    assert error.error_class is ErrorClass.GONE
    assert simcord_world.bodies_of("POST") == []


async def test_a_channel_outside_the_cache_is_asked_for(simcord_world: "SimulatedDiscord") -> None:
    cache = simcord_world.bot.get_guild(simcord_world.place.guild_id)
    assert cache is not None
    cache._channels.pop(simcord_world.place.announcements_id)

    await post(simcord_world)

    assert len(simcord_world.messages()) == 1


async def test_a_failed_look_up_of_the_channel_leaves_nothing_open(simcord_world: "SimulatedDiscord") -> None:
    cache = simcord_world.bot.get_guild(simcord_world.place.guild_id)
    assert cache is not None
    cache._channels.pop(simcord_world.place.announcements_id)
    simcord_world.env.inject_error("GET", "/channels/*", status=503)

    error = await refusal_of(simcord_world)

    assert (error.error_class, error.verdict) == (ErrorClass.OUTAGE, Verdict.TRANSIENT)


async def test_a_guild_outside_the_cache_gives_a_named_error_and_no_other(simcord_world: "SimulatedDiscord") -> None:
    simcord_world.bot._connection._guilds.clear()
    simcord_world.env.inject_error("POST", "/channels/*/messages", status=403, code=50013)

    error = await refusal_of(simcord_world)

    assert (error.error_class, error.missing) == (ErrorClass.FORBIDDEN, ())


async def test_an_unknown_message_as_the_answer_to_a_send_means_that_it_had_arrived(
    simcord_world: "SimulatedDiscord",
) -> None:
    simcord_world.env.inject_error("POST", "/channels/*/messages", status=404, code=10008, message="Unknown Message")

    delivered = await simcord_world.poster.send(simcord_world.target(), MESSAGE, nonce=NONCE, before_request=unasked)

    assert (delivered.message_id, delivered.channel_id) == (0, simcord_world.place.announcements_id)


async def test_after_a_server_error_nobody_knows(simcord_world: "SimulatedDiscord") -> None:
    simcord_world.env.inject_error("POST", "/channels/*/messages", status=500)

    error = await refusal_of(simcord_world)

    assert (error.error_class, error.verdict) == (ErrorClass.OUTAGE, Verdict.UNKNOWN)


async def test_a_post_that_breaks_a_limit_is_invalid(simcord_world: "SimulatedDiscord") -> None:
    too_long = dataclasses.replace(MESSAGE)
    object.__setattr__(too_long, "content", "x" * 2001)

    with apart(), pytest.raises(SendError) as caught:
        await post(simcord_world, too_long)

    assert (caught.value.error_class, caught.value.verdict) == (ErrorClass.INVALID, Verdict.PERMANENT)


async def test_the_edit_of_a_deleted_post_says_that_it_is_gone(simcord_world: "SimulatedDiscord") -> None:
    message_id = await post(simcord_world)
    simcord_world.world.delete_message(simcord_world.place.announcements_id, message_id)

    with pytest.raises(SendError) as caught:
        await simcord_world.poster.edit(simcord_world.target(), message_id, MESSAGE)

    assert caught.value.error_class is ErrorClass.GONE


async def test_the_edit_in_a_hidden_channel_is_told_with_what_the_bot_lacks(
    simcord_world: "SimulatedDiscord",
) -> None:
    message_id = await post(simcord_world)
    simcord_world.deny(view_channel=True)

    with pytest.raises(SendError) as caught:
        await simcord_world.poster.edit(simcord_world.target(), message_id, MESSAGE)

    assert caught.value.error_class is ErrorClass.FORBIDDEN
    assert "View Channel" in caught.value.missing


# ---------------------------------------------------------------------------------------------- what the caller decides


async def test_a_lease_that_was_lost_sends_nothing(simcord_world: "SimulatedDiscord") -> None:
    async def _lost() -> None:
        raise LeaseLostError

    with pytest.raises(LeaseLostError):
        await simcord_world.poster.send(simcord_world.target(), MESSAGE, nonce=NONCE, before_request=_lost)

    assert simcord_world.bodies_of("POST") == []


async def test_what_asking_raises_is_the_callers_own_and_comes_through(simcord_world: "SimulatedDiscord") -> None:
    lost = ConnectionResetError("the database is gone")

    async def _broken() -> None:
        raise lost

    with pytest.raises(ConnectionResetError) as caught:
        await simcord_world.poster.send(simcord_world.target(), MESSAGE, nonce=NONCE, before_request=_broken)

    assert caught.value is lost
    assert simcord_world.bodies_of("POST") == []


async def test_a_client_that_trips_over_an_answer_gives_a_named_error(
    simcord_world: "SimulatedDiscord", monkeypatch: pytest.MonkeyPatch
) -> None:
    async def _nonsense(*_: object, **__: object) -> dict[str, Any]:
        return {"surprise": True}

    monkeypatch.setattr(simcord_world.bot.http, "request", _nonsense)

    error = await refusal_of(simcord_world)

    assert error.error_class is ErrorClass.INVALID
    assert "KeyError" in error.text


async def test_a_client_that_is_not_logged_in_gives_a_named_error() -> None:
    client = discord.Client(intents=discord.Intents.none())

    with pytest.raises(SendError):
        await ChannelPoster(client).send(ChannelTarget(1, 2), MESSAGE, nonce=NONCE, before_request=unasked)


# ------------------------------------------------------------------------------------------------- Discord's own schema


@pytest.mark.parametrize("method", ["POST", "PATCH"])
async def test_what_is_sent_fits_discords_own_description(simcord_world: "SimulatedDiscord", method: str) -> None:
    path = "/channels/{channel_id}/messages" + ("/{message_id}" if method == "PATCH" else "")
    validator = described(method, path)
    role = simcord_world.guild.create_role("Raiders", mentionable=True)
    whole = dataclasses.replace(
        MESSAGE,
        buttons=BUTTONS,
        mention_role_ids=(role.id,),
        mention_user_ids=(simcord_world.place.player_ids[0],),
    )

    message_id = await post(simcord_world, whole)
    await simcord_world.poster.edit(simcord_world.target(), message_id, whole)

    (body,) = simcord_world.bodies_of(method)
    # The library writes these ids as numbers, which Discord takes and its description does not.
    body["allowed_mentions"] |= {
        name: [str(one) for one in body["allowed_mentions"].get(name, ())] for name in ("roles", "users")
    }
    assert [error.message for error in validator.iter_errors(body)] == []
