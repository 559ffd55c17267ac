"""What the demo tells of the server's own list of events, as Discord shows it."""

import datetime as dt
from typing import Any

from bot.demo.listed import ListWatcher
from bot.demo.telling import listed_line
from bot.demo.world import World

NOON = dt.datetime(2026, 3, 7, 12, 0, tzinfo=dt.UTC)
MADE, EDITED, TAKEN_OFF = (f"GUILD_SCHEDULED_EVENT_{what}" for what in ("CREATE", "UPDATE", "DELETE"))


def payload(**changed: object) -> dict[str, Any]:
    return {
        "id": "7",
        "name": "Hunt",
        "description": "#1",
        "scheduled_start_time": "2026-03-07T20:00:00+01:00",
        "entity_metadata": {"location": "a link"},
        "status": 1,
        "user_count": 0,
        **changed,
    }


def told(*heard: tuple[str, dict[str, Any]]) -> list[str]:
    world = World(NOON)
    watcher = ListWatcher(world)
    for event, one in heard:
        world._hear(event, one)
    lines = [listed_line(one) for one in watcher.take()]
    assert watcher.take() == []
    start = "Sat 07 Mar 12:00:00 UTC  The server's list of events "
    assert all(line.startswith(start) for line in lines)
    return [line.removeprefix(start) for line in lines]


def test_an_event_that_is_added_moved_run_and_ended_is_a_line_each() -> None:
    later = {"scheduled_start_time": "2026-03-08T21:00:00+00:00"}

    assert told(
        (MADE, payload()),
        (EDITED, payload(**later)),
        (EDITED, payload(**later, status=2)),
        (EDITED, payload(**later, status=3)),
    ) == [
        'now has "Hunt" on Sat 07 Mar 19:00 UTC',
        'moves "Hunt" to Sun 08 Mar 21:00 UTC',
        'shows "Hunt" as running',
        'shows "Hunt" as over',
    ]


def test_other_words_are_a_line_and_one_more_that_is_interested_is_none() -> None:
    assert told(
        (MADE, payload()),
        (EDITED, payload(user_count=1)),
        (EDITED, payload(description="Torches\n\n#1")),
        (EDITED, payload(description="Torches\n\n#1", entity_metadata={"location": "another link"})),
    ) == [
        'now has "Hunt" on Sat 07 Mar 19:00 UTC',
        'shows "Hunt" with new words',
        'shows "Hunt" with new words',
    ]


def test_an_event_that_is_called_off_or_taken_off_is_gone_once() -> None:
    assert told((MADE, payload()), (EDITED, payload(status=4)), (TAKEN_OFF, payload(status=4))) == [
        'now has "Hunt" on Sat 07 Mar 19:00 UTC',
        'no longer has "Hunt"',
    ]
    assert told((MADE, payload()), (TAKEN_OFF, payload())) == [
        'now has "Hunt" on Sat 07 Mar 19:00 UTC',
        'no longer has "Hunt"',
    ]


def test_what_is_over_and_then_taken_off_is_told_as_over_alone() -> None:
    assert told((MADE, payload(status=2)), (EDITED, payload(status=3)), (TAKEN_OFF, payload(status=3))) == [
        'now has "Hunt" on Sat 07 Mar 19:00 UTC',
        'shows "Hunt" as over',
    ]
