"""What an admin did to one occurrence stands, whatever the series' schedule becomes; and no two events meet by it."""

import datetime as dt
from typing import Any

import pytest

from bot.changes import event_time, series_edit
from bot.changes.event_edit import EventChanges, EventEdits
from bot.changes.event_time import EventTimes
from bot.changes.extras import ExtraEvents, ExtraTakenError, RuleOnExtraError
from bot.changes.series_edit import SeriesEditing, Wish
from bot.changes.series_skips import SeriesSkips
from bot.changes.series_split import SeriesSplitting
from bot.changes.series_state import pause_series
from bot.events import generate
from bot.events.generate import Generator, generate_events_for_repeater
from bot.events.to_be_made import Passes, to_be_made
from bot.events.transitions import Transition, Transitions
from bot.scheduling.agenda import Agenda
from models.event import Event
from models.event_repeater import EventRepeater
from models.repeater_exception import RepeaterException
from models.states import EventState
from tests.admin_hands import ADMIN, shown, take
from tests.builders import CHANNEL, DAY, GUILD, HOUR, SECOND, make_guild, make_series, utc

NOW = utc("2026-03-01 12:00")  # a Sunday
DEBOUNCE = 3 * SECOND


async def sundays(**fields: object) -> tuple[EventRepeater, list[Event]]:
    """Store a series with its events: Sundays at 19:00 in London, on the 1st, the 8th and the 15th."""
    await make_guild()
    series = await make_series(now=NOW, **fields)
    await generate_events_for_repeater(series, now=NOW)
    return series, await Event.filter(series_id=series.id).order_by("id")


async def edit(series: EventRepeater, *, ticked: frozenset[int] = frozenset(), **given: Any) -> str:  # noqa: ANN401
    editing = SeriesEditing(Agenda(), debounce=DEBOUNCE)
    return await take(await editing.propose(Wish(series.id, GUILD, ADMIN, given, ticked=ticked), now=NOW), now=NOW)


async def split(series: EventRepeater, event: Event, **given: Any) -> str:  # noqa: ANN401
    splitting = SeriesSplitting(Agenda(), debounce=DEBOUNCE)
    return await take(await splitting.propose(Wish(series.id, GUILD, ADMIN, given), event.id, now=NOW), now=NOW)


async def move(event: Event, when: str) -> str:
    times = EventTimes(Agenda(), debounce=DEBOUNCE, default_timezone="Europe/London")
    asked = await times.propose(str(event.id), when, tell=None, guild_id=GUILD, actor=ADMIN, now=NOW)
    return await take(asked, now=NOW)


async def add_extra(series: EventRepeater, when: str) -> Event:
    extras = ExtraEvents(Agenda(), debounce=DEBOUNCE, default_timezone="Europe/London")
    await take(await extras.propose(str(series.id), when, guild_id=GUILD, actor=ADMIN, now=NOW), now=NOW)
    return await Event.filter(is_off_schedule=True).order_by("-id").get()


async def cancel(event: Event) -> None:
    transitions = Transitions(Agenda(), debounce=DEBOUNCE)
    await take(await transitions.propose_cancel(str(event.id), guild_id=GUILD, actor=ADMIN, now=NOW), now=NOW)


async def open_(event: Event) -> None:
    await Transitions(Agenda(), debounce=DEBOUNCE).make(
        Transition.OPEN_SIGNUPS, str(event.id), guild_id=GUILD, actor=ADMIN, now=NOW
    )


async def describe(event: Event) -> None:
    edits = EventEdits(Agenda(), debounce=DEBOUNCE)
    changes = EventChanges(description="Bring cake")
    await take(await edits.propose(str(event.id), changes, guild_id=GUILD, actor=ADMIN, now=NOW), now=NOW)


async def announce(event: Event) -> None:
    await Event.filter(id=event.id).update(announcement_message_id=77, announcement_channel_id=CHANNEL)


