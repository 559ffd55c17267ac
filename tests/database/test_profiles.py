"""What a server asks and what people answer: all of a form or nothing, within its limits, required things required."""

import asyncio
import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.events.profiles import (
    NoProfileFieldsError,
    OutdatedFormError,
    ProfileField,
    ProfileRefusedError,
    _checked,
    fields_of,
    lacking,
    profile_of,
    save,
)
from models.guild_settings import GuildSettings
from models.player_profile import PlayerProfile
from tests.builders import GUILD, MINUTE, OTHER_GUILD, make_guild, utc

NOW = utc("2026-03-01 12:00")
ADA, BRUNO, CLEO = 11, 12, 13
IGN = {"key": "ign", "label": "In-game name", "required": True, "max_length": 12}
ABOUT = {"key": "about", "label": "About you", "required": False, "max_length": 300}
FIRE = "\N{FIRE}"


async def stored(user_id: int = ADA, guild_id: int = GUILD) -> dict[str, str] | None:
    row = await PlayerProfile.get_or_none(guild_id=guild_id, user_id=user_id)
    return row.field_values if row is not None else None


async def refused(values: dict[str, str], error: type[Exception] = ProfileRefusedError) -> str:
    before = await PlayerProfile.all().values()
    with pytest.raises(error) as told:
        await save(values, guild_id=GUILD, user_id=ADA, now=NOW)
    assert await PlayerProfile.all().values() == before
    return str(told.value)


async def test_a_form_is_stored_and_shown_again(database: str) -> None:
    await make_guild(profile_fields=[IGN, ABOUT])

    said = await save({"ign": "  Ada  ", "about": "a\r\nb\tc"}, guild_id=GUILD, user_id=ADA, now=NOW)
    profile = await profile_of(ADA, guild_id=GUILD)

    assert said == "Your profile for this server is saved. `/profile` shows and changes it."
    assert profile.fields == (
        ProfileField("ign", "In-game name", required=True, max_length=12),
        ProfileField("about", "About you", required=False, max_length=300),
    )
    assert profile.values == {"ign": "Ada", "about": "a\nb\tc"}


async def test_a_form_handed_in_again_replaces_what_was_there(database: str) -> None:
    await make_guild(profile_fields=[IGN, ABOUT])
    await save({"ign": "Ada", "about": "Tank"}, guild_id=GUILD, user_id=ADA, now=NOW)

    await save({"ign": "Ada2", "about": ""}, guild_id=GUILD, user_id=ADA, now=NOW + MINUTE)

    row = await PlayerProfile.get()
    assert (row.field_values, row.updated_at) == ({"ign": "Ada2"}, NOW + MINUTE)


async def test_a_profile_holds_what_its_form_showed_and_keeps_the_persons_own_settings(database: str) -> None:
    await make_guild(profile_fields=[IGN])
    await PlayerProfile.create(
        guild_id=GUILD,
        user_id=ADA,
        field_values={"old": "no longer asked", "ign": "Ada"},
        timezone="Europe/Paris",
        reminder_opt_outs=["signup_reminder"],
        updated_at=NOW,
    )

    shown = await profile_of(ADA, guild_id=GUILD)
    await save({"ign": "Ada"}, guild_id=GUILD, user_id=ADA, now=NOW)

    row = await PlayerProfile.get()
    assert shown.values == row.field_values == {"ign": "Ada"}
    assert (row.timezone, row.reminder_opt_outs) == ("Europe/Paris", ["signup_reminder"])


async def test_a_person_has_a_profile_in_each_server(database: str) -> None:
    await make_guild(profile_fields=[IGN])
    await make_guild(OTHER_GUILD, profile_fields=[IGN])

    await save({"ign": "Here"}, guild_id=GUILD, user_id=ADA, now=NOW)
    await save({"ign": "There"}, guild_id=OTHER_GUILD, user_id=ADA, now=NOW)

    assert (await stored(), await stored(guild_id=OTHER_GUILD)) == ({"ign": "Here"}, {"ign": "There"})


