"""What admins read fits into a message, names every state and lets no name act."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.events.admin_wording import (
    STANDS,
    event_details,
    event_line,
    listed,
    people,
    says,
    series_details,
    series_line,
)
from bot.events.generate import rule_of
from bot.message.limits import CONTENT, length
from models.event_repeater import EventRepeater
from models.states import EventState, Frequency, SignupStatus
from tests.builders import event_row, utc

NOW = utc("2026-03-01 12:00")
NASTY = "@everyone <@&1> **b** `c` ||s|| [x](http://y)"


def test_every_state_has_its_words() -> None:
    assert set(STANDS) == set(EventState)
    assert len(set(STANDS.values())) == len(EventState)


@pytest.mark.parametrize(
    ("max_players", "counts", "words"),
    [
        (None, {}, "0 signed up"),
        (10, {}, "0 of 10 places taken"),
        (10, {SignupStatus.SIGNED_UP: 4, SignupStatus.CONFIRMED: 1}, "5 of 10 places taken, 1 confirmed"),
        (
            2,
            {
                SignupStatus.SIGNED_UP: 2,
                SignupStatus.WAITLISTED: 3,
                SignupStatus.TENTATIVE: 1,
                SignupStatus.DECLINED: 4,
            },
            "2 of 2 places taken, 3 on the wait-list, 1 maybe, 4 cannot come",
        ),
        (None, {SignupStatus.REMOVED: 3}, "0 signed up"),
    ],
)
def test_people_are_counted_by_what_they_said(
    max_players: int | None, counts: dict[SignupStatus, int], words: str
) -> None:
    assert people(event_row(now=NOW, max_players=max_players), counts) == words


def test_a_list_that_fits_is_whole_and_one_that_does_not_is_counted() -> None:
    assert listed("Here:", ["a", "b"], total=2) == "Here:\na\nb"
    assert listed("Here:", ["a", "b"], total=5) == "Here:\na\nb\n+3 more"
    assert listed("Here:", ["x" * 3_000], total=1) == "Here:\n+1 more"


@given(st.lists(st.text(max_size=300), max_size=60), st.integers(0, 10_000))
def test_a_list_never_breaks_the_limit_and_counts_everything(lines: list[str], beyond: int) -> None:
    text = listed("Here:", lines, total=len(lines) + beyond)

    assert length(text) <= CONTENT


def test_a_name_acts_nowhere() -> None:
    event = event_row(now=NOW, name=NASTY[:100], description=NASTY)
    series = EventRepeater(
        guild_id=1,
        name=NASTY,
        description=NASTY,
        frequency=Frequency.WEEKLY,
        time_of_day="19:00",
        timezone="UTC",
        starts_at=NOW.date(),
    )
    event.id = 7
    texts = [
        event_line(event, {}),
        event_details(event, {}, series=None, due=()),
        series_line(series, rule_of(series), upcoming=None),
        series_details(series, rule_of(series), upcoming=(), subscribers=0),
    ]

    for text in texts:
        assert "\\@everyone" in text
        assert "@everyone" not in text.replace("\\@everyone", "")
        assert "<@&1>" not in text
        assert "](http" not in text


@pytest.mark.parametrize("char", ["x", "*", "\N{BELL}"])
def test_everything_about_the_fullest_event_fits_into_a_message(char: str) -> None:
    event = event_row(
        now=NOW,
        name=char * 50,
        description=char * 1_000,
        discord_announcement_channel_id=2**62,
        discord_announcement_role_ids=[2**62],
        required_role_id=2**62,
        announcement_channel_id=2**62,
        announcement_message_id=2**62,
        max_players=1_000,
    )
    event.id = 2**62
    counts = dict.fromkeys(SignupStatus, 1_000)

    text = event_details(event, counts, series="**" + char * 200 + "**", due=["a reminder <t:1:F>"] * 4)

    assert length(text) <= CONTENT


def test_a_description_is_shown_by_its_beginning_and_none_not_at_all() -> None:
    assert says("") == []
    assert says("  ") == []
    assert says("Bring a lamp.") == ["Says: Bring a lamp."]
    assert says("x" * 1_000)[0].endswith("…")
