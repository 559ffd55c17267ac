"""The profile form: opened by command and button, handed in whole or not at all, also after a restart."""

from typing import TYPE_CHECKING, Any

import pytest

from bot.events.profiles import lacking
from bot.message.custom_ids import Verb, encode
from bot.message.outgoing import Button
from bot.reminders import wording
from models.guild_settings import GuildSettings
from models.player_profile import PlayerProfile
from tests.builders import make_event
from tests.discord.acting import Stage, answered
from tests.discord.pressing import again, post, restarted, send_dm

if TYPE_CHECKING:
    from simcord.actors import MemberActor
    from simcord.builders import UserHandle
    from simcord.results import InteractionResult

IGN = {"key": "ign", "label": "In-game name", "required": True, "max_length": 12}
ABOUT = {"key": "about", "label": "About you", "required": False, "max_length": 300}
SAVED = "Your profile for this server is saved. `/profile` shows and changes it."
FIRE = "\N{FIRE}"


@pytest.fixture
async def asking(stage_everywhere: Stage) -> Stage:
    await ask(stage_everywhere, IGN, ABOUT)
    return stage_everywhere


async def ask(stage: Stage, *fields: dict[str, object]) -> None:
    await GuildSettings.filter(guild_id=stage.guild_id).update(profile_fields=list(fields))


async def stored(user_id: int) -> dict[str, str] | None:
    row = await PlayerProfile.get_or_none(user_id=user_id)
    return row.field_values if row is not None else None


def inputs(shown: "InteractionResult") -> list[dict[str, Any]]:
    """Return the inputs of the form that somebody was shown."""
    assert shown.modal is not None
    return [inner for row in shown.modal["components"] for inner in (row.get("components") or [row["component"]])]


async def open_form(stage: Stage, actor: "MemberActor") -> "InteractionResult":
    return await actor.slash(stage.channel, "profile")


async def hand_in(
    actor: "MemberActor | UserHandle", shown: "InteractionResult", *, ign: str = "Ada", about: str = ""
) -> str:
    return answered(await actor.submit_modal(shown, {"ign": ign, "about": about})).content


def button(stage: Stage, guild_id: int | None = None) -> list[Button]:
    return [Button("Fill in my profile", encode(Verb.PROFILE, guild_id or stage.guild_id))]


async def test_the_form_asks_what_the_server_asks_and_comes_before_anything_else(asking: Stage) -> None:
    shown = await open_form(asking, asking.member)

    assert not shown.deferred
    assert shown.modal is not None
    assert (shown.modal["title"], shown.modal["custom_id"]) == ("Your profile", f"t1:profile:{asking.guild_id}")
    kept = [(one["custom_id"], one["required"], one["max_length"], one["style"]) for one in inputs(shown)]
    assert kept == [("ign", True, 12, 1), ("about", False, 300, 2)]


async def test_what_is_handed_in_is_stored_and_shown_again_to_that_person_alone(asking: Stage) -> None:
    first = await open_form(asking, asking.member)
    said = await hand_in(asking.member, first, ign=" Nils ", about="Tank\nand healer")

    mine = await open_form(asking, asking.member)
    others = await open_form(asking, asking.admin)

    assert said == SAVED
    assert await stored(asking.member.id) == {"ign": "Nils", "about": "Tank\nand healer"}
    assert [one.get("value") for one in inputs(mine)] == ["Nils", "Tank\nand healer"]
    assert [one.get("value") for one in inputs(others)] == [None, None]


async def test_everybody_may_fill_in_their_own_and_twice_is_an_edit(asking: Stage) -> None:
    for actor in (asking.admin, asking.manager, asking.member):
        for name in ("one", "two"):
            assert await hand_in(actor, await open_form(asking, actor), ign=name) == SAVED

    assert [row.field_values for row in await PlayerProfile.all()] == [{"ign": "two"}] * 3


async def test_a_new_question_is_asked_anew_whatever_its_letters(stage_everywhere: Stage) -> None:
    stage = stage_everywhere
    await stage.says(stage.admin, "settings set", profile_field="名前", profile_required=True)
    form = await open_form(stage, stage.member)
    await stage.member.submit_modal(form, {str(inputs(form)[0]["custom_id"]): "Nils"})
    await stage.says(stage.admin, "settings set", remove_profile_field="名前")
    await stage.says(stage.admin, "settings set", profile_field="年齢", profile_required=True)

    assert [one.get("value") for one in inputs(await open_form(stage, stage.member))] == [None]
    assert await lacking(stage.guild_id, [stage.member.id]) == {stage.member.id}


async def test_mentions_and_markup_are_stored_as_typed_and_ping_nobody(asking: Stage) -> None:
    said = await hand_in(asking.member, await open_form(asking, asking.member), ign="@here", about="**<@&1>** `x`")

    bodies = [one.json for one in asking.discord_.env.http_requests if "/webhooks/" in one.path]
    assert said == SAVED
    assert await stored(asking.member.id) == {"ign": "@here", "about": "**<@&1>** `x`"}
    assert [body["allowed_mentions"] for body in bodies if isinstance(body, dict)] == [{"parse": []}]


