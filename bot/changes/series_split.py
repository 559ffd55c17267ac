"""
Edit a series from one of its events on: shown first, then done exactly so or refused.

The old series ends on the day before; a new one begins with that event, by the changed rule, and takes over the later
events: whose slot it has keep their rows, sign-ups and all; the others are realigned like after any edit.
"""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final
from zoneinfo import ZoneInfo

import structlog

from bot import audit
from bot.changes.extras import refuse_rule_on_extra
from bot.changes.realign import RealignPlan
from bot.changes.realign_wording import change_lines, counted, fitted, plan_notes, plan_sections
from bot.changes.series_edit import Wish, merged, ticking
from bot.changes.series_names import free_name, hold_names, refuse_taken_name
from bot.changes.series_sync import plan_for, sync_future_events
from bot.changes.series_values import Values, assign, changes, for_audit, values_of
from bot.changes.stale import StaleError, held_series, hold_events, refuse_unless_ahead
from bot.errors import BotError
from bot.events import browse
from bot.events.admin_wording import named
from bot.events.exceptions import carry_over, date_of
from bot.events.generate import excepted_dates
from bot.events.lifecycle import wake_after_change
from bot.events.posts import mark_all_changed
from bot.events.profiles import copy_series_opt_outs
from bot.events.requests import checked
from bot.events.series_fields import MAX_NAME
from bot.events.series_requests import OPTIONS
from bot.events.series_spec import SeriesSpec
from bot.events.subscriptions import copy_subscriptions
from bot.message.escaping import escape
from bot.message.outgoing import ButtonStyle
from bot.message.proposal import Proposal, Reply, Way, leave
from bot.scheduling.agenda import Agenda
from bot.times.rule_words import rule_in_words, span_in_words
from bot.times.typed_date import in_words
from bot.transactions import atomic
from models.event import Event
from models.event_repeater import EventRepeater
from models.states import AHEAD, Frequency

_log = structlog.get_logger(__name__)

_DAY: Final = dt.timedelta(days=1)
_MOST_PLACES: Final = 20
_HOUR_AND_MINUTE: Final = len("19:30")


class NoPlaceToSplitError(BotError):
    """The series cannot be changed from this event on."""

    def __init__(self, series: EventRepeater, why: str) -> None:
        super().__init__(f"{named(series)} cannot be changed from that event on: {why}")
        self.series_id = series.id


@dataclass(frozen=True, slots=True)
class _Split:
    """One split as it is shown and then made; two are equal where they do the same. ``plan`` None: it is paused."""

    series: EventRepeater = field(compare=False)
    date: dt.date
    before: Values
    spec: SeriesSpec
    event_ids: tuple[int, ...]
    plan: RealignPlan | None


