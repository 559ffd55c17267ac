"""One simulated day of the whole bot: its world, its people and admins, and everything that goes wrong, as planned."""

import datetime as dt
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from bot.client import COMMAND_COGS
from bot.database import opened
from bot.demo.people import PROFILE_FIELDS, member_names
from bot.demo.troubled_life import TroubledLife
from bot.demo.world import Place, World
from bot.errors import BotError
from bot.events.event_requests import EventDesk, EventRequest
from bot.events.schedule_file import read_schedule
from bot.events.series import create_series
from bot.events.subscriptions import subscribe
from bot.leases.keys import OPS_NOTE
from bot.message.proposal import Proposal, Way
from bot.reminders import markers
from bot.scheduling.bodies import CHECK_EVENT_REMINDERS, OPEN_SCHEDULED_SIGNUPS
from bot.transactions import DATABASE_ERRORS, Dialect, atomic, dialect, fetch
from models.guild_settings import GuildSettings
from tests.chaos.days.day_admin import ADMIN_ACTS, Admin
from tests.chaos.days.day_ledger import Asked, Ledger, Snapshot
from tests.chaos.days.day_people import PEOPLES_ACTS, People
from tests.chaos.days.day_plan import Act, ActKind, DayPlan, Entry, one_off_entry
from tests.chaos.days.day_record import DayRecord, Seen, read_log, read_notes
from tests.chaos.days.day_rows import read_facts, read_people, read_signups

_REFUSALS: tuple[type[Exception], ...] = (BotError, *DATABASE_ERRORS)
_EPHEMERAL = 1 << 6
_REST = dt.timedelta(minutes=20)
_TO_EVENTS = frozenset({ActKind.PRESS, ActKind.CLICK, ActKind.CANCEL, ActKind.MOVE, ActKind.REMOVE})


