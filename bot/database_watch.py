"""
Say that the database is of no use, in the log at once and to the admins once it is back.

Nothing is sent without a durable claim; whoever failed comes again in a few seconds. So there is nothing to do here but
to tell, once per outage and not once per statement.
"""

import datetime as dt

import structlog

from bot.ops_notes import raise_everywhere
from bot.scheduling.agenda import DATABASE_AGAIN, Agenda, Step
from bot.scheduling.bodies import TELL_OPS_NOTES
from bot.transactions import DATABASE_ERRORS, atomic, database_trouble

_log = structlog.get_logger(__name__)

FAULT = "database"
# Whoever failed has been back three times by then.
_QUIET = 3 * DATABASE_AGAIN
_WORTH_TELLING = dt.timedelta(seconds=30)


class DatabaseWatch:
    """Keeps since when the database has been refusing; the heartbeat is its own sign of life."""

    def __init__(self, beat: Step, *, agenda: Agenda) -> None:
        self._beat = beat
        self._agenda = agenda
        self._since: dt.datetime | None = None
        self._until: dt.datetime | None = None
        self._why = ""

    def failed(self, error: Exception, now: dt.datetime) -> None:
        """Note that a statement failed; one that is the statement's own fault says nothing about the database."""
        why = database_trouble(error)
        if why is None:
            return
        if self._since is None:
            self._since = now
            _log.error("database_away", reason=why)
        self._until, self._why = now, why

    async def beat(self, now: dt.datetime) -> dt.datetime | None:
        """Run the heartbeat, and tell that an outage is over once nothing has failed for a while."""
        try:
            again = await self._beat(now)
        except DATABASE_ERRORS as error:
            self.failed(error, now)
            raise
        if self._since is not None and self._until is not None and not self._until <= now < self._until + _QUIET:
            await self._tell_back(self._since, self._until, now)
            self._since = self._until = None
        return again

    async def _tell_back(self, since: dt.datetime, until: dt.datetime, now: dt.datetime) -> None:
        away = max(until - since, dt.timedelta(0))
        if away >= _WORTH_TELLING:
            says = (
                f"My database failed from {since:%Y-%m-%d %H:%M:%S} to {until:%Y-%m-%d %H:%M:%S} UTC: {self._why}."
                " What I could not claim I did not send; what is still ahead goes out now."
            )

            async def _unit() -> None:
                await raise_everywhere(FAULT, says, since=since, now=now)

            await atomic(_unit)
            self._agenda.wake(TELL_OPS_NOTES, now)
        _log.warning("database_back", away_seconds=round(away.total_seconds()), reason=self._why)
