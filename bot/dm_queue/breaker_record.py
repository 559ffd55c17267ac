"""
What a circuit breaker leaves in the database: an audit row for each opening and each close, and that it is open.

Who starts under the name of a process that died while its breaker was open writes the missing close.
"""

import datetime as dt

from bot import audit
from bot.process_state import keep, recall
from bot.transactions import atomic

OPENED, CLOSED = "dm.circuit_opened", "dm.circuit_closed"


class BreakerRecord:
    """Writes for one process; ``name`` is the one that its successor will have too."""

    def __init__(self, name: str, *, instance: str) -> None:
        self._key = f"dm_breaker:{name}"
        self._instance = instance

    async def opened(self, *, failures: int, until: dt.datetime, now: dt.datetime) -> None:
        """Record that the breaker opened after so many failures in a row, and until when."""

        async def _unit() -> None:
            await keep(self._key, {"until": until.isoformat()}, now=now)
            after = {"failures": failures, "until": until.isoformat()}
            await audit.record(OPENED, guild_id=None, now=now, after=after, instance=self._instance)

        await atomic(_unit)

    async def closed(self, *, now: dt.datetime) -> bool:
        """Record that the breaker closed; False: it is not recorded as open, and nothing is added."""

        async def _unit() -> bool:
            state = await recall(self._key)
            if state is None or state["until"] is None:
                return False
            await keep(self._key, {"until": None}, now=now)
            await audit.record(CLOSED, guild_id=None, now=now, instance=self._instance)
            return True

        return await atomic(_unit)
