"""R4: several processes on one PostgreSQL send each message once, whoever comes, goes, dies or stands still."""

from bot.transactions import Dialect
from tests.chaos.processes import contended, rolling_restart, suspended
from tests.chaos.proof import Proof

_POSTGRES = (Dialect.POSTGRES,)

PROOFS: tuple[Proof, ...] = (
    Proof(
        "R4",
        "two and four processes want the same keys at once",
        contended.run,
        contended.judge,
        seeds=100,
        dialects=_POSTGRES,
    ),
    Proof(
        "R4",
        "a process is stopped in the middle of a send and goes on minutes later",
        suspended.run,
        suspended.judge,
        seeds=20,
        dialects=_POSTGRES,
    ),
    Proof(
        "R4",
        "four processes one after the other, two alive at a time",
        rolling_restart.run,
        rolling_restart.judge,
        seeds=10,
        dialects=_POSTGRES,
    ),
)
