"""
What becomes of the events of a series once its schedule changes: a pure function, shown first and then applied.

Every stored event ahead falls into exactly one class. Slots decide: an event whose slot the new rule has keeps its row,
and with it what was sent; so does one that begins at a moment of the new rule, as in another zone of the same offset.
Source: 02-reminders.md, "Realign-on-edit"; event-reminder-scheduling.md, "Realign-on-edit".
"""

import datetime as dt
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from bot.changes.periods import begin_of_period, end_of_period
from bot.times.recurrence import Occurrence, SeriesRule, local_today, occurrences
from models.states import EventState, Frequency

_DAY = dt.timedelta(days=1)
_ZONES_APART = dt.timedelta(days=2)
# An event that is over, or was cancelled by itself, only keeps its slot taken.
_OVER = frozenset({EventState.COMPLETED, EventState.CANCELLED})


class Stays(StrEnum):
    """Why an event keeps its own time although the new schedule does not have it."""

    OPENED = "opened"
    EXTRA = "extra"
    EDITED = "edited"


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """
    A stored event ahead, as the plan sees it.

    ``slot`` is null for an extra one; one that was cancelled once its schedule had left it is off schedule, too.
    ``known`` is what people know it by, see :func:`bot.changes.withdrawal.known_of`; empty where they know nothing.
    ``is_edited``: an admin edited or moved it by itself; ``is_moved``: moved it.
    """

    event_id: int
    slot: str | None
    scheduled_at: dt.datetime
    state: EventState
    known: frozenset[str] = frozenset()
    is_off_schedule: bool = False
    is_edited: bool = False
    is_withdrawn: bool = False
    is_moved: bool = False

    @property
    def local_date(self) -> dt.date | None:
        """The date of its slot, on the clock for which it was made."""
        return dt.date.fromisoformat(self.slot.partition("T")[0]) if self.slot is not None else None


@dataclass(frozen=True, slots=True)
class Arrival:
    """
    An occurrence that gets an event: a new row, or the withdrawn one that it ``revives``.

    ``is_later``: it lies past the window, so that its event is made once its time comes.
    """

    occurrence: Occurrence
    revives: StoredEvent | None = None
    is_later: bool = False


@dataclass(frozen=True, slots=True)
class Pairing:
    """An event and the occurrence that comes in its place, in the same period of the rule, or whose name it takes."""

    event: StoredEvent
    to: Arrival


@dataclass(frozen=True, slots=True)
class Staying:
    """An event that keeps its own time, and why."""

    event: StoredEvent
    why: Stays

    @property
    def may_go(self) -> bool:
        """Whether an admin may tick it, so that it goes after all."""
        return self.why is Stays.EDITED


@dataclass(frozen=True, slots=True)
class RealignPlan:
    """
    What would be done, each in order of time; two that are equal do the same.

    ``replaced`` go, and another event comes for each; ``renamed`` are kept too: their moment stays, and their slot is
    another.
    """

    kept: tuple[StoredEvent, ...] = ()
    renamed: tuple[Pairing, ...] = ()
    replaced: tuple[Pairing, ...] = ()
    removed: tuple[StoredEvent, ...] = ()
    added: tuple[Arrival, ...] = ()
    staying: tuple[Staying, ...] = ()

    @property
    def freed(self) -> frozenset[dt.date]:
        """The dates that are the schedule's again: of moved events that go, unless another moved one is of it too."""
        stand = [*self.kept, *(one.event for one in self.staying)]
        return frozenset(_moved_dates(self.leaving) - _moved_dates(stand))

    @property
    def leaving(self) -> tuple[StoredEvent, ...]:
        """The events that lose their place, whether another comes for them or not."""
        return (*(one.event for one in self.replaced), *self.removed)

    @property
    def arrivals(self) -> tuple[Arrival, ...]:
        """The occurrences that get an event at once."""
        return (*(one.to for one in self.replaced if not one.to.is_later), *self.added)

    @property
    def empties(self) -> bool:
        """Whether events go and the new schedule has none ahead."""
        return bool(self.leaving) and not any((self.replaced, self.added, self.kept, self.renamed))


def plan(
    rule: SeriesRule,
    stored: Iterable[StoredEvent],
    *,
    now: dt.datetime,
    days_ahead: int,
    excepted: Collection[dt.date] = (),
    ticked: Collection[int] = (),
) -> RealignPlan:
    """
    Return what becomes of the ``stored`` events of a series, those that begin after ``now``, under a new ``rule``.

    What is stored may stand wherever the rule has it; what is missing is made in the window of ``days_ahead`` alone, as
    at any other time, but a withdrawn event returns wherever it is. ``excepted`` dates get no event beside those that
    stand there. ``ticked`` are edited events that may go: with a moved one goes what excepts its date.
    """
    ahead = sorted((one for one in stored if one.scheduled_at > now), key=lambda one: (one.scheduled_at, one.event_id))
    today = local_today(now, rule.timezone)
    window_end = today + dt.timedelta(days=days_ahead)
    dates = [one.local_date for one in ahead if one.local_date]
    # Back to the date of one that was put off, which the schedule may have all the same.
    every = _laid_out(rule, today, window_end, dates)
    grid = {one.slot for one in every}
    wanted = {one.slot: one for one in every if one.starts_at > now}

    kept: list[StoredEvent] = []
    staying: list[Staying] = []
    leaving: list[StoredEvent] = []
    for event in ahead:
        if event.state in _OVER:
            continue
        why = _why_it_stays(event)
        if event.slot in wanted or (why is Stays.EDITED and event.slot in grid):
            kept.append(event)
        elif why is None or (why is Stays.EDITED and event.event_id in ticked):
            leaving.append(event)
        else:
            staying.append(Staying(event, why))
    freed = _moved_dates(leaving) - _moved_dates([*kept, *(one.event for one in staying)])
    closed = (set(excepted) - freed) | _cancelled_dates(ahead)
    arriving = _arrivals([one for one in wanted.values() if one.local_date not in closed], ahead, window_end)
    renamed = _renamed([*leaving, *(one.event for one in staying)], arriving)
    settled = {one.event for one in renamed}
    leaving = [event for event in leaving if event not in settled]
    staying = [one for one in staying if one.event not in settled]
    arriving = _beside([one.event for one in staying], ahead, arriving, {one.to for one in renamed})
    replaced = _pairs(rule.frequency, leaving, arriving)
    gone, taken = {one.event for one in replaced}, {one.to for one in replaced}
    return RealignPlan(
        kept=tuple(kept),
        renamed=renamed,
        replaced=replaced,
        removed=tuple(event for event in leaving if event not in gone),
        added=tuple(one for one in arriving if not one.is_later and one not in taken),
        staying=tuple(staying),
    )


