"""
Where a process of the kill matrix dies: wrappers that it puts round its own ports and transactions before it starts.

Each wrapper tells a *place*: what was just done or is about to be, and to what kind of message. The bot itself knows
nothing of them.
"""

import functools
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from signal import SIGKILL, SIGSTOP, Signals
from types import SimpleNamespace
from typing import Any

import aiohttp
from tortoise.backends.asyncpg.client import AsyncpgDBClient, TransactionWrapper
from tortoise.backends.sqlite.client import SqliteClient

from bot.changes import series_removal, series_skips, series_split, series_sync
from bot.changes.event_time import EventTimes
from bot.changes.extras import ExtraEvents
from bot.changes.series_edit import SeriesEditing
from bot.changes.series_removal import SeriesRemoval
from bot.changes.series_skips import SeriesSkips
from bot.changes.series_split import SeriesSplitting
from bot.delivery.channel_poster import ChannelPoster
from bot.delivery.guild_calendar import GuildCalendar
from bot.delivery.member_roles import MemberRoles
from bot.dm_queue.breaker_record import BreakerRecord
from bot.dm_queue.channel_book import DmChannelBook
from bot.dm_queue.fan_out import FanOuts
from bot.dm_queue.worker import DmWorker
from bot.events import generate, lifecycle
from bot.events.signups import sign_up, waiting_line
from bot.events.transitions import Transitions
from bot.leases import fan_out_rows, ledger
from bot.leases.instances import InstanceRegister
from bot.leases.keys import EVENT_REPOST, NATIVE_EVENT, OPS_NOTE, PROMOTION, SIDE_POSTS, TIME_CHANGED, MessageKey
from bot.leases.parents import ParentLeases
from bot.leases.recorder import OutcomeRecorder
from bot.leases.send_once import OneWayOut
from bot.leases.sweep import Sweeper
from bot.reminders.fire import ReminderClerk
from bot.reminders.post_upkeep import PostUpkeep
from bot.reminders.tasks import ANNOUNCEMENT
from bot.scheduling import due_rows
from bot.sqlite_client import ImmediateTransactionWrapper
from bot.transactions import fetch

OPENING, EDIT, GENERATION = "opening", "edit", "generation"
_NOTHING = "nothing"
_DOING: ContextVar[str] = ContextVar("doing", default=_NOTHING)
# So many round trips to the database let everything else that is at it come to its end.
_TURNS = 40

Told = Callable[..., str | None]
"""Gives the place from the arguments of what is wrapped, and, once it is done, its result; None: none."""


@dataclass(frozen=True, slots=True)
class Step:
    """What befalls the process at the ``nth`` passing of any of the ``places``."""

    places: tuple[str, ...]
    nth: int = 1
    befalls: Signals = SIGKILL


# The events that a change is about, whose own messages have names of their own.
_CHANGED: set[int] = set()
PROMOTED, NEW_TIME = "promotion", "new time DM"
DIRECT = ("child", PROMOTED, NEW_TIME)
"""The kinds of messages that go to one person."""

_TO_ONE = {PROMOTION: PROMOTED, TIME_CHANGED: NEW_TIME}
_KINDS = {
    ANNOUNCEMENT.log_source: "post",
    EVENT_REPOST: "repost",
    NATIVE_EVENT: "native",
    OPS_NOTE: "note",
    TIME_CHANGED: "new time",
    **dict.fromkeys(SIDE_POSTS, "side post"),
}


def kind_of(key: MessageKey) -> str:
    """Return the kind of message in the words of the places."""
    if key.recipient_id:
        return _TO_ONE.get(key.source, "child")
    return _old(_KINDS.get(key.source, "parent"), key.source_id)


def _old(kind: str, event_id: int) -> str:
    """Return the kind of what is about an event, another one where that is about to be changed."""
    return f"old {kind}" if event_id in _CHANGED and kind in {"post", "native", EDIT} else kind


