"""
The running processes: who lives, and whose leases are nobody's any more.

A name is held by a lock for the process's life, so that whoever starts under it knows every earlier row of that name to
be dead. Others are believed dead once their heartbeat is old. Source: 01-domain.md, ``Instance``; 06-operations.md.
"""

import datetime as dt
import secrets
from collections.abc import Awaitable, Callable, Sequence

import structlog

from bot.clock import LeaseClock
from bot.leases.leader import Leadership
from bot.transactions import atomic, fetch, integer
from models.instance import Instance

_log = structlog.get_logger(__name__)

# A row this old belongs to a process that is long gone: its leases were taken over hours ago.
_FORGOTTEN_AFTER = dt.timedelta(days=1)
_WORTH_SAYING = dt.timedelta(seconds=2)

_BEAT = """
UPDATE instance SET heartbeat_at = $1 WHERE id = $2
RETURNING (SELECT COUNT(*) FROM instance other WHERE other.heartbeat_at > $3 AND other.id <> $2) AS others
"""


def new_instance_id() -> str:
    """Return an id for one process's life."""
    return secrets.token_hex(16)


class InstanceRegister:
    """
    This process's own row, and what it tells of the others.

    ``share`` is told how many processes live, this one included, whenever that has changed: what Discord allows the bot
    is divided among them. ``dead_after``: a silence after which one is dead, and its turns to lead are another's.
    """

    def __init__(
        self,
        instance: str,
        name: str,
        *,
        lease_clock: LeaseClock,
        keep_name: Callable[[], Awaitable[None]] | None = None,
        follow: Callable[[dt.datetime], dt.timedelta] | None = None,
        share: Callable[[int], None] | None = None,
        dead_after: dt.timedelta = dt.timedelta(seconds=30),
        shard_ids: Sequence[int] = (),
    ) -> None:
        self.instance = instance
        self._name = name
        self._lease_clock = lease_clock
        self._keep_name = keep_name
        self._follow = follow
        self._share = share
        self._dead_after = dead_after
        self._seen = self._alive = 1
        self._ahead_by = dt.timedelta(0)
        self._shard_ids = list(shard_ids)
        self.leadership = Leadership(instance, lease_clock=lease_clock, term=dead_after)

    async def enter(self) -> int:
        """Write this process's row and remove those of its dead predecessors; return how many there were."""
        now = await self._agreed()

        async def _unit() -> int:
            dead = [row.id for row in await Instance.filter(name=self._name).exclude(id=self.instance)]
            await self.leadership.give_up(dead)
            gone = await Instance.filter(id__in=dead).delete()
            gone += await Instance.filter(heartbeat_at__lt=now - _FORGOTTEN_AFTER).delete()
            await self._write(now)
            return gone

        gone = await atomic(_unit)
        await self._say_alive(now)
        _log.info("instance_started", instance=self.instance, name=self._name, predecessors=gone)
        return gone

    async def beat(self, _now: dt.datetime) -> dt.datetime | None:
        """
        Say that this process lives; a row that somebody removed is written again. It names no next moment.

        The process's own clock is put right by the lease clock. ``keep_name``, where given, first takes the name's lock
        again should its connection have been lost.
        """
        if self._keep_name is not None:
            await self._keep_name()
        now = await self._agreed()
        if not await self._say_alive(now):
            await self._write(now)
        await self.leadership.keep(now)
        return None

    async def _say_alive(self, now: dt.datetime) -> bool:
        """
        Move this process's row on, and tell how many processes live, where that has changed; False: it has no row.

        Fewer are believed at the second look only: after an outage of the database, or of this process, the others may
        be about to say that they live.
        """
        rows = await fetch(_BEAT, [now, self.instance, now - self._dead_after])
        if not rows:
            return False
        before, self._seen = self._seen, 1 + integer(rows[0]["others"])
        alive = max(before, self._seen)
        if alive != self._alive:
            _log.info("instances_alive", count=alive, instance=self.instance)
            self._alive = alive
            if self._share is not None:
                self._share(alive)
        return True

    async def _agreed(self) -> dt.datetime:
        """Return the lease clock's moment, and let the process's own clock go by it."""
        now = await self._lease_clock.now()
        ahead_by = self._follow(now) if self._follow is not None else dt.timedelta(0)
        if abs(ahead_by - self._ahead_by) > _WORTH_SAYING:
            _log.warning("clock_differs_from_database", ahead_by_seconds=round(ahead_by.total_seconds()))
        self._ahead_by = ahead_by
        return now

    async def _write(self, now: dt.datetime) -> None:
        row = Instance(id=self.instance, name=self._name, started_at=now, heartbeat_at=now, shard_ids=self._shard_ids)
        await row.save(force_create=True)

    async def leave(self) -> None:
        """Remove this process's row: whatever it still holds is nobody's from now on, its turns to lead too."""
        await self.leadership.give_up([self.instance])
        await Instance.filter(id=self.instance).delete()
