"""What people do over a day, and what admins do to one event or series at once: the services behind the buttons."""

import datetime as dt
import json
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

from bot.changes.series_state import pause_series
from bot.demo.troubled_life import TroubledLife
from bot.demo.world import Place, World
from bot.events import notifications, profiles
from bot.events.signups.desk import SignupDesk
from bot.events.signups.rules import Press
from bot.events.subscriptions import subscribe, unsubscribe
from bot.events.transitions import Transition, Transitions
from bot.message.proposal import Proposal
from bot.reminders import markers
from bot.transactions import fetch, integer
from tests.chaos.days.day_plan import Act, ActKind

if TYPE_CHECKING:
    from bot.scheduling.agenda import Agenda

PEOPLES_ACTS: Final = frozenset(
    {
        ActKind.PRESS,
        ActKind.CLICK,
        ActKind.REMOVE,
        ActKind.ANSWER,
        ActKind.NOTIFY,
        ActKind.SUBSCRIBE,
        ActKind.UNSUBSCRIBE,
        ActKind.FILL_IN,
    }
)
"""What changes no event and no series, but only what people said."""

_DEBOUNCE: Final = dt.timedelta(seconds=3)
_AHEAD: Final = ("upcoming", "signups_open", "roll_call")
_OPEN: Final = ("signups_open", "roll_call")
_NOTHING: Final = "nothing"


