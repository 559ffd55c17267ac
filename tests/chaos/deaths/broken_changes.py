"""Copies of the bot with one protection of what is changed taken out: beside those whose messages are unprotected."""

from collections.abc import Awaitable, Callable, Collection
from typing import Any

from bot.changes import (
    event_time,
    extras,
    series_edit,
    series_removal,
    series_skips,
    series_split,
    series_sync,
    withdrawal,
)
from bot.events import lifecycle
from bot.events.signups import attendee_roles, sign_up, waiting_line
from bot.events.signups.attendee_roles import AttendeeRoles, MemberPort
from bot.leases import lease_taker, request_guard
from bot.reminders.tasks import ANNOUNCEMENT
from bot.transactions import fetch, integer
from models.states import EventState

_ASKS_BEFORE_ITS_REQUEST: tuple[Any, ...] = (lease_taker, request_guard)
_CHANGES: tuple[Any, ...] = (
    event_time, extras, series_edit, series_removal, series_skips, series_split, series_sync, lifecycle, sign_up,
    waiting_line,
)  # fmt: skip


def in_pieces() -> None:
    """Make every change statement by statement, in no transaction."""

    async def _at_once(unit: Callable[[], Awaitable[Any]]) -> Any:  # noqa: ANN401 -- whatever the unit returns
        return await unit()

    for module in _CHANGES:
        module.atomic = _at_once


def open_leases_overlooked() -> None:
    """Take an event of which a message is on its way for one that nobody knows of."""

    async def _sent_of(event_ids: Collection[int]) -> dict[int, frozenset[str]]:
        rows = await fetch("SELECT source_id, source FROM discord_message_log WHERE success")
        told = {integer(row["source_id"]): frozenset({str(row["source"])}) for row in rows}
        return {event_id: told[event_id] for event_id in event_ids if event_id in told}

    owner: Any = withdrawal
    owner.sources_sent = _sent_of


def announced_once_cancelled() -> None:
    """Let an announcement be due whatever became of its event, and ask nobody before its request."""

    async def _stands(*_: object) -> bool:
        return True

    for owner in _ASKS_BEFORE_ITS_REQUEST:
        owner.still_stands = _stands
    object.__setattr__(ANNOUNCEMENT, "required_states", ANNOUNCEMENT.required_states | {EventState.CANCELLED})


def roles_noted_first() -> None:
    """Note a role as given, or taken, before it is."""

    async def _in_line(_self: object, members: MemberPort, one: Any, _now: object) -> None:  # noqa: ANN401 -- a row
        await attendee_roles._mark(one)
        change = members.take_role if one.is_taken else members.give_role
        await change(one.guild_id, one.user_id, one.role_id)

    owner: Any = AttendeeRoles
    owner._bring_in_line = _in_line
