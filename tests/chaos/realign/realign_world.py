"""One series, one server, one process at a time on an injected clock: lives through a sequence of acts."""

import asyncio
import datetime as dt
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from bot.bootstrap import ServiceOptions
from bot.changes.event_time import EventTimes
from bot.changes.extras import ExtraEvents
from bot.changes.series_edit import SeriesEditing, Wish
from bot.changes.series_skips import SeriesSkips
from bot.changes.series_state import pause_series, resume_series
from bot.clock import ManualClock
from bot.errors import BotError
from bot.events.generate import generate_events_for_repeater
from bot.events.transitions import Transition, Transitions
from bot.leases.ports import Delivered, Target
from bot.message.outgoing import OutgoingMessage
from bot.message.proposal import Proposal, Reply
from models.event import Event
from models.event_repeater import EventRepeater
from models.repeater_exception import RepeaterException
from models.states import AHEAD, EventState, ExceptionKind, Frequency
from tests.builders import GUILD, FakeDiscord, Process, make_guild, make_series, process
from tests.chaos.realign.realign_acts import EDITS, PAUSES, START, TICKS, Act, Kind
from tests.chaos.realign.realign_oracle import RealignOracle

ADMIN: Final = 42
_DEBOUNCE = dt.timedelta(seconds=5)
_PERIODS = dt.timedelta(minutes=10)
# An event lasts half an hour.
_LONG_OVER = dt.timedelta(hours=2)
# Seldomer than in earnest: what is rare in a sequence comes at its acts.
_OPTIONS = ServiceOptions(generate_every=dt.timedelta(hours=6), cleanup_every=dt.timedelta(hours=12))
_AT_REST = ServiceOptions(generate_every=dt.timedelta(days=3), cleanup_every=dt.timedelta(days=3))

Sender = Callable[[], Awaitable[object]]


class MortalDiscord(FakeDiscord):
    """
    A Discord in whose next send the process can come to its end, or something else can happen.

    ``meanwhile``: awaited once, when the next request is on its way. ``dies``: at the next send nothing goes on, before
    it arrived or after; ``died`` is set then.
    """

    def __init__(self, clock: ManualClock) -> None:
        super().__init__(clock)
        self.meanwhile: Sender | None = None
        self.dies: Kind | None = None
        self.died = asyncio.Event()

    async def send(
        self,
        target: Target,
        message: OutgoingMessage,
        *,
        nonce: str,
        before_request: Callable[[], Awaitable[None]],
    ) -> Delivered:
        """Post a message, unless the process ends."""
        if self.dies is Kind.CRASH_BEFORE:
            await before_request()
            await self._die()
        if self.meanwhile is not None:
            await before_request()
            meanwhile, self.meanwhile = self.meanwhile, None
            await meanwhile()
        delivered = await super().send(target, message, nonce=nonce, before_request=before_request)
        if self.dies is Kind.CRASH_AFTER:
            await self._die()
        return delivered

    async def _die(self) -> None:
        self.dies = None
        self.died.set()
        await asyncio.Event().wait()


