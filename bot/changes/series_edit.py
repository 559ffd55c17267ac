"""
Edit a series: what changes, and what becomes of each of its events, is shown first, then done exactly so or refused.

Where the schedule changes, its events are realigned; else their values alone follow. Source: 02-reminders.md,
"Realign-on-edit".
"""

import datetime as dt
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

import structlog

from bot import audit
from bot.changes.extras import extras_ahead, refuse_rule_on_extra
from bot.changes.realign import RealignPlan
from bot.changes.realign_wording import change_lines, counted, fitted, plan_notes, plan_sections
from bot.changes.series_names import hold_names, refuse_taken_name
from bot.changes.series_state import is_over
from bot.changes.series_sync import HANDED_DOWN, followers, plan_of, sync_future_events
from bot.changes.series_values import SCHEDULE_FIELDS, Values, assign, changes, for_audit, values_of
from bot.changes.stale import StaleError, held_series, hold_events
from bot.events import browse
from bot.events.admin_wording import named
from bot.events.generate import generate_events_for_repeater
from bot.events.lifecycle import wake_after_change
from bot.events.requests import checked, nowhere_notes
from bot.events.series_requests import OPTIONS
from bot.events.series_spec import ConfigSpec, SeriesSpec
from bot.message.outgoing import ButtonStyle
from bot.message.proposal import Proposal, Reply, Way, leave
from bot.scheduling.agenda import Agenda
from bot.times.recurrence import local_today
from bot.times.rule_words import clock_notes, rule_in_words, span_in_words
from bot.times.typed_date import in_words
from bot.transactions import atomic
from models.event_repeater import EventRepeater
from models.guild_settings import GuildSettings

_log = structlog.get_logger(__name__)

_MOST_TICKS: Final = 15
# As far ahead as a clock change is looked for.
_A_YEAR: Final = dt.timedelta(days=366)


@dataclass(frozen=True, slots=True)
class Wish:
    """
    What an admin wants of one series: the ``given`` fields of a spec, and the edited events that may go.

    ``look`` returns sentences on what comes of it that its author should read; ``more`` are further ways to go on.
    """

    series_id: int
    guild_id: int
    actor: int
    given: Mapping[str, object]
    ticked: frozenset[int] = frozenset()
    look: Callable[[ConfigSpec], Sequence[str]] | None = None
    more: Sequence[Way] = ()


@dataclass(frozen=True, slots=True)
class _Edit:
    """
    One edit as it is shown and then made; two are equal where they do the same. ``plan`` None: no realigning.

    ``followers`` are the ids of the events that take on the series' values.
    """

    series: EventRepeater = field(compare=False)
    spec: SeriesSpec
    before: Values
    after: Values
    plan: RealignPlan | None
    followers: frozenset[int]


class SeriesEditing:
    """Edits series; ``debounce`` afterwards the posts of their events are edited, ``instance`` signs the audit."""

    def __init__(self, agenda: Agenda, *, debounce: dt.timedelta, instance: str | None = None) -> None:
        self._agenda = agenda
        self._debounce = debounce
        self._instance = instance

    async def propose(self, wish: Wish, *, now: dt.datetime, note: str = "") -> Reply:
        """
        Return what the edit would do, to be confirmed; nothing is stored. ``note`` stands before it.

        Raises:
            NoSuchSeriesError, RequestRefusedError, SeriesNameTakenError, RuleOnExtraError: it cannot be.
        """
        series = await browse.find_series(str(wish.series_id), guild_id=wish.guild_id)
        edit = await _planned(series, wish, now=now)
        if not edit.after:
            return f"{named(series)} has all of that already, so nothing changes."
        settings = await GuildSettings.get_or_none(guild_id=wish.guild_id)
        notes = [*(wish.look(edit.spec) if wish.look is not None else ()), *nowhere_notes(settings, edit.spec)]
        text = _shown(edit, notes, note=note, now=now)
        confirm = Way(_label(edit), partial(self._apply, edit, wish), _style(edit))
        return Proposal(text, (confirm, *ticking(edit.plan, wish, self._tick), *wish.more, leave()))

    async def _tick(self, wish: Wish, now: dt.datetime) -> Reply:
        return await self.propose(wish, now=now)

    async def _apply(self, edit: _Edit, wish: Wish, now: dt.datetime) -> Reply:
        async def _unit() -> int:
            if "name" in edit.after:
                await hold_names(wish.guild_id)
            series = await held_series(edit.series)
            await hold_events(series, after=now)
            if await _planned(series, wish, now=now) != edit:
                raise StaleError(series)
            return await self._store(series, edit, wish, now)

        try:
            made = await atomic(_unit)
        except StaleError:
            note = "It was changed since you were shown this, so nothing was done. This is how it stands now:"
            return await self.propose(wish, now=now, note=note)
        _log.info(
            "series_edited", guild=wish.guild_id, series=wish.series_id, actor=wish.actor, fields=sorted(edit.after)
        )
        wake_after_change(self._agenda, now=now, debounce=self._debounce)
        return _done(edit, made)

    async def _store(self, series: EventRepeater, edit: _Edit, wish: Wish, now: dt.datetime) -> int:
        """Store the edit; return how many events were made beside those of the plan."""
        await assign(series, edit.after).save(update_fields=list(edit.after))
        await audit.record(
            "series.edit",
            guild_id=wish.guild_id,
            actor_user_id=wish.actor,
            subject_id=series.id,
            now=now,
            before=for_audit({name: edit.before[name] for name in edit.after}),
            after=for_audit(edit.after),
            instance=self._instance,
        )
        await sync_future_events(
            series,
            realign_schedule=edit.plan is not None,
            now=now,
            debounce=self._debounce,
            actor_user_id=wish.actor,
            instance=self._instance,
            ticked=wish.ticked,
            expected=edit.plan,
        )
        return await generate_events_for_repeater(series, now=now)


