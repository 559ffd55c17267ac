"""The ground under every command: who may use it, the one error handler, the answer."""

import errno
import sqlite3
from typing import TYPE_CHECKING, Any

import aiohttp
import discord
import pytest
from discord import app_commands

from bot.command_tree import (
    Access,
    Interaction,
    answer,
    declared_needs,
    is_admin,
    require_admin,
    tell_error,
)
from bot.errors import BotError
from bot.message.custom_ids import Verb, encode
from bot.message.limits import CONTENT, length
from bot.message.outgoing import Button, Embed
from bot.presses import FormInput, show_form
from models.guild_settings import GuildSettings
from tests.discord.acting import (
    Stage,
    answered,
    elsewhere,
    labels,
)
from tests.discord.probe import Probe, RefusedError, raising

if TYPE_CHECKING:
    from structlog.typing import EventDict

TOKEN = "MTIzNDU2.planted.secret"


# -------------------------------------------------------------------------------------------------------------- access


async def test_an_admin_and_a_holder_of_the_manager_role_may_and_a_plain_member_may_not(
    stage: Stage, probe: Probe
) -> None:
    assert await stage.says(stage.admin, "steer") == "steer ran"
    assert await stage.says(stage.manager, "steer") == "steer ran"

    refused = await stage.says(stage.member, "steer")

    assert refused == "You need the Manage Server permission here, or this server's manager role."
    assert probe.calls == ["steer", "steer"]


async def test_a_command_for_members_is_everybodys(stage: Stage, probe: Probe) -> None:
    for actor in (stage.admin, stage.manager, stage.member):
        assert await stage.says(actor, "look") == "look ran"


async def test_a_command_that_declares_nothing_is_for_admins(stage: Stage, probe: Probe) -> None:
    assert "Manage Server" in await stage.says(stage.member, "silent")
    assert await stage.says(stage.admin, "silent") == "silent ran"


async def test_manage_server_by_a_role_of_any_name_is_enough(stage: Stage, probe: Probe) -> None:
    guild = stage.discord_.guild
    role = guild.create_role("anything", permissions=discord.Permissions(manage_guild=True))
    actor = guild.add_member(stage.discord_.env.create_user("pia"), roles=[role])

    assert await stage.says(actor, "steer") == "steer ran"


async def test_without_a_manager_role_nobody_passes_by_one(stage: Stage, probe: Probe) -> None:
    await GuildSettings.filter(guild_id=stage.guild_id).update(manager_role_id=None)

    assert "Manage Server" in await stage.says(stage.manager, "steer")


async def test_everybodys_role_as_the_manager_role_makes_nobody_an_admin(stage: Stage, probe: Probe) -> None:
    # The settings refuse it; a row may hold it all the same.
    await GuildSettings.filter(guild_id=stage.guild_id).update(manager_role_id=stage.guild_id)

    assert "Manage Server" in await stage.says(stage.member, "steer")


async def test_the_manager_role_of_one_server_opens_nothing_in_another(stage: Stage, probe: Probe) -> None:
    owner, channel = await elsewhere(stage)
    actor = owner.guild.add_member(stage.manager.user)

    shown = answered(await actor.slash(channel, "steer"))

    assert "Manage Server" in shown.content
    assert probe.calls == []


async def test_outside_a_server_nothing_runs_and_one_sentence_says_so(stage: Stage, probe: Probe) -> None:
    await stage.admin.user.send_dm("hello")

    shown = answered(await stage.admin.user.slash("look"))

    assert shown.content == "This works in a server only, not in direct messages."
    assert probe.calls == []


async def test_a_server_that_is_not_on_the_list_is_refused_whoever_asks(
    stage: Stage, probe: Probe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stage.bot.presence, "_allow_list", frozenset({1}))

    assert "not set up to serve this server" in await stage.says(stage.admin, "look")
    assert probe.calls == []


async def test_a_server_that_discord_does_not_show_now_is_refused(
    stage: Stage, probe: Probe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stage.bot.presence, "is_available", lambda _guild_id: False)

    assert "try again in a few minutes" in await stage.says(stage.admin, "look")
    assert probe.calls == []


async def test_a_command_is_deferred_privately_before_the_database_is_asked(
    stage: Stage, probe: Probe, monkeypatch: pytest.MonkeyPatch
) -> None:
    deferred: list[bool] = []

    async def _asked(interaction: Interaction) -> None:
        deferred.append(interaction.response.is_done())

    monkeypatch.setattr("bot.command_tree.require_admin", _asked)
    result = await stage.admin.slash(stage.channel, "steer")

    callbacks = [one.json for one in stage.discord_.env.http_requests if one.path.endswith("/callback")]
    assert deferred == [True]
    assert callbacks == [{"type": 5, "data": {"flags": 64}}]
    assert result.ephemeral


