"""The post of an event that its series left says where it went, or that it is cancelled; back, it says neither."""

import pytest

from bot.events.signups.people import People
from bot.message import timestamps
from bot.reminders.content import announcement
from models.states import EventState
from tests.builders import DAY, event_row, utc

NOW = utc("2026-03-02 12:00")
THERE = NOW + 2 * DAY
NOBODY = People()


@pytest.mark.parametrize(
    ("fields", "title", "first", "signups"),
    [
        (
            {"state": EventState.CANCELLED, "is_withdrawn": True, "moved_to": THERE},
            "Moved: Raid night",
            ("Moved to", timestamps.full_and_relative(THERE)),
            "Closed: it was moved",
        ),
        (
            {"state": EventState.CANCELLED, "is_withdrawn": True},
            "Cancelled: Raid night",
            ("When", timestamps.full_and_relative(NOW + DAY)),
            "Closed: it was cancelled",
        ),
        (
            {"state": EventState.CANCELLED, "moved_to": THERE},
            "Cancelled: Raid night",
            ("When", timestamps.full_and_relative(NOW + DAY)),
            "Closed: it was cancelled",
        ),
        (
            {"state": EventState.SIGNUPS_OPEN},
            "Raid night",
            ("When", timestamps.full_and_relative(NOW + DAY)),
            "Open",
        ),
    ],
    ids=["moved", "withdrawn", "cancelled by itself", "back"],
)
def test_a_post_says_where_its_event_went(
    fields: dict[str, object], title: str, first: tuple[str, str], signups: str
) -> None:
    event = event_row(now=NOW, starts_in=DAY, id=7, **fields)
    event.series_id = None

    message = announcement(event, NOBODY)

    assert message.embed is not None
    assert message.embed.title == title
    assert (message.embed.fields[0].name, message.embed.fields[0].value) == first
    by_name = {one.name: one.value for one in message.embed.fields}
    assert by_name["Sign-ups"].startswith(signups)
    if title.startswith("Moved"):
        assert by_name["Was to be"] == timestamps.full_and_relative(NOW + DAY)
