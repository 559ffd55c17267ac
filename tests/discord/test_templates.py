"""``/settings templates`` as an admin uses it, and what the commands that make something do with it."""

import pytest

from models.audit_log import AuditLog
from models.event import Event
from models.guild_settings import GuildSettings
from tests.discord.acting import Stage, answered, elsewhere, labels, press

NOT_ALLOWED = "You need the Manage Server permission here, or this server's manager role."


async def test_an_admin_sets_shows_and_clears_it_and_it_is_audited(stage_everywhere: Stage) -> None:
    stage = stage_everywhere
    for actor in (stage.admin, stage.manager):
        said = await stage.says(actor, "settings templates", for_new="event", option="places", value="20")
        assert said.splitlines()[:3] == [
            "Saved.",
            "New events, where /event create leaves it out, have:",
            "- places: 20",
        ]
        assert (await stage.says(actor, "settings templates", for_new="event")).splitlines()[1] == "- places: 20"
        cleared = await stage.says(actor, "settings templates", for_new="event", clear="everything")
        assert cleared.endswith("have the built-in values: nothing is set.")
    rows = await AuditLog.filter(action="settings.edit").order_by("id")
    assert [row.actor_user_id for row in rows] == [stage.admin.id] * 2 + [stage.manager.id] * 2


async def test_a_member_neither_sees_nor_changes_it(stage: Stage) -> None:
    for options in ({}, {"option": "places", "value": "20"}, {"clear": "everything"}):
        assert await stage.says(stage.member, "settings templates", for_new="event", **options) == NOT_ALLOWED
    assert (await GuildSettings.get(guild_id=stage.guild_id)).event_template == {}


async def test_another_servers_template_is_another_one(stage: Stage) -> None:
    await stage.says(stage.admin, "settings templates", for_new="event", option="places", value="20")
    owner, channel = await elsewhere(stage)

    said = answered(await owner.slash(channel, "settings templates", for_new="event")).content

    assert "20" not in said


async def test_what_can_be_set_and_to_what_is_offered(stage: Stage) -> None:
    async def _offered(completed: str, typed: str, /, **given: str) -> list[str]:
        found = await stage.admin.autocomplete(stage.channel, "settings templates", completed, typed, **given)
        return [one["value"] for one in found]

    await stage.says(stage.admin, "settings templates", for_new="series", option="places", value="20")

    assert "days_ahead" in await _offered("option", "", for_new="series")
    assert "days_ahead" not in await _offered("option", "", for_new="event")
    assert await _offered("value", "", for_new="series", option="announce_hours") == ["24", "0"]
    assert await _offered("value", "hal", for_new="series", option="channel") == [str(stage.channel.id)]
    assert await _offered("value", "hands", for_new="series", option="ping_role") == [str(stage.manager_role.id)]
    assert await _offered("clear", "", for_new="series") == ["everything", "places"]
    assert await _offered("clear", "", for_new="event") == ["everything"]


async def test_an_event_is_made_from_it_or_on_a_press_without_it(stage_everywhere: Stage) -> None:
    stage = stage_everywhere
    await stage.says(stage.admin, "settings templates", for_new="event", option="places", value="20")

    shown = await stage.run(stage.admin, "event create", name="Raid", when="2026-07-10 19:30")
    asked = shown.content
    plain = answered(await press(stage.admin, shown, "Without the template"))
    ways = labels(plain)
    await press(stage.admin, plain, "Create")
    again = await stage.run(stage.admin, "event create", name="Walk", when="2026-07-10 19:30")
    await press(stage.admin, again, "Create")

    assert "From this server's template (`/settings templates`): places 20." in asked
    assert ways == ["Create", "Discard"]
    assert {event.name: event.max_players for event in await Event.all()} == {"Raid": None, "Walk": 20}


@pytest.mark.parametrize("command", ["event create", "series create"])
async def test_a_channel_or_role_of_it_that_is_gone_is_told_and_is_no_hindrance(stage: Stage, command: str) -> None:
    channel, role = stage.discord_.guild.create_text_channel("doomed"), stage.discord_.guild.create_role("Doomed")
    template = {"discord_announcement_channel_id": channel.id, "discord_announcement_role_ids": [role.id]}
    template |= {"required_role_id": role.id}
    await GuildSettings.filter(guild_id=stage.guild_id).update(series_template=template, event_template=template)
    when = {"when": "2026-07-10 19:30"} if command == "event create" else {"frequency": "weekly", "time": "19:30"}

    before = await stage.run(stage.admin, command, name="Raid", **when)
    stage.discord_.backend.delete_channel(channel.id)
    stage.discord_.backend.delete_role(stage.guild_id, role.id)
    await stage.discord_.env.settle()
    after = await stage.run(stage.admin, command, name="Raid", **when)

    assert "gone" not in before.content
    assert (
        f"I do not see <#{channel.id}>: grant me View Channel there, or choose another if it is gone." in after.content
    )
    assert f"The role <@&{role.id}> is gone from this server: choose another." in after.content
    assert labels(after)[0] == "Create"
