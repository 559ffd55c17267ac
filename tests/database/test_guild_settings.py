"""A server's settings change one by one, with one audit row for what changed, or not at all."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.errors import BotError
from bot.events.profiles import fields_of
from bot.message.folding import folded
from bot.operations.guild_channels import GuildChannels, set_channels
from bot.operations.guild_settings import (
    Clearable,
    FieldChange,
    SettingsChange,
    SettingsView,
    _key_of,
    change_settings,
    confirmation,
    described,
    search_fields,
    settings_of,
)
from models.audit_log import AuditLog
from models.guild_settings import GuildSettings
from tests.builders import GUILD, OTHER_GUILD, make_guild, utc

NOW = utc("2026-03-01 12:00")
ADMIN = 42


async def change(**fields: Any) -> tuple[SettingsView, SettingsView]:  # noqa: ANN401 -- whatever a change takes
    return await change_settings(SettingsChange(**fields), guild_id=GUILD, actor=ADMIN, default_timezone="UTC", now=NOW)


async def refusal(**fields: Any) -> str:  # noqa: ANN401 -- as above
    before = [dict(row) for row in await GuildSettings.all().values()]
    with pytest.raises(BotError) as refused:
        await change(**fields)
    assert [dict(row) for row in await GuildSettings.all().values()] == before
    assert await AuditLog.all().count() == 0
    return str(refused.value)


async def test_what_is_named_changes_and_the_rest_stays_with_one_audit_row(database: str) -> None:
    await make_guild(announcement_channel_id=1, ops_channel_id=2)

    before, after = await change(timezone="Europe/Berlin", ops_channel_id=3, manager_role_id=4)

    row = await AuditLog.get()
    assert (before.timezone, after.timezone, after.announcement_channel_id) == ("UTC", "Europe/Berlin", 1)
    assert await settings_of(GUILD, default_timezone="UTC") == after
    assert (row.action, row.guild_id, row.actor_user_id) == ("settings.edit", GUILD, ADMIN)
    assert row.before == {"timezone": "UTC", "ops_channel_id": 2, "manager_role_id": None}
    assert row.after == {"timezone": "Europe/Berlin", "ops_channel_id": 3, "manager_role_id": 4}


async def test_the_same_again_is_said_and_leaves_no_trace(database: str) -> None:
    await make_guild()
    await change(timezone="Europe/Berlin", profile_field=FieldChange("Name"))
    before, after = await change(timezone="Europe/Berlin", profile_field=FieldChange("Name"))

    assert before == after
    assert confirmation(before, after).startswith("Nothing changed: it is set so already.")
    assert await AuditLog.all().count() == 1


async def test_a_server_that_is_new_gets_its_row(database: str) -> None:
    assert await settings_of(GUILD, default_timezone="Asia/Tokyo") == SettingsView("Asia/Tokyo")

    await change(ops_channel_id=3)

    assert (await GuildSettings.get(guild_id=GUILD)).ops_channel_id == 3


async def test_another_servers_settings_are_left_alone(database: str) -> None:
    await make_guild(OTHER_GUILD, timezone="Asia/Tokyo")

    await change(timezone="Europe/Berlin")

    assert (await GuildSettings.get(guild_id=OTHER_GUILD)).timezone == "Asia/Tokyo"


@pytest.mark.parametrize("name", Clearable)
async def test_a_setting_can_be_taken_back(database: str, name: Clearable) -> None:
    await make_guild(announcement_channel_id=1, ops_channel_id=2, manager_role_id=3)

    _, after = await change(clear=name)

    values = {one: getattr(after, one.value) for one in Clearable}
    assert values[name] is None
    assert all(value is not None for one, value in values.items() if one is not name)


async def test_the_operator_and_an_admin_at_once_undo_nothing_of_each_other(database: str) -> None:
    await make_guild(announcement_channel_id=None, ops_channel_id=None)

    for number in range(1, 11):
        await asyncio.gather(
            change(announcement_channel_id=number),
            set_channels(GuildChannels(tell_in=100 + number), guild_id=GUILD, timezone="UTC", now=NOW),
        )

        stored = await GuildSettings.get(guild_id=GUILD)
        assert (stored.announcement_channel_id, stored.ops_channel_id) == (number, 100 + number)
    assert {row.actor_user_id for row in await AuditLog.all()} == {ADMIN, None}


async def test_of_two_admins_who_set_different_things_at_once_neither_undoes_the_other(database: str) -> None:
    for _ in range(5):
        await GuildSettings.all().delete()
        await make_guild()
        await asyncio.gather(
            change(timezone="Europe/Berlin"),
            change(manager_role_id=4),
            change(profile_field=FieldChange("A")),
            change(profile_field=FieldChange("B")),
        )
        view = await settings_of(GUILD, default_timezone="UTC")

        assert (view.timezone, view.manager_role_id) == ("Europe/Berlin", 4)
        assert sorted(str(one["key"]) for one in view.profile_fields) == ["a", "b"]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "Name at least one setting"),
        ({"timezone": "Europe/Berln"}, "is not known; choose one from the list"),
        ({"timezone": "localtime"}, "is not known"),
        ({"timezone": "@everyone"}, r"\@everyone"),
        ({"manager_role_id": GUILD}, "everybody would be an admin"),
        ({"manager_role_id": 4, "clear": Clearable.MANAGER_ROLE}, "Either set the manager role or clear it"),
        ({"remove_field": "Nothing"}, "There is no profile field 'Nothing'"),
        ({"profile_field": FieldChange("", required=True)}, "are about a profile_field: name it too"),
        ({"profile_field": FieldChange("", max_length=5), "timezone": "Europe/Berlin"}, "name it too"),
        ({"profile_field": FieldChange(" ")}, "a label of 1 to 45 characters"),
        ({"profile_field": FieldChange("a\nb")}, "a label of 1 to 45 characters"),
        ({"profile_field": FieldChange("\u200b")}, "a label of 1 to 45 characters"),
        ({"profile_field": FieldChange("x" * 46)}, "has 46 characters as Discord counts them; at most 45"),
        ({"profile_field": FieldChange("a" + "\N{BELL}" * 23)}, "has 47 characters as Discord counts them"),
        ({"profile_field": FieldChange("a", max_length=0)}, "a whole number from 1 to 300"),
        ({"profile_field": FieldChange("a", max_length=301)}, "a whole number from 1 to 300"),
    ],
)
async def test_what_cannot_be_set_is_one_sentence_and_changes_nothing(
    database: str, fields: dict[str, Any], words: str
) -> None:
    await make_guild()

    says = await refusal(**fields)

    assert words in says
    assert "\n" not in says


# ------------------------------------------------------------------------------------------------------ profile fields


async def keys() -> list[str]:
    return [field.key for field in await fields_of(GUILD)]


async def test_a_profile_field_is_added_changed_by_its_label_and_removed(database: str) -> None:
    await make_guild()
    await change(profile_field=FieldChange("Steam name", required=True, max_length=30))
    await change(profile_field=FieldChange("Tank or healer?"))
    await change(profile_field=FieldChange("STEAM NAME", max_length=300))

    steam, role = await fields_of(GUILD)
    assert (steam.key, steam.label, steam.required, steam.max_length) == ("steam_name", "STEAM NAME", True, 300)
    assert (role.label, role.required, role.max_length) == ("Tank or healer?", False, 100)

    await change(profile_field=FieldChange("Steam name", required=False))
    assert ((await fields_of(GUILD))[0].required, (await fields_of(GUILD))[0].max_length) == (False, 300)

    await change(remove_field="steam_name")
    assert await keys() == [role.key]
    await change(remove_field="tank OR healer?")
    assert await keys() == []


async def test_a_field_that_comes_back_has_its_key_again_so_that_answers_are_found(database: str) -> None:
    await make_guild()
    await change(profile_field=FieldChange("Steam name"))
    await change(remove_field="steam_name")
    await change(profile_field=FieldChange("Steam name"))

    assert await keys() == ["steam_name"]


async def test_a_new_question_does_not_find_the_answers_to_one_that_was_removed(database: str) -> None:
    await make_guild()
    seen: list[str] = []
    for label in ("Name?", "Name!", "Имя", "名前", "年齢", "C", "C++"):
        await change(profile_field=FieldChange(label))
        seen += await keys()
        await change(remove_field=label)

    assert len(set(seen)) == 7


async def test_removing_a_field_by_its_key_leaves_one_whose_label_reads_like_it(database: str) -> None:
    await make_guild()
    await change(profile_field=FieldChange("Steam name"))
    await change(profile_field=FieldChange("steam_name"))

    await change(remove_field="steam_name")

    assert [field.label for field in await fields_of(GUILD)] == ["steam_name"]


async def test_there_are_five_profile_fields_at_most(database: str) -> None:
    await make_guild()
    for number in range(5):
        await change(profile_field=FieldChange(f"Field {number}"))

    with pytest.raises(BotError, match="There are 5 profile fields already"):
        await change(profile_field=FieldChange("One more"))
    await change(profile_field=FieldChange("field 3", required=True))
    await change(remove_field="field_0", profile_field=FieldChange("One more"))

    assert await keys() == ["field_1", "field_2", "field_3", "field_4", "one_more"]


async def test_a_label_at_its_limit_is_taken(database: str) -> None:
    await make_guild()
    await change(profile_field=FieldChange("x" * 45, max_length=300))
    await change(profile_field=FieldChange("y" + "\N{BELL}" * 22, max_length=1))

    assert [field.label for field in await fields_of(GUILD)] == ["x" * 45, "y" + "\N{BELL}" * 22]


async def test_profile_fields_are_found_by_their_label(database: str) -> None:
    await make_guild()
    await change(profile_field=FieldChange("Steam name"))
    await change(profile_field=FieldChange("Class"))

    assert await search_fields("STEAM", guild_id=GUILD) == [("steam_name", "Steam name")]
    assert len(await search_fields("", guild_id=GUILD)) == 2
    assert await search_fields("", guild_id=OTHER_GUILD) == []


LABELS = st.text(min_size=1, max_size=45)


@given(LABELS)
def test_any_label_gives_a_key_that_a_form_takes(label: str) -> None:
    key = _key_of(label)

    assert 1 <= len(key) <= 41
    assert key.replace("_", "a").isalnum()
    assert key.isascii()


@given(LABELS, LABELS | st.sampled_from(["a", "A ", "x" * 45, "x" * 44, "a-b", "a b", "名前"]))
def test_two_labels_have_one_key_only_if_they_read_alike(one: str, other: str) -> None:
    assert (_key_of(one) == _key_of(other)) is (folded(one) == folded(other))
    assert _key_of(one) == _key_of(f" {one} ")


def test_settings_in_words_let_no_label_act() -> None:
    fields = ({"key": "a", "label": "**@everyone**", "required": True, "max_length": 7},)
    text = described(SettingsView("America/New_York", 1, 2, 3, fields))

    assert text.splitlines() == [
        r"Time zone: America/New\_York",
        "Announcements: <#1>",
        "Trouble is told in: <#2>",
        "Manager role: <@&3>",
        r"Profile fields: \*\*\@everyone\*\* (required, up to 7)",
    ]
    bare = described(SettingsView("UTC"))
    assert "nowhere: set announcement_channel" in bare
    assert "only people with Manage Server are admins" in bare
    assert bare.endswith("Profile fields: none")


def test_settings_that_leave_something_out_or_name_a_lost_zone_are_told_all_the_same() -> None:
    text = described(SettingsView("Mars/Gone", profile_fields=({"key": "a", "label": "A", "required": True},)))

    assert text.splitlines()[0] == "Time zone: Mars/Gone: not known any more, set another one"
    assert text.splitlines()[-1] == "Profile fields: A (required, up to 100)"