def _laid_out(rule: SeriesRule, today: dt.date, window_end: dt.date, dates: Collection[dt.date]) -> list[Occurrence]:
    """
    Return the occurrences of the window and, outside of it, those around the ``dates`` of what is stored alone.

    What lies between can neither be a stored event's own nor come in its place, and may be centuries.
    """
    begin = min([today, *dates])
    end = end_of_period(rule.frequency, max([window_end, *dates]))
    spans = [(today, min(end, end_of_period(rule.frequency, window_end)))]
    for date in set(dates):
        # In another zone the same moment is up to two days off, which may be the period beside.
        first = begin_of_period(rule.frequency, max(begin, date - _ZONES_APART))
        last = end_of_period(rule.frequency, min(end, date + _ZONES_APART))
        spans.append((max(begin, first), min(end, last)))
    found: list[Occurrence] = []
    done = begin - _DAY
    for first, last in sorted(spans):
        found += occurrences(rule, max(first, done + _DAY), last)
        done = max(done, last)
    return found


def _beside(
    staying: Iterable[StoredEvent],
    ahead: Iterable[StoredEvent],
    arriving: Iterable[Arrival],
    renaming: Collection[Arrival],
) -> list[Arrival]:
    """
    Return the arrivals that no event is renamed to, and at whose moment there is none of the series already.

    A moved one that the schedule has elsewhere leaves its new moment to whatever is due there, as generation does.
    """
    over = [one for one in ahead if one.state in _OVER and not (one.slot is None or one.is_withdrawn or one.is_moved)]
    held = {one.scheduled_at for one in (*staying, *over)}
    return [one for one in arriving if one not in renaming and one.occurrence.starts_at not in held]


def _why_it_stays(event: StoredEvent) -> Stays | None:
    if event.state is not EventState.UPCOMING:
        return Stays.OPENED
    if event.is_off_schedule:
        return Stays.EXTRA
    return Stays.EDITED if event.is_edited else None


def _moved_dates(events: Iterable[StoredEvent]) -> set[dt.date]:
    return {event.local_date for event in events if event.is_moved and event.local_date is not None}


def _cancelled_dates(events: Iterable[StoredEvent]) -> set[dt.date]:
    """Return the dates whose occurrence an admin cancelled: it stays so, whatever the time of day is now."""
    cancelled = [event for event in events if event.state is EventState.CANCELLED]
    held = [event for event in cancelled if not (event.is_withdrawn or event.is_off_schedule)]
    return {event.local_date for event in held if event.local_date is not None}


def _arrivals(wanted: Iterable[Occurrence], ahead: Iterable[StoredEvent], window_end: dt.date) -> list[Arrival]:
    """Return the occurrences whose slot no row holds, or only a withdrawn one."""
    holders = {event.slot: event for event in ahead}
    found: list[Arrival] = []
    for one in wanted:
        holder = holders.get(one.slot)
        if holder is None:
            found.append(Arrival(one, is_later=one.local_date > window_end))
        elif holder.state is EventState.CANCELLED and holder.is_withdrawn:
            found.append(Arrival(one, revives=holder))
    return found


def _renamed(events: Iterable[StoredEvent], arriving: Sequence[Arrival]) -> tuple[Pairing, ...]:
    """
    Return the events that begin when the new rule has an occurrence under another name, in order of time.

    A moved one is the occurrence of another date, and keeps its name.
    """
    free = {one.occurrence.starts_at: one for one in arriving if one.revives is None}
    return tuple(
        Pairing(event, free.pop(event.scheduled_at))
        for event in sorted(events, key=lambda one: (one.scheduled_at, one.event_id))
        if event.slot is not None and not event.is_moved and event.scheduled_at in free
    )


def _pairs(frequency: Frequency, leaving: Sequence[StoredEvent], arriving: Sequence[Arrival]) -> tuple[Pairing, ...]:
    """Pair what goes with what comes in the same period of the rule, in order."""
    coming: dict[Hashable, list[Arrival]] = defaultdict(list)
    for arrival in arriving:
        coming[begin_of_period(frequency, arrival.occurrence.local_date)].append(arrival)
    found: list[Pairing] = []
    for event in leaving:
        date = event.local_date
        places = coming[begin_of_period(frequency, date)] if date is not None else []
        if places:
            found.append(Pairing(event, places.pop(0)))
    return tuple(found)
