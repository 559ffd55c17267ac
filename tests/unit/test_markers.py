"""What a message about an event is told by: every kind has its own word, and each is read back as it was made."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.leases.keys import ATTENDANCE_POST, EVENT_REPOST, PROFILE_UNREACHABLE
from bot.message.limits import EMBED_FOOTER
from bot.reminders import markers
from bot.reminders.markers import Marked, mark, mark_post, read
from bot.scheduling.registry import REMINDERS

KINDS = (*(entry.key for entry in REMINDERS), ATTENDANCE_POST, PROFILE_UNREACHABLE)
EVENT_IDS = st.integers(min_value=1, max_value=2**63 - 1)


def test_the_markers_are_those_that_stand_in_messages_already_sent() -> None:
    assert mark_post(7, reposts=0) == mark(markers.ANNOUNCEMENT, 7) == "#7"
    assert mark_post(7, reposts=2) == "#7.2"
    assert [mark(kind, 7) for kind in KINDS[1:]] == [
        "#7 sign-up",
        "#7 attendance",
        "#7 profile",
        "#7 roll call",
        "#7 profiles",
    ]


@given(st.sampled_from(KINDS), EVENT_IDS)
def test_each_marker_is_read_back_as_it_was_made(kind: str, event_id: int) -> None:
    assert read(mark(kind, event_id)) == Marked(kind, event_id)
    assert len(mark(kind, event_id)) <= EMBED_FOOTER


@given(EVENT_IDS, st.integers(min_value=1, max_value=10_000))
def test_a_post_that_was_posted_again_tells_how_often(event_id: int, reposts: int) -> None:
    assert read(mark_post(event_id, reposts=reposts)) == Marked(EVENT_REPOST, event_id, reposts)


@given(st.lists(st.tuples(st.sampled_from(KINDS), EVENT_IDS), unique=True, max_size=30))
def test_no_two_messages_share_a_marker(keys: list[tuple[str, int]]) -> None:
    assert len({mark(kind, event_id) for kind, event_id in keys}) == len(keys)


@pytest.mark.parametrize(
    "text",
    ["", "#", "#0", "#07", "note #3.1", "#7.0", "#7 picnic", "#7  sign-up", " #7", "#7\n", "#-7", "#7.2 sign-up"],
)
def test_what_is_no_marker_of_an_event_is_not_read(text: str) -> None:
    assert read(text) is None


def test_a_kind_without_a_word_has_no_marker() -> None:
    with pytest.raises(KeyError):
        mark("picnic", 7)
