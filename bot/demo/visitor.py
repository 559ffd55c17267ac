"""What a visitor's commands do: to the world's time, to what goes wrong in it, and to what the page shows."""

import datetime as dt
from collections.abc import Callable
from typing import Final

from bot.demo import bell_tower, telling, terminal
from bot.demo.faults import Outage
from bot.demo.life import Life
from bot.demo.page import Page
from bot.demo.terminal import Command
from bot.errors import BotError
from bot.scheduling import due_rows

_OUTAGE: Final = dt.timedelta(minutes=1)
# Enough for every DM of a reminder at its rate, and for what an outage of a minute put off.
_REST_WITHIN: Final = dt.timedelta(minutes=5)


class Visitor:
    """
    Carries commands out in one life and on one page; ``say`` gets each sentence on what came of them.

    ``sent`` tells how many messages became visible so far; ``leave`` ends the visit.
    """

    def __init__(
        self,
        life: Life,
        page: Page,
        *,
        say: Callable[[str], None],
        sent: Callable[[], int],
        leave: Callable[[], None],
    ) -> None:
        self._life = life
        self._page = page
        self._print = say
        self._sent = sent
        self._leave = leave

    async def do(self, line: str) -> None:
        """Carry one typed line out, and say what came of it; a wrong one is a sentence."""
        try:
            command = terminal.parse(line, players=bell_tower.PLAYERS, channels=bell_tower.CHANNELS)
        except BotError as error:
            self._print(str(error))
            return
        if command is not None:
            await self._carry_out(command)
            await self._page.follow()

    async def _carry_out(self, command: Command) -> None:
        match command:
            case terminal.Travel(span):
                await self._travel(span)
            case terminal.Next():
                await self._travel_to_next()
            case terminal.View(name):
                await self._view(name)
            case terminal.Restart():
                await self._restart()
            case terminal.Down(at_next):
                await self._take_down(at_next=at_next)
            case _:
                self._do_at_once(command)

    def _do_at_once(self, command: Command) -> None:
        match command:
            case terminal.CloseDms(player):
                changed = self._life.faults.close_dms(_id_of(player, self._life))
                self._say(f"{player} takes no direct messages{_already(changed)}.")
            case terminal.OpenDms(player):
                changed = self._life.faults.open_dms(_id_of(player, self._life))
                self._say(f"{player} takes direct messages{_already(changed)}.")
            case terminal.Quit():
                self._leave()
            case _:
                self._print(terminal.HELP)

    async def _take_down(self, *, at_next: bool) -> None:
        faults, begins = self._life.faults, self._life.now()
        if at_next:
            begins = await due_rows.next_due(after=begins) or begins
        changed = faults.plan_outage(Outage(begins, begins + _OUTAGE))
        if (outage := faults.outage) is not None:
            says = f"from {outage.begins:%a %H:%M:%S} to {outage.ends:%H:%M:%S} UTC"
            self._say(f"Discord answers nothing but 503 {says}{_already(changed)}.")

    async def _travel(self, span: dt.timedelta) -> None:
        before = self._sent()
        await self._life.run_until(self._life.now() + span)
        self._arrive(before)

    async def _travel_to_next(self) -> None:
        due = await due_rows.next_due(after=self._life.now())
        if due is None:
            self._say("No reminder is planned.")
            return
        before = self._sent()
        await self._life.run_until(due + dt.timedelta(seconds=1))
        await self._life.run_to_rest(_REST_WITHIN)
        self._arrive(before)

    def _arrive(self, before: int) -> None:
        sent = self._sent() - before
        what = {0: "Nothing was sent", 1: "One message was sent"}.get(sent, f"{sent} messages were sent")
        self._say(f"{what} until now.")

    async def _view(self, name: str) -> None:
        await self._page.show(name)
        what = f"#{name}" if name in bell_tower.CHANNELS else f"{name}'s direct messages"
        self._say(f"The page shows {what}; reload it: {self._page.address}")

    async def _restart(self) -> None:
        shown = self._page.shown
        # The page ends with the process that it looks at; its address stays.
        await self._page.close()
        await self._life.restart()
        await self._page.show(shown)
        self._say("The bot was killed and started again. Reload the page.")

    def _say(self, what: str) -> None:
        self._print(telling.aside(self._life.now(), what))


def _id_of(player: str, life: Life) -> int:
    return life.place.player_ids[bell_tower.PLAYERS.index(player)]


def _already(changed: bool) -> str:  # noqa: FBT001 -- its one meaning is in its name
    return "" if changed else " already"
