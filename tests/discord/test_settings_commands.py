"""``/settings`` as an admin uses it: what is set, what the bot lacks for it, and who may see the commands."""

import pytest

from bot.events.profiles import fields_of
from bot.scheduling.bodies import SYNC_DISCORD_EVENTS
from models.audit_log import AuditLog
from models.guild_settings import GuildSettings
from tests.builders import make_event
from tests.discord.acting import Stage


async def test_what_is_set_is_shown_and_audited(stage_everywhere: Stage) -> None:
    stage = stage_everywhere
    says = await stage.says(
        stage.admin, "settings set", timezone="Europe/Berlin", announcement_channel=stage.channel,
        profile_field="Steam name", profile_required=True, profile_max_length=30,
    )  # fmt: skip

    row = await AuditLog.get()
    assert says.splitlines()[:6] == [
        "Saved.",
        "Time zone: Europe/Berlin",
        f"Announcements: <#{stage.channel.id}>",
        f"Trouble is told in: <#{stage.discord_.place.ops_id}>",
        f"Manager role: <@&{stage.manager_role.id}>",
        "Profile fields: Steam name (required, up to 30)",
    ]
    assert (row.action, row.actor_user_id, row.guild_id) == ("settings.edit", stage.admin.id, stage.guild_id)
    assert await stage.says(stage.admin, "settings show") == "\n".join(says.splitlines()[1:6])


async def test_the_same_again_is_said(stage: Stage) -> None:
    await stage.says(stage.admin, "settings set", timezone="Europe/Berlin")

    says = await stage.says(stage.admin, "settings set", timezone="Europe/Berlin")

    assert says.startswith("Nothing changed: it is set so already.")
    assert await AuditLog.all().count() == 1


async def test_what_the_bot_lacks_in_a_channel_is_said_when_it_is_set_and_when_it_is_shown(stage: Stage) -> None:
    stage.discord_.deny(embed_links=True, read_message_history=True)
    place = stage.discord_.place
    announcements = stage.discord_.world.channel_handle(place, place.announcements_id)
    lacks = f"I lack Embed Links, Read Message History in <#{announcements.id}>: grant it to me there."

    assert lacks in await stage.says(stage.admin, "settings set", announcement_channel=announcements)
    assert lacks in await stage.says(stage.admin, "settings show")
    assert "I lack" not in await stage.says(stage.admin, "settings set", timezone="Europe/Berlin")


async def test_a_manager_role_comes_with_how_to_let_it_see_the_commands(stage: Stage) -> None:
    role = stage.discord_.guild.create_role("Stewards")
    says = await stage.says(stage.admin, "settings set", manager_role=role)

    assert "Server Settings > Integrations > Tocsin" in says
    assert f"<@&{role.id}>" in says
    assert (await GuildSettings.get(guild_id=stage.guild_id)).manager_role_id == role.id


async def test_from_then_on_its_holders_are_admins_and_those_of_the_old_one_are_not(stage: Stage) -> None:
    role = stage.discord_.guild.create_role("Stewards")
    steward = stage.discord_.guild.add_member(stage.discord_.env.create_user("pia"), roles=[role])
    assert "Manage Server" in await stage.says(steward, "settings show")

    await stage.says(stage.admin, "settings set", manager_role=role)

    assert "Time zone" in await stage.says(steward, "settings show")
    assert "Manage Server" in await stage.says(stage.manager, "settings show")


async def test_everybody_cannot_be_made_an_admin(stage: Stage) -> None:
    everyone = stage.discord_.guild.default_role

    says = await stage.says(stage.admin, "settings set", manager_role=everyone)

    assert says.startswith("@everyone is no role that can be chosen here")
    assert (await GuildSettings.get(guild_id=stage.guild_id)).manager_role_id == stage.manager_role.id


