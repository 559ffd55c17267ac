"""
A server's own list of scheduled events through the client: fulfils ``NativePort`` and the upkeep's ``NativeEditor``.

It speaks to the client's HTTP side, which needs nothing in the cache. Discord knows no nonce for a scheduled event, so
the library may not repeat a request of which nobody knows whether it was taken.
"""

import datetime as dt
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, Protocol

import discord

from bot.delivery.failures import error_class_of, send_error
from bot.delivery.request_trace import GuardedCall, RequestTrace, at_once
from bot.leases.failures import ErrorClass, SendError
from bot.leases.ports import Delivered, HistoryUnreadableError
from bot.message.native_event import LIVE, NativeChange, NativeEvent, NativeState, NativeStatus

_STATUS: Final = {
    NativeStatus.SCHEDULED: discord.EventStatus.scheduled,
    NativeStatus.ACTIVE: discord.EventStatus.active,
    NativeStatus.COMPLETED: discord.EventStatus.completed,
    NativeStatus.CANCELED: discord.EventStatus.canceled,
}
_BY_NUMBER: Final = {int(theirs.value): ours for ours, theirs in _STATUS.items()}


class CalendarSource(Protocol):
    """The part of a client that asks Discord, and knows who it is itself."""

    @property
    def http(self) -> discord.http.HTTPClient:
        """Return the client's HTTP side."""
        ...

    @property
    def user(self) -> discord.ClientUser | None:
        """Return the bot's own user, None before it logged in."""
        ...


class GuildCalendar:
    """Makes, reads, changes and removes scheduled events through one client; ``timeout`` bounds each request."""

    def __init__(
        self,
        client: CalendarSource,
        *,
        trace: RequestTrace | None = None,
        timeout: dt.timedelta = dt.timedelta(seconds=30),
    ) -> None:
        self._client = client
        self._trace = trace
        self._timeout = timeout

    async def create(
        self, guild_id: int, native: NativeEvent, *, before_request: Callable[[], Awaitable[None]]
    ) -> Delivered:
        """
        Add one scheduled event, in one request at most.

        Raises:
            SendError: it did not end in an acknowledged event.
            LeaseLostError: ``before_request`` raised it.
        """

        async def _once() -> None:
            if call.written:
                text = "Discord did not say whether it took the event"
                raise SendError(ErrorClass.OUTAGE, text, may_have_arrived=True)
            await before_request()

        call = GuardedCall(_once, timeout=self._timeout)
        payload = _texts(native.name, native.description, native.location, native.starts_at, native.ends_at)
        payload |= {
            "privacy_level": discord.PrivacyLevel.guild_only.value,
            "entity_type": discord.EntityType.external.value,
        }
        try:
            if self._trace is None or not self._trace.sees_requests:
                # Nobody will ask at the request itself.
                await call.ask()
            with call:
                made = await self._client.http.create_guild_scheduled_event(guild_id, **payload)
            return Delivered(message_id=int(made["id"]), channel_id=guild_id)
        except Exception as error:
            if error is call.stopped_by or isinstance(error, SendError):
                raise
            raise send_error(error, written=call.written) from error

    async def find_native(self, guild_id: int, *, marker: str, after: int) -> Delivered | None:
        """
        Return the bot's own live event whose description ends with the line ``marker``, or None.

        Raises:
            HistoryUnreadableError: the list could not be read.
        """
        if self._client.user is None:
            reason = "the bot is not logged in"
            raise HistoryUnreadableError(reason)
        try:
            with GuardedCall(at_once, timeout=self._timeout):
                listed = await self._client.http.get_scheduled_events(guild_id, with_user_count=False)
            found = [one for one in listed if _is_own(one, self._client.user.id, marker, after)]
        except discord.HTTPException as error:
            kind = error_class_of(error.status, error.code, error.text)
            reason = f"{error.status} {error.code}"
            lacks = kind is ErrorClass.FORBIDDEN
            raise HistoryUnreadableError(reason, lacks_permission=lacks, error_class=kind) from error
        except Exception as error:
            # An answer that cannot be taken apart is one more list that nobody has read.
            raise HistoryUnreadableError(type(error).__name__) from error
        return Delivered(message_id=int(found[0]["id"]), channel_id=guild_id) if found else None

    async def look(self, guild_id: int, native_id: int) -> NativeState:
        """
        Return where a scheduled event stands.

        Raises:
            SendError: Discord did not say; class ``gone`` where there is none of that id.
        """
        with self._asking():
            return _state(await self._client.http.get_scheduled_event(guild_id, native_id, with_user_count=True))

    async def interested(self, guild_id: int) -> dict[int, int]:
        """
        Return how many members are interested in each live event of a server, by its id.

        Raises:
            SendError: Discord did not say.
        """
        with self._asking():
            listed = await self._client.http.get_scheduled_events(guild_id, with_user_count=True)
            states = {int(one["id"]): _state(one) for one in listed}
        return {native_id: state.interested for native_id, state in states.items() if state.status in LIVE}

    async def change(self, guild_id: int, native_id: int, change: NativeChange) -> None:
        """
        Change what a scheduled event says or where it stands; doing it twice changes nothing more.

        Raises:
            SendError: it was not changed; class ``gone`` where there is none of that id, or it has ended.
        """
        payload = _texts(change.name, change.description, change.location, change.starts_at, change.ends_at)
        if change.status is not None:
            payload["status"] = _STATUS[change.status].value
        with self._asking():
            await self._client.http.edit_scheduled_event(guild_id, native_id, **payload)

    async def remove(self, guild_id: int, native_id: int) -> None:
        """
        Take a scheduled event off the list.

        Raises:
            SendError: it was not taken off; class ``gone`` where there is none of that id.
        """
        with self._asking():
            await self._client.http.delete_scheduled_event(guild_id, native_id)

    @contextmanager
    def _asking(self) -> Iterator[None]:
        call = GuardedCall(at_once, timeout=self._timeout)
        try:
            with call:
                yield
        except Exception as error:
            raise send_error(error, written=call.written) from error


def _texts(
    name: str | None,
    description: str | None,
    location: str | None,
    starts_at: dt.datetime | None,
    ends_at: dt.datetime | None,
) -> dict[str, Any]:
    """Return what is given of an event as Discord's API names it."""
    given = {
        "name": name,
        "description": description,
        "entity_metadata": {"location": location} if location is not None else None,
        "scheduled_start_time": starts_at.isoformat() if starts_at is not None else None,
        "scheduled_end_time": ends_at.isoformat() if ends_at is not None else None,
    }
    return {key: value for key, value in given.items() if value is not None}


def _state(payload: Mapping[str, Any]) -> NativeState:
    return NativeState(_BY_NUMBER[payload["status"]], payload.get("user_count") or 0)


def _is_own(payload: Mapping[str, Any], own_id: int, marker: str, after: int) -> bool:
    # The last line alone: what stands above it an admin wrote, who may name any other event.
    lines = (payload.get("description") or "").splitlines()
    is_live = _BY_NUMBER[payload["status"]] in LIVE
    is_ours = is_live and int(payload["id"]) >= after and str(payload.get("creator_id")) == str(own_id)
    return is_ours and bool(lines) and lines[-1].strip() == marker
