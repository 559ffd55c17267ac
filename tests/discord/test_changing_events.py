"""``/event edit``, ``/event move`` and the exceptions of ``/series`` as people use them: shown, confirmed, once."""

from typing import Any

import pytest

from bot.command_tree import NotAllowedError
from bot.drafts import GONE
from bot.events.generate import generate_events_for_repeater
from models.event import Event
from models.event_repeater import EventRepeater
from models.repeater_exception import RepeaterException
from models.states import EventState
from tests.admin_hands import columns
from tests.builders import DAY, HOUR, OTHER_GUILD, make_event, make_series, utc
from tests.discord.acting import Stage, elsewhere, labels, press
from tests.people import sign_up

NASTY = "@everyone <@&1> **b** `c` ||s||"
# START is noon of a Sunday; the series is London Sundays at seven.
COMMANDS: dict[str, dict[str, Any]] = {
    "event edit": {"name": "Dragon"},
    "event move": {"when": "2026-03-10 19:30"},
    "series skip": {"date": "2026-03-08"},
    "series add-extra": {"when": "2026-03-10 19:30"},
    "series delete": {},
}
SAYS = {
    "event edit": "**London Sunday** was changed.",
    "event move": f"**London Sunday** was moved to <t:{int(utc('2026-03-10 19:30').timestamp())}:F>",
    "series skip": "**London Sunday** skips 8 March 2026.",
    "series add-extra": "An extra event of **London Sunday** was added: <t:",
    "series delete": "The series **London Sunday** was deleted: 3 events went with it, 0 were cancelled and 0 stay.",
}

AGAIN = {
    "event edit": "is like that already",
    "event move": "> already.",
    "series skip": "skips 8 March 2026 already.",
    "series add-extra": "has an event already on",
    "series delete": "There is no series",
}


async def subjects(stage: Stage, *, guild_id: int | None = None, **fields: object) -> dict[str, str]:
    """Store a series with events; return what commands may be about, by the name of the option."""
    series = await make_series(now=stage.now(), guild_id=guild_id or stage.guild_id, **fields)
    await generate_events_for_repeater(series, now=stage.now())
    events = await Event.filter(series_id=series.id).order_by("scheduled_at")
    return {"series": str(series.id), "event": str(events[1].id)}


def about(command: str, known: dict[str, str]) -> dict[str, Any]:
    kind = command.partition(" ")[0]
    return {kind: known[kind], **COMMANDS[command]}


@pytest.mark.parametrize("command", COMMANDS)
async def test_it_is_shown_done_on_a_press_and_never_twice(stage_everywhere: Stage, command: str) -> None:
    stage = stage_everywhere
    options = about(command, await subjects(stage))
    before = [columns(event) for event in await Event.all().order_by("id")]

    shown = await stage.run(stage.manager, command, **options)
    assert len(labels(shown)) == 2
    assert shown.content.splitlines()[0].endswith("?")
    assert [columns(event) for event in await Event.all().order_by("id")] == before
    first = shown.content
    await press(stage.manager, shown, labels(shown)[0])

    assert shown.content.startswith(SAYS[command]), first
    assert labels(shown) == []
    assert AGAIN[command] in await stage.says(stage.admin, command, **options)


@pytest.mark.parametrize("command", COMMANDS)
async def test_a_plain_member_and_another_server_reach_nothing(stage: Stage, command: str) -> None:
    options = about(command, await subjects(stage))
    before = [columns(event) for event in await Event.all().order_by("id")]
    owner, lobby = await elsewhere(stage)

    assert await stage.says(stage.member, command, **options) == str(NotAllowedError())
    answer = await owner.slash(lobby, command, **options)
    assert answer.response is not None
    assert answer.response.content.startswith("There is no ")
    assert [columns(event) for event in await Event.all().order_by("id")] == before


@pytest.mark.parametrize("command", COMMANDS)
async def test_what_is_deleted_between_the_question_and_the_press_is_one_sentence(stage: Stage, command: str) -> None:
    options = about(command, await subjects(stage))
    shown = await stage.run(stage.admin, command, **options)
    await EventRepeater.all().delete()
    await Event.all().delete()

    await press(stage.admin, shown, labels(shown)[0])

    assert "was changed since you were shown this, so nothing was done." in shown.content
    assert "\n" not in shown.content
    assert await Event.all().count() == 0


@pytest.mark.parametrize("command", COMMANDS)
async def test_after_a_minute_too_many_the_question_is_gone(stage: Stage, command: str) -> None:
    options = about(command, await subjects(stage))
    shown = await stage.run(stage.admin, command, **options)
    stage.discord_.world.advance_to(stage.now() + HOUR)

    result = await press(stage.admin, shown, labels(shown)[0])

    said = [one.content for one in (*result.followups, *([result.response] if result.response else []))]
    assert GONE in said


