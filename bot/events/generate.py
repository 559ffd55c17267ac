"""
Make the events of a series, once each; and each hour heal what is due for them and follow new zone data.

What should stand is computed from the rule and the zone database at every pass, and what is missing is inserted by
(series, slot), ignoring conflicts: two processes, or two runs, add nothing twice, and nothing is re-armed in memory. A
skipped, moved or cancelled occurrence stays so: its exception, or its own row, is in the way. Source: 02-reminders.md,
"Generation and exceptions".
"""

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import structlog

from bot.events.guild_sync import due_when_made
from bot.events.lifecycle import wake_after_new
from bot.events.zone_changes import follow_zone, stored_ahead
from bot.scheduling import due_rows
from bot.scheduling.agenda import Agenda
from bot.times.recurrence import RULE_FIELDS, Occurrence, SeriesRule, local_today, occurrences
from bot.transactions import DATABASE_ERRORS, atomic
from models.discord_event_config import DiscordEventConfigMixin
from models.event import Event
from models.event_repeater import EventRepeater
from models.repeater_exception import RepeaterException
from models.states import EventState, Frequency, MonthEnd

_log = structlog.get_logger(__name__)

CASCADED_FIELDS: tuple[str, ...] = tuple(DiscordEventConfigMixin._meta.fields_map)  # noqa: SLF001 -- how the ORM tells
"""Every field of the mixin, read off the class: one added there is copied by itself."""

_SERIES_AGAIN = dt.timedelta(minutes=1)
_A_DAY = dt.timedelta(days=1)
# As the query gives it: building a model per series and hour would be half of the pass.
_SeriesRow = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Planned:
    """A series as generation sees it: its rule and how far ahead it is made."""

    series_id: int
    rule: SeriesRule
    days_ahead: int


def rule_of(series: EventRepeater) -> SeriesRule:
    """Return the schedule fields of a stored series."""
    return _rule([getattr(series, name) for name in RULE_FIELDS])


def _rule(stored: Sequence[Any]) -> SeriesRule:
    """Return the rule that these are the stored values of, in the order of its fields."""
    values = dict(zip(RULE_FIELDS, stored, strict=True))
    values["frequency"], values["month_end"] = Frequency(values["frequency"]), MonthEnd(values["month_end"])
    values["time_of_day"] = dt.time.fromisoformat(values["time_of_day"])
    return SeriesRule(**values)


def signups_open_at(config: DiscordEventConfigMixin, *, scheduled_at: dt.datetime, now: dt.datetime) -> dt.datetime:
    """Return when sign-ups open, maybe in the past: their hours before the start; without hours at ``now``."""
    hours = config.signup_opens_hours
    return now if hours is None else scheduled_at - dt.timedelta(hours=hours)


def opening_when_made(config: DiscordEventConfigMixin, *, scheduled_at: dt.datetime, now: dt.datetime) -> dt.datetime:
    """Return when the sign-ups of an event open that an admin makes at ``now``: at once where its hours have passed."""
    return max(now, signups_open_at(config, scheduled_at=scheduled_at, now=now))


def wanted_slots(planned: Planned, skipped: Iterable[dt.date], *, now: dt.datetime) -> dict[str, Occurrence]:
    """Return the occurrences ahead that should stand as events, by slot: the window without exceptions and the past."""
    today = local_today(now, planned.rule.timezone)
    left_out = frozenset(skipped)
    return {
        one.slot: one
        for one in _window(planned.rule, today, planned.days_ahead)
        if one.starts_at > now and one.local_date not in left_out
    }


# The window is a pure function of these three; hourly passes ask for the same day 24 times.
@lru_cache(maxsize=4096)
def _window(rule: SeriesRule, today: dt.date, days_ahead: int) -> tuple[Occurrence, ...]:
    return tuple(occurrences(rule, today, today + dt.timedelta(days=days_ahead)))


def new_event(series: EventRepeater, one: Occurrence, now: dt.datetime) -> Event:
    """Return the event of an occurrence as it is made at ``now``; it is not stored."""
    event = event_as_series(series, one.starts_at, now=now)
    event.slot = one.slot
    return event


def event_as_series(series: EventRepeater, scheduled_at: dt.datetime, *, now: dt.datetime) -> Event:
    """Return an event of a series as it is made at ``now``, with all that it has from it; it is not stored."""
    config = {name: getattr(series, name) for name in CASCADED_FIELDS}
    return Event(
        guild_id=series.guild_id,
        series_id=series.id,
        scheduled_at=scheduled_at,
        signups_open_at=signups_open_at(series, scheduled_at=scheduled_at, now=now),
        name=series.name,
        description=series.description,
        state=EventState.UPCOMING,
        created_at=now,
        state_since=now,
        created_by=series.created_by,
        native_due_at=due_when_made(series, now=now),
        **config,
    )


async def generate_events_for_repeater(series: EventRepeater, *, now: dt.datetime) -> int:
    """
    Insert the events of one series that are missing in its window, with what is due for them; return how many.

    Paused and ended series get none. Part of the caller's transaction, if there is one.
    """

    async def _unit() -> int:
        # Held and read anew: an edit since the caller read it has removed what the old rule would make here again.
        fresh = await EventRepeater.filter(id=series.id).select_for_update(no_key=True).first()
        if fresh is None or not fresh.is_active:
            return 0
        planned = Planned(fresh.id, rule_of(fresh), fresh.generate_days_ahead)
        wanted = wanted_slots(planned, await excepted_dates(fresh.id), now=now)
        known = {event.slot for event in await Event.filter(series_id=fresh.id, slot__in=list(wanted))}
        missing = [one for slot, one in wanted.items() if slot not in known]
        held = await held_moments(fresh, now=now) if missing else frozenset[dt.datetime]()
        missing = [one for one in missing if one.starts_at not in held]
        if missing:
            await make_events(fresh, missing, now=now)
        return len(missing)

    return await atomic(_unit)


