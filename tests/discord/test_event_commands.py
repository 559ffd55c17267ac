"""``/event`` as an admin uses it: typed, shown, confirmed, and never a ping."""

import discord
import pytest
from simcord.backend.errors import SetupError

from bot.message.proposal import NOTHING_CHANGED
from models.event import Event
from models.states import EventState
from tests.builders import DAY, HOUR, OTHER_GUILD, make_event, make_series, utc
from tests.discord.acting import Stage, elsewhere, labels, press
from tests.discord.openapi import described

NASTY = "@everyone <@&1> **b** `c` ||s||"
NONSENSE = ["Raid night", "999999", "' OR 1=1", "\N{BELL}" * 100, "@everyone", "-1"]
MOVES = ["cancel", "open-signups", "roll-call", "reopen", "start"]


async def test_an_event_is_shown_created_and_posted_about_in_the_answer(stage_everywhere: Stage) -> None:
    stage = stage_everywhere
    shown = await stage.run(
        stage.admin, "event create", name="Raid", when="2026-03-10 19:30", channel=stage.channel,
        ping_role=stage.manager_role, places=5, required_role=stage.manager_role,
    )  # fmt: skip
    assert labels(shown) == ["Create", "Discard"]
    assert f"<t:{int(utc('2026-03-10 19:30').timestamp())}:F>" in shown.content

    await press(stage.admin, shown, "Create")

    event = await Event.get()
    assert shown.content.startswith("**Raid** was created: <t:")
    assert (event.guild_id, event.created_by, event.max_players) == (stage.guild_id, stage.admin.id, 5)
    assert event.discord_announcement_channel_id == stage.channel.id
    assert event.discord_announcement_role_ids == [stage.manager_role.id]
    assert event.required_role_id == stage.manager_role.id


async def test_discarding_stores_nothing(stage: Stage) -> None:
    shown = await stage.run(stage.admin, "event create", name="Raid", when="2026-03-10 19:30")

    await press(stage.admin, shown, "Discard")

    assert (shown.content, labels(shown)) == (NOTHING_CHANGED, [])
    assert await Event.all().count() == 0


async def test_an_ambiguous_date_is_asked_about_by_buttons_that_lead_to_what_would_be_created(stage: Stage) -> None:
    shown = await stage.run(stage.admin, "event create", name="Raid", when="03/04 19:30")
    assert labels(shown) == ["4 March 2026, 19:30", "3 April 2026, 19:30", "Discard"]

    await press(stage.admin, shown, "3 April 2026, 19:30")
    assert labels(shown) == ["Create", "Discard"]
    assert await Event.all().count() == 0

    await press(stage.admin, shown, "Create")
    assert (await Event.get()).scheduled_at == utc("2026-04-03 19:30")


async def test_a_name_pings_nobody_and_is_no_markup_in_any_answer(stage: Stage) -> None:
    shown = await stage.run(stage.admin, "event create", name=NASTY, when="2026-03-10 19:30", description=NASTY)
    await press(stage.admin, shown, "Create")
    event = await Event.get()
    read = [shown.content]
    for command in ("list", "show", *MOVES):
        options = {} if command == "list" else {"event": str(event.id)}
        read.append(await stage.says(stage.admin, f"event {command}", **options))

    bodies = [one.json for one in stage.discord_.env.http_requests if "/webhooks/" in one.path]
    assert [body["allowed_mentions"] for body in bodies if isinstance(body, dict)] == [{"parse": []}] * len(bodies)
    for text in read:
        assert "\\@everyone" in text
        assert "@everyone" not in text.replace("\\@everyone", "")
        assert "<@&1>" not in text


async def test_everybodys_role_cannot_be_pinged_or_required(stage: Stage) -> None:
    everyone = stage.discord_.guild.default_role
    for option in ("ping_role", "required_role"):
        says = await stage.says(stage.admin, "event create", name="R", when="2026-03-10 19:30", **{option: everyone})
        assert says.startswith("@everyone is no role that can be chosen here")

    assert await Event.all().count() == 0