class SeriesSplitting:
    """Splits series; ``debounce`` afterwards the posts of their events are edited, ``instance`` signs the audit."""

    def __init__(self, agenda: Agenda, *, debounce: dt.timedelta, instance: str | None = None) -> None:
        self._agenda = agenda
        self._debounce = debounce
        self._instance = instance

    async def propose(self, wish: Wish, event_id: int, *, now: dt.datetime, note: str = "") -> Reply:
        """
        Return what changing the series from the event on would do, to be confirmed. ``note`` stands before it.

        Raises:
            NoSuchSeriesError, NoSuchEventError, NotAheadError, NoPlaceToSplitError: it cannot be split there.
            RequestRefusedError, SeriesNameTakenError, RuleOnExtraError: the new series cannot be.
        """
        series = await browse.find_series(str(wish.series_id), guild_id=wish.guild_id)
        split = await _planned(series, wish, event_id, now=now)
        text = _shown(split, wish.look(split.spec) if wish.look is not None else (), note=note)
        confirm = Way("Change from there on", partial(self._apply, split, wish, event_id), _style(split))
        ticks = ticking(split.plan, wish, partial(self._tick, event_id))
        return Proposal(text, (confirm, *ticks, leave()))

    async def _tick(self, event_id: int, wish: Wish, now: dt.datetime) -> Reply:
        return await self.propose(wish, event_id, now=now)

    async def _apply(self, split: _Split, wish: Wish, event_id: int, now: dt.datetime) -> Reply:
        async def _unit() -> EventRepeater:
            await hold_names(wish.guild_id)
            series = await held_series(split.series)
            await hold_events(series)
            if await _planned(series, wish, event_id, now=now) != split:
                raise StaleError(series)
            return await self._make(series, split, wish, now)

        try:
            new = await atomic(_unit)
        except StaleError:
            note = "It was changed since you were shown this, so nothing was done. This is how it stands now:"
            return await self.propose(wish, event_id, now=now, note=note)
        _log.info("series_split", guild=wish.guild_id, series=wish.series_id, into=new.id, actor=wish.actor)
        wake_after_change(self._agenda, now=now, debounce=self._debounce)
        told = counted(split.plan or RealignPlan())
        return (
            f"{named(split.series)} ends on {in_words(split.date - _DAY)}; {named(new)} goes on from there"
            f"{f'; events: {told}' if told else ''}."
        )

    async def _make(self, series: EventRepeater, split: _Split, wish: Wish, now: dt.datetime) -> EventRepeater:
        end: Values = {"ends_at": split.date - _DAY}
        await assign(series, end).save(update_fields=["ends_at"])
        new = _new_series(series, split.spec)
        new.created_by, new.created_at = wish.actor, now
        await new.save(force_create=True)
        before = for_audit({"ends_at": split.before["ends_at"]})
        await self._record("series.edit", series, wish, now, before=before, after=for_audit(end))
        after = {"name": new.name, "timezone": new.timezone, "time_of_day": new.time_of_day, "of": series.id}
        await self._record("series.create", new, wish, now, before=None, after=after)
        await carry_over(series.id, to_series_id=new.id, since=split.date)
        await copy_subscriptions(series.id, to_series_id=new.id, now=now)
        await copy_series_opt_outs(series.id, to_series_id=new.id, guild_id=wish.guild_id, now=now)
        await _take_over(split.event_ids, new, now=now, debounce=self._debounce)
        await sync_future_events(
            new,
            realign_schedule=split.plan is not None,
            now=now,
            debounce=self._debounce,
            actor_user_id=wish.actor,
            instance=self._instance,
            ticked=wish.ticked,
            expected=split.plan,
        )
        return new

    async def _record(
        self, action: str, series: EventRepeater, wish: Wish, now: dt.datetime, *, before: Values | None, after: Values
    ) -> None:
        await audit.record(
            action,
            guild_id=wish.guild_id,
            actor_user_id=wish.actor,
            subject_id=series.id,
            now=now,
            before=before,
            after=after,
            instance=self._instance,
        )


def _new_series(series: EventRepeater, spec: SeriesSpec) -> EventRepeater:
    return assign(
        EventRepeater(guild_id=series.guild_id), {name: getattr(spec, name) for name in type(spec).model_fields}
    )


async def _planned(series: EventRepeater, wish: Wish, event_id: int, *, now: dt.datetime) -> _Split:
    """Return what the split does as things stand, or raise why it cannot be."""
    event = await browse.find_event(str(event_id), guild_id=wish.guild_id)
    if event.series_id != series.id:
        raise browse.NoSuchEventError(str(event_id))
    refuse_unless_ahead(event, now=now, cannot="where a series changes")
    date = _date_to_split(series, event)
    before = values_of(series)
    given = dict(wish.given)
    given.setdefault("starts_at", date)
    given.setdefault("name", await free_name(series.name, guild_id=wish.guild_id, most=MAX_NAME))
    spec = checked(SeriesSpec, merged(before, given), options=OPTIONS)
    _refuse_other_days(series, spec, date, wish)
    await refuse_taken_name(spec.name, guild_id=wish.guild_id)
    later = [one for one in await Event.filter(series_id=series.id).order_by("id") if _day_of(one, spec) >= date]
    refuse_rule_on_extra(_new_series(series, spec), [one for one in later if one.scheduled_at > now])
    wanted = None
    if series.is_active:
        ahead = [one for one in later if one.scheduled_at > now]
        excepted = {day for day in await excepted_dates(series.id) if day >= date}
        wanted = await plan_for(_new_series(series, spec), ahead, excepted, now=now, ticked=wish.ticked)
    return _Split(series, date, before, spec, tuple(one.id for one in later), wanted)