async def excepted_dates(series_id: int) -> frozenset[dt.date]:
    """Return the local dates on which a series makes no event: skipped, moved, or cancelled by themselves."""
    noted = [one.local_date for one in await RepeaterException.filter(series_id=series_id)]
    return frozenset([*noted, *(day for _, day in await _cancelled_dates(series_id=series_id))])


async def _cancelled_dates(**where: object) -> list[tuple[int, dt.date]]:
    """Return series and date of the occurrences that were cancelled by themselves: their rows hold those dates."""
    cancelled = Event.filter(state=EventState.CANCELLED, is_withdrawn=False, is_off_schedule=False)
    rows = cancelled.filter(slot__isnull=False, **where)
    return [
        (int(series_id), dt.date.fromisoformat(slot.partition("T")[0]))
        for series_id, slot in await rows.values_list("series_id", "slot")
        if series_id is not None
    ]


async def held_moments(series: EventRepeater, *, now: dt.datetime) -> frozenset[dt.datetime]:
    """
    Return the moments ahead at which a series makes no event, since one of its own is there already.

    A moved one that the schedule has elsewhere leaves its new moment to whatever is due there: as realigning has it.
    """
    rule = rule_of(series)
    rows = Event.filter(series_id=series.id, scheduled_at__gt=now, is_withdrawn=False)
    there = await rows.only("id", "slot", "scheduled_at", "state", "overridden_fields")
    return frozenset([event.scheduled_at for event in there if _holds_its_moment(event, rule)])


def _holds_its_moment(event: Event, rule: SeriesRule) -> bool:
    is_over = event.state in {EventState.COMPLETED, EventState.CANCELLED}
    if event.slot is None or "scheduled_at" not in event.overridden_fields:
        return event.slot is not None or not is_over
    date = dt.date.fromisoformat(event.slot.partition("T")[0])
    return not is_over and all(one.slot != event.slot for one in occurrences(rule, date, date))


async def make_events(series: EventRepeater, missing: Sequence[Occurrence], *, now: dt.datetime) -> list[Event]:
    """Store the events of occurrences that have none, with what is due for them; part of the caller's transaction."""
    await Event.bulk_create([new_event(series, one, now) for one in missing], ignore_conflicts=True)
    made = await Event.filter(series_id=series.id, slot__in=[one.slot for one in missing]).order_by("id")
    await due_rows.refresh([event.id for event in made])
    return made


class Generator:
    """The hourly pass over all active series."""

    def __init__(self, agenda: Agenda, *, instance: str, debounce: dt.timedelta, every: dt.timedelta) -> None:
        self._agenda = agenda
        self._instance = instance
        self._debounce = debounce
        self._every = every

    async def generate_upcoming_events(self, now: dt.datetime) -> dt.datetime | None:
        """Make what is missing, heal missing due rows, follow a change of the zone data; return the next moment."""
        made = moved = 0
        again = self._every
        skipped, stored = await _exceptions(now), await stored_ahead(now)
        for row in await _active_series():
            try:
                planned = _planned(row)
                wanted = wanted_slots(planned, skipped.get(planned.series_id, ()), now=now)
                known = stored.get(planned.series_id, {})
                if not wanted.keys() <= known.keys():
                    made += await _generate(planned.series_id, now)
                moved += await follow_zone(wanted, known, now=now, debounce=self._debounce, instance=self._instance)
            except Exception as error:  # noqa: BLE001 -- logged: what cannot be read is that series' own fault
                _log.exception("series_not_generated", series=row[0])
                if isinstance(error, DATABASE_ERRORS):
                    again = min(again, _SERIES_AGAIN)  # no fault of the series, which must not wait for an hour
        healed = await _heal(now)
        if made or moved or healed:
            _log.info("events_generated", made=made, moved=moved)
            wake_after_new(self._agenda, now=now)
        return now + again


async def _generate(series_id: int, now: dt.datetime) -> int:
    series = await EventRepeater.get_or_none(id=series_id)
    return await generate_events_for_repeater(series, now=now) if series is not None else 0


async def _heal(now: dt.datetime) -> int:
    """Derive missing due rows anew, a batch at a time until there are no more; return how many events lacked one."""
    healed = last = 0
    while batch := await due_rows.missing(now=now, after=last):
        await atomic(partial(due_rows.refresh, batch))
        healed, last = healed + len(batch), batch[-1]
    if healed:
        _log.warning("due_rows_healed", events=healed)
    return healed


async def _active_series() -> list[_SeriesRow]:
    active = EventRepeater.filter(is_active=True).order_by("id")
    return await active.values_list("id", "generate_days_ahead", *RULE_FIELDS)


def _planned(row: _SeriesRow) -> Planned:
    """Return one row of the series; one that cannot be read is that series' own fault."""
    series_id, days_ahead, *stored = row
    return Planned(series_id, _rule(stored), days_ahead)


async def _exceptions(now: dt.datetime) -> dict[int, list[dt.date]]:
    found: dict[int, list[dt.date]] = {}
    noted = [(one.series_id, one.local_date) for one in await RepeaterException.all()]
    # One that was moved to an earlier day is noted.
    for series_id, date in [*noted, *await _cancelled_dates(scheduled_at__gt=now - _A_DAY)]:
        found.setdefault(series_id, []).append(date)
    return found