def ticking(wanted: RealignPlan | None, wish: Wish, tick: Callable[[Wish, dt.datetime], Awaitable[Reply]]) -> list[Way]:
    """Return a way for each edited event that may go, or was ticked and may stay."""
    if wanted is None:
        return []
    stay = [(one.event, False) for one in wanted.staying if one.may_go]
    go = [(event, True) for event in wanted.leaving if event.event_id in wish.ticked]
    return [
        Way(
            f"{'Keep' if goes else 'Also remove'} {_day(event.local_date)}",
            partial(tick, replace(wish, ticked=wish.ticked ^ {event.event_id})),
        )
        for event, goes in sorted([*go, *stay], key=lambda one: one[0].scheduled_at)[:_MOST_TICKS]
    ]


async def _planned(series: EventRepeater, wish: Wish, *, now: dt.datetime) -> _Edit:
    """Return what the wish does to a series as it stands, or raise why it cannot be."""
    before = values_of(series)
    spec = checked(SeriesSpec, merged(before, wish.given), options=OPTIONS)
    after = changes(before, spec)
    if "name" in after:
        await refuse_taken_name(spec.name, guild_id=wish.guild_id, but=wish.series_id)
    was_over = is_over(series, now=now)
    new = assign(await EventRepeater.get(id=series.id), after)
    if not SCHEDULE_FIELDS.isdisjoint(after):
        refuse_rule_on_extra(new, await extras_ahead(series, now=now))
    realigns = not SCHEDULE_FIELDS.isdisjoint(after) and series.is_active and not (was_over and is_over(new, now=now))
    wanted = await plan_of(new, now=now, ticked=wish.ticked) if realigns else None
    return _Edit(series, spec, before, after, wanted, await followers(series, now=now))


def merged(before: Values, given: Mapping[str, object]) -> Values:
    """Return what is stored with what was given; another frequency has no use for the old one's days."""
    forgotten = {"day_of_week": None} if given.get("frequency", before["frequency"]) != before["frequency"] else {}
    return {**before, **forgotten, **given}


def _shown(edit: _Edit, notes: Sequence[str], *, note: str, now: dt.datetime) -> str:
    rule = edit.spec.rule
    head = [
        *([note] if note else []),
        f"Change the series {named(edit.series)}?",
        *change_lines(edit.before, edit.after, options=OPTIONS),
    ]
    if not SCHEDULE_FIELDS.isdisjoint(edit.after):
        today = local_today(now, rule.timezone)
        head.append(f"It then returns {rule_in_words(rule)}, {span_in_words(rule)}.")
        head += clock_notes(rule, today, today + _A_YEAR)
    if edit.plan is None:
        return fitted(head, [], [*_followers(edit), *notes])
    foot = [*_followers(edit), *plan_notes(edit.plan), *notes]
    if edit.plan.empties:
        foot.insert(0, "The new schedule has no event ahead: every upcoming event goes.")
    return fitted(head, plan_sections(edit.plan), foot)


def _followers(edit: _Edit) -> list[str]:
    """Return what the events do that are made already and stay: which keep their times, and which follow otherwise."""
    leaving = {one.event_id for one in edit.plan.leaving} if edit.plan is not None else set[int]()
    count = len(edit.followers - leaving)
    follows = not set(HANDED_DOWN).isdisjoint(edit.after)
    is_schedule = not SCHEDULE_FIELDS.isdisjoint(edit.after)
    if not count or not (follows or (is_schedule and edit.plan is None)):
        return []
    which = "that is kept or stays" if count == 1 else "that are kept or stay"
    many = "The 1 event" if count == 1 else f"The {count} events"
    but = "but for what was edited there, and unless sign-ups were opened"
    if edit.plan is not None:
        return [f"{many} {which} {'takes' if count == 1 else 'take'} on the rest too, {but}."]
    if is_schedule:
        why = "it has ended" if edit.series.is_active else "the series is paused; /series resume brings them in line"
        if not follows:
            return [f"{many} ahead stay as they are: {why}."]
        return [f"{many} ahead keep their times: {why}. The rest they take on, {but}."]
    return [f"{many} ahead follow, {but}."]


def _label(edit: _Edit) -> str:
    if edit.plan is not None and edit.plan.empties:
        number = len(edit.plan.leaving)
        return "Remove the 1 upcoming event" if number == 1 else f"Remove all {number} upcoming events"
    return "Change the series"


def _style(edit: _Edit) -> ButtonStyle:
    return ButtonStyle.DANGER if edit.plan is not None and edit.plan.leaving else ButtonStyle.SUCCESS


def _day(date: dt.date | None) -> str:
    return in_words(date) if date is not None else "it"


def _done(edit: _Edit, made: int) -> str:
    told = counted(edit.plan or RealignPlan(), made=made)
    return f"{named(edit.series)} was changed{f'; events: {told}' if told else ''}."
