"""A series changed from one event on: the old one ends before it, a new one takes over, and nothing is doubled."""

import asyncio
import datetime as dt
from typing import Any

import pytest

from bot.changes.series_edit import SeriesEditing, Wish
from bot.changes.series_edit_request import SeriesEditDesk, SeriesEditRequest
from bot.changes.series_split import SeriesSplitting
from bot.errors import BotError
from bot.events import profiles
from bot.events.exceptions import note_skipped
from bot.events.generate import Generator, generate_events_for_repeater
from bot.events.subscriptions import subscribe
from bot.message.proposal import Proposal
from bot.scheduling.agenda import Agenda
from models.event import Event
from models.event_repeater import EventRepeater
from models.event_signup import EventSignup
from models.repeater_exception import RepeaterException
from models.repeater_subscription import RepeaterSubscription
from models.states import EventState, Frequency, SignupStatus
from tests.builders import (
    CHANNEL,
    DAY,
    GUILD,
    HOUR,
    OTHER_GUILD,
    SECOND,
    audit_actions,
    derived_due,
    make_series,
    stored_due,
    utc,
)

NOW = utc("2026-03-02 12:00")  # a Monday
ADMIN = 42
DEBOUNCE = 3 * SECOND


async def tuesdays(**fields: object) -> EventRepeater:
    """Store a series with eight events: Tuesdays at 19:00 in London from the 3rd on."""
    least: dict[str, object] = {"day_of_week": "TU", "generate_days_ahead": 50}
    series = await make_series(now=NOW, **(least | fields))
    await generate_events_for_repeater(series, now=NOW)
    return series


async def events_of(series: EventRepeater) -> list[Event]:
    return await Event.filter(series_id=series.id).order_by("scheduled_at", "id")


async def propose(series: EventRepeater, event: Event, *, now: dt.datetime = NOW, **fields: Any) -> Proposal:  # noqa: ANN401
    """Show an edit, then ask for it from one event on."""
    wish = Wish(series.id, GUILD, ADMIN, fields)
    reply = await SeriesSplitting(Agenda(), debounce=DEBOUNCE).propose(wish, event.id, now=now)
    assert isinstance(reply, Proposal)
    return reply


async def days(series: EventRepeater) -> list[str]:
    upcoming = [event for event in await events_of(series) if event.state is EventState.UPCOMING]
    return [f"{event.scheduled_at:%m-%d}" for event in upcoming]


async def new_one() -> EventRepeater:
    return await EventRepeater.get(name="London Sunday (2)")


async def test_from_slot_four_of_eight_on_thursday_replaces_tuesday(database: str) -> None:
    series = await tuesdays()
    events = await events_of(series)
    assert len(events) == 8
    await Event.filter(id=events[4].id).update(announcement_message_id=77, announcement_channel_id=CHANNEL)

    reply = await propose(series, events[3], day_of_week="TH")
    assert "from 24 March 2026 on?" in reply.text
    assert "It ends on 23 March 2026. **London Sunday \\(2\\)** goes on from there" in reply.text
    assert "**Moved, each as a new event (5)**" in reply.text
    done = await reply.ways[0].then(NOW)

    assert done == (
        "**London Sunday** ends on 23 March 2026; **London Sunday \\(2\\)** goes on from there; events: 5 moved."
    )
    new = await new_one()
    assert await days(series) == ["03-03", "03-10", "03-17"]
    assert await days(new) == ["03-26", "04-02", "04-09", "04-16"]
    assert [event.id for event in await events_of(series)] == [event.id for event in events[:3]]
    withdrawn = await Event.get(id=events[4].id)
    assert (withdrawn.series_id, withdrawn.is_withdrawn) == (new.id, True)
    assert withdrawn.moved_to == utc("2026-04-02 18:00")
    assert await stored_due() == await derived_due()
    assert await audit_actions() == ["series.edit", "series.create", "event.realign", "series.realign"]
    # Neither makes what is the other's.
    generator = Generator(Agenda(), instance="one", debounce=DEBOUNCE, every=HOUR)
    await generator.generate_upcoming_events(NOW + DAY)
    assert await days(series) == ["03-03", "03-10", "03-17"]


async def test_whose_slot_stays_keeps_its_row_its_sign_ups_and_its_subscribers(database: str) -> None:
    series = await tuesdays()
    events = await events_of(series)
    await Event.filter(id=events[3].id).update(state=EventState.SIGNUPS_OPEN)
    await EventSignup.create(
        event_id=events[3].id, user_id=9, status=SignupStatus.SIGNED_UP, created_at=NOW, changed_at=NOW
    )
    await subscribe(series.id, guild_id=GUILD, user_id=8, now=NOW)
    await note_skipped(series.id, dt.date(2026, 4, 14))
    await Event.filter(series_id=series.id, slot__startswith="2026-04-14").delete()
    await profiles.prefer(
        lambda one: profiles.Preferences(one.timezone, one.kinds_off, frozenset({series.id})),
        guild_id=GUILD,
        user_id=7,
        now=NOW,
    )

    reply = await propose(series, events[3], name="Raid", max_players=5)
    await reply.ways[0].then(NOW)

    new = await EventRepeater.get(name="Raid")
    rows = await events_of(new)
    assert [event.id for event in rows] == [events[n].id for n in (3, 4, 5, 7)]
    assert [event.max_players for event in rows] == [None, 5, 5, 5]
    assert (rows[0].name, rows[1].name) == ("London Sunday", "Raid")
    assert await EventSignup.filter(event_id=events[3].id).count() == 1
    assert {one.series_id for one in await RepeaterSubscription.filter(user_id=8)} == {series.id, new.id}
    assert [one.series_id for one in await RepeaterException.all()] == [new.id]
    assert await profiles.opted_out(GUILD, "signup_reminder", [7], series_id=new.id) == {7}
    assert await stored_due() == await derived_due()


