"""What reaches a person by direct message, and the clock that they type by, as they set both themselves."""

from typing import TYPE_CHECKING

import pytest

from bot.events.profiles import Preferences, preferences_of
from models.player_profile import PlayerProfile
from tests.builders import make_series
from tests.discord.acting import Stage, answered, elsewhere, labels, press
from tests.people import subscribe

if TYPE_CHECKING:
    from simcord.actors import MemberActor


async def preferred(stage: Stage, actor: "MemberActor") -> Preferences:
    return await preferences_of(actor.id, guild_id=stage.guild_id)


async def test_everybody_sees_what_reaches_them_and_turns_it_off_and_on_by_buttons(stage_everywhere: Stage) -> None:
    stage = stage_everywhere
    series = await make_series(now=stage.now(), guild_id=stage.guild_id, name="Lantern *walk*")
    await subscribe(series.id, [stage.member.id])

    for actor in (stage.admin, stage.manager, stage.member):
        shown = await stage.run(actor, "notifications")
        off = answered(await press(actor, shown, "Turn off: sign-up reminder"))
        assert off.content.splitlines()[0] == "The direct messages are off now: sign-up reminder."
        assert (await preferred(stage, actor)).kinds_off == {"signup_reminder"}
        on = answered(await press(actor, off, "Turn on: sign-up reminder"))
        assert on.content.splitlines()[0] == "The direct messages are on now: sign-up reminder."
        assert await preferred(stage, actor) == Preferences()
    shown = await stage.run(stage.member, "notifications")
    assert r"- everything about **Lantern \*walk\***: on" in shown.content.splitlines()
    assert "Turn off: Lantern *walk*" in labels(shown)


async def test_the_same_by_typing_and_again_it_is_said(stage: Stage) -> None:
    said = [await stage.says(stage.member, "notifications", turn_off="profile_reminder") for _ in range(2)]
    both = await stage.says(stage.member, "notifications", turn_off="signup_reminder", turn_on="profile_reminder")

    assert [one.splitlines()[0] for one in said] == [
        "The direct messages are off now: profile reminder.",
        "The direct messages are off already: profile reminder.",
    ]
    assert both.splitlines()[:2] == [
        "The direct messages are off now: sign-up reminder.",
        "The direct messages are on now: profile reminder.",
    ]
    assert (await preferred(stage, stage.member)).kinds_off == {"signup_reminder"}


async def test_what_is_on_and_what_is_off_is_offered(stage: Stage) -> None:
    await stage.says(stage.member, "notifications", turn_off="profile_reminder")

    on = await stage.member.autocomplete(stage.channel, "notifications", "turn_off", "rem")
    off = await stage.member.autocomplete(stage.channel, "notifications", "turn_on", "")

    assert {"signup_reminder", "attendance_reminder"} <= {one["value"] for one in on}
    assert [one["value"] for one in off] == ["profile_reminder"]


@pytest.mark.parametrize("option", ["turn_off", "turn_on"])
async def test_what_is_another_servers_deleted_or_nothing_is_refused(stage: Stage, option: str) -> None:
    others = await make_series(now=stage.now(), guild_id=4_711)
    deleted = await make_series(now=stage.now(), guild_id=stage.guild_id)
    await deleted.delete()

    for typed in (str(others.id), str(deleted.id), "announcement", "@everyone"):
        said = await stage.says(stage.member, "notifications", **{option: typed})
        assert said.startswith("There is no")
        assert "@everyone" not in said.replace(r"\@everyone", "")
    assert await PlayerProfile.all().count() == 0


async def test_what_is_off_in_one_server_is_on_in_another(stage: Stage) -> None:
    await stage.says(stage.member, "notifications", turn_off="signup_reminder")
    twin, channel = await elsewhere(stage)

    shown = answered(await twin.slash(channel, "notifications"))

    assert "**off**" not in shown.content


# ------------------------------------------------------------------------------------------------- a clock of one's own


async def test_a_person_sets_the_clock_that_they_type_by_and_goes_back_to_the_servers(stage_everywhere: Stage) -> None:
    stage = stage_everywhere
    for actor in (stage.admin, stage.manager, stage.member):
        said = await stage.says(actor, "profile", timezone="Asia/Tokyo")
        assert said.startswith("Times that you type are read by the clock of Asia/Tokyo from now on: it is ")
        assert (await preferred(stage, actor)).timezone == "Asia/Tokyo"

    said = await stage.says(stage.member, "profile", timezone="server")

    assert said.startswith("Times that you type are read by the clock of this server, ")
    assert (await preferred(stage, stage.member)).timezone is None


async def test_what_is_no_zone_is_refused(stage: Stage) -> None:
    assert (await stage.says(stage.member, "profile", timezone="@here")).startswith(r"I know no time zone '\@here'")
    assert await PlayerProfile.all().count() == 0


async def test_a_city_finds_its_zone_and_the_way_back_is_offered(stage: Stage) -> None:
    await stage.says(stage.member, "profile", timezone="Asia/Tokyo")

    found = await stage.member.autocomplete(stage.channel, "profile", "timezone", "m\u00fcnchen")
    offered = await stage.member.autocomplete(stage.channel, "profile", "timezone", "")

    assert [one["value"] for one in found] == ["Europe/Berlin"]
    assert offered[0]["value"] == "server"


async def test_an_event_is_read_by_the_admins_own_clock_and_says_so(stage: Stage) -> None:
    await stage.says(stage.admin, "profile", timezone="America/New_York")

    said = await stage.says(stage.admin, "event create", name="Raid", when="2026-07-10 19:30")

    assert r"Read by your own clock, America/New\_York; this server's is UTC." in said
    assert "<t:1783726200:F>" in said