async def test_what_the_bot_lacks_in_the_named_channel_is_said_before_it_is_stored(stage: Stage) -> None:
    stage.discord_.deny(send_messages=True, embed_links=True)
    announcements = stage.discord_.world.channel_handle(stage.discord_.place, stage.discord_.place.announcements_id)
    shown = await stage.run(stage.admin, "event create", name="Raid", when="2026-03-10 19:30", channel=announcements)

    assert f"I lack Send Messages, Embed Links in <#{announcements.id}>: grant it to me there." in shown.content
    assert labels(shown) == ["Create", "Discard"]


async def test_a_channel_that_the_bot_does_not_know_is_said(stage: Stage) -> None:
    guild = stage.bot.get_guild(stage.guild_id)
    assert guild is not None
    guild._channels.pop(stage.channel.id)
    shown = await stage.discord_.world.member_handle(stage.discord_.place, stage.admin.id).slash(
        stage.discord_.world.channel_handle(stage.discord_.place, stage.discord_.place.ops_id),
        "event create",
        name="Raid",
        when="2026-03-10 19:30",
        channel=stage.channel,
    )

    assert shown.response is not None
    assert f"I do not see <#{stage.channel.id}>" in shown.response.content


@pytest.mark.parametrize(("mentionable", "noted"), [(False, True), (True, False)])
async def test_a_role_that_would_be_shown_and_not_pinged_is_noted(stage: Stage, mentionable: bool, noted: bool) -> None:
    role = stage.discord_.guild.create_role("Raiders", mentionable=mentionable)
    await stage.discord_.env.settle()
    guild = stage.bot.get_guild(stage.guild_id)
    assert guild is not None
    for own in guild.me.roles:
        own._permissions = discord.Permissions(view_channel=True, send_messages=True).value

    shown = await stage.run(stage.admin, "event create", name="Raid", when="2026-12-24 19:30", ping_role=role)

    note = f"<@&{role.id}> would be shown and not pinged: let everybody mention that role"
    assert (note in shown.content) is noted


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"name": "x" * 101}, "at most 100 characters"),
        ({"description": "x" * 1_001}, "at most 1000 characters"),
        ({"when": "x" * 61}, "at most 60 characters"),
        ({"places": -1}, "0"),
        ({"duration_minutes": 10_081}, "10080"),
        ({"announce_hours": -1}, "0"),
        ({"attendance_hours": 8_785}, "8784"),
    ],
)
async def test_discord_itself_keeps_the_limits_while_somebody_types(
    stage: Stage, options: dict[str, object], what: str
) -> None:
    least: dict[str, object] = {"name": "R", "when": "2026-03-10 19:30"}
    with pytest.raises(SetupError, match=what):
        await stage.run(stage.admin, "event create", **(least | options))


async def test_texts_at_their_limit_are_taken(stage: Stage) -> None:
    shown = await stage.run(
        stage.admin, "event create", name="x" * 100, description="*" * 1_000, when="2026-03-10 19:30"
    )
    await press(stage.admin, shown, "Create")

    event = await Event.get()
    assert (event.name, event.description) == ("x" * 100, "*" * 1_000)


async def test_a_name_that_discord_counts_as_longer_is_refused_in_one_sentence(stage: Stage) -> None:
    says = await stage.says(stage.admin, "event create", name="\N{BELL}" * 51, when="2026-03-10 19:30")

    assert "has 102 characters as Discord counts them" in says
    assert "\n" not in says


@pytest.mark.parametrize("command", ["show", *MOVES])
async def test_what_is_typed_by_hand_is_one_sentence(stage: Stage, command: str) -> None:
    event = await make_event(now=stage.now(), guild_id=stage.guild_id)
    for typed in NONSENSE:
        says = await stage.says(stage.admin, f"event {command}", event=typed)
        assert says.startswith("There is no event ")
        assert says.endswith("choose one from the list that appears as you type.")
        assert "@everyone" not in says.replace("\\@everyone", "")

    await event.refresh_from_db()
    assert event.state is EventState.UPCOMING


