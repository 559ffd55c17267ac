"""One simulated day of the whole bot: its world, its people and admins, and everything that goes wrong, as planned."""

import datetime as dt
import json
from collections.abc import Mapping
from typing import Any

from bot.changes.series_state import pause_series, resume_series
from bot.client import COMMAND_COGS
from bot.database import opened
from bot.demo.people import PROFILE_FIELDS, member_names
from bot.demo.troubled_life import TroubledLife
from bot.demo.world import Place, World
from bot.errors import BotError
from bot.events import profiles
from bot.events.event_moves import EventMove, EventMoves
from bot.events.event_requests import EventDesk, EventRequest
from bot.events.schedule_file import read_schedule
from bot.events.series import create_series
from bot.events.signups.rules import Press
from bot.events.subscriptions import subscribe, unsubscribe
from bot.leases.keys import OPS_NOTE
from bot.message.proposal import Proposal, Reply
from bot.reminders import markers
from bot.transactions import DATABASE_ERRORS, Dialect, atomic, dialect, fetch, integer
from models.guild_settings import GuildSettings
from tests.chaos.days.day_plan import Act, ActKind, DayPlan, Entry
from tests.chaos.days.day_record import DayRecord, Seen, read_events, read_facts, read_log, read_notes

_REFUSALS: tuple[type[Exception], ...] = (BotError, *DATABASE_ERRORS)
_EPHEMERAL = 1 << 6
_REST = dt.timedelta(minutes=20)
_TO_EVENTS = frozenset({ActKind.PRESS, ActKind.CLICK, ActKind.CANCEL, ActKind.MOVE})
_TO_SERIES = frozenset({ActKind.SUBSCRIBE, ActKind.UNSUBSCRIBE, ActKind.PAUSE, ActKind.RESUME})
_AHEAD = ("upcoming", "signups_open", "roll_call")
_OPEN = ("signups_open", "roll_call")