class CrashPoints:
    """
    Counts the places that this process passes, and lets its steps befall it, one after another.

    ``changed``: the events whose posts, edits and places in the server's list are called old ones.
    """

    def __init__(self, steps: Sequence[Step], *, changed: Collection[int] = ()) -> None:
        _CHANGED.update(changed)
        self._steps = list(steps)
        self._passed: Counter[str] = Counter()

    async def passes(self, place: str | None) -> None:
        """Note that a place is reached; it may be the last one."""
        if not self._steps or place not in self._steps[0].places:
            return
        self._passed[place] += 1
        if self._passed[place] < self._steps[0].nth:
            return
        befalls = self._steps.pop(0).befalls
        if befalls is SIGSTOP:
            for _ in range(_TURNS):  # a process that stood still with the database's lock in its hand would stop others
                await fetch("SELECT 1 AS one")
        os.kill(os.getpid(), befalls)

    def install(self) -> None:
        """Put the wrappers round the bot's own code in this process, before any of its objects is made."""
        for owner, name, before, after in _WRAPPED:
            self._wrap(owner, name, before, after)
        for owner, name, doing in _DOINGS:
            _note_doing(owner, name, doing)

    def follow(self, trace: aiohttp.TraceConfig) -> None:
        """Tell of the requests that ``trace`` is told of, before the first of them."""
        trace.on_request_start.append(self._at_request("request"))
        trace.on_request_headers_sent.append(self._at_request("leaving"))
        trace.on_request_end.append(self._at_answer)

    def _wrap(self, owner: Any, name: str, before: Told | None, after: Told | None) -> None:  # noqa: ANN401
        original = getattr(owner, name)

        @functools.wraps(original)
        async def _wrapped(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 -- whatever is wrapped
            if before is not None:
                await self.passes(before(*args))
            result = await original(*args, **kwargs)
            if after is not None:
                await self.passes(after(*args, result))
            return result

        setattr(owner, name, _wrapped)

    def _at_request(self, what: str) -> Callable[[Any, SimpleNamespace, Any], Awaitable[None]]:
        async def _passed(_session: Any, _context: SimpleNamespace, _params: Any) -> None:  # noqa: ANN401
            await self.passes(f"{what}: {_DOING.get()}")

        return _passed

    async def _at_answer(
        self, _session: aiohttp.ClientSession, _context: SimpleNamespace, params: aiohttp.TraceRequestEndParams
    ) -> None:
        # The head is there and its body was not read.
        if params.response.ok:
            await self.passes(f"accepted: {_DOING.get()}")


def _note_doing(owner: Any, name: str, doing: Callable[..., str]) -> None:  # noqa: ANN401
    original = getattr(owner, name)

    @functools.wraps(original)
    async def _wrapped(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 -- whatever is wrapped
        token = _DOING.set(doing(*args))
        try:
            return await original(*args, **kwargs)
        finally:
            _DOING.reset(token)

    setattr(owner, name, _wrapped)


def _at(place: str) -> Told:
    return lambda *_: place


def _held(lease: ledger.Lease, place: str) -> str:
    return f"{place}: {kind_of(lease.key)}"


def _row(row: ledger.HeldRow, place: str) -> str:
    return _held(row.lease, place)


def _generating(place: str) -> Told:
    return lambda *_: place if _DOING.get() == GENERATION else None


def _doing(place: str) -> Told:
    return lambda *_: f"{place}: {_DOING.get()}"


# What an admin confirmed is done by one of these.
_CHANGES = (SeriesEditing, SeriesSplitting, SeriesSkips, SeriesRemoval, EventTimes, Transitions)
# Every statement of both databases goes through one of these.
_CLIENTS = (SqliteClient, AsyncpgDBClient)
_STATEMENTS = ("execute_query", "execute_query_dict", "execute_insert", "execute_many")
_TRANSACTIONS = (ImmediateTransactionWrapper, TransactionWrapper)

# What is wrapped, and the place before and after it. A function of a module is called by its module everywhere.
_WRAPPED: tuple[tuple[Any, str, Told | None, Told | None], ...] = (
    (
        ledger,
        "claim_lease",
        lambda claim: f"claim: {kind_of(claim.key)}",
        lambda claim, lease: f"claimed: {kind_of(claim.key)}" if lease is not None else None,
    ),
    (ChannelPoster, "send", None, lambda *_: f"answered: {_DOING.get()}"),
    (GuildCalendar, "create", None, lambda *_: f"answered: {_DOING.get()}"),
    (ledger, "finalize_sent", None, lambda lease, *_: _held(lease, "recording")),
    (
        ledger,
        "finalize_failed",
        lambda lease, *_: _held(lease, "refused"),
        lambda lease, *_: _held(lease, "recording refusal"),
    ),
    (OutcomeRecorder, "finalize", None, lambda _, outcome, __: _held(outcome.lease, "recorded")),
    (OneWayOut, "report_once", None, lambda _, key, *__: f"reported: {kind_of(key)}"),
    (ChannelPoster, "open_dm", None, _at("opened")),
    (DmChannelBook, "opened", None, _at("channel kept")),
    (
        fan_out_rows,
        "finish_parent",
        lambda lease, *_: _held(lease, "finish"),
        lambda lease, *_: _held(lease, "finishing"),
    ),
    (FanOuts, "_finish", None, lambda _, running, *__: _held(running.lease, "finished")),
    (ParentLeases, "drop", lambda _, lease: _held(lease, "drop"), lambda _, lease, __: _held(lease, "dropped")),
    (OneWayOut, "fence", None, lambda _, row, lease: _row(row, "fenced") if lease is not None else None),
    (
        Sweeper,
        "_look_up",
        None,
        lambda _, row, found: _row(row, "found" if found is not None else "not found"),
    ),
    (OutcomeRecorder, "release", None, lambda _, __, lease, ___: _held(lease, "released")),
    (due_rows, "refresh", _generating("events made"), _generating("due rows made")),
    (generate, "generate_events_for_repeater", None, _at("generated")),
    (ledger, "record_unsent", None, _at("missing")),
    (ReminderClerk, "_record_guild", None, lambda _, __, ___, ____, count: "missed" if count else None),
    (lifecycle, "mark_changed", None, _at("moving")),
    (sign_up, "mark_changed", None, _at("pressing")),
    (sign_up.Signups, "press", None, _at("pressed")),
    (Sweeper, "sweep_stale_discord_leases", _at("sweep"), _at("swept")),
    (InstanceRegister, "enter", None, _at("entered")),
    (BreakerRecord, "closed", None, _at("started")),
    *((client, name, None, _at("statement")) for client in _CLIENTS for name in _STATEMENTS),
    *((wrapper, "commit", _at("commit"), _at("committed")) for wrapper in _TRANSACTIONS),
    *((client, name, None, _doing("statement")) for client in _CLIENTS for name in _STATEMENTS),
    *((wrapper, "commit", _doing("commit"), _doing("committed")) for wrapper in _TRANSACTIONS),
    *((owner, "_apply", None, _doing("changed")) for owner in _CHANGES),
    (ExtraEvents, "_add", None, _doing("changed")),
    (due_rows, "refresh", None, _doing("due again")),
    (series_removal, "withdraw_all", None, _at("torn down")),
    (series_removal, "mark_changed", _at("series gone"), None),
    (sign_up, "store", None, _doing("stored")),
    (sign_up.Signups, "answer_offer", None, _at("offer answered")),
    (series_sync, "withdraw_all", None, _at("withdrawn")),
    (series_split, "_take_over", None, _at("taken over")),
    (sign_up, "fill_places", None, lambda *args: "moving up" if args[-1] else None),
    (waiting_line, "fill_places", _at("offers ended"), _at("next asked")),
    (MemberRoles, "give_role", None, _at("answered: role")),
    (MemberRoles, "take_role", None, _at("answered: role taken")),
    (DmWorker, "stop", _at("stopping"), _at("queue emptied")),
    (InstanceRegister, "leave", _at("leave"), _at("left")),
)
_DOINGS: tuple[tuple[Any, str, Callable[..., str]], ...] = (
    (OneWayOut, "report_once", lambda _, key: kind_of(key)),
    (ChannelPoster, "open_dm", lambda *_: OPENING),
    (PostUpkeep, "_edit", lambda _, event, *__: _old(EDIT, event.id)),
    (GuildCalendar, "remove", lambda *_: "removal"),
    (SeriesEditing, "_apply", lambda *_: "realign"),
    (SeriesSplitting, "_apply", lambda *_: "split"),
    (SeriesSkips, "_apply", lambda _, __, question, *___: "skip" if question is series_skips._SKIP else "return"),
    (SeriesRemoval, "_apply", lambda *_: "deletion"),
    (ExtraEvents, "_add", lambda *_: "extra"),
    (EventTimes, "_apply", lambda *_: "move"),
    (Transitions, "_apply", lambda *_: "cancel"),
    (sign_up.Signups, "answer_offer", lambda *_: "answer"),
    (lifecycle, "end_offers", lambda *_: "offers"),
    # Before somebody is offered a place, in the midst of their message.
    (MemberRoles, "has_left", lambda *_: "looking whether somebody left"),
    (MemberRoles, "give_role", lambda *_: "role"),
    (MemberRoles, "take_role", lambda *_: "role taken"),
    (generate, "generate_events_for_repeater", lambda *_: GENERATION),
)
