"""The announcement word by word: its text, its lists and buttons; and that nothing pings, hides or breaks a limit."""

import datetime as dt

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.events.signups.people import People, Person
from bot.message import limits
from bot.message.lists import listed
from bot.message.outgoing import ButtonStyle, OutgoingMessage
from bot.reminders.content import announcement, duration, role_pings
from models.event import Event
from models.states import EventState, SignupStatus
from tests.builders import event_row, utc

NOW = utc("2026-03-01 12:00")
START = utc("2026-03-08 19:00")  # 1772996400
OPENS = utc("2026-03-01 19:00")  # 1772391600
NOBODY = People()
# As long as Discord's ids are today.
FIRST_ID = 1_400_000_000_000_000_001
MENTION = regex.compile(r"<(@[!&]?|#)\d+>|@everyone|@here")


def an_event(*, series_id: int | None = None, **fields: object) -> Event:
    event = event_row(now=NOW)
    event.series_id = series_id
    wanted = {"id": 7, "scheduled_at": START, "signups_open_at": OPENS, "created_by": 42}
    return event.update_from_dict(wanted | fields)


def as_text(message: OutgoingMessage) -> str:
    """The message as a reader would copy it."""
    assert message.embed is not None
    lines = [message.content, message.embed.title, message.embed.description]
    lines += [f"{one.name}: {one.value}" for one in message.embed.fields]
    return "\n".join([*lines, message.embed.footer])


WHEN = "When: <t:1772996400:F> (<t:1772996400:R>)\nLasts: 2 h\nPlaces: No limit\nHost: <@42>"


@pytest.mark.parametrize(
    ("state", "title", "signups", "color"),
    [
        (EventState.UPCOMING, "Raid night", "Open <t:1772391600:F> (<t:1772391600:R>)", 0x5865F2),
        (EventState.SIGNUPS_OPEN, "Raid night", "Open", 0x2E9E5B),
        (EventState.ROLL_CALL, "Raid night", "Closed for the roll call", 0xE0A030),
        (EventState.IN_PROGRESS, "Raid night", "Closed: it is running", 0x2E9E5B),
        (EventState.COMPLETED, "Raid night", "Closed: it is over", 0x80848E),
        (EventState.CANCELLED, "Cancelled: Raid night", "Closed: it was cancelled", 0xC03C3C),
    ],
)
def test_the_announcement_says_where_the_event_stands(state: EventState, title: str, signups: str, color: int) -> None:
    event = an_event(state=state, description="Bring a torch.", discord_announcement_role_ids=[11, 12], post_version=3)

    message = announcement(event, NOBODY)

    assert as_text(message) == f"<@&11> <@&12>\n{title}\nBring a torch.\n{WHEN}\nSign-ups: {signups}\n#7"
    assert message.embed is not None
    assert message.embed.color == color
    assert message.version == 3


def test_an_event_that_only_an_admin_opens_says_not_open_yet() -> None:
    assert "Sign-ups: Not open yet\n" in as_text(announcement(an_event(signups_open_at=None), NOBODY))


def test_places_and_length_are_told_and_no_host_where_there_is_none() -> None:
    text = as_text(announcement(an_event(max_players=12, duration_minutes=90, created_by=None), NOBODY))

    assert "Lasts: 1 h 30 min\nPlaces: 12\nSign-ups" in text


@pytest.mark.parametrize(
    ("minutes", "words"),
    [(0, "0 min"), (1, "1 min"), (59, "59 min"), (60, "1 h"), (61, "1 h 1 min"), (120, "2 h"), (10_080, "168 h")],
)
def test_a_duration_is_never_an_empty_field(minutes: int, words: str) -> None:
    assert duration(minutes) == words


