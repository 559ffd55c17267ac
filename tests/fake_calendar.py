"""The lists of scheduled events of a Discord made by hand: its rules as Discord documents them, and no nonce."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Final

from bot.clock import Clock
from bot.leases.failures import ErrorClass, SendError
from bot.leases.ports import Delivered, HistoryUnreadableError
from bot.leases.snowflakes import snowflake_at
from bot.message.native_event import LIVE, NativeChange, NativeEvent, NativeState, NativeStatus

MOST = 100
_MOVES: Final = {
    NativeStatus.SCHEDULED: {NativeStatus.ACTIVE, NativeStatus.CANCELED},
    NativeStatus.ACTIVE: {NativeStatus.COMPLETED},
}


def native_refused(error_class: ErrorClass, *, arrived: bool = False) -> SendError:
    """Return a failure as the calendar reports it."""
    return SendError(error_class, error_class.value, may_have_arrived=arrived)


@dataclass(slots=True)
class Native:
    """One scheduled event that Discord holds, or held."""

    native_id: int
    guild_id: int
    shows: NativeEvent
    status: NativeStatus = NativeStatus.SCHEDULED
    interested: int = 0
    deleted: bool = False

    @property
    def is_live(self) -> bool:
        """Whether members see it."""
        return not self.deleted and self.status in LIVE


class FakeCalendar:
    """
    Servers' lists of scheduled events that stay, may be forbidden, and fail by script.

    ``next_creates`` and ``next_steps`` are used up one per request, None: it is taken. ``before_create`` is awaited
    once the request is written, before it takes effect. ``asked`` is every request in order, reads included.
    """

    def __init__(self, clock: Clock) -> None:
        self.natives: list[Native] = []
        self.asked: list[str] = []
        self.forbidden: set[int] = set()
        self.unreadable: set[int] = set()
        self.foreign: dict[int, int] = {}
        self.next_creates: list[BaseException | None] = []
        self.next_steps: list[BaseException | None] = []
        self.before_create: Callable[[NativeEvent], Awaitable[None]] | None = None
        self.before_change: Callable[[NativeChange], Awaitable[None]] | None = None
        self._clock = clock

    def live(self, guild_id: int) -> list[Native]:
        """Return what members of a server see, oldest first."""
        return [one for one in self.natives if one.guild_id == guild_id and one.is_live]

    def count(self, verb: str) -> int:
        """Return how often Discord was asked so."""
        return self.asked.count(verb)

    def delete(self, native: Native) -> None:
        """Let somebody of the server delete one."""
        native.deleted = True

    async def create(
        self, guild_id: int, native: NativeEvent, *, before_request: Callable[[], Awaitable[None]]
    ) -> Delivered:
        """Add one, unless the script, the server or Discord's own rules forbid."""
        await before_request()
        self.asked.append("create")
        if self.before_create is not None:
            await self.before_create(native)
        error = self.next_creates.pop(0) if self.next_creates else None
        if error is None:
            error = self._refusal(guild_id, native)
        if error is not None and not (isinstance(error, SendError) and error.may_have_arrived):
            raise error
        native_id = snowflake_at(self._clock.now()) + len(self.natives) + 1
        self.natives.append(Native(native_id, guild_id, native))
        if error is not None:
            raise error
        return Delivered(native_id, guild_id)

    def _refusal(self, guild_id: int, native: NativeEvent) -> SendError | None:
        if guild_id in self.forbidden:
            return native_refused(ErrorClass.FORBIDDEN)
        if len(self.live(guild_id)) + self.foreign.get(guild_id, 0) >= MOST:
            return native_refused(ErrorClass.NO_ROOM)
        if native.starts_at <= self._clock.now() or native.ends_at <= native.starts_at:
            return native_refused(ErrorClass.INVALID)
        return None

    async def find_native(self, guild_id: int, *, marker: str, after: int) -> Delivered | None:
        """Look one up by its marker."""
        self.asked.append("find")
        if guild_id in self.unreadable:
            reason = "500"
            raise HistoryUnreadableError(reason)
        for one in self.live(guild_id):
            if one.native_id >= after and one.shows.description.splitlines()[-1] == marker:
                return Delivered(one.native_id, guild_id)
        return None

    async def look(self, guild_id: int, native_id: int) -> NativeState:
        """Tell where one stands."""
        self.asked.append("look")
        one = self._known(guild_id, native_id)
        return NativeState(one.status, one.interested)

    async def interested(self, guild_id: int) -> dict[int, int]:
        """Count the interested of all live ones."""
        self.asked.append("interested")
        self._fail_by_script(guild_id)
        return {one.native_id: one.interested for one in self.live(guild_id)}

    async def change(self, guild_id: int, native_id: int, change: NativeChange) -> None:
        """Change one, as far as Discord lets anybody."""
        self.asked.append("change")
        if self.before_change is not None:
            await self.before_change(change)
        one = self._known(guild_id, native_id)
        if one.status not in LIVE:
            raise native_refused(ErrorClass.GONE)
        starts_at, ends_at = change.starts_at or one.shows.starts_at, change.ends_at or one.shows.ends_at
        too_late = change.starts_at is not None and (
            one.status is NativeStatus.ACTIVE or change.starts_at <= self._clock.now()
        )
        if too_late or ends_at <= starts_at:
            raise native_refused(ErrorClass.INVALID)
        if change.status is not None:
            if change.status not in _MOVES[one.status]:
                raise native_refused(ErrorClass.INVALID)
            one.status = change.status
        one.shows = replace(
            one.shows,
            name=change.name or one.shows.name,
            description=change.description or one.shows.description,
            location=change.location or one.shows.location,
            starts_at=starts_at,
            ends_at=ends_at,
        )

    async def remove(self, guild_id: int, native_id: int) -> None:
        """Take one off the list."""
        self.asked.append("remove")
        self._known(guild_id, native_id).deleted = True

    def by_itself(self) -> None:
        """Start and end what is due, as Discord does with events outside of it."""
        now = self._clock.now()
        for one in (one for one in self.natives if one.is_live):
            if one.status is NativeStatus.SCHEDULED and one.shows.starts_at <= now:
                one.status = NativeStatus.ACTIVE
            if one.status is NativeStatus.ACTIVE and one.shows.ends_at <= now:
                one.status = NativeStatus.COMPLETED

    def _known(self, guild_id: int, native_id: int) -> Native:
        self._fail_by_script(guild_id)
        for one in self.natives:
            if (one.guild_id, one.native_id) == (guild_id, native_id) and not one.deleted:
                return one
        raise native_refused(ErrorClass.GONE)

    def _fail_by_script(self, guild_id: int) -> None:
        error = self.next_steps.pop(0) if self.next_steps else None
        if error is None and guild_id in self.forbidden:
            error = native_refused(ErrorClass.FORBIDDEN)
        if error is not None:
            raise error