class People:
    """The people of one server as they are now; ``series_ids`` are those that there ever were."""

    def __init__(self, world: World, place: Place, life: TroubledLife, *, series_ids: list[int]) -> None:
        self._world = world
        self._place = place
        self._life = life
        self._series_ids = series_ids

    async def do(self, act: Act) -> str:
        """Do what somebody does; return what they read, or "nothing" where there was nothing to do it to."""
        return await _ACTS[act.kind](self, act)

    @property
    def _agenda(self) -> "Agenda":
        return self._life.services.agenda

    def _user(self, act: Act) -> int:
        return self._place.player_ids[act.who % len(self._place.player_ids)]

    def _series(self, act: Act) -> int:
        return self._series_ids[int(act.which * len(self._series_ids))]

    async def _event(self, act: Act, states: tuple[str, ...]) -> int | None:
        with self._life.gate.open():
            rows = await fetch("SELECT id, state FROM event WHERE scheduled_at > $1 ORDER BY id", [self._world.now()])
        ids = [integer(row["id"]) for row in rows if row["state"] in states]
        return ids[int(act.which * len(ids))] if ids else None

    async def _press(self, act: Act) -> str:
        if (event_id := await self._event(act, _OPEN)) is None:
            return _NOTHING
        answer = await self._life.services.signups.press(
            Press(act.what),
            event_id,
            guild_id=self._place.guild_id,
            user_id=self._user(act),
            role_ids=frozenset(),
            now=self._life.bot_now(),
        )
        return f"event {event_id}: {answer.status}"

    async def _answer(self, act: Act) -> str:
        """Let somebody who is offered a place accept or refuse it, if there is anybody."""
        now = self._life.bot_now()
        with self._life.gate.open():
            rows = await fetch(
                "SELECT event_id, user_id FROM event_signup WHERE status = 'waitlisted' AND offered_until > $1"
                " ORDER BY event_id, user_id",
                [now],
            )
        if not rows:
            return _NOTHING
        row = rows[int(act.which * len(rows))]
        answer = await self._life.services.signups.answer_offer(
            integer(row["event_id"]),
            accepts=act.what == "accept",
            guild_id=self._place.guild_id,
            user_id=integer(row["user_id"]),
            role_ids=frozenset(),
            now=now,
        )
        return f"event {row['event_id']}: {answer.status}"

    async def _turn(self, act: Act) -> str:
        """Turn a kind of direct message, or a series, off or on again."""
        asked = json.loads(act.what)
        kind = str(self._series(act)) if asked["kind"] == "series" else asked["kind"]
        who = {"guild_id": self._place.guild_id, "user_id": self._user(act)}
        off, on = (kind, None) if asked["turn"] == "off" else (None, kind)
        return await notifications.turn(off, on, **who, now=self._life.bot_now())

    async def _subscribe(self, act: Act) -> str:
        who = {"guild_id": self._place.guild_id, "user_id": self._user(act)}
        return (await subscribe(self._series(act), **who, now=self._life.bot_now())).sentence

    async def _unsubscribe(self, act: Act) -> str:
        guild_id = self._place.guild_id
        return (await unsubscribe(self._series(act), guild_id=guild_id, user_id=self._user(act))).sentence

    async def _fill_in(self, act: Act) -> str:
        who = {"guild_id": self._place.guild_id, "user_id": self._user(act)}
        return await profiles.save({"character": "Brunhild"}, **who, now=self._life.bot_now())

    async def _pause(self, act: Act) -> str:
        by = {"guild_id": self._place.guild_id, "actor": self._place.admin_id}
        return await pause_series(str(self._series(act)), **by, now=self._life.bot_now())

    async def _remove(self, act: Act) -> str:
        if (event_id := await self._event(act, _OPEN)) is None:
            return _NOTHING
        by = {"guild_id": self._place.guild_id, "actor": self._place.admin_id}
        desk = SignupDesk(self._agenda, debounce=_DEBOUNCE)
        return await desk.remove(str(event_id), self._user(act), **by, now=self._life.bot_now())

    async def _move(self, act: Act) -> str:
        if (event_id := await self._event(act, _AHEAD)) is None:
            return _NOTHING
        by = {"guild_id": self._place.guild_id, "actor": self._place.admin_id}
        transitions = Transitions(self._agenda, debounce=_DEBOUNCE)
        return await transitions.make(Transition(act.what), str(event_id), **by, now=self._life.bot_now())

    async def _cancel(self, act: Act) -> str:
        if (event_id := await self._event(act, _AHEAD)) is None:
            return _NOTHING
        by = {"guild_id": self._place.guild_id, "actor": self._place.admin_id}
        transitions = Transitions(self._agenda, debounce=_DEBOUNCE)
        reply = await transitions.propose_cancel(str(event_id), **by, now=self._life.bot_now())
        return str(await reply.ways[0].then(self._life.bot_now())) if isinstance(reply, Proposal) else reply

    async def _click(self, act: Act) -> str:
        """Press a real button of the event's post, if it has one that can be pressed."""
        if (event_id := await self._event(act, _OPEN)) is None:
            return _NOTHING
        member = self._world.member_handle(self._place, self._user(act))
        channel = self._world.channel_handle(self._place, self._place.announcements_id)
        for message in reversed(channel.history()):
            marked = markers.read((message.embeds[0].footer.text or "") if message.embeds else "")
            if marked is None or marked.event_id != event_id or marked.kind not in {"announcement", "event_repost"}:
                continue
            if not any(
                getattr(one, "label", None) == act.what and not getattr(one, "disabled", True)
                for row in message.components
                for one in getattr(row, "children", ())
            ):
                return "no such button"
            result = await member.click(message, label=act.what)
            return result.response.content if result.response is not None else "no answer"
        return "no post"


_ACTS: Final[dict[ActKind, Callable[[People, Act], Awaitable[str]]]] = {
    ActKind.PRESS: People._press,
    ActKind.CLICK: People._click,
    ActKind.ANSWER: People._answer,
    ActKind.NOTIFY: People._turn,
    ActKind.SUBSCRIBE: People._subscribe,
    ActKind.UNSUBSCRIBE: People._unsubscribe,
    ActKind.FILL_IN: People._fill_in,
    ActKind.PAUSE: People._pause,
    ActKind.REMOVE: People._remove,
    ActKind.MOVE: People._move,
    ActKind.CANCEL: People._cancel,
}