async def test_a_command_that_answers_with_a_form_is_not_deferred_and_still_checked(stage: Stage, probe: Probe) -> None:
    async def _form(interaction: Interaction) -> None:
        await show_form(interaction, encode(Verb.PROFILE, 1), title="T", inputs=[FormInput("a", "A")])

    probe.do = _form
    shown = await stage.admin.slash(stage.channel, "fill")
    refused = await stage.says(stage.member, "fill")

    assert shown.modal is not None
    assert not shown.deferred
    assert "Manage Server" in refused


async def test_completion_offers_nothing_to_people_without_access_and_never_fails(
    stage: Stage, probe: Probe, monkeypatch: pytest.MonkeyPatch
) -> None:
    offered = await stage.admin.autocomplete(stage.channel, "pick", "what", "lamp")
    nothing = await stage.member.autocomplete(stage.channel, "pick", "what", "lamp")

    async def _lost(_interaction: Interaction) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr("bot.command_tree.require_admin", _lost)
    without_database = await stage.admin.autocomplete(stage.channel, "pick", "what", "lamp")

    assert [one["name"] for one in offered] == ["lamp!"]
    assert nothing == []
    assert without_database == []


def test_what_a_command_declares_is_read_wherever_it_stands() -> None:
    cog = Probe()
    found = {command.name: declared_needs(command) for command in cog.walk_app_commands()}

    assert {name: one.access if one else None for name, one in found.items()} == {
        "steer": Access.ADMIN,
        "look": Access.MEMBER,
        "fill": Access.ADMIN,
        "pick": Access.ADMIN,
        "silent": None,
    }
    assert found["fill"] is not None
    assert found["fill"].answers_with_form
    assert declared_needs(None) is None


async def test_a_command_that_the_bot_does_not_know_any_more_says_so(stage: Stage, probe: Probe) -> None:
    stage.bot.tree.remove_command("look")

    for actor in (stage.admin, stage.member):
        assert "older form of this command" in await stage.says(actor, "look")


async def test_a_command_that_the_bot_does_not_know_any_more_completes_to_nothing(stage: Stage, probe: Probe) -> None:
    stage.bot.tree.remove_command("pick")

    assert await stage.admin.autocomplete(stage.channel, "pick", "what", "lamp") == []


async def test_a_command_whose_options_changed_says_so(stage: Stage, probe: Probe) -> None:
    probe.do = raising(app_commands.CommandSignatureMismatch(probe.look))

    assert "older form of this command" in await stage.says(stage.admin, "look")


# ------------------------------------------------------------------------------------------------- the error handler


async def test_a_refusal_is_its_own_sentence_and_no_fault_in_the_log(
    stage: Stage, probe: Probe, told: "list[EventDict]"
) -> None:
    probe.do = raising(RefusedError("The lamp is out. Light it, then try again."))

    assert await stage.says(stage.admin, "look") == "The lamp is out. Light it, then try again."
    assert [one for one in told if one["log_level"] in {"warning", "error"}] == []


DATABASE_LOST = (
    "The database does not answer. Nothing was changed unless I said so; try again in a minute (reference {})."
)
FAULT = "That failed because of a fault of mine. Whoever runs the bot finds it in the log under the reference {}."


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (sqlite3.OperationalError(f"near SELECT {TOKEN}: syntax error"), DATABASE_LOST),
        (ConnectionResetError(errno.ECONNRESET, TOKEN), DATABASE_LOST),
        (TimeoutError(TOKEN), DATABASE_LOST),
        (KeyError(TOKEN), FAULT),
        (ValueError(TOKEN), FAULT),
        (RecursionError(TOKEN), FAULT),
        (aiohttp.ClientOSError(errno.ECONNRESET, TOKEN), FAULT),
        (discord.ClientException(TOKEN), FAULT),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