def _date_to_split(series: EventRepeater, event: Event) -> dt.date:
    if event.slot is None:
        raise NoPlaceToSplitError(series, "it is an extra one; choose one that its schedule makes.")
    date = date_of(event.slot)
    if date <= series.starts_at:
        raise NoPlaceToSplitError(series, "it is the first; change the whole series instead.")
    return date


def _refuse_other_days(series: EventRepeater, spec: SeriesSpec, date: dt.date, wish: Wish) -> None:
    """Refuse a first day that would let the new series return on other days than it says."""
    if spec.starts_at < date:
        raise NoPlaceToSplitError(series, f"it would start before that event; give {in_words(date)} or later.")
    by_date = spec.frequency in {Frequency.MONTHLY, Frequency.YEARLY} and spec.day_of_week is None
    stands_in = by_date and spec.frequency is series.frequency and date.day != series.starts_at.day
    if stands_in and "starts_at" not in wish.given:
        day = series.starts_at.day
        raise NoPlaceToSplitError(series, f"it stands in for day {day}, which its month lacks; choose another event.")


def _day_of(event: Event, spec: SeriesSpec) -> dt.date:
    """Return the date of an event's slot; of an extra one, that of its start."""
    if event.slot is not None:
        return date_of(event.slot)
    return event.scheduled_at.astimezone(ZoneInfo(spec.timezone)).date()


async def _take_over(event_ids: Sequence[int], new: EventRepeater, *, now: dt.datetime, debounce: dt.timedelta) -> None:
    if not event_ids:
        return
    await Event.filter(id__in=event_ids).update(series_id=new.id)
    await mark_all_changed(event_ids, now=now, debounce=debounce)  # a post's button names the series


def _shown(split: _Split, notes: Sequence[str], *, note: str) -> str:
    spec = split.spec
    head = [
        *([note] if note else []),
        f"Change the series {named(split.series)} from {in_words(split.date)} on?",
        f"It ends on {in_words(split.date - _DAY)}. **{escape(spec.name)}** goes on from there, with its subscribers.",
        f"That returns {rule_in_words(spec.rule)}, {span_in_words(spec.rule)}.",
        *change_lines(split.before, changes(split.before, spec), options=OPTIONS),
    ]
    if split.plan is None:
        return fitted(head, [], ["The series is paused: its events stay as they are.", *notes])
    return fitted(head, plan_sections(split.plan), [*plan_notes(split.plan), *notes])


def _style(split: _Split) -> ButtonStyle:
    return ButtonStyle.DANGER if split.plan is not None and split.plan.leaving else ButtonStyle.SUCCESS


async def split_places(series_id: int, *, guild_id: int, now: dt.datetime) -> list[tuple[str, int]]:
    """Return at most 20 events of a series from which on it may be changed, soonest first, as words and id."""
    series = await browse.find_series(str(series_id), guild_id=guild_id)
    rows = Event.filter(
        series_id=series.id, guild_id=guild_id, state__in=AHEAD, scheduled_at__gt=now, slot__isnull=False
    )
    found = [
        (f"{in_words(date_of(slot))}, {slot.partition('T')[2][:_HOUR_AND_MINUTE]}", int(event_id))
        for event_id, slot in await rows.order_by("scheduled_at", "id").values_list("id", "slot")
        if date_of(slot) > series.starts_at
    ]
    return found[:_MOST_PLACES]