@pytest.mark.parametrize(
    ("name", "title"),
    [
        pytest.param("@everyone party", r"\@everyone party", id="everyone"),
        pytest.param("@here now", r"\@here now", id="here"),
        pytest.param("<@&5> <@6> <#7>", r"\<\@&5\> \<\@6\> \<\#7\>", id="mentions"),
        pytest.param("**bold** _it_ ~~s~~", r"\*\*bold\*\* \_it\_ \~\~s\~\~", id="markdown"),
        pytest.param("||spoiler|| `code`", r"\|\|spoiler\|\| \`code\`", id="spoiler and code"),
        pytest.param("[free](http://x.y)", r"\[free\]\(http\://x.y\)", id="link"),
        pytest.param("# big\n> quote", r"\# big \> quote", id="heading and quote, on one line"),
        pytest.param("a\\*b", r"a\\\*b", id="what was escaped already"),
        pytest.param("ليلة الغارة", "ليلة الغارة", id="written from the right"),
        pytest.param("🐉🏴‍☠️ 🧙", "🐉🏴‍☠️ 🧙", id="four bytes a character"),
    ],
)
def test_a_name_is_shown_as_typed_and_pings_nobody(name: str, title: str) -> None:
    message = announcement(an_event(name=name, description=name), NOBODY)

    assert message.embed is not None
    assert message.embed.title == title
    assert (message.content, message.mention_role_ids, message.mention_user_ids) == ("", (), ())


def test_only_the_configured_roles_are_in_the_content_each_once() -> None:
    message = announcement(an_event(name="<@&99> @everyone", discord_announcement_role_ids=[11, 12, 11]), NOBODY)

    assert message.content == "<@&11> <@&12>"
    assert message.mention_role_ids == (11, 12)
    assert message.mention_user_ids == ()


@pytest.mark.parametrize(
    ("count", "shown", "ending"),
    [
        pytest.param(1, 1, "<@&1000000000000000001>", id="one"),
        # 83 mentions of 23 characters and 82 spaces are 1,991; the 84th does not fit.
        pytest.param(83, 83, "<@&1000000000000000083>", id="as many as fit"),
        pytest.param(84, 83, "<@&1000000000000000083> +1 more", id="one more than fit"),
        pytest.param(100, 83, "<@&1000000000000000083> +17 more", id="as many as a series may name"),
    ],
)
def test_roles_past_the_limit_are_counted_and_not_pinged(count: int, shown: int, ending: str) -> None:
    roles, text = role_pings([10**18 + number for number in range(1, count + 1)])

    assert len(roles) == shown
    assert text.endswith(ending)
    assert len(text) <= limits.CONTENT


def test_the_marker_names_the_event_and_how_often_it_was_posted_again() -> None:
    again = announcement(an_event(reposts=2), NOBODY)

    assert again.marker == "#7.2"
    assert again.embed is not None
    assert again.embed.footer == "#7.2"


def test_the_longest_name_of_a_cancelled_event_is_shown_whole() -> None:
    message = announcement(an_event(name="*" * 100, state=EventState.CANCELLED), NOBODY)

    assert message.embed is not None
    assert message.embed.title == "Cancelled: " + r"\*" * 100


# ------------------------------------------------------------------------------------------------------------- people


def persons(count: int, status: SignupStatus = SignupStatus.SIGNED_UP, *, first: int = FIRST_ID) -> tuple[Person, ...]:
    return tuple(Person(first + number, status) for number in range(count))


def lists_of(message: OutgoingMessage) -> dict[str, str]:
    """The lists below the fixed fields, in the order in which they are shown."""
    assert message.embed is not None
    return {one.name: one.value for one in message.embed.fields if one.name.split(" (")[0] in LISTS}


LISTS = ("Coming", "Maybe", "Wait-list", "Can't")


def test_an_event_that_nobody_answered_shows_no_list() -> None:
    assert lists_of(announcement(an_event(), NOBODY)) == {}


def test_each_list_is_in_the_order_in_which_people_came_and_cant_is_a_number() -> None:
    people = People(
        attending=(Person(3, SignupStatus.SIGNED_UP), Person(1, SignupStatus.CONFIRMED)),
        waitlisted=(Person(9, SignupStatus.WAITLISTED), Person(8, SignupStatus.WAITLISTED)),
        tentative=(Person(5, SignupStatus.TENTATIVE),),
        declined=persons(4, SignupStatus.DECLINED),
    )

    message = announcement(an_event(state=EventState.SIGNUPS_OPEN), people)

    assert list(lists_of(message).items()) == [
        ("Coming (2)", "<@3>, <@1> ✓"),
        ("Maybe (1)", "<@5>"),
        ("Wait-list (2)", "<@9>, <@8>"),
        ("Can't", "4"),
    ]