async def test_a_fault_is_one_sentence_with_a_reference_and_the_rest_is_in_the_log_alone(
    stage: Stage, probe: Probe, told: "list[EventDict]", error: Exception, sentence: str
) -> None:
    probe.do = raising(error)

    says = await stage.says(stage.admin, "look")

    (entry,) = [one for one in told if one["event"] == "interaction_failed"]
    assert says == sentence.format(entry["reference"])
    assert len(entry["reference"]) == 8
    assert entry["exc_info"] is error
    assert (entry["command"], entry["guild"], entry["user"]) == ("look", stage.guild_id, stage.admin.id)
    assert not any(word in says for word in (TOKEN, "SELECT", "Traceback", ".py"))


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (app_commands.NoPrivateMessage(), "server only"),
        (app_commands.MissingPermissions(["manage_guild"]), "Manage Server"),
        (app_commands.CheckFailure("internal words"), "Manage Server"),
        (
            app_commands.TransformerError(
                "**@everyone**" * 20, discord.AppCommandOptionType.string, app_commands.Transformer()
            ),
            r"\*\*\@everyone",
        ),
    ],
    ids=["no private message", "missing permissions", "check", "transformer"],
)
async def test_what_the_library_refuses_is_one_sentence(
    stage: Stage, probe: Probe, error: app_commands.AppCommandError, words: str
) -> None:
    probe.do = raising(error)

    says = await stage.says(stage.admin, "look")

    assert words in says
    assert len(says) < 300
    assert "internal words" not in says


@pytest.mark.parametrize(("status", "code"), [(404, 10_062), (400, 40_060)], ids=["expired", "answered already"])
async def test_a_press_that_cannot_be_answered_any_more_raises_nothing_and_runs_nothing(
    stage: Stage, probe: Probe, told: "list[EventDict]", status: int, code: int
) -> None:
    stage.discord_.env.inject_error("POST", "/interactions/*/*/callback", status=status, code=code)

    result = await stage.admin.slash(stage.channel, "look")

    assert result.response is None
    assert probe.calls == []
    assert [one["event"] for one in told if one["event"].startswith("interaction_")] == ["interaction_not_answerable"]


@pytest.mark.parametrize(("status", "code"), [(404, 10_008), (404, 10_062), (403, 50_027)])
async def test_an_answer_that_cannot_be_shown_is_logged_and_what_was_done_stays_done(
    stage: Stage, probe: Probe, told: "list[EventDict]", status: int, code: int
) -> None:
    stage.discord_.env.inject_error("PATCH", "/webhooks/*", status=status, code=code, times=None)

    await stage.admin.slash(stage.channel, "look")

    assert probe.calls == ["look"]
    assert [one["log_level"] for one in told if one["event"] == "interaction_not_answerable"] == (
        ["info"] if code == 10_062 else []
    )
    assert [one["code"] for one in told if one["event"] == "answer_not_shown"] == ([] if code == 10_062 else [code])


async def test_an_error_that_cannot_be_told_raises_nothing(
    stage: Stage, probe: Probe, told: "list[EventDict]", monkeypatch: pytest.MonkeyPatch
) -> None:
    async def _cut(*_args: object, **_kwargs: object) -> None:
        raise aiohttp.ServerDisconnectedError

    async def _fail(interaction: Interaction) -> None:
        monkeypatch.setattr(type(interaction), "edit_original_response", _cut)
        await tell_error(interaction, ValueError("anything"))

    probe.do = _fail
    await stage.admin.slash(stage.channel, "look")

    assert [one["event"] for one in told if "not_shown" in one["event"]] == ["answer_not_shown"]


# ------------------------------------------------------------------------------------------------------------- answers


async def test_an_answer_is_private_pings_nobody_and_a_second_one_takes_its_place(stage: Stage, probe: Probe) -> None:
    async def _twice(interaction: Interaction) -> None:
        await answer(interaction, "@everyone working", buttons=[Button("B", encode(Verb.SIGN_UP, 1))])
        await answer(interaction, "<@&1> done", embed=Embed(title="E"))

    probe.do = _twice
    shown = await stage.run(stage.admin, "look")

    bodies = [
        one.json for one in stage.discord_.env.http_requests if one.method == "PATCH" and "/webhooks/" in one.path
    ]
    assert shown.content == "<@&1> done"
    assert labels(shown) == []
    assert [one.title for one in shown.embeds] == ["E"]
    assert [body["allowed_mentions"] for body in bodies if isinstance(body, dict)] == [{"parse": []}] * 2


@pytest.mark.parametrize(
    "text", ["x" * CONTENT, "x" * (CONTENT + 1), "\N{BELL}" * CONTENT], ids=["fits", "over", "4-byte"]
)
async def test_an_answer_is_cut_to_what_discord_takes(stage: Stage, probe: Probe, text: str) -> None:
    async def _long(interaction: Interaction) -> None:
        await answer(interaction, text)

    probe.do = _long
    shown = await stage.run(stage.admin, "look")

    assert length(shown.content) <= CONTENT
    assert shown.content.endswith("…") is (length(text) > CONTENT)


async def test_nobody_is_an_admin_where_there_is_no_server(stage: Stage) -> None:
    class Outside:
        guild_id = None
        user = None

    outside: Any = Outside()

    assert not await is_admin(outside)
    with pytest.raises(BotError, match="Manage Server"):
        await require_admin(outside)
