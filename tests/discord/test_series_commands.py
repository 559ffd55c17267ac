"""``/series`` as an admin uses it: typed, shown, confirmed, paused and resumed."""

from typing import Any

import pytest

from models.event import Event
from models.event_repeater import EventRepeater
from tests.builders import OTHER_GUILD, make_series, utc
from tests.discord.acting import Stage, labels, press

LEAST: dict[str, Any] = {"name": "Raid", "frequency": "weekly", "time": "19:30"}
NASTY = "@everyone <@&1> **b** `c` ||s||"


async def test_a_series_is_shown_created_listed_paused_and_resumed(stage_everywhere: Stage) -> None:
    stage = stage_everywhere
    shown = await stage.run(
        stage.admin, "series create", **LEAST, days="TU", timezone="Europe/Berlin", channel=stage.channel,
        ping_role=stage.manager_role, signup_reminder_hours=12,
    )  # fmt: skip
    assert labels(shown) == ["Create", "Discard"]
    assert f"First <t:{int(utc('2026-03-03 18:30').timestamp())}:F>" in shown.content
    assert await EventRepeater.all().count() == 0

    await press(stage.admin, shown, "Create")
    series = await EventRepeater.get()
    assert shown.content == "**Raid** was created; 2 events were made."
    assert (series.guild_id, series.created_by, series.discord_signup_reminder_hours) == (
        stage.guild_id,
        stage.admin.id,
        12,
    )
    assert await Event.filter(series_id=series.id).count() == 2
    assert "**Raid** every week on Tuesday" in await stage.says(stage.admin, "series list")

    await stage.says(stage.admin, "series pause", series=str(series.id))
    assert "It is paused" in await stage.says(stage.admin, "series show", series=str(series.id))
    assert "0 events were made" in await stage.says(stage.admin, "series resume", series=str(series.id))


async def test_an_ambiguous_first_day_is_asked_about_by_buttons(stage: Stage) -> None:
    shown = await stage.run(stage.admin, "series create", **LEAST, starts="03/04/2026")
    assert labels(shown) == ["4 March 2026", "3 April 2026", "Discard"]

    await press(stage.admin, shown, "4 March 2026")
    assert "every week on Wednesday" in shown.content
    assert labels(shown) == ["Create", "Discard"]
    assert await EventRepeater.all().count() == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"timezone": "Nowhere/City"}, "timezone 'Nowhere/City' is not known"),
        ({"time": "25:00"}, "must be a time of day"),
        ({"days": "2WE"}, "which only monthly does"),
        ({"starts": "soon"}, "is no date that can be read"),
        ({"announce_hours": 400}, "is more than 336"),
        ({"name": "\N{BELL}" * 51}, "as Discord counts them"),
    ],
)
async def test_what_cannot_be_is_one_sentence_and_nothing_is_stored(
    stage: Stage, options: dict[str, Any], words: str
) -> None:
    shown = await stage.run(stage.admin, "series create", **(LEAST | options))

    assert words in shown.content.replace("\\", "")
    assert "\n" not in shown.content
    assert labels(shown) == []
    assert await EventRepeater.all().count() == 0


async def test_everybodys_role_cannot_be_pinged(stage: Stage) -> None:
    everyone = stage.discord_.guild.default_role

    says = await stage.says(stage.admin, "series create", **LEAST, ping_role=everyone)

    assert says.startswith("@everyone is no role that can be chosen here")


async def test_the_same_name_again_is_refused(stage: Stage) -> None:
    await make_series(now=stage.now(), guild_id=stage.guild_id, name="RAID")

    says = await stage.says(stage.admin, "series create", **LEAST)

    assert says == "There is a series named **Raid** already: give the new one another name."


async def test_a_name_pings_nobody_and_is_no_markup_in_any_answer(stage: Stage) -> None:
    shown = await stage.run(stage.admin, "series create", **(LEAST | {"name": NASTY, "description": NASTY}))
    proposed = shown.content
    await press(stage.admin, shown, "Create")
    series = await EventRepeater.get()
    read = [proposed, shown.content, await stage.says(stage.admin, "series list")]
    for command in ("show", "pause", "resume"):
        says = await stage.says(stage.admin, f"series {command}", series=str(series.id))
        read.append(says)

    for text in read:
        assert "\\@everyone" in text
        assert "@everyone" not in text.replace("\\@everyone", "")
        assert "<@&1>" not in text


@pytest.mark.parametrize("command", ["show", "pause", "resume"])
async def test_what_is_typed_by_hand_is_one_sentence(stage: Stage, command: str) -> None:
    await make_series(now=stage.now(), guild_id=stage.guild_id)
    for typed in ("London Sunday", "999999", "' OR 1=1", "\N{BELL}" * 100, "@everyone", "-1"):
        says = await stage.says(stage.admin, f"series {command}", series=typed)
        assert says.startswith("There is no series ")
        assert says.endswith("choose one from the list that appears as you type.")

    assert (await EventRepeater.get()).is_active


async def test_completion_offers_the_series_that_the_command_takes(stage: Stage) -> None:
    await make_series(now=stage.now(), guild_id=stage.guild_id, name="Goes")
    await make_series(now=stage.now(), guild_id=stage.guild_id, name="Rests", is_active=False)
    await make_series(now=stage.now(), guild_id=OTHER_GUILD, name="Theirs")

    async def offered(command: str) -> list[str]:
        found = await stage.admin.autocomplete(stage.channel, f"series {command}", "series", "")
        return [one["name"] for one in found]

    assert await offered("show") == ["Goes", "Rests (paused)"]
    assert await offered("pause") == ["Goes"]
    assert await offered("resume") == ["Rests (paused)"]


async def test_completion_finds_a_time_zone_by_its_city(stage: Stage) -> None:
    found = await stage.admin.autocomplete(stage.channel, "series create", "timezone", "new yo")

    assert found == [{"name": "America/New_York \u00b7 UTC-05:00", "value": "America/New_York"}]
    assert await stage.member.autocomplete(stage.channel, "series create", "timezone", "new yo") == []
