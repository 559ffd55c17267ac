"""What an edit of a schedule does to each event is one thing and no other, and undoing the edit takes it all back."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bot.changes.realign import Pairing, RealignPlan, Staying, Stays, StoredEvent, plan
from bot.times.recurrence import Occurrence, SeriesRule, local_today, occurrences
from models.states import EventState, Frequency, MonthEnd

NOW = dt.datetime(2026, 3, 2, 12, 0, tzinfo=dt.UTC)  # a Monday
DAY, HOUR = dt.timedelta(days=1), dt.timedelta(hours=1)
POST = frozenset({"post"})
UPCOMING, CANCELLED = EventState.UPCOMING, EventState.CANCELLED


def weekly(days: str | None = "TU", **fields: object) -> SeriesRule:
    least: dict[str, Any] = {
        "frequency": Frequency.WEEKLY,
        "interval": 1,
        "day_of_week": days,
        "time_of_day": dt.time(19),
        "timezone": "Europe/London",
        "starts_at": dt.date(2026, 1, 5),
        "ends_at": None,
        "month_end": MonthEnd.LAST_DAY,
    }
    return SeriesRule(**(least | fields))


def window(rule: SeriesRule, days_ahead: int, now: dt.datetime = NOW) -> list[Occurrence]:
    today = local_today(now, rule.timezone)
    return [one for one in occurrences(rule, today, today + days_ahead * DAY) if one.starts_at > now]


def made(rule: SeriesRule, days_ahead: int = 14, *, first_id: int = 1) -> list[StoredEvent]:
    """Return the events as the generator makes them."""
    return [
        StoredEvent(first_id + number, one.slot, one.starts_at, UPCOMING)
        for number, one in enumerate(window(rule, days_ahead))
    ]


def done(stored: Sequence[StoredEvent], wanted: RealignPlan) -> list[StoredEvent]:
    """Return what is stored once the plan was applied: the definition that the database code has to meet."""
    leaving = {event.event_id for event in wanted.leaving}
    back = {one.revives.event_id for one in wanted.arrivals if one.revives is not None}
    slot_of = {one.event.event_id: one.to.occurrence.slot for one in wanted.renamed}
    rows: list[StoredEvent] = []
    for event in stored:
        if event.event_id in back:
            rows.append(replace(event, state=UPCOMING, is_withdrawn=False))
        elif event.event_id not in leaving:
            rows.append(replace(event, slot=slot_of.get(event.event_id, event.slot)))
        elif event.known:
            rows.append(replace(event, state=CANCELLED, is_withdrawn=True))
    new = [one.occurrence for one in wanted.arrivals if one.revives is None]
    first = 1 + max((event.event_id for event in stored), default=0)
    return rows + [StoredEvent(first + n, one.slot, one.starts_at, UPCOMING) for n, one in enumerate(new)]


def slots(events: Sequence[StoredEvent]) -> list[str | None]:
    return [event.slot for event in events]


def moves(wanted: RealignPlan) -> list[tuple[str | None, str]]:
    return [(one.event.slot, one.to.occurrence.slot) for one in wanted.replaced]


def at(day: int, time: str = "19:00") -> str:
    return f"2026-03-{day:02}T{time}[Europe/London]"


def test_another_weekday_moves_each_event_within_its_week() -> None:
    wanted = plan(weekly("TH"), made(weekly("TU")), now=NOW, days_ahead=14)

    assert moves(wanted) == [(at(3), at(5)), (at(10), at(12))]
    assert (wanted.kept, wanted.removed, wanted.added, wanted.staying) == ((), (), (), ())


def test_one_day_less_removes_and_one_more_adds() -> None:
    less = plan(weekly("TU"), made(weekly("TU,TH")), now=NOW, days_ahead=14)
    more = plan(weekly("TU,TH"), made(weekly("TU")), now=NOW, days_ahead=14)

    assert (slots(less.kept), slots(less.removed)) == ([at(3), at(10)], [at(5), at(12)])
    assert [one.occurrence.slot for one in more.added] == [at(5), at(12)]
    assert (less.replaced, less.added, more.replaced, more.removed) == ((), (), (), ())


def test_what_comes_past_the_window_is_named_and_made_later() -> None:
    # The window ends on Monday, the 16th.
    wanted = plan(weekly("FR"), made(weekly("MO")), now=NOW, days_ahead=14)

    assert moves(wanted) == [(at(2), at(6)), (at(9), at(13)), (at(16), at(20))]
    assert [one.to.is_later for one in wanted.replaced] == [False, False, True]
    assert [one.occurrence.slot for one in wanted.arrivals] == [at(6), at(13)]


def test_another_time_moves_each_and_another_zone_too() -> None:
    stored = made(weekly())

    later = plan(weekly(time_of_day=dt.time(20)), stored, now=NOW, days_ahead=14)
    elsewhere = plan(weekly(timezone="America/New_York"), stored, now=NOW, days_ahead=14)

    assert moves(later) == [(at(3), at(3, "20:00")), (at(10), at(10, "20:00"))]
    assert [one.to.occurrence.starts_at.hour for one in elsewhere.replaced] == [0, 23]  # the clock changes on the 8th


def test_a_zone_of_the_same_offset_keeps_the_rows_under_their_new_names() -> None:
    stored = made(weekly(), 40)  # until the 11th of April, past the change of the clocks on the 29th of March

    wanted = plan(weekly(timezone="UTC"), stored, now=NOW, days_ahead=40)

    assert [one.event.scheduled_at.day for one in wanted.renamed] == [3, 10, 17, 24]
    assert wanted.renamed[0].to.occurrence.slot == "2026-03-03T19:00[UTC]"
    assert [one.event.scheduled_at.hour for one in wanted.replaced] == [18, 18]
    assert (wanted.kept, wanted.removed, wanted.added) == ((), (), ())


@pytest.mark.parametrize("changes", [{"state": EventState.SIGNUPS_OPEN}, {"is_edited": True}], ids=["opened", "edited"])
@pytest.mark.parametrize("ticked", [(), (1, 2)])
def test_an_event_that_stays_is_not_doubled_where_another_zone_gives_its_moment(
    changes: dict[str, Any], ticked: tuple[int, ...]
) -> None:
    stored = [replace(event, **changes) for event in made(weekly())]

    wanted = plan(weekly(timezone="Europe/Jersey"), stored, now=NOW, days_ahead=14, ticked=ticked)

    assert [one.event for one in wanted.renamed] == stored
    assert [one.to.occurrence.slot for one in wanted.renamed] == [
        f"2026-03-{day}T19:00[Europe/Jersey]" for day in ("03", "10")
    ]
    assert replace(wanted, renamed=()) == RealignPlan()


@pytest.mark.parametrize(
    "there",
    [
        pytest.param({"slot": at(3), "is_edited": True, "is_moved": True}, id="moved"),
        pytest.param({"slot": None, "is_off_schedule": True}, id="extra"),
        pytest.param({"slot": at(5, "19:00"), "state": EventState.COMPLETED}, id="over"),
    ],
)
def test_where_an_event_of_the_series_is_the_new_schedule_has_no_second_one(there: dict[str, Any]) -> None:
    (thursday,) = window(weekly("TH", time_of_day=dt.time(20)), 7)[:1]
    fields: dict[str, Any] = {"scheduled_at": thursday.starts_at, "state": UPCOMING}
    event = StoredEvent(1, **(fields | there))

    wanted = plan(weekly("TH", time_of_day=dt.time(20)), [event], now=NOW, days_ahead=7)

    assert (wanted.arrivals, wanted.leaving) == ((), ())


def test_a_cancelled_occurrence_stays_so_at_another_time_and_in_another_zone() -> None:
    stored = [replace(event, state=CANCELLED, known=POST) for event in made(weekly())]

    later = plan(weekly(time_of_day=dt.time(20)), stored, now=NOW, days_ahead=14)
    elsewhere = plan(weekly("WE", time_of_day=dt.time(8), timezone="Asia/Tokyo"), stored, now=NOW, days_ahead=14)
    same = plan(weekly("WE", time_of_day=dt.time(4), timezone="Asia/Tokyo"), stored, now=NOW, days_ahead=14)

    assert later == RealignPlan()
    assert len(elsewhere.added) == 2  # another date and another moment
    assert same == RealignPlan()  # 04:00 there is 19:00 in London


def test_a_moved_event_that_goes_frees_its_date_unless_another_moved_one_is_of_it() -> None:
    moved = StoredEvent(1, at(10), NOW + 9 * DAY, UPCOMING, is_edited=True, is_moved=True)
    other = StoredEvent(2, at(10, "18:00"), NOW + 10 * DAY, UPCOMING, is_edited=True, is_moved=True)
    rule, excepted = weekly(time_of_day=dt.time(20)), {dt.date(2026, 3, 10)}

    alone = plan(rule, [moved], now=NOW, days_ahead=14, excepted=excepted, ticked={1})
    beside = plan(rule, [moved, other], now=NOW, days_ahead=14, excepted=excepted, ticked={1})

    assert (moves(alone), set(alone.freed)) == ([(at(10), at(10, "20:00"))], excepted)
    assert (slots(beside.removed), len(beside.freed)) == ([at(10)], 0)


def test_an_excepted_date_takes_no_event_from_where_it_stands() -> None:
    (event, _) = made(weekly())

    wanted = plan(weekly(), [event], now=NOW, days_ahead=7, excepted={dt.date(2026, 3, 3)})

    assert wanted.kept == (event,)


def test_events_past_upcoming_extra_and_edited_ones_stay() -> None:
    opened, edited, extra = (
        StoredEvent(1, at(3), NOW + DAY, EventState.SIGNUPS_OPEN),
        StoredEvent(2, at(10), NOW + 8 * DAY, UPCOMING, is_edited=True),
        StoredEvent(3, None, NOW + 9 * DAY, UPCOMING, is_off_schedule=True),
    )

    wanted = plan(weekly("TH"), [opened, edited, extra], now=NOW, days_ahead=14, ticked={1, 2, 3})
    unticked = plan(weekly("TH"), [opened, edited, extra], now=NOW, days_ahead=14)

    assert wanted.staying == (Staying(opened, Stays.OPENED), Staying(extra, Stays.EXTRA))
    assert [one.event for one in wanted.replaced] == [edited]
    assert unticked.staying == (
        Staying(opened, Stays.OPENED),
        Staying(edited, Stays.EDITED),
        Staying(extra, Stays.EXTRA),
    )


def test_skipped_days_get_nothing_and_a_moved_event_on_one_stays() -> None:
    moved = StoredEvent(1, at(10), NOW + 9 * DAY, UPCOMING, is_edited=True)
    excepted = {dt.date(2026, 3, 3), dt.date(2026, 3, 10)}

    same = plan(weekly("TU"), [moved], now=NOW, days_ahead=14, excepted=excepted)
    other = plan(weekly("WE"), [moved], now=NOW, days_ahead=14, excepted=excepted | {dt.date(2026, 3, 4)})

    assert same == RealignPlan(kept=(moved,))
    assert other.staying == (Staying(moved, Stays.EDITED),)
    assert [one.occurrence.slot for one in other.added] == [at(11)]


def test_what_an_admin_cancelled_is_not_made_again_and_what_was_withdrawn_returns() -> None:
    cancelled = StoredEvent(1, at(3), NOW + DAY, CANCELLED, POST)
    withdrawn = StoredEvent(2, at(10), NOW + 8 * DAY, CANCELLED, POST, is_withdrawn=True)

    wanted = plan(weekly(), [cancelled, withdrawn], now=NOW, days_ahead=14)

    assert [one.revives for one in wanted.added] == [withdrawn]
    assert replace(wanted, added=()) == RealignPlan()


def test_a_withdrawn_event_returns_also_past_the_window() -> None:
    far = StoredEvent(2, at(31), NOW + 29 * DAY, CANCELLED, POST, is_withdrawn=True)

    wanted = plan(weekly(), [far], now=NOW, days_ahead=1)

    assert [one.occurrence.slot for one in wanted.added] == [at(3), at(31)]
    assert wanted.added[1].revives == far


def test_a_rule_that_has_ended_removes_what_is_ahead_and_what_is_past_stays_out_of_it() -> None:
    past = StoredEvent(9, at(1), NOW - DAY, UPCOMING)

    wanted = plan(weekly(ends_at=dt.date(2026, 3, 1)), [past, *made(weekly())], now=NOW, days_ahead=14)

    assert (slots(wanted.removed), wanted.empties) == ([at(3), at(10)], True)


@pytest.mark.parametrize(
    ("frequency", "stored", "expected"),
    [
        (Frequency.DAILY, [3], 3),
        (Frequency.WEEKLY, [3], 2),  # its week begins on Monday, the 2nd
        (Frequency.MONTHLY, [20], 25),
        (Frequency.YEARLY, [20], 25),
    ],
)
def test_events_are_paired_within_the_period_of_the_new_rule(
    frequency: Frequency, stored: list[int], expected: int
) -> None:
    rule = weekly(
        None,  # the day of starts_at
        frequency=frequency,
        time_of_day=dt.time(21),
        starts_at=dt.date(2025, 3, 25) if frequency in {Frequency.MONTHLY, Frequency.YEARLY} else dt.date(2026, 1, 5),
    )
    events = [StoredEvent(1, at(day), dt.datetime(2026, 3, day, 19, tzinfo=dt.UTC), UPCOMING) for day in stored]

    wanted = plan(rule, events, now=NOW, days_ahead=30)

    assert [one.to.occurrence.local_date.day for one in wanted.replaced] == [expected]


# --------------------------------------------------------------------------------------------------------- properties

EQUAL_ZONES = ("Europe/London", "Europe/Jersey", "Europe/Dublin")
WEEKDAYS = st.lists(st.sampled_from(["MO", "TU", "WE", "TH", "FR", "SA", "SU"]), min_size=1, max_size=3, unique=True)


@st.composite
def rules(draw: st.DrawFn) -> SeriesRule:
    frequency = draw(st.sampled_from(Frequency))
    days = {
        Frequency.WEEKLY: WEEKDAYS.map(",".join),
        Frequency.MONTHLY: st.none() | st.sampled_from(["1MO", "-1FR", "2WE,4WE"]),
    }.get(frequency, st.none())
    return SeriesRule(
        frequency=frequency,
        interval=draw(st.integers(1, 3)),
        day_of_week=draw(days),
        time_of_day=draw(st.sampled_from([dt.time(0), dt.time(2, 30), dt.time(19), dt.time(23, 59)])),
        timezone=draw(st.sampled_from([*EQUAL_ZONES, "America/New_York", "Pacific/Apia", "UTC"])),
        starts_at=draw(st.dates(dt.date(2025, 12, 1), dt.date(2026, 3, 31))),
        ends_at=draw(st.none() | st.dates(dt.date(2026, 4, 1), dt.date(2026, 5, 1))),
        month_end=draw(st.sampled_from(MonthEnd)),
    )


@st.composite
def series(draw: st.DrawFn) -> tuple[SeriesRule, list[StoredEvent], int]:
    """Return a rule with what its window holds after a while: some known, opened, edited or cancelled, some extra."""
    rule, days = draw(rules()), draw(st.integers(1, 60))
    kinds = st.sampled_from(["plain", "plain", "known", "known", "opened", "edited", "moved", "cancelled"])
    changes: dict[str, dict[str, object]] = {
        "plain": {},
        "known": {"known": POST},
        "opened": {"state": EventState.SIGNUPS_OPEN, "known": POST},
        "edited": {"is_edited": True},
        "moved": {"is_edited": True, "is_moved": True},
        "cancelled": {"state": CANCELLED, "known": POST},
    }
    stored = [replace(event, **changes[draw(kinds)]) for event in made(rule, days)]  # type: ignore[arg-type]
    hours = st.sampled_from([-5, 1, 24, 26])
    stored = [
        replace(event, scheduled_at=max(NOW + HOUR, event.scheduled_at + draw(hours) * HOUR))
        if event.is_moved
        else event
        for event in stored
    ]
    extra = StoredEvent(9_001, None, NOW + draw(st.integers(1, 60)) * DAY, UPCOMING, is_off_schedule=True)
    return rule, stored + ([extra] if draw(st.booleans()) else []), days


@settings(deadline=None, max_examples=150)
@given(
    first=series(),
    other=rules(),
    ticked=st.sets(st.integers(1, 60)),
    excepted=st.sets(st.dates(dt.date(2026, 3, 1), dt.date(2026, 4, 30)), max_size=5),
)
def test_every_event_ahead_is_in_exactly_one_class_and_every_occurrence_has_one_event(
    first: tuple[SeriesRule, list[StoredEvent], int],
    other: SeriesRule,
    ticked: set[int],
    excepted: set[dt.date],
) -> None:
    _, stored, days = first

    wanted = plan(other, stored, now=NOW, days_ahead=days, excepted=excepted, ticked=ticked)

    classes = [
        *wanted.kept,
        *(one.event for one in wanted.renamed),
        *(one.event for one in wanted.replaced),
        *wanted.removed,
        *(one.event for one in wanted.staying),
    ]
    assert sorted(event.event_id for event in classes) == sorted(
        event.event_id for event in stored if event.state is not CANCELLED
    )
    after = done(stored, wanted)
    held = [event.slot for event in after if event.slot is not None]
    assert len(held) == len(set(held))
    closed = excepted | {event.local_date for event in stored if event.state is CANCELLED}
    there = {event.scheduled_at for event in after}
    open_to = [one for one in window(other, days) if one.local_date not in closed and one.starts_at not in there]
    assert {one.slot for one in open_to} <= set(held)
    # No two begin at one moment, unless an admin moved one there.
    standing = [one.scheduled_at for one in after if one.state is not CANCELLED and not one.is_moved]
    assert len(standing) == len(set(standing))
    # What stands unedited and upcoming is on the new schedule.
    grid = {one.slot for one in occurrences(other, NOW.date() - DAY, NOW.date() + 200 * DAY)}
    stands = [one for one in after if one.state is UPCOMING and not one.is_edited and not one.is_off_schedule]
    assert {event.slot for event in stands} <= grid
    # Applied, there is nothing left to do.
    again = plan(other, after, now=NOW, days_ahead=days, excepted=excepted, ticked=ticked)
    assert (again.leaving, again.arrivals) == ((), ())


@settings(deadline=None, max_examples=150)
@given(first=series(), other=rules())
def test_an_edit_and_its_undoing_leave_no_difference(
    first: tuple[SeriesRule, list[StoredEvent], int], other: SeriesRule
) -> None:
    rule, stored, days = first
    there = done(stored, plan(other, stored, now=NOW, days_ahead=days))

    back = done(there, plan(rule, there, now=NOW, days_ahead=days))

    def alike(events: list[StoredEvent]) -> set[StoredEvent]:
        # Of one that nobody knows of, its number says nothing to anybody.
        return {event if event.known or event.state is not UPCOMING else replace(event, event_id=0) for event in events}

    assert alike(back) == alike(stored)
    assert len(back) == len(stored)


@settings(deadline=None, max_examples=100)
@given(first=series(), other=rules())
def test_each_pair_is_in_one_period_and_nothing_left_over_in_it_could_be_paired(
    first: tuple[SeriesRule, list[StoredEvent], int], other: SeriesRule
) -> None:
    _, stored, days = first
    wanted = plan(other, stored, now=NOW, days_ahead=days)
    assume(wanted.replaced or wanted.removed)

    def period(date: dt.date) -> object:
        return {
            Frequency.DAILY: date,
            Frequency.WEEKLY: date.isocalendar()[:2],
            Frequency.MONTHLY: (date.year, date.month),
            Frequency.YEARLY: date.year,
        }[other.frequency]

    def of(one: Pairing) -> tuple[object, object]:
        assert one.event.local_date is not None
        return period(one.event.local_date), period(one.to.occurrence.local_date)

    assert all(here == there for here, there in map(of, wanted.replaced))
    removed = {period(event.local_date) for event in wanted.removed if event.local_date is not None}
    assert removed.isdisjoint(period(one.occurrence.local_date) for one in wanted.added)
