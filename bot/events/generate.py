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

from bot import audit
from bot.events.guild_sync import due_when_made
from bot.events.posts import mark_changed
from bot.scheduling import due_rows
from bot.scheduling.agenda import Agenda
from bot.scheduling.bodies import CHECK_EVENT_REMINDERS, OPEN_SCHEDULED_SIGNUPS, SYNC_DISCORD_EVENTS
from bot.scheduling.registry import registered
from bot.times.recurrence import Occurrence, SeriesRule, local_today, occurrences
from bot.transactions import DATABASE_ERRORS, atomic, fetch, in_list, integer, moment
from models.discord_event_config import DiscordEventConfigMixin
from models.event import Event
from models.event_repeater import EventRepeater
from models.repeater_exception import RepeaterException
from models.states import EventState, Frequency, MonthEnd

_log = structlog.get_logger(__name__)

CASCADED_FIELDS: tuple[str, ...] = tuple(DiscordEventConfigMixin._meta.fields_map)  # noqa: SLF001 -- how the ORM tells
"""Every field of the mixin, read off the class: one added there is copied by itself."""

_SERIES_AGAIN = dt.timedelta(minutes=1)
# As the query gives it: building a model per series and hour would be half of the pass.
_SeriesRow = tuple[Any, ...]
# Every state is named for the sake of the index over state and time; without it each pass reads all events ever.
_EVERY_STATE = ", ".join(f"'{state.value}'" for state in EventState)
_MOVABLE = (EventState.UPCOMING, EventState.SIGNUPS_OPEN)


@dataclass(frozen=True, slots=True)
class Planned:
    """A series as generation sees it: its rule and how far ahead it is made."""

    series_id: int
    rule: SeriesRule
    days_ahead: int


@dataclass(frozen=True, slots=True)
class Stored:
    """A stored event ahead, as generation compares it."""

    event_id: int
    scheduled_at: dt.datetime


def rule_of(series: EventRepeater) -> SeriesRule:
    """Return the schedule fields of a stored series."""
    return SeriesRule(
        frequency=series.frequency,
        interval=series.interval,
        day_of_week=series.day_of_week,
        time_of_day=dt.time.fromisoformat(series.time_of_day),
        timezone=series.timezone,
        starts_at=series.starts_at,
        ends_at=series.ends_at,
        month_end=series.month_end,
    )


def signups_open_at(config: DiscordEventConfigMixin, *, scheduled_at: dt.datetime, now: dt.datetime) -> dt.datetime:
    """Return when sign-ups open, maybe in the past: their hours before the start; without hours at ``now``."""
    hours = config.signup_opens_hours
    return now if hours is None else scheduled_at - dt.timedelta(hours=hours)


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
        if missing:
            await make_events(fresh, missing, now=now)
        return len(missing)

    return await atomic(_unit)