async def test_an_interval_goes_on_by_the_same_grid(database: str) -> None:
    series = await tuesdays(interval=2, starts_at=dt.date(2026, 3, 3))
    events = await events_of(series)

    await (await propose(series, events[1], time_of_day="20:00")).ways[0].then(NOW)

    assert await days(await new_one()) == ["03-17", "03-31", "04-14"]


@pytest.mark.parametrize(
    ("fields", "options", "which", "says"),
    [
        ({"starts_at": dt.date(2026, 3, 3)}, {"day_of_week": "TH"}, 0, "change the whole series"),
        ({}, {"day_of_week": "TH", "starts_at": "2026-03-05"}, 3, "it would start before that event"),
        ({}, {"name": "london sunday"}, 3, "already"),
        (
            {"frequency": Frequency.MONTHLY, "day_of_week": None, "starts_at": dt.date(2026, 1, 31)},
            {"time_of_day": "20:00"},
            1,
            "it stands in for day 31",
        ),
    ],
    ids=["the first", "starts earlier", "name taken", "stands in"],
)
async def test_what_cannot_be_split_is_refused(
    database: str, fields: dict[str, object], options: dict[str, Any], which: int, says: str
) -> None:
    series = await tuesdays(generate_days_ahead=90, **fields) if fields else await tuesdays()
    events = await events_of(series)

    with pytest.raises(BotError) as refused:
        await propose(series, events[which], **options)

    assert says.replace("\\", "") in str(refused.value).replace("\\", "")
    assert await EventRepeater.all().count() == 1


async def test_another_series_event_an_extra_one_and_another_servers_are_refused(database: str) -> None:
    series, other = await tuesdays(), await tuesdays(name="Other")
    theirs = await tuesdays(name="Theirs", guild_id=OTHER_GUILD)
    extra = (await events_of(series))[2]
    await Event.filter(id=extra.id).update(slot=None, is_off_schedule=True)

    for event in ((await events_of(other))[2], (await events_of(theirs))[2], extra):
        with pytest.raises(BotError):
            await propose(series, event, day_of_week="TH")
    with pytest.raises(BotError):
        await propose(theirs, (await events_of(theirs))[2], day_of_week="TH")


async def test_what_changed_meanwhile_is_refused_and_of_two_at_once_one_does(database: str) -> None:
    series = await tuesdays()
    events = await events_of(series)
    replies = [await propose(series, events[3], day_of_week="TH"), await propose(series, events[3], day_of_week="FR")]

    done = await asyncio.gather(*(reply.ways[0].then(NOW) for reply in replies), return_exceptions=True)

    # Whoever is second finds that the event belongs to the new series now.
    assert sum(isinstance(one, str) for one in done) == 1
    assert sum(isinstance(one, BotError) for one in done) == 1
    assert await EventRepeater.all().count() == 2
    assert await days(series) == ["03-03", "03-10", "03-17"]
    again = await propose(series, events[1], day_of_week="TH")
    await Event.filter(id=events[2].id).update(state=EventState.SIGNUPS_OPEN)
    shown = await again.ways[0].then(NOW)
    assert isinstance(shown, Proposal)
    assert shown.text.startswith("It was changed since you were shown this")


async def test_the_events_of_a_paused_series_are_taken_over_as_they_are(database: str) -> None:
    series = await tuesdays(is_active=True)
    events = await events_of(series)
    await EventRepeater.filter(id=series.id).update(is_active=False)

    await (await propose(series, events[3], day_of_week="TH")).ways[0].then(NOW)

    new = await new_one()
    assert not new.is_active
    assert [event.id for event in await events_of(new)] == [event.id for event in events[3:]]


async def test_the_events_from_which_on_it_may_change_are_offered(database: str) -> None:
    series = await tuesdays(starts_at=dt.date(2026, 3, 3))
    await tuesdays(name="Theirs", guild_id=OTHER_GUILD)
    agenda = Agenda()
    desk = SeriesEditDesk(SeriesEditing(agenda, debounce=DEBOUNCE), SeriesSplitting(agenda, debounce=DEBOUNCE))

    whole = await desk.propose(SeriesEditRequest(str(series.id), days="TH"), guild_id=GUILD, actor=ADMIN, now=NOW)
    assert isinstance(whole, Proposal)
    assert [way.label for way in whole.ways] == ["Change the series", "Only from one event on", "Discard"]
    which = await whole.ways[1].then(NOW)
    assert isinstance(which, Proposal)
    assert [way.label for way in which.ways] == [
        *(f"{day} March 2026, 19:00" for day in (10, 17, 24, 31)),
        *(f"{day} April 2026, 19:00" for day in (7, 14, 21)),
        "Discard",
    ]
    split = await which.ways[2].then(NOW)
    assert isinstance(split, Proposal)
    assert "from 24 March 2026 on?" in split.text
    await Event.filter(series_id=series.id).delete()

    assert "There is no event ahead" in str(await whole.ways[1].then(NOW))
