"""What an admin reads of the DM queue."""

import datetime as dt
from dataclasses import replace

from bot.dm_queue.job import JobKind
from bot.dm_queue.recent_failures import RecentFailure
from bot.dm_queue.status import DmQueueStatus, status_text

NOON = dt.datetime(2026, 3, 1, 12, 0, tzinfo=dt.UTC)
STAMP = int(NOON.timestamp())
IDLE = DmQueueStatus(waiting={}, in_flight=0, rate=5.0, oldest=None, resumes_at=None, is_open=False, failures=[])


def test_an_idle_queue_says_so() -> None:
    assert status_text(IDLE).splitlines() == [
        "No direct message waits; 0 under way.",
        "I start at most 5 a second.",
        "None failed in this server lately.",
    ]


def test_what_waits_is_told_by_kind_with_the_oldest() -> None:
    busy = replace(IDLE, waiting={JobKind.REMINDER: 40, JobKind.APPROVAL: 2}, in_flight=3, oldest=NOON, rate=2.5)

    assert status_text(busy).splitlines()[:2] == [
        f"42 direct messages wait (approval 2, reminder 40), the oldest since <t:{STAMP}:R>; 3 under way.",
        "I start at most 2.5 a second.",
    ]


def test_an_open_breaker_says_when_it_closes() -> None:
    says = status_text(replace(IDLE, resumes_at=NOON, is_open=True)).splitlines()[1]

    assert says == f"Discord does not answer, so everything is kept and goes on <t:{STAMP}:F> (<t:{STAMP}:R>)."


def test_a_rest_for_another_reason_is_not_called_an_outage() -> None:
    says = status_text(replace(IDLE, resumes_at=NOON)).splitlines()[1]

    assert says == f"Direct messages rest for now; everything is kept and goes on <t:{STAMP}:F> (<t:{STAMP}:R>)."


def test_a_rest_since_discord_refused_too_much_says_so() -> None:
    says = status_text(replace(IDLE, resumes_at=NOON, is_held_back=True)).splitlines()[1]

    assert says == (
        "Discord refused too many requests of late, so I hold back:"
        f" everything is kept and goes on <t:{STAMP}:F> (<t:{STAMP}:R>)."
    )


def test_failures_are_told_newest_first_and_as_typed() -> None:
    failures = [
        RecentFailure(NOON, 1, 501, "403 50007: Cannot"),
        RecentFailure(NOON, 1, None, "missing recipient"),
    ]

    assert status_text(replace(IDLE, failures=failures)).splitlines()[2:] == [
        "Failed in this server lately:",
        f"- <t:{STAMP}:R>: missing recipient",
        f"- <t:{STAMP}:R> to <@501>: 403 50007\\: Cannot",
    ]