@pytest.mark.parametrize(
    ("count", "shown", "ending"),
    [
        pytest.param(1, 1, "", id="one"),
        pytest.param(25, 25, "", id="25"),
        pytest.param(40, 40, "", id="40"),
        pytest.param(41, 41, "", id="41"),
        # 42 mentions of 22 characters with a comma and a space between are 1,006; a 43rd makes it 1,030.
        pytest.param(42, 42, "", id="as many as fit"),
        pytest.param(43, 42, ", +1 more", id="one more than fit"),
        pytest.param(500, 42, ", +458 more", id="500"),
    ],
)
def test_who_comes_is_listed_as_far_as_it_fits_and_the_rest_is_counted(count: int, shown: int, ending: str) -> None:
    who = persons(count)

    text = lists_of(announcement(an_event(), People(attending=who)))[f"Coming ({count})"]

    assert text == ", ".join(f"<@{person.user_id}>" for person in who[:shown]) + ending


def test_who_was_offered_a_place_is_shown_with_when_that_ends() -> None:
    first, second = persons(2, SignupStatus.WAITLISTED)
    asked = Person(first.user_id, first.status, offered_until=OPENS)

    text = lists_of(announcement(an_event(), People(waitlisted=(asked, second))))["Wait-list (2)"]

    assert text == f"<@{first.user_id}> (offered a place; that ends <t:1772391600:R>), <@{second.user_id}>"


@pytest.mark.parametrize(
    ("count", "shown", "ending"),
    [
        pytest.param(21, 21, "", id="as many as fit"),
        pytest.param(22, 21, ", +1 more", id="one more than fit"),
        pytest.param(500, 20, ", +480 more", id="500"),
    ],
)
@pytest.mark.parametrize(
    ("name", "status"), [("Maybe", SignupStatus.TENTATIVE), ("Wait-list", SignupStatus.WAITLISTED)]
)
def test_the_other_lists_have_half_the_room(
    name: str, status: SignupStatus, count: int, shown: int, ending: str
) -> None:
    who = persons(count, status)
    people = People(tentative=who) if name == "Maybe" else People(waitlisted=who)

    text = lists_of(announcement(an_event(), people))[f"{name} ({count})"]

    assert text == ", ".join(f"<@{person.user_id}>" for person in who[:shown]) + ending


@pytest.mark.parametrize("count", [25, 40, 41, 500])
def test_a_full_post_with_the_longest_texts_keeps_every_limit(count: int) -> None:
    people = People(
        attending=persons(count, SignupStatus.CONFIRMED),
        waitlisted=persons(count, SignupStatus.WAITLISTED),
        tentative=persons(count, SignupStatus.TENTATIVE),
        declined=persons(count, SignupStatus.DECLINED),
    )
    event = an_event(
        id=2**63 - 1,
        name="*" * 100,
        description="🐉" * 1000,
        state=EventState.CANCELLED,
        max_players=1_000,
        created_by=2**63 - 1,
        discord_announcement_role_ids=[2**63 - 1 - number for number in range(100)],
        reposts=2**31 - 1,
    )

    message = announcement(event, people)  # the message itself checks Discord's limits

    assert message.embed is not None
    assert message.embed.description == "🐉" * 1000
    assert lists_of(message)["Can't"] == str(count)


@settings(deadline=None)
@given(
    ids=st.lists(st.integers(1, 2**63 - 1), min_size=1, max_size=120),
    confirmed=st.sets(st.integers(0, 119)),
    most=st.integers(60, 1_024),
)
def test_a_list_never_cuts_an_item_and_counts_the_rest(ids: list[int], confirmed: set[int], most: int) -> None:
    items = [f"<@{one}>{' ✓' if number in confirmed else ''}" for number, one in enumerate(ids)]

    text = listed(items, most, between=", ")

    *shown, last = text.split(", ")
    left_out = regex.fullmatch(r"\+(\d+) more", last)
    shown = shown if left_out else [*shown, last]
    assert len(text) <= most
    assert shown == items[: len(shown)]
    assert len(shown) + int(left_out[1] if left_out else 0) == len(items)


