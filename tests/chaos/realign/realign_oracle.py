"""What must be true of a series and its events after every act, and of their messages once all of them are over."""

import datetime as dt
from collections import defaultdict
from dataclasses import dataclass

from bot.clock import ManualClock
from bot.events.generate import rule_of
from bot.leases.failures import ErrorClass
from bot.reminders.tasks import ANNOUNCEMENT
from bot.times.recurrence import Occurrence, local_today, occurrences
from models.discord_message_log import DiscordMessageLog
from models.event import Event
from models.event_repeater import EventRepeater
from models.repeater_exception import RepeaterException
from models.states import AHEAD, EventState
from tests.builders import FakeDiscord, derived_due, stored_due

# Farther than any event of a sequence lies ahead.
_FAR = dt.timedelta(days=60)
# What changes, or comes back, less than this before an event begins, may be too late for its message.
_TOO_LATE = dt.timedelta(minutes=10)
_BEGAN = (EventState.IN_PROGRESS, EventState.COMPLETED)
_SHOWN = ("scheduled_at", "state", "name", "discord_announcement_hours", "overridden_fields", "is_off_schedule")


@dataclass(frozen=True, slots=True)
class Row:
    """An event as it stood; ``shown``: everything of it that an undone edit leaves as it was."""

    event_id: int
    slot: str | None
    state: EventState
    is_withdrawn: bool
    is_off_schedule: bool
    was_posted: bool
    scheduled_at: dt.datetime
    shown: tuple[object, ...]

    @property
    def date(self) -> str:
        """The date of its slot."""
        return str(self.slot).partition("T")[0]

    @property
    def closes_its_date(self) -> bool:
        """Whether an admin cancelled the occurrence of its date, which therefore stays so."""
        is_cancelled = self.state is EventState.CANCELLED and not self.is_withdrawn
        return is_cancelled and self.slot is not None and not self.is_off_schedule