async def stand() -> list[tuple[int, str]]:
    """Return the events that are not cancelled, by time: id and moment."""
    events = await Event.exclude(state=EventState.CANCELLED).order_by("scheduled_at", "id")
    return [(event.id, f"{event.scheduled_at:%m-%d %H:%M}") for event in events]


async def times() -> list[str]:
    return [moment for _, moment in await stand()]


async def generated(series: EventRepeater, *, days: int = 0) -> int:
    """Return how many events the hourly pass, and a series' own generation, make so many days later, as foreseen."""
    later, before = NOW + days * DAY, await Event.all().count()
    fresh = await EventRepeater.get(id=series.id)
    foreseen = await to_be_made(fresh, Passes(later, HOUR, later + HOUR))
    await Generator(Agenda(), instance="one", debounce=DEBOUNCE, every=HOUR).generate_upcoming_events(later)
    await generate_events_for_repeater(fresh, now=later)
    made = await Event.all().count() - before
    assert len(foreseen) == made
    return made


# ------------------------------------------------------------------------------------------ another name of one moment


@pytest.mark.parametrize("touch", [open_, describe], ids=["opened", "edited"])
@pytest.mark.parametrize(
    ("zone", "to"),
    [("Europe/London", "Europe/Jersey"), ("Europe/Kiev", "Europe/Kyiv"), ("UTC", "Etc/UTC"), ("Etc/UTC", "UTC")],
)
async def test_a_zone_of_the_same_clock_doubles_no_event_that_stays(
    database: str,
    touch: Any,  # noqa: ANN401
    zone: str,
    to: str,
) -> None:
    series, events = await sundays(timezone=zone)
    await touch(events[1])
    before = await stand()

    await edit(series, timezone=to)

    assert await stand() == before
    assert {event.slot for event in await Event.all()} == {f"2026-03-{day}T19:00[{to}]" for day in ("01", "08", "15")}
    assert (await generated(series), (await Event.get(id=events[1].id)).overridden_fields) == (
        0,
        ["description"] if touch is describe else [],
    )
    await edit(series, timezone=zone)
    assert {event.slot for event in await Event.all()} == {event.slot for event in events}
    assert await stand() == before


async def test_a_split_with_another_name_of_the_zone_doubles_no_opened_event(database: str) -> None:
    series, events = await sundays()
    await open_(events[2])
    before = await stand()

    await split(series, events[1], timezone="Europe/Jersey")

    assert await stand() == before
    new = await EventRepeater.exclude(id=series.id).get()
    assert (await generated(series), await generated(new)) == (0, 0)


async def test_a_schedule_onto_a_moved_event_has_no_second_one_there_and_gives_it_back(database: str) -> None:
    series, events = await sundays()
    await move(events[2], "2026-03-16 20:00")

    await edit(series, day_of_week="MO", time_of_day=dt.time(20))

    assert await times() == ["03-02 20:00", "03-09 20:00", "03-16 20:00"]
    assert await generated(series, days=1) == 0
    await edit(series, day_of_week="SU", time_of_day=dt.time(19))
    assert await times() == ["03-01 19:00", "03-08 19:00", "03-16 20:00"]
    assert (await stand())[2][0] == events[2].id


async def test_what_an_occurrence_was_moved_onto_comes_all_the_same(database: str) -> None:
    series, events = await sundays()
    await move(events[0], "2026-03-22 19:00")

    assert await generated(series, days=8) == 1


# --------------------------------------------------------------------------------------- cancelled, moved, ticked away


@pytest.mark.parametrize(
    "given",
    [
        {"time_of_day": dt.time(20)},
        {"timezone": "Europe/Jersey"},
        {"day_of_week": "MO", "time_of_day": dt.time(4), "timezone": "Asia/Tokyo"},
    ],
    ids=["time", "zone", "the same moment on another date"],
)
async def test_a_cancelled_occurrence_does_not_come_back_by_an_edit(database: str, given: dict[str, Any]) -> None:
    series, events = await sundays()
    await cancel(events[2])

    await edit(series, **given)

    assert len([one for one in await times() if one.startswith(("03-15", "03-16"))]) == 0
    assert (await generated(series), len(await stand())) == (0, 2)