async def test_completion_offers_this_servers_events_in_the_states_that_the_command_takes(stage: Stage) -> None:
    for state in EventState:
        await make_event(now=stage.now(), guild_id=stage.guild_id, name=f"E {state.value}", state=state)
    await make_event(now=stage.now(), guild_id=OTHER_GUILD, name="E theirs")

    async def offered(command: str) -> list[str]:
        found = await stage.admin.autocomplete(stage.channel, f"event {command}", "event", "e ")
        return [one["name"].partition(" ·")[0].removeprefix("E ") for one in found]

    assert await offered("open-signups") == ["upcoming"]
    assert await offered("roll-call") == ["signups_open"]
    assert await offered("reopen") == ["roll_call"]
    assert await offered("start") == ["signups_open", "roll_call"]
    assert await offered("cancel") == ["upcoming", "signups_open", "roll_call"]
    assert sorted(await offered("show")) == sorted(state.value for state in EventState)


async def test_completion_offers_nothing_to_a_plain_member_and_nothing_of_this_server_in_another(
    stage: Stage,
) -> None:
    await make_event(now=stage.now(), guild_id=stage.guild_id)
    actor, channel = await elsewhere(stage)

    assert len(await stage.manager.autocomplete(stage.channel, "event show", "event", "")) == 1
    assert await stage.member.autocomplete(stage.channel, "event show", "event", "") == []
    assert await actor.autocomplete(channel, "event show", "event", "") == []


async def test_what_completion_offers_is_what_the_command_takes(stage: Stage) -> None:
    await make_event(now=stage.now(), guild_id=stage.guild_id, starts_in=DAY)
    (offered,) = await stage.admin.autocomplete(stage.channel, "event show", "event", "raid")

    says = await stage.says(stage.admin, "event show", event=offered["value"])

    assert offered["name"] == "Raid night · Mon 02 Mar 2026 12:00"
    assert says.startswith("**Raid night**")


async def test_a_one_offs_form_does_not_offer_the_sign_up_reminder(stage: Stage) -> None:
    root = stage.discord_.backend.find_command("event", None, type=1)
    (create,) = [one for one in root["options"] if one["name"] == "create"]

    assert not [one["name"] for one in create["options"] if "signup_reminder" in one["name"]]


async def test_cancelling_says_what_it_does_and_does_it_once(stage_everywhere: Stage) -> None:
    stage = stage_everywhere
    series = await make_series(now=stage.now(), guild_id=stage.guild_id)
    event = await make_event(now=stage.now(), guild_id=stage.guild_id, series_id=series.id, starts_in=6 * HOUR)
    shown = await stage.run(stage.admin, "event cancel", event=str(event.id))
    assert labels(shown) == ["Cancel the event", "Back"]
    assert "The series goes on." in shown.content

    await press(stage.admin, shown, "Back")
    await event.refresh_from_db()
    assert (shown.content, event.state) == (NOTHING_CHANGED, EventState.UPCOMING)

    shown = await stage.run(stage.admin, "event cancel", event=str(event.id))
    await press(stage.admin, shown, "Cancel the event")
    await event.refresh_from_db()
    assert (shown.content, event.state) == ("**Raid night** was cancelled.", EventState.CANCELLED)
    assert "already" in await stage.says(stage.admin, "event cancel", event=str(event.id))


async def test_discord_shows_the_commands_only_to_people_with_manage_server(stage: Stage) -> None:
    for name in ("event", "series", "settings"):
        root = stage.discord_.backend.find_command(name, None, type=1)
        assert int(root["default_member_permissions"]) == discord.Permissions(manage_guild=True).value
        assert root["contexts"] == [0]


async def test_an_answer_with_buttons_fits_discords_own_description(stage: Stage) -> None:
    callback = described("POST", "/interactions/{interaction_id}/{interaction_token}/callback")
    edit = described("PATCH", "/webhooks/{webhook_id}/{webhook_token}/messages/@original")
    shown = await stage.run(stage.admin, "event create", name=NASTY, when="03/04 19:30")
    await press(stage.admin, shown, "Discard")

    sent = [one for one in stage.discord_.env.http_requests if one.json is not None]
    for validator, ending in ((callback, "/callback"), (edit, "/messages/@original")):
        bodies = [one.json for one in sent if one.path.endswith(ending)]
        assert len(bodies) == 2
        assert [error.message for body in bodies for error in validator.iter_errors(body)] == []
