"""The list of what is ahead, as text: each fact in its words, whole paragraphs, within any limit."""

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.events.ahead import Ahead, Outlook, Standing, listing
from bot.message.limits import EMBED_DESCRIPTION, length
from models.states import EventState, SignupStatus

AT = dt.datetime(2026, 3, 1, 12, 0, tzinfo=dt.UTC)
UNIX = int(AT.timestamp())


def ahead(**fields: object) -> Ahead:
    wanted = {
        "name": "Raid night",
        "scheduled_at": AT,
        "state": EventState.SIGNUPS_OPEN,
        "signups_open_at": None,
        "max_players": None,
        "taken": 0,
    }
    return Ahead(**(wanted | fields))  # type: ignore[arg-type]


def facts(**fields: object) -> str:
    return listing(Outlook((ahead(**fields),), 1)).splitlines()[1]


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (SignupStatus.SIGNED_UP, "**you are signed up**"),
        (SignupStatus.CONFIRMED, "**you have confirmed**"),
        (SignupStatus.WAITLISTED, "**you are number 3 on the wait-list**"),
        (SignupStatus.TENTATIVE, "you said maybe"),
        (SignupStatus.DECLINED, "you said you cannot come"),
        (SignupStatus.REMOVED, "an admin took you off"),
    ],
)
def test_where_one_stands_is_told(status: SignupStatus, words: str) -> None:
    position = 3 if status is SignupStatus.WAITLISTED else None

    assert facts(own=Standing(status, position)) == f"0 coming · sign-ups open · {words}"


def test_a_place_that_is_held_is_told_instead_of_the_number_in_line() -> None:
    own = Standing(SignupStatus.WAITLISTED, 3, AT)

    assert facts(own=own).endswith(f"**a place is held for you until <t:{UNIX}:F>: sign up**")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "0 coming · sign-ups open"),
        ({"max_players": 20, "taken": 21}, "21 of 20 places taken · sign-ups open"),
        ({"state": EventState.ROLL_CALL}, "0 coming · roll call"),
        ({"state": EventState.UPCOMING}, "0 coming · sign-ups not open yet"),
        ({"state": EventState.UPCOMING, "signups_open_at": AT}, f"0 coming · sign-ups open <t:{UNIX}:R>"),
    ],
    ids=["open", "limited", "roll call", "opened by hand", "opening by itself"],
)
def test_places_and_sign_ups_are_told(fields: dict[str, object], words: str) -> None:
    assert facts(**fields) == words


def test_what_does_not_fit_is_counted_and_no_paragraph_is_cut() -> None:
    events = tuple(ahead(name=f"Event {number}") for number in range(10))
    whole = listing(Outlook(events, 12))

    one_less = listing(Outlook(events, 12), most=length(whole) - 1)

    assert whole.splitlines()[-1] == "+2 more"
    assert one_less.splitlines()[:-1] == whole.splitlines()[:-3]
    assert one_less.splitlines()[-1] == "+3 more"
    assert listing(Outlook(events, 12), most=10) == "+12 more"


@given(
    names=st.lists(st.text(min_size=1, max_size=100), max_size=60),
    link=st.sampled_from(["", "https://discord.com/channels/1/2/3"]),
)
def test_no_names_break_the_limit(names: list[str], link: str) -> None:
    events = tuple(ahead(name=name, link=link) for name in names)

    assert length(listing(Outlook(events, len(events)))) <= EMBED_DESCRIPTION