async def test_nothing_that_was_named_acts_in_any_answer(stage: Stage) -> None:
    known = await subjects(stage, name=NASTY, description=NASTY)
    read = []
    for command in COMMANDS:
        options = about(command, known) | ({"description": f"{NASTY} too"} if command == "event edit" else {})
        shown = await stage.run(stage.admin, command, **options)
        read.append(shown.content)
        await press(stage.admin, shown, labels(shown)[0])
        read.append(shown.content)

    for text in read:
        assert "@everyone" not in text.replace("\\@everyone", "")
        assert "<@&1>" not in text


async def test_an_edit_takes_every_option_that_discord_offers(stage: Stage) -> None:
    known = await subjects(stage)

    shown = await stage.run(
        stage.admin, "event edit", event=known["event"], name="Dragon", description="Bring ropes.",
        duration_minutes=60, places=4, channel=stage.channel, ping_role=stage.manager_role, announce_hours=5,
        signup_reminder_hours=6, attendance_hours=3, profile_hours=4, signups_open_hours=48,
        required_role=stage.manager_role,
    )  # fmt: skip
    await press(stage.admin, shown, "Change it")

    event = await Event.get(id=int(known["event"]))
    assert (event.name, event.description, event.duration_minutes, event.max_players) == (
        "Dragon",
        "Bring ropes.",
        60,
        4,
    )
    assert event.discord_announcement_channel_id == stage.channel.id
    assert event.discord_announcement_role_ids == [stage.manager_role.id]
    assert event.required_role_id == stage.manager_role.id
    assert event.signups_open_at == event.scheduled_at - 2 * DAY
    shown = await stage.run(stage.admin, "event edit", event=known["event"], clear="ping_role")
    await press(stage.admin, shown, "Change it")
    assert (await Event.get(id=event.id)).discord_announcement_role_ids == []


async def test_a_move_is_told_only_where_the_admin_leaves_it_so(stage: Stage) -> None:
    event = await make_event(now=stage.now(), guild_id=stage.guild_id, state=EventState.SIGNUPS_OPEN, starts_in=DAY)
    await sign_up(event, [stage.member.id])

    shown = await stage.run(stage.admin, "event move", event=str(event.id), when="03/04 19:30", tell=False)
    assert labels(shown) == ["4 March 2026, 19:30", "3 April 2026, 19:30", "Discard"]
    await press(stage.admin, shown, "3 April 2026, 19:30")
    assert "Nobody is told by direct message" in shown.content
    await press(stage.admin, shown, "Move the event")

    await event.refresh_from_db()
    assert (event.scheduled_at, event.time_changes) == (utc("2026-04-03 19:30"), 0)
    shown = await stage.run(stage.admin, "event move", event=str(event.id), when="2026-03-12 19:30")
    await press(stage.admin, shown, "Move the event")
    assert "told by direct message" in shown.content
    await event.refresh_from_db()
    assert event.time_changes == 1


async def test_completion_offers_the_dates_of_the_chosen_series(stage: Stage) -> None:
    known = await subjects(stage)
    await make_series(now=stage.now(), guild_id=OTHER_GUILD)

    async def offered(command: str, **options: str) -> list[str]:
        found = await stage.admin.autocomplete(stage.channel, command, "date", "", **options)
        return [one["value"] for one in found]

    assert (await offered("series skip", series=known["series"]))[:2] == ["2026-03-01", "2026-03-08"]
    assert await offered("series skip") == []
    shown = await stage.run(stage.admin, "series skip", series=known["series"], date="2026-03-08")
    await press(stage.admin, shown, "Skip it")
    assert (await offered("series skip", series=known["series"]))[:2] == ["2026-03-01", "2026-03-15"]
    assert await offered("series unskip", series=known["series"]) == ["2026-03-08"]
    shown = await stage.run(stage.admin, "series unskip", series=known["series"], date="2026-03-08")
    await press(stage.admin, shown, "Let it return")
    assert shown.content == "**London Sunday** returns on 8 March 2026 after all."
    assert await RepeaterException.all().count() == 0


async def test_completion_offers_the_events_ahead(stage: Stage) -> None:
    states = (EventState.UPCOMING, EventState.ROLL_CALL, EventState.CANCELLED, EventState.COMPLETED)
    for state in states:
        await make_event(now=stage.now(), guild_id=stage.guild_id, state=state, name=state.value)

    for command in ("event edit", "event move"):
        found = await stage.admin.autocomplete(stage.channel, command, "event", "")
        assert [one["name"].partition(" ")[0] for one in found] == ["upcoming", "roll_call"]
