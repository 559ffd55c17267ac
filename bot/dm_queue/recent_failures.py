"""The DMs that failed lately, in words, for the admins who ask."""

import datetime as dt
from dataclasses import dataclass

from bot.dm_queue.job import JobEnd
from bot.leases.failures import ErrorClass
from bot.leases.reports import SendReport

_IN_WORDS = {
    ErrorClass.RECIPIENT_UNREACHABLE: "takes no direct messages from me",
    ErrorClass.OUTAGE: "Discord did not answer",
    ErrorClass.RATE_LIMITED: "Discord asked me to slow down",
    ErrorClass.EVENT_STARTED: "the event had begun",
}


@dataclass(frozen=True, slots=True)
class RecentFailure:
    """A DM that failed lately: when, to whom, for which guild, and why in words."""

    at: dt.datetime
    guild_id: int
    recipient_id: int | None
    why: str


def why_it_failed(report: SendReport | JobEnd) -> str | None:
    """Return in words why a DM failed, None where it did not."""
    if isinstance(report, JobEnd):
        return report.value.replace("_", " ")
    if report.error is None:
        return None
    return _IN_WORDS.get(report.error.error_class, report.error.text)
