"""
Give the attendee role of an event to those who have a place, and take it back: a step that brings roles in line.

What is wanted is read from the rows each time, and ``has_role`` says what was given; both calls change nothing where it
is so already. So whatever dies in between is made good at the next pass, of any process. A role that another event of
the same person still asks for stays. Nobody's failure stops the others. Source: 02-reminders.md, "Sign-ups".
"""

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

import structlog

from bot.ops_notes import mend_faults, raise_fault
from bot.scheduling.agenda import Agenda
from bot.scheduling.bodies import TELL_OPS_NOTES
from bot.transactions import atomic, fetch, integer
from models.event_signup import EventSignup

_log = structlog.get_logger(__name__)

_PACE: Final = dt.timedelta(seconds=3)
_BATCH: Final = 20
_PAGE: Final = 500
_FIRST_WAIT, _LONGEST_WAIT = dt.timedelta(minutes=1), dt.timedelta(hours=1)
# What ended longer ago is left alone: the search must not grow with the years.
_LOOKED_BACK: Final = dt.timedelta(days=31)

_ROWS: Final = (
    "SELECT s.id, s.user_id, e.guild_id, e.attendee_role_id AS role_id FROM event e"
    " JOIN event_signup s ON s.event_id = e.id WHERE e.attendee_role_id IS NOT NULL AND e.scheduled_at > $1"
)
_HAS_PLACE: Final = "s.status IN ('signed_up', 'confirmed')"
_OURS: Final = "e.state IN ('signups_open', 'roll_call', 'in_progress')"
_OVER: Final = "e.state IN ('upcoming', 'completed', 'cancelled')"
_TO_GIVE: Final = f"{_ROWS} AND {_OURS} AND {_HAS_PLACE} AND NOT s.has_role"
_TO_TAKE: Final = f"{_ROWS} AND s.has_role AND ({_OVER} OR ({_OURS} AND NOT {_HAS_PLACE}))"
_ELSEWHERE: Final = (
    "SELECT s.id FROM event_signup s JOIN event e ON e.id = s.event_id WHERE s.user_id = $1 AND s.has_role"
    " AND s.id <> $2 AND e.guild_id = $3 AND e.attendee_role_id = $4 LIMIT 1"
)


class RoleFault(StrEnum):
    """Why a role was not given or taken: the person left, the role is gone, the bot may not, or nobody can tell."""

    MEMBER_LEFT = "member_left"
    ROLE_GONE = "role_gone"
    NOT_ALLOWED = "not_allowed"
    NOT_REACHED = "not_reached"


class RoleError(Exception):
    """A role was not given or taken."""

    def __init__(self, fault: RoleFault) -> None:
        super().__init__(fault.value)
        self.fault = fault


class MemberPort(Protocol):
    """Discord, as far as the members of a server go."""

    async def give_role(self, guild_id: int, user_id: int, role_id: int) -> None:
        """
        Give somebody a role; who has it keeps it.

        Raises:
            RoleError: it was not given.
        """
        ...

    async def take_role(self, guild_id: int, user_id: int, role_id: int) -> None:
        """
        Take a role from somebody; who lacks it goes on lacking it.

        Raises:
            RoleError: it was not taken.
        """
        ...

    async def has_left(self, guild_id: int, user_id: int) -> bool:
        """Return whether somebody is not in the server any more; False where Discord does not say."""
        ...


@dataclass(frozen=True, slots=True)
class _Due:
    """One role to be given to, or ``is_taken`` from, one person for one sign-up."""

    signup_id: int
    user_id: int
    guild_id: int
    role_id: int
    is_taken: bool

    @property
    def role(self) -> tuple[int, int]:
        return self.guild_id, self.role_id


