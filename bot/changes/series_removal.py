"""
Delete a series: what happens to each of its events is shown first, then done exactly so or refused.

Its events that nobody could sign up for yet go with it; the others stay, without a series. Source: 02-reminders.md,
"Realign-on-edit".
"""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import structlog

from bot import audit
from bot.changes.stale import StaleError, held_series, hold_events
from bot.changes.withdrawal import Removal, known_of, withdraw_all
from bot.events import browse
from bot.events.admin_wording import named
from bot.events.lifecycle import wake_after_change
from bot.events.posts import mark_changed
from bot.message import timestamps
from bot.message.outgoing import ButtonStyle
from bot.message.proposal import Proposal, Reply, Way, leave
from bot.scheduling import due_rows
from bot.scheduling.agenda import Agenda
from bot.transactions import atomic, fetch, integer
from models.event import Event
from models.event_repeater import EventRepeater
from models.states import OPEN_FOR_PEOPLE, EventState

_log = structlog.get_logger(__name__)

_SHOWN = 5
_GONE = (Removal.DELETED, Removal.CANCELLED)


@dataclass(frozen=True, slots=True)
class _Removal:
    """What goes with a series and what stays of it; two are equal where the same goes and stays."""

    series: EventRepeater = field(compare=False)
    going: tuple[Event, ...] = field(compare=False)
    staying: tuple[Event, ...] = field(compare=False)
    stood: tuple[object, ...]
    text: str = field(compare=False)


class SeriesRemoval:
    """Deletes series; ``debounce`` afterwards the posts of their events are edited, ``instance`` signs the audit."""

    def __init__(self, agenda: Agenda, *, debounce: dt.timedelta, instance: str | None = None) -> None:
        self._agenda = agenda
        self._debounce = debounce
        self._instance = instance

    async def propose(self, typed: str, *, guild_id: int, actor: int, now: dt.datetime) -> Reply:
        """
        Return what would go and what would stay, to be confirmed.

        Raises:
            NoSuchSeriesError: the server has no such series.
        """
        series = await browse.find_series(typed, guild_id=guild_id)
        shown = await _planned(series, now=now)
        delete = Way("Delete the series", partial(self._apply, shown, actor), ButtonStyle.DANGER)
        return Proposal(shown.text, (delete, leave("Back")))

    async def _apply(self, shown: _Removal, actor: int, now: dt.datetime) -> Reply:
        async def _unit() -> dict[int, Removal]:
            series = await held_series(shown.series)
            await hold_events(series)  # the past ones too: they lose their series
            fresh = await _planned(series, now=now)
            if fresh != shown:
                raise StaleError(series)
            return await self._tear_down(fresh, actor=actor, now=now)

        done = list((await atomic(_unit)).values())
        series = shown.series
        _log.info("series_deleted", guild=series.guild_id, series=series.id, actor=actor, events=len(done))
        wake_after_change(self._agenda, now=now, debounce=self._debounce)
        went = _counted(done.count(Removal.DELETED), "event went", "events went")
        cancelled = _counted(done.count(Removal.CANCELLED), "was cancelled", "were cancelled")
        stay = _counted(len(shown.staying), "stays", "stay")
        return f"The series {named(series)} was deleted: {went} with it, {cancelled} and {stay}."

    async def _tear_down(self, removal: _Removal, *, actor: int, now: dt.datetime) -> dict[int, Removal]:
        series = removal.series
        done = await withdraw_all(
            removal.going,
            now=now,
            debounce=self._debounce,
            actor_user_id=actor,
            instance=self._instance,
            action="event.cancel",
        )
        if Removal.LOST in done.values():
            raise StaleError(series)
        # By the tables' own rules its exceptions and subscribers go, and its other events lose their series.
        await EventRepeater.filter(id=series.id, guild_id=series.guild_id).delete()
        await due_rows.refresh([event.id for event in removal.staying])
        for event in removal.staying:
            await mark_changed(event.id, now=now, debounce=self._debounce)
        await audit.record(
            "series.delete",
            guild_id=series.guild_id,
            actor_user_id=actor,
            subject_id=series.id,
            now=now,
            before={"name": series.name, "timezone": series.timezone, "time_of_day": series.time_of_day},
            after={kind.value: [one for one, what in done.items() if what is kind] for kind in _GONE},
            instance=self._instance,
        )
        return done


async def _planned(series: EventRepeater, *, now: dt.datetime) -> _Removal:
    """Return what becomes of the events of a series as things stand."""
    of_series = Event.filter(series_id=series.id, guild_id=series.guild_id, scheduled_at__gt=now).order_by(
        "scheduled_at", "id"
    )
    going = await of_series.filter(state=EventState.UPCOMING)
    staying = await of_series.filter(state__in=OPEN_FOR_PEOPLE)
    known = await known_of(going)
    rows = await fetch("SELECT COUNT(*) AS people FROM repeater_subscription WHERE series_id = $1", [series.id])
    people = integer(rows[0]["people"])
    lines = [
        f"Delete the series {named(series)}?",
        *_each("Events that go, as nobody knows of them", [one for one in going if one.id not in known]),
        *_each("Events that are cancelled, and their posts say so", [one for one in going if one.id in known]),
        *_each("Events that stay, with their sign-ups, and belong to no series", staying),
        *([f"Nobody is reminded to sign up any more; {people} asked for that."] if people else []),
        "This cannot be undone; /series pause only stops it.",
    ]
    stood = (series.name, *((one.id, one.state, one.scheduled_at, one.id in known) for one in (*going, *staying)))
    return _Removal(series, tuple(going), tuple(staying), stood, "\n".join(lines))


def _each(what: str, events: Sequence[Event]) -> list[str]:
    if not events:
        return []
    times = ", ".join(timestamps.full(event.scheduled_at) for event in events[:_SHOWN])
    return [f"{what}: {times}{f', +{len(events) - _SHOWN} more' if len(events) > _SHOWN else ''}."]


def _counted(number: int, one: str, many: str) -> str:
    return f"1 {one}" if number == 1 else f"{number} {many}"
