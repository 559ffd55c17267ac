"""Brings the faults about that come at their moment, whatever the bot is doing, and knows what ends each."""

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.demo.fault_plan import Fault, FaultKind
from bot.demo.faults import Faults
from bot.transactions import fetch, integer

if TYPE_CHECKING:
    from bot.client import TocsinBot
    from bot.demo.troubled_life import TroubledLife


@dataclass(frozen=True, slots=True)
class Brought:
    """What came of a fault: whom or which event it is ``about``, and what ends it, None: it is over at once."""

    about: int = 0
    over: Callable[[], None] | None = None


class FaultBringer:
    """The faults of one life that no request has to meet; they outlive the bot's processes."""

    def __init__(self, life: "TroubledLife") -> None:
        self._life = life
        self._people = Faults(life.world)
        self._away: set[int] = set()

    def meet(self, bot: "TocsinBot") -> None:
        """Let a new process meet what goes on already."""
        for guild_id in self._away:
            _set_away(bot, guild_id, away=True)

    async def bring(self, fault: Fault) -> Brought:  # noqa: C901, PLR0911, PLR0912 -- one for each kind
        """Bring a fault about; return what came of it."""
        match fault.kind:
            case FaultKind.KILL:
                self._life.transport.killed_by = fault
                self._life.transport.crash()
            case FaultKind.SUSPEND:
                self._life.world.advance_to(self._life.world.now() + fault.lasts)
            case FaultKind.DISCORD_DOWN:
                self._life.transport.is_down = True
                return Brought(over=lambda: setattr(self._life.transport, "is_down", False))
            case FaultKind.DATABASE_DOWN:
                self._life.gate.is_down = True
                return Brought(over=lambda: setattr(self._life.gate, "is_down", False))
            case FaultKind.STATEMENT | FaultKind.STATEMENT_AFTER:
                self._life.gate.break_statement(fault.times, runs_first=fault.kind is FaultKind.STATEMENT_AFTER)
            case FaultKind.GUILD_AWAY:
                return Brought(over=self._take_away(self._life.world.guild_ids()[0]))
            case FaultKind.DMS_CLOSED:
                return self._close_dms(fault.which)
            case FaultKind.CLOCK_STEP:
                self._life.machine.off_by += fault.step
                return Brought(over=lambda: self._step_back(fault.step))
            case FaultKind.POST_DELETED:
                return Brought(await self._delete_post(fault.which))
            case _:
                raise ValueError(fault.kind)
        return Brought()

    def _step_back(self, step: dt.timedelta) -> None:
        self._life.machine.off_by -= step

    def _take_away(self, guild_id: int) -> Callable[[], None]:
        self._away.add(guild_id)
        _set_away(self._life.bot, guild_id, away=True)

        def _come_back() -> None:
            self._away.discard(guild_id)
            _set_away(self._life.bot, guild_id, away=False)
            self._life.services.wake_all(self._life.bot_now())

        return _come_back

    def _close_dms(self, which: float) -> Brought:
        members = sorted(self._life.world.people)[1:]
        if not members:
            return Brought()
        user_id = members[int(which * len(members))]
        if not self._people.close_dms(user_id):
            return Brought()  # they are closed already, and open when that is over
        self._life.trace.add(f"takes no DMs: {self._life.world.people[user_id]}")

        def _open() -> None:
            self._people.open_dms(user_id)

        return Brought(user_id, _open)

    async def _delete_post(self, which: float) -> int:
        """Delete a post; return the event it was of, 0: there was none any more."""
        with self._life.gate.open():
            rows = await fetch(
                "SELECT id, announcement_channel_id, announcement_message_id FROM event"
                " WHERE announcement_message_id IS NOT NULL AND scheduled_at > $1 ORDER BY id",
                [self._life.world.now()],
            )
        if not rows:
            return 0
        row = rows[int(which * len(rows))]
        is_deleted = self._life.world.delete_message(
            integer(row["announcement_channel_id"]), integer(row["announcement_message_id"])
        )
        return integer(row["id"]) if is_deleted else 0


def _set_away(bot: "TocsinBot", guild_id: int, *, away: bool) -> None:
    """Let Discord call a guild unavailable, as the client keeps it."""
    guild = bot.get_guild(guild_id)
    if guild is not None:
        guild.unavailable = away