async def test_a_cancelled_occurrence_does_not_come_back_by_a_split(database: str) -> None:
    series, events = await sundays()
    await cancel(events[2])

    await split(series, events[1], time_of_day=dt.time(20))

    assert await times() == ["03-01 19:00", "03-08 20:00"]
    assert await generated(await EventRepeater.exclude(id=series.id).get()) == 0


async def test_only_a_cancelled_event_that_the_schedule_had_left_is_gone_for_itself(database: str) -> None:
    series, events = await sundays()
    await open_(events[2])
    await edit(series, time_of_day=dt.time(20))  # the opened one stays, beside the new one of that day
    await cancel(events[2])

    await edit(series, ends_at=dt.date(2026, 12, 31))

    assert await times() == ["03-01 20:00", "03-08 20:00", "03-15 20:00"]
    await edit(series, day_of_week="SA")
    await edit(series, day_of_week="SU", time_of_day=dt.time(21))
    assert await times() == ["03-01 21:00", "03-08 21:00", "03-15 21:00"]
    assert await generated(series) == 0


async def test_a_moved_event_that_was_ticked_away_leaves_its_date_to_the_series(database: str) -> None:
    series, events = await sundays()
    await move(events[2], "2026-03-16 20:00")

    await edit(series, day_of_week="SA", ticked=frozenset({events[2].id}))

    assert (await times(), await RepeaterException.all().count()) == (["03-07 19:00", "03-14 19:00"], 0)
    await edit(series, day_of_week="SU")
    assert await times() == ["03-01 19:00", "03-08 19:00", "03-15 19:00"]


async def test_an_announced_one_returns_as_it_was_moved(database: str) -> None:
    series, events = await sundays()
    await move(events[2], "2026-03-16 20:00")
    await announce(events[2])
    before = [dict(one) for one in await Event.all().order_by("scheduled_at").values("slot", "scheduled_at", "state")]

    await edit(series, day_of_week="SA", ticked=frozenset({events[2].id}))
    assert await RepeaterException.all().count() == 0
    await edit(series, day_of_week="SU")

    rows = Event.exclude(state=EventState.CANCELLED).order_by("scheduled_at")
    assert [dict(one) for one in await rows.values("slot", "scheduled_at", "state")] == before
    assert [one.local_date for one in await RepeaterException.all()] == [dt.date(2026, 3, 15)]
    assert (await generated(series), (await stand())[2][0]) == (0, events[2].id)


async def test_moving_what_an_older_schedule_left_takes_nothing_from_the_new_one(database: str) -> None:
    series, events = await sundays()
    await open_(events[2])
    await edit(series, time_of_day=dt.time(21))

    await move(events[2], "2026-03-16 19:00")
    await edit(series, ends_at=dt.date(2026, 12, 31))

    assert await times() == ["03-01 21:00", "03-08 21:00", "03-15 21:00", "03-16 19:00"]
    await edit(series, time_of_day=dt.time(22))
    assert await times() == ["03-01 22:00", "03-08 22:00", "03-15 22:00", "03-16 19:00"]


# ---------------------------------------------------------------------------------------------------------- extra ones


@pytest.mark.parametrize(
    ("when", "why"),
    [
        ("2026-03-15 19:00", "returns by its own rule"),
        ("2026-03-22 19:00", "returns by its own rule"),
        ("2026-03-17 18:00", "has an event already"),
    ],
    ids=["made", "computed", "moved"],
)
async def test_an_extra_event_is_not_moved_onto_an_occurrence(database: str, when: str, why: str) -> None:
    series, events = await sundays()
    extra = await add_extra(series, "2026-03-12 18:00")
    await move(events[1], "2026-03-17 18:00")

    with pytest.raises(ExtraTakenError, match=why):
        await move(extra, when)

    assert "was moved" in await move(extra, "2026-03-12 18:30")


