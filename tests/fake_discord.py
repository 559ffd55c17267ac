"""A Discord of one's own making for the leases: it takes posts, loses answers and shows its history when asked."""

import datetime as dt
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from bot.clock import Clock, InjectedLeaseClock, LeaseClock
from bot.leases.failures import ErrorClass, SendError
from bot.leases.ports import ChannelTarget, Delivered, HistoryUnreadableError, OutcomeObserver, Target
from bot.leases.send_once import OneWayOut, SendOptions
from bot.leases.snowflakes import snowflake_at
from bot.message.outgoing import OutgoingMessage
from bot.scheduling.agenda import Agenda
from bot.transactions import fetch

GUILD = 7
CHANNEL = 70
TARGET = ChannelTarget(GUILD, CHANNEL)
MINUTE = dt.timedelta(minutes=1)
SECOND = dt.timedelta(seconds=1)


class CrashError(BaseException):
    """The process dies here: no ``except Exception`` may go on after it."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """Discord takes the message, then ``then`` happens to the answer, None: it arrives."""

    then: BaseException | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """Discord, or the way there, does not take the message."""

    error: BaseException


Answer = Accepted | Refused | Callable[[], Awaitable[None]]


def lost_answer() -> SendError:
    """The request was written and its answer never came."""
    return SendError(ErrorClass.OUTAGE, "no answer in time", may_have_arrived=True)


@dataclass(frozen=True, slots=True)
class Posted:
    """A message that people see."""

    message_id: int
    channel_id: int
    marker: str
    nonce: str


@dataclass(slots=True)
class FakeDiscord:
    """
    Keeps every message it took and drops no second copy, so that nothing but the leases prevents one.

    ``answers`` are used up one per request; without any left it accepts. A callable among them is awaited first, then
    the message is accepted.
    """

    clock: Clock
    answers: deque[Answer] = field(default_factory=deque)
    visible: list[Posted] = field(default_factory=list)
    unreadable: set[int] = field(default_factory=set)
    requests: int = 0
    lookups: int = 0
    throttle: Callable[[], Awaitable[None]] | None = None
    while_reading: Callable[[], Awaitable[None]] | None = None

    def now(self) -> dt.datetime:
        """Return Discord's own time."""
        return self.clock.now()

    async def send(
        self,
        target: Target,
        message: OutgoingMessage,
        *,
        nonce: str,
        before_request: Callable[[], Awaitable[None]],
    ) -> Delivered:
        """Take one message as the next answer says."""
        if self.throttle is not None:
            await self.throttle()
        await before_request()
        self.requests += 1
        answer = self.answers.popleft() if self.answers else Accepted()
        if isinstance(answer, Refused):
            raise answer.error
        if not isinstance(answer, Accepted):
            await answer()
            answer = Accepted()
        posted = Posted(snowflake_at(self.clock.now()) + len(self.visible), target.channel_id, message.marker, nonce)
        self.visible.append(posted)
        if answer.then is not None:
            raise answer.then
        return Delivered(posted.message_id, target.channel_id)

    async def find(self, target: Target, *, marker: str, after: int) -> Delivered | None:
        """Look through the channel, newest first."""
        self.lookups += 1
        if self.while_reading is not None:
            await self.while_reading()
        if target.channel_id in self.unreadable:
            reason = "the bot may not read the history there"
            raise HistoryUnreadableError(reason)
        for posted in reversed(self.visible):
            if posted.channel_id == target.channel_id and posted.marker == marker and posted.message_id >= after:
                return Delivered(posted.message_id, posted.channel_id)
        return None


def way_out(
    discord: FakeDiscord,
    *,
    instance: str = "here",
    agenda: Agenda | None = None,
    lease_clock: LeaseClock | None = None,
    observers: Mapping[str, tuple[OutcomeObserver, ...]] | None = None,
    stop: Callable[[str], None] | None = None,
    options: SendOptions | None = None,
) -> OneWayOut:
    """Return the one way out of one process to that Discord."""
    return OneWayOut(
        discord,
        clock=discord.clock,
        lease_clock=lease_clock or InjectedLeaseClock(discord.clock),
        discord_time=discord,
        instance=instance,
        agenda=agenda or Agenda(),
        observers=observers or {},
        stop=stop or (lambda _: None),
        options=options,
    )


def saying(text: str = "Raid tonight", *, version: int = 0) -> Callable[[], Awaitable[OutgoingMessage]]:
    """Return a renderer whose message says, and is found by, ``text``."""

    async def _render() -> OutgoingMessage:
        return OutgoingMessage(marker=text, content=text, version=version)

    return _render


async def log_rows() -> list[dict[str, object]]:
    """Return the message log, oldest row first; ``success`` as None, True or False on both databases."""
    rows = await fetch("SELECT * FROM discord_message_log ORDER BY id")
    for row in rows:
        row["success"] = None if row["success"] is None else bool(row["success"])
    return rows


async def outcomes() -> list[bool | None]:
    """Return only what the rows say became of them."""
    return [row["success"] for row in await log_rows()]  # type: ignore[misc]