async def test_a_setting_is_taken_back(stage: Stage) -> None:
    says = await stage.says(stage.admin, "settings set", clear="manager_role_id")

    assert "Manager role: none" in says
    assert "Manage Server" in await stage.says(stage.manager, "settings show")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "Name at least one setting to change."),
        ({"timezone": "Nowhere/City"}, "is not known; choose one from the list"),
        ({"remove_profile_field": "Nothing"}, "There is no profile field"),
        ({"profile_field": "a" + "\N{BELL}" * 23}, "as Discord counts them"),
        ({"profile_field": "@@@"}, "must be a label of 1 to 45 characters"),
        ({"profile_required": True}, "name it too"),
        ({"timezone": "Europe/Berlin", "profile_max_length": 5}, "name it too"),
    ],
)
async def test_what_cannot_be_set_is_one_sentence_and_changes_nothing(
    stage: Stage, options: dict[str, object], words: str
) -> None:
    says = await stage.says(stage.admin, "settings set", **options)

    assert words in says
    assert "\n" not in says
    assert await AuditLog.all().count() == 0


async def test_a_profile_field_is_removed_by_the_one_that_completion_offers(stage: Stage) -> None:
    await stage.says(stage.admin, "settings set", profile_field="Steam name")
    (offered,) = await stage.admin.autocomplete(stage.channel, "settings set", "remove_profile_field", "STEAM")

    await stage.says(stage.admin, "settings set", remove_profile_field=offered["value"])

    assert offered == {"name": "Steam name", "value": "steam_name"}
    assert await fields_of(stage.guild_id) == ()
    assert await stage.member.autocomplete(stage.channel, "settings set", "remove_profile_field", "") == []


async def test_what_is_not_named_of_a_profile_field_stays(stage: Stage) -> None:
    await stage.says(stage.admin, "settings set", profile_field="Name", profile_required=True, profile_max_length=30)

    says = await stage.says(stage.admin, "settings set", profile_field="name", profile_max_length=50)

    assert "Profile fields: name (required, up to 50)" in says


async def test_completion_finds_a_time_zone(stage: Stage) -> None:
    found = await stage.admin.autocomplete(stage.channel, "settings set", "timezone", "lord howe")

    assert [one["value"] for one in found] == ["Australia/Lord_Howe"]


async def test_a_label_pings_nobody_and_is_no_markup(stage: Stage) -> None:
    says = await stage.says(stage.admin, "settings set", profile_field="**@everyone**")

    assert r"\*\*\@everyone\*\*" in says
    assert "@everyone" not in says.replace("\\@everyone", "")


async def test_a_server_that_has_set_up_nothing_reads_what_to_do(stage: Stage) -> None:
    await GuildSettings.all().delete()

    says = await stage.says(stage.admin, "settings show")

    assert "Time zone: UTC" in says
    assert "nowhere: set announcement_channel" in says


async def test_another_announcement_channel_shows_as_the_place_of_what_stands_in_the_servers_list(
    stage_everywhere: Stage,
) -> None:
    stage = stage_everywhere
    wanted = {"discord_create_event": True, "discord_announcement": False, "native_due_at": stage.now()}
    await make_event(now=stage.now(), guild_id=stage.guild_id, **wanted)
    services = stage.bot.services
    await services.agenda.run(services.body(SYNC_DISCORD_EVENTS), stage.now())
    (listed,) = stage.discord_.backend.get_guild(stage.guild_id).scheduled_events.values()
    before = listed.entity_metadata

    await stage.says(stage.admin, "settings set", announcement_channel=stage.channel)
    due = services.agenda.next(SYNC_DISCORD_EVENTS)
    await services.agenda.run(services.body(SYNC_DISCORD_EVENTS), stage.now())

    (listed,) = stage.discord_.backend.get_guild(stage.guild_id).scheduled_events.values()
    link = f"https://discord.com/channels/{stage.guild_id}/"
    assert due == stage.now()
    assert before == {"location": f"{link}{stage.discord_.place.announcements_id}"}
    assert listed.entity_metadata == {"location": f"{link}{stage.channel.id}"}
