"""A stored event centuries ahead makes no edit slow, and what is planned is what the whole rule laid out would give."""

import datetime as dt
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.changes import realign
from bot.changes.periods import end_of_period
from bot.changes.realign import RealignPlan, StoredEvent, plan
from bot.times.recurrence import Occurrence, SeriesRule, occurrences
from models.states import EventState, Frequency, MonthEnd
from tests.calendars import rules

NOW = dt.datetime(2026, 3, 2, 12, 0, tzinfo=dt.UTC)
DAILY = SeriesRule(
    frequency=Frequency.DAILY,
    interval=1,
    day_of_week=None,
    time_of_day=dt.time(19),
    timezone="Europe/London",
    starts_at=dt.date(2026, 1, 5),
    ends_at=None,
    month_end=MonthEnd.LAST_DAY,
)


def stored(number: int, slot: Occurrence, **fields: object) -> StoredEvent:
    return replace(StoredEvent(number, slot.slot, slot.starts_at, EventState.UPCOMING), **fields)  # type: ignore[arg-type]


def whole(rule: SeriesRule, today: dt.date, window_end: dt.date, dates: list[dt.date]) -> list[Occurrence]:
    return occurrences(rule, min([today, *dates]), end_of_period(rule.frequency, max([window_end, *dates])))


def planned_whole(rule: SeriesRule, rows: list[StoredEvent], days: int) -> RealignPlan:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(realign, "_laid_out", whole)
        return plan(rule, rows, now=NOW, days_ahead=days)


def test_an_event_centuries_ahead_lays_out_its_own_days_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    laid_out: list[Occurrence] = []

    def counted(rule: SeriesRule, start: dt.date, end: dt.date) -> list[Occurrence]:
        found = occurrences(rule, start, end)
        laid_out.extend(found)
        return found

    monkeypatch.setattr(realign, "occurrences", counted)
    (far,) = occurrences(DAILY, dt.date(2990, 3, 10), dt.date(2990, 3, 10))

    wanted = plan(replace(DAILY, time_of_day=dt.time(20)), [stored(1, far)], now=NOW, days_ahead=14)

    assert [one.to.occurrence.slot for one in wanted.replaced] == ["2990-03-10T20:00[Europe/London]"]
    # Today and fourteen days more, and the date with the two days before it: past the last one nothing can be stored.
    assert len(laid_out) == 15 + 3


@settings(max_examples=150, deadline=None)
@given(rules(), rules(), st.integers(0, 40), st.data())
def test_what_is_planned_is_what_the_whole_rule_would_give(
    old: SeriesRule, new: SeriesRule, days: int, data: st.DataObject
) -> None:
    slots = occurrences(old, dt.date(2026, 2, 1), dt.date(2031, 1, 1))
    picked = data.draw(st.lists(st.sampled_from(slots), max_size=8, unique=True)) if slots else []
    rows = []
    for number, slot in enumerate(picked, start=1):
        away = data.draw(st.sampled_from([0, 0, 0, 1, 40, 400]))
        withdrawn = data.draw(st.booleans())
        fields: dict[str, object] = {"is_moved": away > 0, "is_edited": away > 0}
        if withdrawn:
            fields |= {"state": EventState.CANCELLED, "is_withdrawn": True}
        rows.append(stored(number, slot, **fields, scheduled_at=slot.starts_at + dt.timedelta(days=away)))
    target = data.draw(st.sampled_from([new, replace(new, timezone=old.timezone), replace(old, timezone=new.timezone)]))

    assert plan(target, rows, now=NOW, days_ahead=days) == planned_whole(target, rows, days)
