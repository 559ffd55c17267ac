"""An occurrence that is moved onto the time of another of its series: the admin is told, and decides."""

import datetime as dt

import pytest

from bot.changes.event_time import EventTimes
from bot.changes.series_edit import SeriesEditing, Wish
from bot.changes.series_skips import SeriesSkips
from bot.events.generate import generate_events_for_repeater
from bot.message.proposal import Reply
from bot.scheduling.agenda import Agenda
from models.event import Event
from models.event_repeater import EventRepeater
from models.repeater_exception import RepeaterException
from models.states import EventState
from tests.admin_hands import ADMIN, shown, take
from tests.builders import DAY, GUILD, HOUR, SECOND, make_event, make_series
from tests.conftest import START

NOW = START
WEEK = 7 * DAY
TWO = "**London Sunday** has an event of its own at that time, so that there will be two"
NAMESAKE = "There is another event of this name at that time already."


async def propose(event: Event, to: dt.datetime) -> Reply:
    desk = EventTimes(Agenda(), debounce=3 * SECOND, default_timezone="UTC")
    return await desk.propose(
        str(event.id), f"<t:{int(to.timestamp())}:F>", tell=None, guild_id=GUILD, actor=ADMIN, now=NOW
    )


async def occurrences(**fields: object) -> tuple[EventRepeater, list[Event]]:
    series = await make_series(now=NOW, **({"generate_days_ahead": 21, "timezone": "UTC"} | fields))
    await generate_events_for_repeater(series, now=NOW)
    return series, await Event.filter(series_id=series.id).order_by("scheduled_at")


async def edit(series: EventRepeater, **values: object) -> None:
    editing = SeriesEditing(Agenda(), debounce=3 * SECOND)
    await take(await editing.propose(Wish(series.id, GUILD, ADMIN, values), now=NOW), now=NOW)


async def test_onto_the_next_one_which_stands_the_admin_reads_it_and_may_do_it(database: str) -> None:
    series, (first, second, *_) = await occurrences()

    reply = await propose(first, second.scheduled_at)
    assert TWO in shown(reply)
    await take(reply, now=NOW)

    await generate_events_for_repeater(series, now=NOW)
    there = await Event.filter(series_id=series.id, scheduled_at=second.scheduled_at).order_by("id")
    assert [event.id for event in there] == [first.id, second.id]


async def test_onto_one_that_has_another_name_by_now_the_admin_reads_it_all_the_same(database: str) -> None:
    _, (first, second, *_) = await occurrences()
    await Event.filter(id=second.id).update(name="The great night", overridden_fields=["name"])

    assert TWO in shown(await propose(first, second.scheduled_at))


async def test_onto_a_date_that_is_not_made_yet_the_admin_reads_it_too(database: str) -> None:
    series, events = await occurrences()
    later = events[-1].scheduled_at + 2 * WEEK

    assert TWO in shown(await propose(events[0], later))
    assert "so that there will be two" not in shown(await propose(events[0], later + HOUR))
    await EventRepeater.filter(id=series.id).update(is_active=False)
    assert "so that there will be two" not in shown(await propose(events[0], later))


async def test_a_date_that_is_skipped_is_free(database: str) -> None:
    series, (first, *_) = await occurrences()
    skips = SeriesSkips(Agenda(), debounce=3 * SECOND)
    date = (first.scheduled_at + 5 * WEEK).date().isoformat()
    assert TWO in shown(await propose(first, first.scheduled_at + 5 * WEEK))
    await take(await skips.propose_skip(str(series.id), date, guild_id=GUILD, actor=ADMIN, now=NOW), now=NOW)

    assert "so that there will be two" not in shown(await propose(first, first.scheduled_at + 5 * WEEK))


@pytest.mark.parametrize("why", ["cancelled", "moved away"])
async def test_a_date_whose_event_was_cancelled_or_moved_away_is_free(database: str, why: str) -> None:
    _, (first, second, *_) = await occurrences()
    moment = second.scheduled_at
    if why == "cancelled":
        await Event.filter(id=second.id).update(state=EventState.CANCELLED)
    else:
        await take(await propose(second, moment + DAY), now=NOW)

    text = shown(await propose(first, moment))

    assert "so that there will be two" not in text
    assert NAMESAKE not in text


async def test_back_to_its_own_time_there_is_no_other(database: str) -> None:
    _, (first, *_) = await occurrences()
    own = first.scheduled_at
    await take(await propose(first, own + DAY), now=NOW)

    assert "so that there will be two" not in shown(await propose(await Event.get(id=first.id), own))


async def test_onto_a_namesake_that_is_not_of_the_series_the_admin_reads_that(database: str) -> None:
    _, (first, *_) = await occurrences()
    await make_event(now=NOW, starts_in=3 * DAY, name="London Sunday", guild_id=GUILD)

    text = shown(await propose(first, NOW + 3 * DAY))

    assert NAMESAKE in text
    assert "so that there will be two" not in text


async def test_one_kept_from_an_older_schedule_is_moved_without_a_note_and_its_date_stays_free(database: str) -> None:
    """A note would keep the date from the series where it returns on that weekday later on."""
    series, (first, *_) = await occurrences(day_of_week="SU")
    await Event.filter(id=first.id).update(state=EventState.SIGNUPS_OPEN)
    own, date = first.scheduled_at, first.scheduled_at.date()
    await edit(series, day_of_week="TU")

    await take(await propose(await Event.get(id=first.id), own + HOUR), now=NOW)
    assert await RepeaterException.all().count() == 0
    await edit(series, day_of_week="SU", time_of_day=dt.time(20, 30))

    days = {event.scheduled_at.date() for event in await Event.filter(series_id=series.id, state="upcoming")}
    assert date in days