async def test_mentions_and_markup_are_stored_as_they_were_typed(database: str) -> None:
    await make_guild(profile_fields=[ABOUT])

    await save({"about": "@everyone **x** <@&5> `y`"}, guild_id=GUILD, user_id=ADA, now=NOW)

    assert await stored() == {"about": "@everyone **x** <@&5> `y`"}


# ------------------------------------------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ("x" * 12, True),
        ("x" * 13, False),
        (FIRE * 6, True),
        (FIRE * 6 + "x", False),
        ("  " + "x" * 12 + "  ", True),
    ],
    ids=["at the limit", "one over", "emoji at the limit", "one over in utf-16", "space around it"],
)
async def test_a_value_is_kept_up_to_its_limit_as_discord_counts(database: str, value: str, kept: bool) -> None:
    await make_guild(profile_fields=[IGN])

    if kept:
        await save({"ign": value}, guild_id=GUILD, user_id=ADA, now=NOW)
        assert await stored() == {"ign": value.strip()}
    else:
        assert await refused({"ign": value}) == (
            "Nothing was saved; mend this and hand it in again:\n"
            r"In\-game name has 13 characters as Discord counts them (an emoji is two); at most 12 are allowed."
        )


@pytest.mark.parametrize("value", ["", "   ", "\u200b\u2060", "\u3164", "\u00ad ", "\ufe0f", "\n"], ids=ascii)
async def test_what_is_required_must_show_something(database: str, value: str) -> None:
    await make_guild(profile_fields=[IGN])

    assert await refused({"ign": value}) == (
        "Nothing was saved; mend this and hand it in again:\nIn\\-game name must not be left blank."
    )


@pytest.mark.parametrize(
    ("value", "named"),
    [("a\x00b", "0000"), ("a\nb", "000A"), ("a\x1bb", "001B"), ("a\u2028b", "2028"), ("a\ud800b", "D800")],
    ids=["nul", "a second line", "escape", "line separator", "half a pair"],
)
async def test_control_characters_are_refused_by_their_name(database: str, value: str, named: str) -> None:
    await make_guild(profile_fields=[IGN])

    assert f"In\\-game name holds the control character U+{named}, which is not allowed." in await refused(
        {"ign": value}
    )


async def test_every_fault_is_told_and_nothing_is_stored(database: str) -> None:
    await make_guild(profile_fields=[IGN, ABOUT])
    await save({"ign": "Ada", "about": ""}, guild_id=GUILD, user_id=ADA, now=NOW)

    told = await refused({"ign": " ", "about": "x" * 301})

    assert told.splitlines() == [
        "Nothing was saved; mend this and hand it in again:",
        r"In\-game name must not be left blank.",
        "About you has 301 characters as Discord counts them (an emoji is two); at most 300 are allowed.",
    ]
    assert await stored() == {"ign": "Ada"}


@pytest.mark.parametrize("values", [{}, {"ign": "Ada", "about": "x"}, {"about": "x"}], ids=["less", "more", "other"])
async def test_a_form_from_before_the_server_asked_something_else_is_refused(
    database: str, values: dict[str, str]
) -> None:
    await make_guild(profile_fields=[IGN])

    assert await refused(values, OutdatedFormError) == (
        "This server changed what it asks while you were writing, so nothing was saved: open `/profile` again."
    )


async def test_a_server_that_asks_nothing_or_is_not_known_says_so(database: str) -> None:
    unknown = await refused({"ign": "Ada"}, NoProfileFieldsError)
    await make_guild()
    asks_nothing = await refused({"ign": "Ada"}, NoProfileFieldsError)

    with pytest.raises(NoProfileFieldsError):
        await profile_of(ADA, guild_id=GUILD)

    assert unknown == asks_nothing == "This server asks for no profile, so there is nothing to fill in."
    assert (await fields_of(GUILD), await fields_of(OTHER_GUILD)) == ((), ())


