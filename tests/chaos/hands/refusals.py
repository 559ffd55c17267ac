"""Whether something that somebody may not do was refused: in one private sentence, and with nothing changed or sent."""

from collections.abc import Awaitable, Callable, Sequence

from tests.chaos.hands.command_world import ANSWER, EVENT_TEXT, NAMES, SERIES_TEXT, CommandWorld
from tests.chaos.hands.raw_interactions import Call
from tests.chaos.hands.row_dump import Dump, differences, dumped, of_guild
from tests.chaos.proof import Figures

Act = Callable[[], Awaitable[Call]]

# How the one error handler begins where it was no refusal that was raised.
_FAULTS = ("That failed because of a fault of mine", "The database does not answer")
_LONGEST = 300


class Refusals:
    """Tries one wrong thing after another in a world, and counts what came of it."""

    def __init__(self, world: CommandWorld, figures: Figures, dump: Dump) -> None:
        self.world = world
        self._figures = figures
        self._dump = dump

    @classmethod
    async def of(cls, world: CommandWorld, figures: Figures) -> "Refusals":
        return cls(world, figures, await dumped())

    async def refuses(self, what: str, act: Act, *, says: str | None = None, of_first: bool = False) -> None:
        """Try something that must be refused, with this sentence if one is named, and shows nothing."""
        call, faults = await self._unchanged(act)
        faults += _no_refusal(call, says)
        if not of_first:
            faults += [f"shows {name}" for name in NAMES if name in call.text]
        self._count(what, call, faults)

    async def changes_nothing(self, what: str, act: Act) -> None:
        """Try something that must leave every row as it is, whatever is shown to whoever may see it."""
        waiting = len(self.world.bot.drafts)
        call, faults = await self._unchanged(act)
        if len(self.world.bot.drafts) > waiting:
            faults.append("waits for a press")
        self._count(what, call, faults)

    async def stays_elsewhere(self, what: str, act: Act) -> None:
        """Try something that may change the other server's rows, and neither changes nor shows the first's."""
        first, sent = self.world.stage.guild_id, self.world.sent()
        call = await act()
        after = await dumped()
        faults = differences(of_guild(self._dump, first), of_guild(after, first))
        faults += [f"sent {one}" for one in self.world.sent()[len(sent) :]]
        faults += [f"shows {name}" for name in (*NAMES, ANSWER, EVENT_TEXT, SERIES_TEXT) if name in call.text]
        self._dump = after
        self._count(what, call, faults)

    async def done_once(self, what: str, act: Act) -> Call:
        """Do something that is allowed, then let the gateway tell it a second time, which must change nothing."""
        call = await act()
        self._dump = await dumped()
        waiting = len(self.world.bot.drafts)

        async def _again() -> Call:
            await call.again()
            return call

        _, faults = await self._unchanged(_again)
        if len(self.world.bot.drafts) != waiting:
            faults.append("another draft waits")
        self._count(f"{what}, replayed", call, faults)
        return call

    async def after(self, change: Callable[[], Awaitable[object]]) -> None:
        """Change rows beside the bot."""
        await change()
        self._dump = await dumped()

    async def _unchanged(self, act: Act) -> tuple[Call, list[str]]:
        sent = len(self.world.sent())
        call = await act()
        after = await dumped()
        faults = differences(self._dump, after) + [f"sent {one}" for one in self.world.sent()[sent:]]
        self._dump = after
        return call, faults

    def _count(self, what: str, call: Call, faults: Sequence[str]) -> None:
        self._figures.attempted += 1
        self._figures.acknowledged += call.result.acknowledged
        self._figures.ok += not faults
        self._figures.unexpected += bool(faults)
        self._figures.faults += [f"{what}: {'; '.join(faults)}"] if faults else []


def _no_refusal(call: Call, says: str | None) -> list[str]:
    shown = call.result.response
    if shown is None or call.result.modal is not None:
        return ["no answer" if shown is None else "a form"]
    faults = []
    if not shown.ephemeral or call.result.followups:
        faults.append("not one private answer")
    if shown.embeds or shown.components or "\n" in shown.content or not 0 < len(shown.content) <= _LONGEST:
        faults.append(f"no sentence: {shown.content[:_LONGEST]!r}")
    if shown.content.startswith(_FAULTS):
        faults.append(f"a fault: {shown.content!r}")
    if says is not None and shown.content != says:
        faults.append(f"says {shown.content!r}, not {says!r}")
    return faults