class RealignWorld:
    """Lives one sequence; what does not hold is gathered in ``oracle.faults``."""

    def __init__(self) -> None:
        self.clock = ManualClock(START)
        self.discord = MortalDiscord(self.clock)
        self.oracle = RealignOracle(self.clock, self.discord)
        self._bot: Process
        self._series_id = 0

    @property
    def now(self) -> dt.datetime:
        """The virtual time."""
        return self.clock.now()

    async def begin(self) -> None:
        """Store the series and start the process."""
        await make_guild()
        series = await make_series(
            now=self.now,
            frequency=Frequency.WEEKLY,
            day_of_week="MO,WE,FR,SU",
            discord_announcement_hours=72,
            signup_opens_hours=24,
            generate_days_ahead=9,
            duration_minutes=30,
        )
        self._series_id = series.id
        self._bot = await process(self.discord, self.clock, options=_OPTIONS)
        await self._bot.tick()
        await self.oracle.look(series.id)

    async def live(self, act: Act) -> None:
        """Let one thing happen, and see that all is in order once it did."""
        await _ACTS[act.kind](self, act)
        await self._bot.tick()
        await self.oracle.look(self._series_id)

    async def rest(self) -> None:
        """Let everything that is made pass, with nothing new made, and judge what became visible."""
        series = await self._series()
        if series.is_active:
            await pause_series(str(series.id), guild_id=GUILD, actor=ADMIN, now=self.now)
        await self._bot.crash()
        self._bot = await process(self.discord, self.clock, options=_AT_REST)
        last = await Event.filter(scheduled_at__gt=self.now).order_by("-scheduled_at", "id").first()
        await self._bot.run_until((last.scheduled_at if last is not None else self.now) + _LONG_OVER)
        await self.oracle.judge()

    async def _series(self) -> EventRepeater:
        return await EventRepeater.get(id=self._series_id)

    async def _pass(self, span: dt.timedelta) -> None:
        await self._bot.run_until(self.now + span)

    async def _ahead(self, *states: EventState) -> list[Event]:
        wanted = Event.filter(series_id=self._series_id, state__in=states, scheduled_at__gt=self.now + _PERIODS)
        return await wanted.order_by("scheduled_at", "id")

    # ---------------------------------------------------------------------------------------------------------- acts

    async def _propose_edit(self, given: Mapping[str, object]) -> Reply:
        editing = SeriesEditing(self._bot.services.agenda, debounce=_DEBOUNCE)
        return await editing.propose(Wish(self._series_id, GUILD, ADMIN, given), now=self.now)

    async def _edit(self, act: Act) -> None:
        before = await self.oracle.rows(self._series_id)
        if await self._take(self._propose_edit(EDITS[act.pick % len(EDITS)])):
            await self.oracle.edited(self._series_id, before)

    async def _edit_and_undo(self, act: Act) -> None:
        given = EDITS[act.pick % len(EDITS)]
        # What a new day lets be made, and no pass has yet, is no difference that an edit makes.
        await generate_events_for_repeater(await self._series(), now=self.now)
        series, before = await self._series(), await self.oracle.rows(self._series_id)
        await self._take(self._propose_edit(given))
        changed = await self._series()
        names = [name for name in series._meta.fields_map if name not in {"id", "guild_id", "created_at"}]
        undone = {
            name: getattr(series, name)
            for name in names
            if name not in series._meta.fetch_fields and getattr(series, name) != getattr(changed, name)
        }
        if undone:
            await self._take(self._propose_edit(undone))
        await self.oracle.undone(self._series_id, before)

    async def _edit_while_sending(self, act: Act) -> None:
        async def _meanwhile() -> None:
            await self._edit(act)

        self.discord.meanwhile = _meanwhile
        await self._pass(TICKS[3])
        self.discord.meanwhile = None

    async def _edit_stale(self, act: Act) -> None:
        """Two admins are shown what their edits would do, and both confirm."""
        given = EDITS[act.pick % len(EDITS)], EDITS[(act.pick // len(EDITS)) % len(EDITS)]
        shown = []
        for one in given:
            try:
                shown.append(await self._propose_edit(one))
            except BotError:
                continue
        for reply in shown:
            await self._confirm(reply)

    async def _pause(self, act: Act) -> None:
        await pause_series(str(self._series_id), guild_id=GUILD, actor=ADMIN, now=self.now)

    async def _resume(self, act: Act) -> None:
        agenda = self._bot.services.agenda
        await resume_series(str(self._series_id), guild_id=GUILD, actor=ADMIN, now=self.now, agenda=agenda)

    async def _skip(self, act: Act) -> None:
        events = [one for one in await self._ahead(*AHEAD) if one.slot is not None]
        if events:
            date = str(events[act.pick % len(events)].slot).partition("T")[0]
            skips = SeriesSkips(self._bot.services.agenda, debounce=_DEBOUNCE)
            await self._take(skips.propose_skip(str(self._series_id), date, guild_id=GUILD, actor=ADMIN, now=self.now))

    async def _return(self, act: Act) -> None:
        skipped = await RepeaterException.filter(series_id=self._series_id, kind=ExceptionKind.SKIP).order_by("id")
        if skipped:
            date = skipped[act.pick % len(skipped)].local_date.isoformat()
            skips = SeriesSkips(self._bot.services.agenda, debounce=_DEBOUNCE)
            await self._take(
                skips.propose_return(str(self._series_id), date, guild_id=GUILD, actor=ADMIN, now=self.now)
            )

    async def _move(self, act: Act) -> None:
        if events := await self._ahead(*AHEAD):
            event = events[act.pick % len(events)]
            later = event.scheduled_at + dt.timedelta(hours=(2, 5, 26)[act.pick % 3])
            times = EventTimes(self._bot.services.agenda, debounce=_DEBOUNCE, default_timezone="UTC")
            when = later.strftime("%Y-%m-%dT%H:%M+00:00")
            await self._take(times.propose(str(event.id), when, tell=None, guild_id=GUILD, actor=ADMIN, now=self.now))

    async def _cancel(self, act: Act) -> None:
        if events := await self._ahead(*AHEAD):
            transitions = Transitions(self._bot.services.agenda, debounce=_DEBOUNCE)
            event = events[act.pick % len(events)]
            await self._take(transitions.propose_cancel(str(event.id), guild_id=GUILD, actor=ADMIN, now=self.now))

    async def _extra(self, act: Act) -> None:
        extras = ExtraEvents(self._bot.services.agenda, debounce=_DEBOUNCE, default_timezone="UTC")
        when = (self.now + dt.timedelta(hours=5 + act.pick % 60)).strftime("%Y-%m-%dT%H:17+00:00")
        await self._take(extras.propose(str(self._series_id), when, guild_id=GUILD, actor=ADMIN, now=self.now))

    async def _open(self, act: Act) -> None:
        if events := await self._ahead(EventState.UPCOMING):
            transitions = Transitions(self._bot.services.agenda, debounce=_DEBOUNCE)
            event = events[act.pick % len(events)]
            await transitions.make(Transition.OPEN_SIGNUPS, str(event.id), guild_id=GUILD, actor=ADMIN, now=self.now)

    async def _tick(self, act: Act) -> None:
        await self._pass(TICKS[act.pick % len(TICKS)])

    async def _crash(self, act: Act) -> None:
        """Let the process come to its end in its next send, if there is one soon, and another take its place."""
        self.discord.dies = act.kind
        self.discord.died.clear()
        living = asyncio.create_task(self._pass(TICKS[act.pick % len(TICKS)]))
        died = asyncio.create_task(self.discord.died.wait())
        await asyncio.wait({living, died}, return_when=asyncio.FIRST_COMPLETED)
        self.discord.dies = None
        died.cancel()
        if living.done():
            await living
        else:
            living.cancel()
            await asyncio.gather(living, return_exceptions=True)
        await self._bot.crash()
        self.clock.advance(PAUSES[act.pick % len(PAUSES)])
        self._bot = await process(self.discord, self.clock, options=_OPTIONS)

    async def _take(self, asked: Awaitable[Reply]) -> bool:
        """Confirm what is proposed; what cannot be is refused in a sentence. False: nothing was done."""
        try:
            reply = await asked
        except BotError:
            return False
        return await self._confirm(reply)

    async def _confirm(self, reply: Reply) -> bool:
        if not isinstance(reply, Proposal):
            return False
        try:
            return isinstance(await reply.ways[0].then(self.now), str)
        except BotError:
            return False


_ACTS: Final[Mapping[Kind, Callable[[RealignWorld, Act], Awaitable[None]]]] = {
    Kind.EDIT: RealignWorld._edit,
    Kind.EDIT_AND_UNDO: RealignWorld._edit_and_undo,
    Kind.EDIT_WHILE_SENDING: RealignWorld._edit_while_sending,
    Kind.EDIT_STALE: RealignWorld._edit_stale,
    Kind.PAUSE: RealignWorld._pause,
    Kind.RESUME: RealignWorld._resume,
    Kind.SKIP: RealignWorld._skip,
    Kind.RETURN: RealignWorld._return,
    Kind.MOVE: RealignWorld._move,
    Kind.CANCEL: RealignWorld._cancel,
    Kind.EXTRA: RealignWorld._extra,
    Kind.OPEN: RealignWorld._open,
    Kind.TICK: RealignWorld._tick,
    Kind.CRASH_BEFORE: RealignWorld._crash,
    Kind.CRASH_AFTER: RealignWorld._crash,
}