async def test_a_server_asks_five_things_at_most_within_discords_bounds(database: str) -> None:
    asked = [{"key": f"k{number}", "label": f"L{number}", "max_length": 5_000} for number in range(7)]
    await make_guild(profile_fields=[{"key": "k", "label": "L"}, *asked])

    fields = await fields_of(GUILD)

    assert [field.key for field in fields] == ["k", "k0", "k1", "k2", "k3"]
    assert (fields[0], fields[1].max_length) == (ProfileField("k", "L", required=False, max_length=100), 4_000)
    assert [fields[0].is_long, fields[1].is_long] == [False, True]


async def test_forms_handed_in_at_once_leave_one_profile_each(database: str) -> None:
    await make_guild(profile_fields=[IGN])

    forms = [(user_id, f"{number}") for number in range(4) for user_id in range(1, 26)]
    await asyncio.gather(*(save({"ign": ign}, guild_id=GUILD, user_id=user_id, now=NOW) for user_id, ign in forms))
    await asyncio.gather(*(save({"ign": str(n)}, guild_id=GUILD, user_id=ADA + 100, now=NOW) for n in range(20)))

    assert await PlayerProfile.all().count() == 26


OPTIONAL, REQUIRED = ProfileField("a", "A", max_length=9), ProfileField("b", "B", required=True, max_length=200)


@given(a=st.text(max_size=12), b=st.text(max_size=12))
def test_whatever_is_handed_in_is_stored_within_its_limits_or_refused(a: str, b: str) -> None:
    kept: dict[str, str] = {}
    with contextlib.suppress(ProfileRefusedError):
        kept = _checked([OPTIONAL, REQUIRED], {"a": a, "b": b})

    assert kept == {} or "b" in kept
    assert all(value.strip() == value != "" for value in kept.values())
    assert len(kept.get("a", "").encode("utf-16-le")) // 2 <= 9
    assert "\n" not in kept.get("a", "")
    assert "\x00" not in kept.get("b", "")
    assert not kept or _checked([OPTIONAL, REQUIRED], {"a": "", **kept}) == kept


# ------------------------------------------------------------------------------------------------------- who lacks what


async def test_who_lacks_a_required_field_is_found(database: str) -> None:
    await make_guild(profile_fields=[IGN, ABOUT])
    await make_guild(OTHER_GUILD, profile_fields=[IGN])
    await save({"ign": "Ada", "about": ""}, guild_id=GUILD, user_id=ADA, now=NOW)
    await PlayerProfile.create(guild_id=GUILD, user_id=BRUNO, field_values={"about": "x"}, updated_at=NOW)
    await save({"ign": "Cleo"}, guild_id=OTHER_GUILD, user_id=CLEO, now=NOW)

    assert await lacking(GUILD, [ADA, BRUNO, CLEO, CLEO]) == {BRUNO, CLEO}
    assert await lacking(GUILD, [ADA]) == set()
    assert await lacking(GUILD, []) == set()


async def test_nobody_lacks_what_is_not_required(database: str) -> None:
    await make_guild(profile_fields=[ABOUT])

    assert await lacking(GUILD, [ADA]) == set()
    assert await lacking(OTHER_GUILD, [ADA]) == set()


async def test_a_field_that_becomes_required_is_lacking_from_then_on(database: str) -> None:
    await make_guild(profile_fields=[IGN, ABOUT])
    await save({"ign": "Ada", "about": ""}, guild_id=GUILD, user_id=ADA, now=NOW)

    await GuildSettings.filter(guild_id=GUILD).update(profile_fields=[IGN, ABOUT | {"required": True}])

    assert await lacking(GUILD, [ADA]) == {ADA}


async def test_who_lacks_what_is_found_among_thousands(database: str) -> None:
    await make_guild(profile_fields=[IGN])
    people = range(1, 12_001)
    await PlayerProfile.bulk_create(
        [
            PlayerProfile(guild_id=GUILD, user_id=user_id, field_values={"ign": "x"}, updated_at=NOW)
            for user_id in people
            if user_id % 2
        ]
    )

    assert await lacking(GUILD, people) == {user_id for user_id in people if user_id % 2 == 0}