@pytest.mark.parametrize(
    ("limit", "taken", "words"),
    [
        pytest.param(None, 0, "No limit", id="none and nobody"),
        pytest.param(None, 7, "No limit", id="none, and some came"),
        pytest.param(20, 0, "20", id="nobody came yet"),
        pytest.param(20, 7, "7 of 20 taken", id="some came"),
        pytest.param(20, 20, "20 of 20 taken", id="full"),
        pytest.param(5, 7, "7 of 5 taken", id="a limit that was lowered"),
    ],
)
def test_places_say_how_many_are_taken(limit: int | None, taken: int, words: str) -> None:
    text = as_text(announcement(an_event(max_players=limit), People(attending=persons(taken))))

    assert f"\nPlaces: {words}\n" in text


def test_neither_those_who_wait_nor_those_who_may_come_take_a_place() -> None:
    people = People(
        attending=persons(2, SignupStatus.CONFIRMED),
        waitlisted=persons(3, SignupStatus.WAITLISTED),
        tentative=persons(4, SignupStatus.TENTATIVE),
        declined=persons(5, SignupStatus.DECLINED),
    )

    assert "\nPlaces: 2 of 9 taken\n" in as_text(announcement(an_event(max_players=9), people))


@pytest.mark.parametrize("state", EventState)
@pytest.mark.parametrize("series_id", [None, 5], ids=["one-off", "series"])
def test_the_answers_can_be_pressed_while_sign_ups_are_open_alone(state: EventState, series_id: int | None) -> None:
    message = announcement(an_event(state=state, series_id=series_id), NOBODY)

    shut = state is not EventState.SIGNUPS_OPEN
    notify = [("Notify me", "t1:notify:5", ButtonStyle.PRIMARY, False)] if series_id else []
    assert [(one.label, one.custom_id, one.style, one.disabled) for one in message.buttons] == [
        ("Sign up", "t1:signup:7", ButtonStyle.SUCCESS, shut),
        ("Maybe", "t1:maybe:7", ButtonStyle.SECONDARY, shut),
        ("Can't", "t1:cant:7", ButtonStyle.SECONDARY, shut),
        *notify,
    ]


def test_the_custom_ids_of_the_largest_rows_fit() -> None:
    message = announcement(an_event(id=2**63 - 1, series_id=2**63 - 1), NOBODY)

    assert [len(one.custom_id) <= limits.CUSTOM_ID for one in message.buttons] == [True] * 4


# ---------------------------------------------------------------------------------------------------------- any text


def some(*statuses: SignupStatus) -> st.SearchStrategy[tuple[Person, ...]]:
    one = st.builds(Person, user_id=st.integers(1, 2**63 - 1), status=st.sampled_from(statuses))
    return st.lists(one, max_size=60).map(tuple)


PEOPLE = st.builds(
    People,
    attending=some(SignupStatus.SIGNED_UP, SignupStatus.CONFIRMED),
    waitlisted=some(SignupStatus.WAITLISTED),
    tentative=some(SignupStatus.TENTATIVE),
)
NASTY = st.text(alphabet=st.one_of(st.characters(), st.sampled_from("*_~`|<>[]()#@:-\\&!\u202e\u200d\u0301🐉\n ")))


@settings(deadline=None)
@given(
    name=NASTY.map(lambda text: text[:100]),
    description=NASTY.map(lambda text: text[:1000]),
    roles=st.lists(st.integers(1, 2**63 - 1), max_size=100),
    state=st.sampled_from(EventState),
    minutes=st.integers(0, 10_080),
    people=PEOPLE,
)
def test_no_text_breaks_a_limit_or_puts_a_ping_into_the_content(  # noqa: PLR0917 -- drawn by name
    name: str, description: str, roles: list[int], state: EventState, minutes: int, people: People
) -> None:
    event = an_event(
        name=name,
        description=description,
        discord_announcement_role_ids=roles,
        state=state,
        duration_minutes=minutes,
    )

    message = announcement(event, people)  # the message itself checks Discord's limits

    pinged = {int(found[3:-1]) for found in regex.findall(r"<@&\d+>", message.content)}
    assert pinged == set(message.mention_role_ids) <= set(roles)
    assert len(MENTION.findall(message.content)) == len(pinged)
    assert message.mention_user_ids == ()
    assert message.embed is not None
    assert all(one.value.strip() for one in message.embed.fields)
    assert message.embed.footer == message.marker


def test_a_time_is_shown_in_whole_seconds() -> None:
    message = announcement(an_event(scheduled_at=START + dt.timedelta(microseconds=999_999)), NOBODY)

    assert "When: <t:1772996400:F>" in as_text(message)