class BotDay:
    """A day in a database of its own, which is empty but for its tables."""

    def __init__(self, plan: DayPlan) -> None:
        self._plan = plan
        self._world = World(plan.start)
        self._life = TroubledLife(
            self._world,
            plan.faults,
            follows=plan.follows,
            extensions=COMMAND_COGS,
            after_pass=self._after_pass,
            after_moment=self._after_moment,
        )
        self._record = DayRecord(plan, self._life.trace, ended_at=plan.start)
        self._entries: dict[str, Entry] = {}
        self._ledger = Ledger(self._entries)
        self._signups: Snapshot = {}
        self._place: Place | None = None
        self._created = 0

    @property
    def place(self) -> Place:
        assert self._place is not None
        return self._place

    async def run(self, url: str) -> DayRecord:
        """Live the day; return what is to be judged."""
        async with opened(url, pool_size=1, everywhere=True):
            # No power fails in a simulated day.
            await fetch("PRAGMA synchronous = OFF" if dialect() is Dialect.SQLITE else "SET synchronous_commit = off")
            await self._life.start()
            try:
                await self._found()
                for act in self._plan.acts:
                    self._life.plan(act.at, self._does(act))
                await self._life.look_every_hour()
                await self._life.run_until(self._plan.end)
                await self._life.run_to_rest(_REST, _is_at_rest)
                await self._life.end()
            except BaseException:
                with self._life.gate.open():
                    await self._life.services.cut_off()
                    await self._world.detach()
                raise
            return await self._finished()

    async def _finished(self) -> DayRecord:
        record, life = self._record, self._life
        with life.gate.open():
            now = await read_facts()
            record.log = await read_log()
            record.notes = await read_notes()
        record.ended_at = self._world.now()
        record.facts.note(now, now, record.ended_at)
        self._ledger.look(now, record.ended_at)
        ledger = self._ledger
        record.series, record.moved, record.removed = ledger.series, ledger.moved, ledger.removed
        record.wrong_rows = ledger.wrong
        record.disturbances = life.disturbances
        record.attempted, record.acknowledged = life.attempted, life.acknowledged
        record.recovered, record.kills = life.recovered, life.kills
        return record

    async def _found(self) -> None:
        """Found the guild with its series; everybody but the last subscribes to all of them."""
        self._world.on_message(self._hear)
        self._place = self._world.build(guild_name="Bot days", players=member_names(self._plan.members))
        self._record.user_ids = self.place.player_ids
        with self._life.gate.open():
            await GuildSettings(
                guild_id=self.place.guild_id,
                announcement_channel_id=self.place.announcements_id,
                ops_channel_id=self.place.ops_id,
                profile_fields=PROFILE_FIELDS,
            ).save(force_create=True)
            made = await self._create_series(list(self._plan.series))

            async def _unit() -> None:
                for series_id in made:
                    for user_id in self.place.player_ids[:-1]:
                        await subscribe(series_id, guild_id=self.place.guild_id, user_id=user_id, now=self._plan.start)

            await atomic(_unit)
            self._keep({}, await read_facts())

    async def _create_series(self, entries: list[Entry]) -> list[int]:
        specs = read_schedule(json.dumps({"series": entries}).encode())
        self._entries |= {entry["name"]: entry for entry in entries}
        now = self._life.bot_now()
        made = await create_series(specs, guild_id=self.place.guild_id, created_by=None, now=now)
        for one in made:
            self._ledger.add_series(one.id, self._entries[one.name], self._world.now())
        return [one.id for one in made]

    def _hear(self, payload: Mapping[str, Any]) -> None:
        is_private = int(payload.get("flags") or 0) & _EPHEMERAL
        if is_private or not self._world.is_bot(int(payload["author"]["id"])):
            return
        left = self._life.transport.left_at
        assert left is not None, "the bot posted something past its transport"
        channel_id = int(payload["channel_id"])
        embed = (payload.get("embeds") or [{}])[0]
        footer = (embed.get("footer") or {}).get("text", "")
        found = markers.read(footer)
        if found is None:
            note_id, _, revision = footer.removeprefix("note #").partition(".")
            kind, event_id, part = OPS_NOTE, int(note_id), int(revision)
        else:
            kind, event_id, part = found.kind, found.event_id, found.reposts or found.part
        recipient = self._world.recipient_of(channel_id) or 0
        self._record.seen.append(Seen(self._world.now(), *left, kind, event_id, part, recipient))

    async def _after_pass(self, body: str) -> None:
        # The one body that changes who has a place or is offered one, and only where an offer ends.
        if body == OPEN_SCHEDULED_SIGNUPS and self._has_offers():
            await self._note_signups()

    async def _after_moment(self) -> None:
        if self._life.transport.crashed:
            await self._note_signups()

    def _has_offers(self) -> bool:
        ends_of = [value[1] for fact, value in self._signups.items() if fact[0] == "moved_up"]
        return any(until is not None and until > self._plan.start for until in ends_of)

    async def _note_signups(self) -> None:
        with self._life.gate.open():
            now = await read_signups()
        self._keep(self._signups, now)

    def _keep(self, before: Snapshot, after: Snapshot) -> None:
        self._record.facts.note(before, after, self._world.now())
        self._signups = _signups_of(after)

    def _does(self, act: Act) -> Any:  # noqa: ANN401
        async def _do() -> None:
            if act.kind not in ADMIN_ACTS:
                await self._watched(act.kind, lambda _: self._says(act))
                return
            await self._watched(act.kind, lambda before: self._administer(act, before))

        return _do

    async def _watched(self, kind: ActKind, do: Callable[[Snapshot], Awaitable[tuple[str, Asked | None]]]) -> None:
        """Let something be done, and keep what was so before and after it."""
        read = read_people if kind in PEOPLES_ACTS else read_facts
        with self._life.gate.open():
            before = await read()
        self._keep(self._signups, _signups_of(before))
        line, asked = await do(before)
        self._life.trace.add(line)
        with self._life.gate.open():
            after = await read()
        self._keep(before, after)
        if kind not in PEOPLES_ACTS:
            self._ledger.judge(asked, before, after, self._world.now())

    async def _says(self, act: Act) -> tuple[str, None]:
        try:
            told = await self._do(act)
        except _REFUSALS as error:
            told = type(error).__name__
        return f"{act.kind} {act.what} by member-{act.who + 1}: {told}", None

    async def _administer(self, act: Act, now: Snapshot) -> tuple[str, Asked | None]:
        """Let an admin be shown what an act would do, and confirm it at once, or later."""
        admin = Admin(self.place.guild_id, self.place.admin_id, agenda=lambda: self._life.services.agenda)
        line = f"{act.kind} {act.what}"
        try:
            proposed = await admin.propose(act, now, self._life.bot_now())
        except _REFUSALS as error:
            return f"{line}: {type(error).__name__}", None
        if proposed is None:
            return f"{line}: nothing", None
        asked, reply = proposed
        if not isinstance(reply, Proposal):
            asked.is_made = act.kind is ActKind.RESUME
            return f"{line}: {reply}", asked
        later = json.loads(act.what or "{}").get("confirmed_after")
        if later is None:
            return f"{line}: {await self._confirm(asked, reply.ways[0])}", asked
        self._life.plan(self._world.now() + dt.timedelta(seconds=later), self._confirms(asked, reply.ways[0]))
        return f"{line}: shown", None

    def _confirms(self, asked: Asked, way: Way) -> Any:  # noqa: ANN401
        async def _press(_before: Snapshot) -> tuple[str, Asked]:
            return f"{asked.kind} confirmed: {await self._confirm(asked, way)}", asked

        async def _do() -> None:
            await self._watched(asked.kind, _press)

        return _do

    async def _confirm(self, asked: Asked, way: Way) -> str:
        """Press what confirms an act; shown anew, or refused as stale, it is not made."""
        asked.bot_now = self._life.bot_now()
        try:
            reply = await way.then(asked.bot_now)
        except BotError as error:
            asked.is_made = False
            return type(error).__name__
        except DATABASE_ERRORS as error:
            return type(error).__name__  # it may have been made all the same
        asked.is_made = not isinstance(reply, Proposal)
        return str(reply) if asked.is_made else "shown anew"

    async def _do(self, act: Act) -> str:
        """Do what somebody does; return what they read, or "nothing" where there was nothing to do it to."""
        if act.kind is ActKind.CREATE:
            return await self._create(json.loads(act.what))
        if act.kind is ActKind.CREATE_SERIES:
            entry = json.loads(act.what)
            made = [] if entry["name"] in self._entries else await self._create_series([entry])
            for body in (CHECK_EVENT_REMINDERS, OPEN_SCHEDULED_SIGNUPS) if made else ():
                # As an import by another process, which the loops find within half a minute.
                self._life.services.agenda.wake(body, self._life.bot_now())
            return f"{made}"
        people = People(self._world, self.place, self._life, series_ids=sorted(self._ledger.series))
        return await people.do(act)

    async def _create(self, wanted: dict[str, Any]) -> str:
        now = self._life.bot_now()
        starts_at = (now + dt.timedelta(minutes=wanted.pop("in_minutes"))).replace(second=0, microsecond=0)
        self._created += 1
        name = f"One-off {self._created}"
        self._entries[name] = one_off_entry(wanted)
        desk = EventDesk(self._life.services.agenda, default_timezone="UTC")
        request = EventRequest(name, f"<t:{int(starts_at.timestamp())}>", **wanted)
        reply = await desk.propose(request, guild_id=self.place.guild_id, actor=self.place.admin_id, now=now)
        return str(await reply.ways[0].then(self._life.bot_now())) if isinstance(reply, Proposal) else reply


def _signups_of(now: Snapshot) -> Snapshot:
    return {fact: value for fact, value in now.items() if fact[0] in {"signup", "moved_up"}}


async def _is_at_rest() -> bool:
    return not await fetch("SELECT id FROM discord_message_log WHERE success IS NULL LIMIT 1")
