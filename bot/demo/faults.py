"""What goes wrong in a world at somebody's word: a player takes no DMs, or Discord is down for a while."""

import datetime as dt
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING

from bot.demo.world import World

if TYPE_CHECKING:
    from collections.abc import Callable

_TAKES_NO_DMS = 50007


@dataclass(frozen=True, slots=True)
class Outage:
    """When Discord is down: from ``begins`` until just before ``ends``."""

    begins: dt.datetime
    ends: dt.datetime


class Faults:
    """The faults of one world; they outlive the bot's processes. :meth:`follow` brings an outage and ends it."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._closed: dict[int, Callable[[], None]] = {}
        self._outage: Outage | None = None
        self._come_back: Callable[[], None] | None = None

    @property
    def outage(self) -> Outage | None:
        """The outage that goes on or is planned, None: there is none."""
        return self._outage

    @property
    def next_change(self) -> dt.datetime | None:
        """When :meth:`follow` has something to do, None: never."""
        if self._outage is None:
            return None
        return self._outage.begins if self._come_back is None else self._outage.ends

    def close_dms(self, user_id: int) -> bool:
        """Let somebody take no DMs from now on; False: they took none before."""
        if user_id in self._closed:
            return False
        # As in Discord, their channel can still be opened; what is sent there is refused.
        path = f"/channels/{self._world.dm_channel_id(user_id)}/messages"
        self._closed[user_id] = self._world.inject(
            "POST", path, status=HTTPStatus.FORBIDDEN, code=_TAKES_NO_DMS, message="Cannot send messages to this user"
        )
        return True

    def open_dms(self, user_id: int) -> bool:
        """Let somebody take DMs again; False: they did before."""
        reopen = self._closed.pop(user_id, None)
        if reopen is None:
            return False
        reopen()
        return True

    def plan_outage(self, outage: Outage) -> bool:
        """Let Discord answer nothing but 503 in that time; False: another one is planned or goes on."""
        if self._outage is not None:
            return False
        self._outage = outage
        self.follow()
        return True

    def follow(self) -> None:
        """Bring what is planned up to the world's present about."""
        if self._outage is None:
            return
        now = self._world.now()
        if self._come_back is None and now >= self._outage.begins:
            self._come_back = self._world.inject(
                "*", "*", status=HTTPStatus.SERVICE_UNAVAILABLE, code=0, message="Service Unavailable"
            )
        if self._come_back is not None and now >= self._outage.ends:
            self._come_back()
            self._outage = self._come_back = None
