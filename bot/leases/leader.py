"""
What one process at a time does: the leases of the singleton bodies. The only writer of ``LeaderLease``.

Taking, keeping and taking over are one compare-and-set statement by the lease clock. A holder keeps what it has with
every heartbeat; one that ends in order gives it up, one that dies is followed within the term. The lease spares work:
two that believed to lead for a moment, one of them suspended in the middle of a pass, would still add nothing twice,
since what the bodies do is compare-and-set itself. Source: 01-domain.md, ``LeaderLease``; 06-operations.md, "Several
processes".
"""

import contextlib
import datetime as dt
from collections.abc import Sequence
from functools import lru_cache

import structlog

from bot.clock import LeaseClock
from bot.scheduling.agenda import Step
from bot.transactions import DATABASE_ERRORS, Dialect, dialect, fetch, in_list, moment

_log = structlog.get_logger(__name__)

# An end further ahead than two terms was written before the clock was set back: its holder may be dead for long. Two,
# since one that waited for the row's lock finds an end that is later than a term from when it began to ask.
_TAKE = """
INSERT INTO leader_lease (name, holder, expires_at) VALUES ($1, $2, {until $4})
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
WHERE leader_lease.holder = excluded.holder OR leader_lease.expires_at <= {now $3}
    OR leader_lease.expires_at > {far $5}
RETURNING name
"""
_KEEP = "UPDATE leader_lease SET expires_at = {until $2} WHERE holder = $1 AND name IN "
_GIVE_UP = "DELETE FROM leader_lease WHERE name = $1 AND holder = $2"
# A pass that takes so long hangs: whoever leads next adds nothing twice, should it go on after all.
_HANGS_AFTER = dt.timedelta(hours=1)


@lru_cache(maxsize=8)
def _in_dialect(template: str, spoken: Dialect, term: dt.timedelta) -> str:
    """Return a statement whose moments are its parameters, or the database's own time where they are NULL."""
    if spoken is Dialect.SQLITE:
        spelled = r"COALESCE({}, strftime('%Y-%m-%d %H:%M:%f+00:00', 'now', '+{} seconds'))"
    else:
        spelled = "COALESCE(CAST({} AS TIMESTAMPTZ), clock_timestamp() + INTERVAL '{} seconds')"
    seconds = term.total_seconds()
    moments = {"now $3": 0, "until $2": seconds, "until $4": seconds, "far $5": 2 * seconds}
    for name, ahead in moments.items():
        template = template.replace(f"{{{name}}}", spelled.format(name.split()[1], ahead))
    return template


class Leadership:
    """
    Lets singleton bodies run in one process at a time.

    ``instance`` is this one; ``term``: how long a lease lasts without a heartbeat.
    """

    def __init__(self, instance: str, *, lease_clock: LeaseClock, term: dt.timedelta) -> None:
        self._instance = instance
        self._lease_clock = lease_clock
        self._term = term
        self._leads: set[str] = set()
        self._passing_since: dict[str, dt.datetime] = {}

    async def holds(self, name: str) -> bool:
        """Take the lease of ``name``, or hold on to it, for a term; False: another instance has it."""
        stamp = self._lease_clock.stamp()
        statement = _in_dialect(_TAKE, dialect(), self._term)
        ends = [self._end(stamp), self._end(stamp, terms=2)]
        leads = bool(await fetch(statement, [name, self._instance, stamp, *ends]))
        if leads != (name in self._leads):
            self._leads ^= {name}
            _log.info("leadership_taken" if leads else "leadership_lost", task=name, instance=self._instance)
        return leads

    async def keep(self, now: dt.datetime) -> None:
        """Hold on to every lease that this instance still has, but for what hangs; called at each heartbeat."""
        kept = sorted(name for name in self._leads if now - self._passing_since.get(name, now) <= _HANGS_AFTER)
        if not kept:
            return
        statement = _in_dialect(_KEEP, dialect(), self._term) + in_list(kept, first=3)
        await fetch(statement, [self._instance, self._end(self._lease_clock.stamp()), *kept])

    def _end(self, stamp: dt.datetime | None, *, terms: int = 1) -> dt.datetime | None:
        return stamp + terms * self._term if stamp is not None else None

    @staticmethod
    async def give_up(holders: Sequence[str]) -> None:
        """Let go of every lease that these instances have: they end now, or are known to be dead."""
        if holders:
            await fetch(f"DELETE FROM leader_lease WHERE holder IN {in_list(holders, first=1)}", holders)  # noqa: S608

    def only(self, name: str, step: Step) -> Step:
        """
        Return the body that takes ``step`` where this instance leads, and else waits for its turn to lead.

        Where the step fails another instance gets its turn: the fault may be of this one alone.
        """

        async def _step(now: dt.datetime) -> dt.datetime | None:
            if not await self.holds(name):
                return now + await self._until_free(name)
            self._passing_since[name] = now
            try:
                return await step(now)
            except Exception:
                await self._step_down(name)
                raise
            finally:
                del self._passing_since[name]

        return _step

    async def _step_down(self, name: str) -> None:
        self._leads.discard(name)
        _log.warning("leadership_given_up", task=name, instance=self._instance)
        # Where the database is what failed, the lease ends by itself: no heartbeat keeps it.
        with contextlib.suppress(*DATABASE_ERRORS):
            await fetch(_GIVE_UP, [name, self._instance])

    async def _until_free(self, name: str) -> dt.timedelta:
        """
        Return how long to wait before asking again: to the end of the lease as it stands, a third of a term at most.

        So a holder that died is followed right at the end of its term, and one that left in order as soon.
        """
        rows = await fetch("SELECT expires_at FROM leader_lease WHERE name = $1", [name])
        clock = await self._lease_clock.now()
        ends = [moment(row["expires_at"]) - clock for row in rows]
        return max(min([*ends, self._term / 3]), dt.timedelta(0))