@pytest.mark.parametrize(
    ("ign", "about", "refusal"),
    [
        ("x" * 12, "y" * 300, None),
        (FIRE * 6, "", None),
        (FIRE * 7, "", r"In\-game name has 14 characters as Discord counts them (an emoji is two); at most 12"),
        ("   ", "", r"In\-game name must not be left blank."),
        ("a\x07b", "", r"In\-game name holds the control character U+0007, which is not allowed."),
    ],
    ids=["at the limits", "emoji at the limit", "one emoji over", "blank", "control character"],
)
async def test_a_form_is_taken_to_its_limits_and_refused_past_them(
    asking: Stage, ign: str, about: str, refusal: str | None
) -> None:
    said = await hand_in(asking.member, await open_form(asking, asking.member), ign=ign, about=about)

    assert (said == SAVED) is (refusal is None)
    assert (refusal or "") in said
    assert (await PlayerProfile.all().count() == 1) is (refusal is None)


async def test_a_value_one_over_a_limit_that_was_lowered_meanwhile_is_refused(asking: Stage) -> None:
    shown = await open_form(asking, asking.member)
    await ask(asking, IGN | {"max_length": 2}, ABOUT)

    said = await hand_in(asking.member, shown, ign="Ada")

    assert r"In\-game name has 3 characters" in said
    assert await stored(asking.member.id) is None


async def test_a_stored_value_past_a_lowered_limit_is_shown_cut_and_not_refused_by_discord(asking: Stage) -> None:
    await hand_in(asking.member, await open_form(asking, asking.member), ign=FIRE * 6)
    await ask(asking, IGN | {"max_length": 3}, ABOUT)

    shown = await open_form(asking, asking.member)

    assert inputs(shown)[0]["value"] == FIRE


async def test_a_form_from_before_the_server_asked_something_else_is_refused(asking: Stage) -> None:
    shown = await open_form(asking, asking.member)
    await ask(asking, IGN)

    assert "open `/profile` again" in await hand_in(asking.member, shown)
    assert await stored(asking.member.id) is None


async def test_a_server_that_asks_nothing_says_so(stage: Stage) -> None:
    message = await post(stage.bot, stage.channel, button(stage))
    by_command = await stage.says(stage.member, "profile")
    by_button = answered(await stage.member.click(message, label="Fill in my profile")).content

    assert by_command == by_button == "This server asks for no profile, so there is nothing to fill in."


async def test_a_form_whose_server_stopped_asking_says_so(asking: Stage) -> None:
    shown = await open_form(asking, asking.member)
    await ask(asking)

    assert await hand_in(asking.member, shown) == "This server asks for no profile, so there is nothing to fill in."


async def test_the_button_opens_the_form_in_the_channel_and_in_a_dm(asking: Stage) -> None:
    message = await post(asking.bot, asking.channel, button(asking))
    sent = await send_dm(asking.bot, asking.other_member.user, button(asking))

    here = await asking.member.click(message, label="Fill in my profile")
    there = await asking.other_member.user.click(sent, label="Fill in my profile")

    assert [here.deferred, there.deferred] == [False, False]
    assert await hand_in(asking.member, here, ign="here") == SAVED
    assert await hand_in(asking.other_member.user, there, ign="there") == SAVED
    assert await stored(asking.member.id) == {"ign": "here"}
    assert await stored(asking.other_member.id) == {"ign": "there"}


async def test_the_first_servers_button_is_gone_in_another_server(asking: Stage) -> None:
    env = asking.discord_.env
    elsewhere = env.create_guild("Elsewhere", owner=env.create_user("owner"))
    channel, actor = elsewhere.create_text_channel("lobby"), elsewhere.add_member(asking.member.user)
    await env.settle()
    message = await post(asking.bot, channel, button(asking))

    shown = await actor.click(message, label="Fill in my profile")

    assert shown.modal is None
    assert answered(shown).content == "This is no longer available."


async def test_who_left_is_told_so_before_the_form_and_after_it(asking: Stage) -> None:
    user = asking.member.user
    sent = await send_dm(asking.bot, user, button(asking))
    opened = await user.click(sent, label="Fill in my profile")
    asking.discord_.guild.remove_member(asking.member)
    await asking.discord_.env.settle()

    pressed = answered(await user.click(sent, label="Fill in my profile")).content
    handed_in = await hand_in(user, opened)

    assert pressed == handed_in == "You are not in that server any more, so nothing was changed."
    assert await stored(user.id) is None


async def test_where_discord_does_not_say_who_is_a_member_the_form_is_to_be_tried_again(asking: Stage) -> None:
    sent = await send_dm(asking.bot, asking.member.user, button(asking))
    asking.discord_.env.inject_error("GET", "/guilds/*/members/*", status=503)

    told = answered(await asking.member.user.click(sent, label="Fill in my profile")).content

    assert told.startswith("Discord did not say whether you are still in that server")


async def test_a_form_opened_before_a_restart_is_taken_after_it(asking: Stage) -> None:
    shown = await open_form(asking, asking.member)
    await restarted(asking)
    member = again(asking.discord_, asking.member)
    # What the person's own client kept open.
    shown._env = member._env

    assert await hand_in(member, shown, ign="Ada") == SAVED
    assert await stored(asking.member.id) == {"ign": "Ada"}


async def test_an_answer_stands_in_no_log(asking: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    await hand_in(asking.member, await open_form(asking, asking.member), ign="secretive", about="  secret-too")
    await hand_in(asking.member, await open_form(asking, asking.member), ign="secretive\x07")

    assert "secret" not in capsys.readouterr().out


async def test_the_reminders_own_button_opens_the_form(asking: Stage) -> None:
    event = await make_event(now=asking.now(), guild_id=asking.guild_id)
    buttons = wording.profile_dm(event, ["In-game name"]).buttons
    sent = await send_dm(asking.bot, asking.member.user, buttons)

    shown = await asking.member.user.click(sent, label="Fill in my profile")

    assert [one["custom_id"] for one in inputs(shown)] == ["ign", "about"]