class AttendeeRoles:
    """The roles that one process gives and takes, none without ``members``; what waits after a failure is in memory."""

    def __init__(self, members: MemberPort | None, *, is_available: Callable[[int], bool], agenda: Agenda) -> None:
        self._members = members
        self._is_available = is_available
        self._agenda = agenda
        # Until when nothing is tried: by server and role, or by sign-up; with how long the wait is.
        self._rests: dict[tuple[int, ...], tuple[dt.datetime, dt.timedelta]] = {}
        self._known_good: set[tuple[int, int]] = set()

    async def sync_attendee_roles(self, now: dt.datetime) -> dt.datetime | None:
        """Give and take a batch of roles; return when there is more to do."""
        if self._members is None:
            return None
        done = 0
        for is_taken, query in ((True, _TO_TAKE), (False, _TO_GIVE)):
            last, page = 0, [dict[str, object]()]
            while page:
                page = await fetch(f"{query} AND s.id > $2 ORDER BY s.id LIMIT $3", [now - _LOOKED_BACK, last, _PAGE])
                for row in page:
                    last = integer(row["id"])
                    one = _due(row, is_taken=is_taken)
                    if not self._is_available(one.guild_id) or self._rests_now(one, now):
                        continue
                    if done == _BATCH:
                        return now + _PACE
                    done += 1
                    await self._bring_in_line(self._members, one, now)
        self._rests = {key: rest for key, rest in self._rests.items() if rest[0] + _LONGEST_WAIT > now}
        return min((until for until, _ in self._rests.values() if until > now), default=None)

    def _rests_now(self, one: _Due, now: dt.datetime) -> bool:
        # Whatever the clock does, nothing rests for longer than the longest wait.
        return any(
            rest is not None and now < rest[0] <= now + _LONGEST_WAIT
            for rest in (self._rests.get(one.role), self._rests.get((one.signup_id,)))
        )

    async def _bring_in_line(self, members: MemberPort, one: _Due, now: dt.datetime) -> None:
        try:
            if one.is_taken:
                await _take(members, one)
            else:
                await members.give_role(one.guild_id, one.user_id, one.role_id)
                await _mark(one)
        except RoleError as error:
            await self._failed(one, error.fault, now)
        except Exception:  # noqa: BLE001 -- one that fails in whatever way must not keep the others waiting
            _log.exception("role_not_synced", guild=one.guild_id, user=one.user_id, role=one.role_id)
            self._rest((one.signup_id,), now)
        else:
            await self._succeeded(one, now)

    async def _succeeded(self, one: _Due, now: dt.datetime) -> None:
        self._rests.pop(one.role, None)
        self._rests.pop((one.signup_id,), None)
        _log.info(
            "role_taken" if one.is_taken else "role_given", guild=one.guild_id, user=one.user_id, role=one.role_id
        )
        if one.role not in self._known_good:
            self._known_good.add(one.role)
            await mend_faults(one.guild_id, _fault(one.role_id), now=now)

    async def _failed(self, one: _Due, fault: RoleFault, now: dt.datetime) -> None:
        _log.warning(
            "role_refused",
            guild=one.guild_id,
            user=one.user_id,
            role=one.role_id,
            fault=fault.value,
            taken=one.is_taken,
        )
        if fault in {RoleFault.MEMBER_LEFT, RoleFault.NOT_REACHED}:
            self._rest((one.signup_id,), now)
            return
        self._rest(one.role, now)
        self._known_good.discard(one.role)
        says = _says(one.role_id, fault)

        async def _unit() -> None:
            await raise_fault(one.guild_id, _fault(one.role_id), says, now=now)

        await atomic(_unit)
        self._agenda.wake(TELL_OPS_NOTES, now)

    def _rest(self, key: tuple[int, ...], now: dt.datetime) -> None:
        known = self._rests.get(key)
        wait = min(known[1] * 2, _LONGEST_WAIT) if known is not None else _FIRST_WAIT
        self._rests[key] = (now + wait, wait)


def _due(row: dict[str, object], *, is_taken: bool) -> _Due:
    return _Due(
        integer(row["id"]), integer(row["user_id"]), integer(row["guild_id"]), integer(row["role_id"]), is_taken
    )


async def _take(members: MemberPort, one: _Due) -> None:
    if not await fetch(_ELSEWHERE, [one.user_id, one.signup_id, one.guild_id, one.role_id]):
        try:
            await members.take_role(one.guild_id, one.user_id, one.role_id)
        except RoleError as error:
            if error.fault not in {RoleFault.MEMBER_LEFT, RoleFault.ROLE_GONE}:
                raise
    await _mark(one)


async def _mark(one: _Due) -> None:
    await EventSignup.filter(id=one.signup_id).update(has_role=not one.is_taken)


def _fault(role_id: int) -> str:
    return f"role:{role_id}"


def _says(role_id: int, fault: RoleFault) -> str:
    if fault is RoleFault.ROLE_GONE:
        return (
            f"The role <@&{role_id}> that people get for signing up does not exist any more (its id was {role_id})."
            " Choose another one for the events that give it; everything else about them goes on."
        )
    return (
        f"I may not give or take the role <@&{role_id}> that people get for signing up. Grant me Manage Roles, and move"
        " my own role above it in the list of roles; I try again within the hour. Everything else about its events"
        " goes on."
    )
