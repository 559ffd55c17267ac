"""``/series edit`` as an admin uses it: typed, shown, confirmed; nobody else, and from nowhere else."""

import datetime as dt

import pytest

from bot.events.generate import generate_events_for_repeater
from models.event import Event
from models.event_repeater import EventRepeater
from models.states import EventState
from tests.builders import OTHER_GUILD, make_series
from tests.discord.acting import Stage, labels, press


async def tuesdays(stage: Stage, **fields: object) -> EventRepeater:
    least: dict[str, object] = {"guild_id": stage.guild_id, "day_of_week": "TU"}
    series = await make_series(now=stage.now(), **(least | fields))
    await generate_events_for_repeater(series, now=stage.now())
    return series


async def weekdays(series: EventRepeater) -> list[int]:
    events = await Event.filter(series_id=series.id, state=EventState.UPCOMING).order_by("scheduled_at")
    return [event.scheduled_at.isoweekday() for event in events]


async def test_an_edit_is_shown_and_made_on_a_press(stage_everywhere: Stage) -> None:
    stage = stage_everywhere
    series = await tuesdays(stage)
    shown = await stage.run(stage.admin, "series edit", series=str(series.id), days="TH", time="9:30", places=5)
    assert labels(shown) == ["Change the series", "Only from one event on", "Discard"]
    assert "- days: TU → TH\n- time: 19:00 → 09:30\n- places: none → 5" in shown.content
    assert "**Moved, each as a new event (2)**" in shown.content
    assert await weekdays(series) == [2, 2]

    await press(stage.admin, shown, "Change the series")

    assert shown.content == "**London Sunday** was changed; events: 2 moved."
    assert labels(shown) == []
    assert await weekdays(series) == [4, 4]
    assert {event.max_players for event in await Event.all()} == {5}


async def test_discarded_nothing_is_changed(stage: Stage) -> None:
    series = await tuesdays(stage)
    shown = await stage.run(stage.admin, "series edit", series=str(series.id), clear="days", description="Hi")

    await press(stage.admin, shown, "Discard")

    assert shown.content == "Nothing was changed."
    assert await weekdays(series) == [2, 2]


async def test_a_date_that_can_be_two_is_asked_about_by_buttons(stage: Stage) -> None:
    series = await tuesdays(stage)
    shown = await stage.run(stage.admin, "series edit", series=str(series.id), ends="03/04/2026")
    assert labels(shown) == ["4 March 2026", "3 April 2026", "Discard"]

    await press(stage.admin, shown, "3 April 2026")
    assert labels(shown) == ["Change the series", "Only from one event on", "Discard"]
    await press(stage.admin, shown, "Change the series")

    assert (await EventRepeater.get()).ends_at == dt.date(2026, 4, 3)


async def test_who_confirms_what_another_changed_meanwhile_reads_how_it_stands_now(stage: Stage) -> None:
    series = await tuesdays(stage)
    first = await stage.run(stage.admin, "series edit", series=str(series.id), days="TH")
    second = await stage.run(stage.manager, "series edit", series=str(series.id), days="FR")
    await press(stage.manager, second, "Change the series")

    await press(stage.admin, first, "Change the series")

    assert first.content.startswith("It was changed since you were shown this, so nothing was done.")
    assert "- days: FR → TH" in first.content
    assert await weekdays(series) == [5, 5]
    await press(stage.admin, first, "Change the series")
    assert await weekdays(series) == [4, 4]


async def test_once_it_was_deleted_one_sentence_says_so(stage: Stage) -> None:
    series = await tuesdays(stage)
    shown = await stage.run(stage.admin, "series edit", series=str(series.id), days="TH")
    await EventRepeater.filter(id=series.id).delete()

    await press(stage.admin, shown, "Change the series")

    assert "There is no series" in shown.content or "was changed since" in shown.content


async def test_a_plain_member_and_another_server_reach_nothing(stage: Stage) -> None:
    series = await tuesdays(stage)
    theirs = await make_series(now=stage.now(), guild_id=OTHER_GUILD, name="Theirs")

    refused = await stage.says(stage.member, "series edit", series=str(series.id), days="TH")
    not_there = await stage.says(stage.admin, "series edit", series=str(theirs.id), days="TH")

    assert "Change" not in refused
    assert not_there.startswith("There is no series ")
    offered = await stage.admin.autocomplete(stage.channel, "series edit", "series", "")
    assert [one["name"] for one in offered] == ["London Sunday"]
    assert await weekdays(series) == [2, 2]


@pytest.mark.parametrize("gone", ["days", "ping role", "attendee role", "channel", "description", "ends"])
async def test_what_can_only_be_taken_away_is(stage: Stage, gone: str) -> None:
    series = await tuesdays(
        stage,
        starts_at=dt.date(2026, 1, 1),
        ends_at=dt.date(2027, 1, 1),
        description="Hi",
        discord_announcement_channel_id=stage.channel.id,
        discord_announcement_role_ids=[stage.manager_role.id],
        attendee_role_id=stage.manager_role.id,
    )
    shown = await stage.run(stage.admin, "series edit", series=str(series.id), clear=gone)
    await press(stage.admin, shown, "Change the series")

    row = await EventRepeater.get()
    value = {
        "days": row.day_of_week,
        "ping role": row.discord_announcement_role_ids or None,
        "attendee role": row.attendee_role_id,
        "channel": row.discord_announcement_channel_id,
        "description": row.description or None,
        "ends": row.ends_at,
    }[gone]
    assert value is None


async def test_resuming_brings_the_events_in_line_once_it_is_confirmed(stage: Stage) -> None:
    series = await tuesdays(stage)
    await stage.says(stage.admin, "series pause", series=str(series.id))
    shown = await stage.run(stage.admin, "series edit", series=str(series.id), days="TH")
    await press(stage.admin, shown, "Change the series")
    assert await weekdays(series) == [2, 2]

    shown = await stage.run(stage.admin, "series resume", series=str(series.id))
    assert labels(shown) == ["Resume the series", "Discard"]
    assert "**Moved, each as a new event (2)**" in shown.content
    assert not (await EventRepeater.get()).is_active
    await press(stage.admin, shown, "Resume the series")

    assert shown.content == "**London Sunday** goes on; events: 2 moved."
    assert await weekdays(series) == [4, 4]


async def test_from_one_event_on_a_new_series_takes_over(stage: Stage) -> None:
    series = await tuesdays(stage)
    _, second = await Event.all().order_by("scheduled_at")
    shown = await stage.run(stage.admin, "series edit", series=str(series.id), days="TH", native_event=True)
    await press(stage.admin, shown, "Only from one event on")
    assert shown.content.startswith("From which event on?")
    await press(stage.admin, shown, labels(shown)[1])
    assert labels(shown) == ["Change from there on", "Discard"]

    await press(stage.admin, shown, "Change from there on")

    new = await EventRepeater.get(name="London Sunday (2)")
    assert "goes on from there; events: 1 moved." in shown.content
    assert (await weekdays(series), await weekdays(new)) == ([2], [4])
    assert (new.discord_create_event, new.guild_id) == (True, stage.guild_id)
    assert not await Event.filter(id=second.id).exists()