class BotDay:
    """A day in a database of its own, which is empty but for its tables."""

    def __init__(self, plan: DayPlan) -> None:
        self._plan = plan
        self._world = World(plan.start)
        self._life = TroubledLife(self._world, plan.faults, follows=plan.follows, extensions=COMMAND_COGS)
        self._record = DayRecord(plan, self._life.trace, ended_at=plan.start)
        self._entries: dict[str, Entry] = {}
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
            record.events = await read_events(self._entries)
            record.log = await read_log()
            record.notes = await read_notes()
        record.ended_at = self._world.now()
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
            self._record.facts.note({}, await read_facts(), self._plan.start)

    async def _create_series(self, entries: list[Entry]) -> list[int]:
        specs = read_schedule(json.dumps({"series": entries}).encode())
        self._entries |= {entry["name"]: entry for entry in entries}
        now = self._life.bot_now()
        made = await create_series(specs, guild_id=self.place.guild_id, created_by=None, now=now)
        self._record.series |= {one.id: self._entries[one.name] for one in made}
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

    def _does(self, act: Act) -> Any:  # noqa: ANN401
        async def _do() -> None:
            life = self._life
            with life.gate.open():
                before = await read_facts()
            try:
                told = await self._do(act)
            except _REFUSALS as error:
                told = type(error).__name__
            life.trace.add(f"{act.kind} {act.what} by member-{act.who + 1}: {told}")
            with life.gate.open():
                self._record.facts.note(before, await read_facts(), self._world.now())

        return _do

    async def _do(self, act: Act) -> str:
        """Do what somebody does; return what they read, or "nothing" where there was nothing to do it to."""
        user_id = self.place.player_ids[act.who % len(self.place.player_ids)]
        if act.kind in _TO_EVENTS:
            return await self._do_to_event(act, user_id)
        if act.kind in _TO_SERIES:
            return await self._do_to_series(act, user_id)
        if act.kind is ActKind.CREATE:
            return await self._create(json.loads(act.what))
        if act.kind is ActKind.CREATE_SERIES:
            entry = json.loads(act.what)
            return "nothing" if entry["name"] in self._entries else f"{await self._create_series([entry])}"
        answers = {"character": "Brunhild"}
        return await profiles.save(answers, guild_id=self.place.guild_id, user_id=user_id, now=self._life.bot_now())

    async def _do_to_series(self, act: Act, user_id: int) -> str:
        series = sorted(self._record.series)[int(act.which * len(self._record.series))]
        guild_id, now, admin = self.place.guild_id, self._life.bot_now(), self.place.admin_id
        agenda = self._life.services.agenda
        match act.kind:
            case ActKind.SUBSCRIBE:
                return (await subscribe(series, guild_id=guild_id, user_id=user_id, now=now)).sentence
            case ActKind.UNSUBSCRIBE:
                return (await unsubscribe(series, guild_id=guild_id, user_id=user_id)).sentence
            case ActKind.PAUSE:
                return await pause_series(str(series), guild_id=guild_id, actor=admin, now=now)
            case _:
                return await resume_series(str(series), guild_id=guild_id, actor=admin, now=now, agenda=agenda)

    async def _do_to_event(self, act: Act, user_id: int) -> str:
        event_id = await self._pick(act)
        if event_id is None:
            return "nothing"
        now, guild_id, agenda = self._life.bot_now(), self.place.guild_id, self._life.services.agenda
        moves = EventMoves(agenda, debounce=dt.timedelta(seconds=3))
        match act.kind:
            case ActKind.PRESS:
                answer = await self._life.services.signups.press(
                    Press(act.what), event_id, guild_id=guild_id, user_id=user_id, role_ids=frozenset(), now=now
                )
                return f"event {event_id}: {answer.status}"
            case ActKind.CLICK:
                return await self._click(event_id, user_id, act.what)
            case ActKind.MOVE:
                actor = self.place.admin_id
                return await moves.move(EventMove(act.what), str(event_id), guild_id=guild_id, actor=actor, now=now)
            case _:
                reply = await moves.propose_cancel(str(event_id), guild_id=guild_id, actor=self.place.admin_id, now=now)
                return await self._first_way(reply)

    async def _first_way(self, reply: Reply) -> str:
        return str(await reply.ways[0].then(self._life.bot_now())) if isinstance(reply, Proposal) else reply

    async def _pick(self, act: Act) -> int | None:
        wanted = _OPEN if act.kind in {ActKind.PRESS, ActKind.CLICK} else _AHEAD
        with self._life.gate.open():
            rows = await fetch("SELECT id, state FROM event WHERE scheduled_at > $1 ORDER BY id", [self._world.now()])
        ids = [integer(row["id"]) for row in rows if row["state"] in wanted]
        return ids[int(act.which * len(ids))] if ids else None

    async def _create(self, wanted: dict[str, Any]) -> str:
        now = self._life.bot_now()
        starts_at = (now + dt.timedelta(minutes=wanted.pop("in_minutes"))).replace(second=0, microsecond=0)
        self._created += 1
        name = f"One-off {self._created}"
        self._entries[name] = {
            "max_players": wanted["places"],
            "signup_opens_hours": wanted["signups_open_hours"] or None,
            "discord_announcement": bool(wanted["announce_hours"]),
            "discord_announcement_hours": wanted["announce_hours"],
            "discord_confirm_attendance": bool(wanted["attendance_hours"]),
            "discord_confirm_attendance_hours": wanted["attendance_hours"],
            "discord_confirm_attendance_dm": True,
            "discord_profile_reminder": bool(wanted["profile_hours"]),
            "discord_profile_reminder_hours": wanted["profile_hours"],
        }
        desk = EventDesk(self._life.services.agenda, default_timezone="UTC")
        request = EventRequest(name, f"<t:{int(starts_at.timestamp())}>", **wanted)
        reply = await desk.propose(request, guild_id=self.place.guild_id, actor=self.place.admin_id, now=now)
        return await self._first_way(reply)

    async def _click(self, event_id: int, user_id: int, label: str) -> str:
        """Press a real button of the event's post, if it has one that can be pressed."""
        member = self._world.member_handle(self.place, user_id)
        channel = self._world.channel_handle(self.place, self.place.announcements_id)
        for message in reversed(channel.history()):
            marked = markers.read((message.embeds[0].footer.text or "") if message.embeds else "")
            if marked is None or marked.event_id != event_id or marked.kind not in {"announcement", "event_repost"}:
                continue
            if not any(
                getattr(one, "label", None) == label and not getattr(one, "disabled", True)
                for row in message.components
                for one in getattr(row, "children", ())
            ):
                return "no such button"
            result = await member.click(message, label=label)
            return result.response.content if result.response is not None else "no answer"
        return "no post"


async def _is_at_rest() -> bool:
    return not await fetch("SELECT id FROM discord_message_log WHERE success IS NULL LIMIT 1")