async def test_a_schedule_that_meets_an_extra_event_is_refused_by_its_time(database: str) -> None:
    series, events = await sundays()
    extra = await add_extra(series, "2026-03-11 19:00")
    at = int(extra.scheduled_at.timestamp())

    with pytest.raises(RuleOnExtraError, match=f"has an extra event on <t:{at}:F>"):
        await edit(series, day_of_week="SU,WE")
    with pytest.raises(RuleOnExtraError):
        await split(series, events[1], day_of_week="SU,WE")
    await pause_series(str(series.id), guild_id=GUILD, actor=ADMIN, now=NOW)
    with pytest.raises(RuleOnExtraError):
        await edit(series, day_of_week="WE")

    assert len(await stand()) == 4
    assert "was changed" in await edit(series, description="Elsewhere")
    await cancel(extra)
    assert "was changed" in await edit(series, day_of_week="SU,WE")


# --------------------------------------------------------------------------------------------------- what is said of it


async def test_a_pause_counts_what_stands(database: str) -> None:
    series, events = await sundays()
    await cancel(events[0])
    await Event.filter(id=events[1].id).update(guild_id=GUILD + 1)

    says = await pause_series(str(series.id), guild_id=GUILD, actor=ADMIN, now=NOW)

    assert "Its 1 event that is made already stays" in says


@pytest.mark.parametrize("later", [dt.time(19), dt.time(20)], ids=["its time", "another time"])
async def test_a_date_whose_opened_event_was_cancelled_is_not_said_to_return(database: str, later: dt.time) -> None:
    series, events = await sundays()
    await open_(events[1])
    skips = SeriesSkips(Agenda(), debounce=DEBOUNCE)
    who: dict[str, Any] = {"guild_id": GUILD, "actor": ADMIN, "now": NOW}
    await take(await skips.propose_skip(str(series.id), "2026-03-08", **who), now=NOW)
    if later != dt.time(19):
        await edit(series, time_of_day=later)

    asked = await skips.propose_return(str(series.id), "2026-03-08", **who)
    says = await take(asked, now=NOW)

    assert "stays cancelled" in shown(asked)
    assert says.endswith("does not skip 8 March 2026 any more; the event that it had stays cancelled.")
    assert not [one for one in await times() if one.startswith("03-08")]
    assert await generated(series) == 0


# ---------------------------------------------------------------------------------------------------- a copy is found


@pytest.mark.parametrize(
    ("owner", "name", "instead", "test"),
    [
        pytest.param(
            generate,
            "_cancelled_dates",
            "none",
            test_a_cancelled_occurrence_does_not_come_back_by_a_split,
            id="cancelled",
        ),
        pytest.param(
            generate,
            "_holds_its_moment",
            "no",
            test_a_schedule_onto_a_moved_event_has_no_second_one_there_and_gives_it_back,
            id="moments",
        ),
        pytest.param(
            event_time, "refuse_taken", "none", test_an_extra_event_is_not_moved_onto_an_occurrence, id="extra moved"
        ),
        pytest.param(
            event_time,
            "has_slot",
            "yes",
            test_moving_what_an_older_schedule_left_takes_nothing_from_the_new_one,
            id="marks",
        ),
        pytest.param(
            series_edit,
            "refuse_rule_on_extra",
            "no",
            test_a_schedule_that_meets_an_extra_event_is_refused_by_its_time,
            id="rule",
        ),
    ],
)
async def test_a_copy_that_lacks_a_rule_is_found(
    database: str,
    monkeypatch: pytest.MonkeyPatch,
    *,
    owner: object,
    name: str,
    instead: str,
    test: Any,  # noqa: ANN401
) -> None:
    async def _none(*_of: object, **_how: object) -> list[object]:
        return []

    monkeypatch.setattr(owner, name, {"none": _none, "no": lambda *_: False, "yes": lambda *_: True}[instead])
    more = ["2026-03-15 19:00", "by its own rule"] if owner is event_time and name == "refuse_taken" else []

    with pytest.raises((AssertionError, pytest.fail.Exception)):
        await test(database, *more)