async def excepted_dates(series_id: int) -> frozenset[dt.date]:
    """Return the local dates on which a series makes no event."""
    return frozenset(one.local_date for one in await RepeaterException.filter(series_id=series_id))


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
        skipped, stored = await _exceptions(), await _stored_ahead(now)
        for row in await _active_series():
            try:
                planned = _planned(row)
                wanted = wanted_slots(planned, skipped.get(planned.series_id, ()), now=now)
                known = stored.get(planned.series_id, {})
                if not wanted.keys() <= known.keys():
                    made += await _generate(planned.series_id, now)
                moved += await self._follow_zone(wanted, known, now)
            except Exception as error:  # noqa: BLE001 -- logged: what cannot be read is that series' own fault
                _log.exception("series_not_generated", series=row[0])
                if isinstance(error, DATABASE_ERRORS):
                    again = min(again, _SERIES_AGAIN)  # no fault of the series, which must not wait for an hour
        healed = await _heal(now)
        if made or moved or healed:
            _log.info("events_generated", made=made, moved=moved)
            for body in (CHECK_EVENT_REMINDERS, OPEN_SCHEDULED_SIGNUPS, SYNC_DISCORD_EVENTS):
                self._agenda.wake(body, now)
        return now + again

    async def _follow_zone(self, wanted: dict[str, Occurrence], known: dict[str, Stored], now: dt.datetime) -> int:
        """Move events whose slot has another instant since the zone data changed, unless anything was sent for them."""
        off = [
            (known[slot], one)
            for slot, one in wanted.items()
            if slot in known and known[slot].scheduled_at != one.starts_at
        ]
        return sum([await self._move_to_slot(stored, one, now) for stored, one in off])

    async def _move_to_slot(self, stored: Stored, one: Occurrence, now: dt.datetime) -> bool:
        async def _unit() -> bool:
            event = await Event.get_or_none(id=stored.event_id)
            if event is None or not _may_follow(event) or await _anything_sent(event.id):
                return False
            shift = one.starts_at - event.scheduled_at
            opens = event.signups_open_at
            if opens is not None and event.signup_opens_hours is not None:
                opens += shift  # without hours it is the moment of creation, which does not move
            moved = await Event.filter(id=event.id, scheduled_at=event.scheduled_at, state=event.state).update(
                scheduled_at=one.starts_at, signups_open_at=opens
            )
            if not moved:
                return False
            await due_rows.refresh([event.id])
            await mark_changed(event.id, now=now, debounce=self._debounce)
            before, after = (
                {"scheduled_at": event.scheduled_at.isoformat()},
                {"scheduled_at": one.starts_at.isoformat()},
            )
            await audit.record(
                "event.realign",
                guild_id=event.guild_id,
                now=now,
                subject_id=event.id,
                before=before,
                after=after,
                instance=self._instance,
            )
            _log.warning("event_follows_zone_data", guild=event.guild_id, event_id=event.id, **after)
            return True

        return await atomic(_unit)


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
    return await EventRepeater.filter(is_active=True).order_by("id").values_list(
        "id", "frequency", "interval", "day_of_week", "time_of_day", "timezone", "starts_at", "ends_at", "month_end",
        "generate_days_ahead",
    )  # fmt: skip


def _planned(row: _SeriesRow) -> Planned:
    """Return one row of the series; one that cannot be read is that series' own fault."""
    rule = SeriesRule(
        frequency=Frequency(row[1]),
        interval=row[2],
        day_of_week=row[3],
        time_of_day=dt.time.fromisoformat(row[4]),
        timezone=row[5],
        starts_at=row[6],
        ends_at=row[7],
        month_end=MonthEnd(row[8]),
    )
    return Planned(row[0], rule, row[9])


async def _exceptions() -> dict[int, list[dt.date]]:
    found: dict[int, list[dt.date]] = {}
    for one in await RepeaterException.all():
        found.setdefault(one.series_id, []).append(one.local_date)
    return found


async def _stored_ahead(now: dt.datetime) -> dict[int, dict[str, Stored]]:
    """Return the stored events of all series from a day back on (a zone may move one over now), by series and slot."""
    rows = await fetch(
        "SELECT id, series_id, slot, scheduled_at FROM event WHERE slot IS NOT NULL AND series_id IS NOT NULL"  # noqa: S608
        f" AND state IN ({_EVERY_STATE}) AND scheduled_at > $1",
        [now - dt.timedelta(days=1)],
    )
    found: dict[int, dict[str, Stored]] = {}
    for row in rows:
        of_series = found.setdefault(integer(row["series_id"]), {})
        of_series[str(row["slot"])] = Stored(integer(row["id"]), moment(row["scheduled_at"]))
    return found


def _may_follow(event: Event) -> bool:
    return event.state in _MOVABLE and not event.is_off_schedule and "scheduled_at" not in event.overridden_fields


async def _anything_sent(event_id: int) -> bool:
    sources: Sequence[str] = [entry.log_source for entry in registered()]
    rows = await fetch(
        "SELECT 1 AS one FROM discord_message_log WHERE source_id = $1 AND (success IS NULL OR success)"  # noqa: S608
        f" AND source IN {in_list(sources, first=2)} LIMIT 1",
        [event_id, *sources],
    )
    return bool(rows)