class RealignOracle:
    """Judges one sequence; ``faults`` are sentences about what did not hold."""

    def __init__(self, clock: ManualClock, discord: FakeDiscord) -> None:
        self.faults: list[str] = []
        self.attempted = self.ok = self.lost = self.duplicated = self.unexpected = 0
        self._clock = clock
        self._discord = discord
        self._gone_at: dict[int, dt.datetime] = {}
        self._known: set[int] = set()
        self._changed_at = clock.now()

    async def rows(self, series_id: int) -> dict[int, Row]:
        """Return the events of a series that are ahead, by id."""
        events = await Event.filter(series_id=series_id, scheduled_at__gt=self._clock.now()).order_by("id")
        return {
            event.id: Row(
                event.id,
                event.slot,
                event.state,
                event.is_withdrawn,
                event.is_off_schedule,
                event.announcement_message_id is not None,
                event.scheduled_at,
                # Of one that stayed off its schedule, the zone in its name may be another of the same clock.
                (str(event.slot).partition("[")[0], *(str(getattr(event, name)) for name in _SHOWN)),
            )
            for event in events
        }

    async def look(self, series_id: int) -> None:
        """See that what stands is what the series says, after whatever happened."""
        self._changed_at = self._clock.now()
        events = {event.id: event for event in await Event.all()}
        self._known |= events.keys()
        for event_id in self._known:
            event = events.get(event_id)
            if event is not None and event.state is not EventState.CANCELLED:
                self._gone_at.pop(event_id, None)
            else:
                self._gone_at.setdefault(event_id, self._clock.now())
        if (stored := await stored_due()) != (derived := await derived_due()):
            self._fault(f"what is due, {stored.items() ^ derived.items()}, is not what follows from the rows")
        series = await EventRepeater.get(id=series_id)
        if series.is_active:
            await self._see_no_ghost(series, list(events.values()))
            self._see_no_double(series, list(events.values()))

    async def _see_no_ghost(self, series: EventRepeater, events: list[Event]) -> None:
        grid = {one.slot: one for one in self._grid(series)}
        excepted = await self._excepted(series.id)
        for event in events:
            follows = event.state is EventState.UPCOMING and not event.is_off_schedule and not event.overridden_fields
            if not follows or event.series_id != series.id or event.scheduled_at <= self._clock.now():
                continue
            one = grid.get(str(event.slot))
            if one is None or one.local_date in excepted:
                self._fault(f"event {event.id} stands at {event.slot}, where its series has none")
            elif one.starts_at != event.scheduled_at:
                self._fault(f"event {event.id} of {event.slot} begins {event.scheduled_at} instead of {one.starts_at}")

    def _see_no_double(self, series: EventRepeater, events: list[Event]) -> None:
        at: dict[dt.datetime, list[int]] = defaultdict(list)
        for event in events:
            is_own = event.series_id == series.id and "scheduled_at" not in event.overridden_fields
            if is_own and event.state is not EventState.CANCELLED and event.scheduled_at > self._clock.now():
                at[event.scheduled_at].append(event.id)
        for moment, ids in at.items():
            if len(ids) > 1:
                self._fault(f"events {ids} of one series all begin {moment}")

    async def edited(self, series_id: int, before: dict[int, Row]) -> None:
        """See that an edit kept what its new rule has, and made what was missing in the window."""
        series = await EventRepeater.get(id=series_id)
        if not series.is_active:
            return
        after, excepted = await self.rows(series_id), await self._excepted(series_id)
        today = local_today(self._clock.now(), series.timezone)
        closed = {row.date for row in before.values() if row.closes_its_date}
        back = [one for one in after.values() if one.date in closed and one.state in AHEAD and self._came(one, before)]
        if back:
            self._fault(f"{[one.slot for one in back]} came back by an edit, though an admin cancelled that day's")
        wanted = [one for one in self._grid(series) if one.local_date not in excepted]
        there = {row.scheduled_at for row in after.values() if not row.is_withdrawn}
        window = today + dt.timedelta(days=series.generate_days_ahead)
        slots = {row.slot for row in after.values()}
        due = [one for one in wanted if one.local_date <= window and one.local_date.isoformat() not in closed]
        missing = [one.slot for one in due if one.slot not in slots and one.starts_at not in there]
        if missing:
            self._fault(f"{missing} are missing after an edit")
        kept = {one.slot for one in wanted}
        for row in before.values():
            now = after.get(row.event_id)
            keeps = now is not None and (now.slot, now.state) == (row.slot, row.state)
            if row.state in AHEAD and row.slot in kept and not keeps:
                self._fault(f"event {row.event_id} of {row.slot} did not keep its row over an edit")

    @staticmethod
    def _came(row: Row, before: dict[int, Row]) -> bool:
        return row.event_id not in before or before[row.event_id].state is EventState.CANCELLED

    async def undone(self, series_id: int, before: dict[int, Row]) -> None:
        """See that an edit that was taken back left no difference but the ids of what nobody was told of."""
        after = await self.rows(series_id)
        stood = sorted(row.shown for row in before.values())
        if (
            stands := sorted(row.shown for row in after.values() if not row.is_withdrawn or row.event_id in before)
        ) != stood:
            self._fault(f"an edit and its undoing made {stands} of {stood}")
        lost = [row.event_id for row in before.values() if row.was_posted and row.event_id not in after]
        if lost:
            self._fault(f"events {lost} were posted, and an edit and its undoing made others of them")

    async def judge(self) -> None:
        """Judge the messages, once every event is over."""
        seen: dict[int, list[dt.datetime]] = defaultdict(list)
        for post in self._discord.in_channel():
            event_id = int(post.message.marker.lstrip("#").split(" ")[0].split(".")[0])
            seen[event_id].append(post.sent_at)
            gone_at = self._gone_at.get(event_id)
            title = post.shown.embed.title if post.shown.embed is not None else ""
            if gone_at is not None and post.sent_at > gone_at:
                self.unexpected += 1
                self._fault(f"event {event_id} was posted at {post.sent_at}, after it was removed at {gone_at}")
            if gone_at is not None and not title.startswith(("Cancelled", "Moved")):
                self._fault(f"event {event_id} is gone, and its post says {title!r}")
        standing: dict[str, int] = defaultdict(int)
        for event in await Event.all():
            await self._judge_event(event, seen[event.id])
            if event.slot is not None and event.state is not EventState.CANCELLED:
                standing[event.slot] += len(seen[event.id])
        for slot, copies in standing.items():
            if copies > 1:
                self.duplicated += 1
                self._fault(f"{slot} is visible {copies} times")

    async def _judge_event(self, event: Event, sent: list[dt.datetime]) -> None:
        if len(sent) > 1:
            self.duplicated += 1
            self._fault(f"event {event.id} is visible {len(sent)} times")
        if event.state not in _BEGAN or not event.discord_announcement:
            return
        self.attempted += 1
        rows = await DiscordMessageLog.filter(source=ANNOUNCEMENT.log_source, source_id=event.id).order_by("id")
        is_late = event.scheduled_at - self._changed_at < _TOO_LATE
        is_excused = is_late and any(row.error_class == ErrorClass.EVENT_STARTED for row in rows)
        if (len(sent) == 1 and any(row.success for row in rows)) or is_excused:
            self.ok += 1
        else:
            self.lost += 1
            self._fault(f"event {event.id} at {event.scheduled_at} is visible {len(sent)} times")

    async def _excepted(self, series_id: int) -> set[dt.date]:
        return {one.local_date for one in await RepeaterException.filter(series_id=series_id)}

    def _grid(self, series: EventRepeater) -> list[Occurrence]:
        now = self._clock.now()
        today = local_today(now, series.timezone)
        return [one for one in occurrences(rule_of(series), today, today + _FAR) if one.starts_at > now]

    def _fault(self, words: str) -> None:
        self.faults.append(f"{self._clock.now():%Y-%m-%d %H:%M:%S}: {words}")
