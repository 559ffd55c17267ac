"""What the three reminders to many say: whom they name and ping, what can be pressed, and that no limit breaks."""

from collections.abc import Callable, Sequence

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.message import limits
from bot.message.outgoing import ButtonStyle, OutgoingMessage
from bot.reminders import wording
from models.event import Event
from models.states import EventState
from tests.builders import event_row, utc

NOW = utc("2026-03-01 12:00")
START = utc("2026-03-08 19:00")  # 1772996400
WHEN = "<t:1772996400:F> (<t:1772996400:R>)"
GUILD, CHANNEL, MESSAGE = 1_000_001, 2_000_001, 3_000_001
LINK = f"https://discord.com/channels/{GUILD}/{CHANNEL}/{MESSAGE}"
# As long as Discord's ids are today.
FIRST_ID = 1_400_000_000_000_000_001
MENTION = regex.compile(r"<(@[!&]?|#)\d+>|@everyone|@here")

Body = Callable[[Event], OutgoingMessage]


def an_event(*, series_id: int | None = 5, **fields: object) -> Event:
    event = event_row(now=NOW)
    event.series_id = series_id
    wanted = {"id": 7, "guild_id": GUILD, "scheduled_at": START, "state": EventState.SIGNUPS_OPEN}
    return event.update_from_dict(wanted | fields)


def ids(count: int) -> tuple[int, ...]:
    return tuple(FIRST_ID + number for number in range(count))


DMS: dict[str, Body] = {
    "sign-up": lambda event: wording.signup_reminder(event, taken=0),
    "attendance": wording.attendance_dm,
    "profile": lambda event: wording.profile_dm(event, ["Character name"]),
}
POSTS: dict[str, Callable[[Event, Sequence[int]], OutgoingMessage]] = {
    "roll call": wording.attendance_post,
    "profiles": wording.profile_unreachable_post,
}
BODIES: dict[str, Body] = DMS | {name: lambda event, post=post: post(event, ids(3)) for name, post in POSTS.items()}

every_body = pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
every_dm = pytest.mark.parametrize("body", DMS.values(), ids=DMS)
every_post = pytest.mark.parametrize("post", POSTS.values(), ids=POSTS)


def as_text(message: OutgoingMessage) -> str:
    """The message as a reader would copy it."""
    assert message.embed is not None
    lines = [message.content, message.embed.title, message.embed.description]
    lines += [f"{one.name}: {one.value}" for one in message.embed.fields]
    return "\n".join(line for line in [*lines, message.embed.footer] if line)


def pressed(message: OutgoingMessage) -> list[tuple[str, str, ButtonStyle, bool]]:
    return [(one.label, one.custom_id, one.style, one.disabled) for one in message.buttons]


# --------------------------------------------------------------------------------------------------------- each kind


def test_the_sign_up_reminder_word_by_word() -> None:
    message = wording.signup_reminder(an_event(max_players=4, description="Bring a torch."), taken=1)

    assert as_text(message) == (
        "Sign-ups are open, and you asked to hear of this series.\n"
        "Raid night\n"
        "Bring a torch.\n"
        f"When: {WHEN}\n"
        "Lasts: 2 h\n"
        "Places: 1 of 4 taken\n"
        "#7 sign-up"
    )
    assert pressed(message) == [
        ("Sign up", "t1:signup:7", ButtonStyle.SUCCESS, False),
        ("Maybe", "t1:maybe:7", ButtonStyle.SECONDARY, False),
        ("Can't", "t1:cant:7", ButtonStyle.SECONDARY, False),
        ("Notify me", "t1:notify:5", ButtonStyle.PRIMARY, False),
    ]


def test_the_roll_call_by_dm_word_by_word() -> None:
    message = wording.attendance_dm(an_event(description="Bring a torch."))

    assert as_text(message) == f"You signed up. Will you be there?\nRaid night\nWhen: {WHEN}\n#7 attendance"
    assert pressed(message) == [
        ("I'll be there", "t1:confirm:7", ButtonStyle.SUCCESS, False),
        ("Can't make it", "t1:decline:7", ButtonStyle.DANGER, False),
    ]


def test_the_roll_call_by_post_word_by_word() -> None:
    message = wording.attendance_post(an_event(description="Bring a torch."), [3, 1, 2])

    assert as_text(message) == (
        "<@3> <@1> <@2>\n"
        "Raid night\n"
        "You signed up. Will you be there? Who cannot make it frees the place for somebody else.\n"
        f"When: {WHEN}\n"
        "#7 roll call"
    )
    assert message.mention_user_ids == (3, 1, 2)
    assert pressed(message) == pressed(wording.attendance_dm(an_event()))


def test_the_roll_call_can_be_answered_whatever_state_the_event_is_in() -> None:
    shown = [wording.attendance_post(an_event(state=state), [1]) for state in EventState]

    assert not any(button.disabled for message in shown for button in message.buttons)


def test_the_profile_reminder_by_dm_word_by_word() -> None:
    message = wording.profile_dm(an_event(), ["Character name", "Level"])

    assert as_text(message) == (
        "You signed up, and the organisers still need something from your profile.\n"
        "Raid night\n"
        f"When: {WHEN}\n"
        "Still missing: Character name, Level\n"
        "#7 profile"
    )
    # The form is the server's, whatever the event.
    assert pressed(message) == [("Fill in my profile", f"t1:profile:{GUILD}", ButtonStyle.PRIMARY, False)]


def test_the_post_for_those_whom_no_dm_reaches_word_by_word() -> None:
    message = wording.profile_unreachable_post(an_event(), [3, 1])

    assert as_text(message) == (
        "<@3> <@1>\n"
        "Raid night\n"
        "I could not reach you by direct message: your profile lacks something that the organisers need.\n"
        f"When: {WHEN}\n"
        "#7 profiles"
    )
    assert message.mention_user_ids == (3, 1)
    assert pressed(message) == [("Fill in my profile", f"t1:profile:{GUILD}", ButtonStyle.PRIMARY, False)]


# ------------------------------------------------------------------------------------------------------- all of them


def test_each_kind_and_each_event_has_a_marker_of_its_own() -> None:
    messages = [body(an_event(id=number)) for body in BODIES.values() for number in (7, 8)]

    assert len({message.marker for message in messages}) == 2 * len(BODIES)
    assert [message.embed.footer for message in messages if message.embed] == [one.marker for one in messages]


@every_dm
def test_a_dm_links_to_the_post_and_says_nothing_where_there_is_none(body: Body) -> None:
    with_post = body(an_event(announcement_channel_id=CHANNEL, announcement_message_id=MESSAGE))
    without = [
        body(an_event(**known))
        for known in ({}, {"announcement_channel_id": CHANNEL}, {"announcement_message_id": MESSAGE})
    ]

    assert f"Where it was announced: {LINK}\n" in as_text(with_post)
    assert not any("announced" in as_text(message) for message in without)


@every_post
def test_a_post_stands_in_the_server_and_links_nowhere(post: Callable[[Event, Sequence[int]], OutgoingMessage]) -> None:
    message = post(an_event(announcement_channel_id=CHANNEL, announcement_message_id=MESSAGE), [1])

    assert "https://" not in as_text(message)


@every_body
@pytest.mark.parametrize(
    ("name", "title"),
    [
        pytest.param("@everyone <@6> <@&5>", r"\@everyone \<\@6\> \<\@&5\>", id="mentions"),
        pytest.param("**bold** ||x||", r"\*\*bold\*\* \|\|x\|\|", id="markdown"),
        pytest.param("[free](http://x.y)", r"\[free\]\(http\://x.y\)", id="link"),
        pytest.param("ليلة الغارة", "ليلة الغارة", id="written from the right"),
        pytest.param("🐉🏴‍☠️", "🐉🏴‍☠️", id="four bytes a character"),
    ],
)
def test_a_name_is_shown_as_typed(body: Body, name: str, title: str) -> None:
    message = body(an_event(name=name))

    assert message.embed is not None
    assert message.embed.title == title
    assert message.mention_role_ids == ()


def test_a_label_is_shown_as_typed() -> None:
    message = wording.profile_dm(an_event(), ["@everyone", "**Level**, and class"])

    assert r"Still missing: \@everyone, \*\*Level\*\*, and class" + "\n" in as_text(message)
    assert message.mention_user_ids == ()


@pytest.mark.parametrize(
    ("count", "shown", "ending"),
    [
        # 44 labels of 21 characters with a comma and a space between are 1,010; a 45th makes it 1,033.
        pytest.param(44, 44, "", id="as many as fit"),
        pytest.param(45, 44, ", +1 more", id="one more than fit"),
        pytest.param(60, 44, ", +16 more", id="60"),
    ],
)
def test_labels_past_the_limit_are_counted(count: int, shown: int, ending: str) -> None:
    labels = [f"Label number {number:08}" for number in range(count)]

    text = as_text(wording.profile_dm(an_event(), labels))

    assert f"Still missing: {', '.join(labels[:shown])}{ending}\n" in text


@every_body
def test_the_longest_texts_and_rows_keep_every_limit(body: Body) -> None:
    event = an_event(
        id=2**63 - 1,
        guild_id=2**63 - 1,
        series_id=2**63 - 1,
        name="*" * 100,
        description="🐉" * 1000,
        announcement_channel_id=2**63 - 1,
        announcement_message_id=2**63 - 1,
    )

    message = body(event)  # the message itself checks Discord's limits

    assert message.embed is not None
    assert message.embed.title == r"\*" * 100


# ------------------------------------------------------------------------------------------------------ who is pinged


@every_dm
def test_a_dm_pings_nobody(body: Body) -> None:
    message = body(an_event(name="<@6>", description="<@6> @everyone", discord_announcement_role_ids=[11]))

    assert (message.mention_user_ids, message.mention_role_ids) == ((), ())
    assert MENTION.search(message.content) is None


@every_post
@pytest.mark.parametrize(
    ("count", "shown", "ending"),
    [
        pytest.param(0, 0, "", id="nobody"),
        pytest.param(1, 1, "", id="one"),
        pytest.param(25, 25, "", id="25"),
        pytest.param(40, 40, "", id="40"),
        pytest.param(41, 41, "", id="41"),
        # 86 mentions of 22 characters with a space between are 1,977; one more makes it exactly 2,000.
        pytest.param(87, 87, "", id="as many as fit"),
        pytest.param(88, 86, " +2 more", id="one more than fit"),
        pytest.param(500, 86, " +414 more", id="500"),
    ],
)
def test_exactly_those_who_are_named_are_pinged_and_the_rest_is_counted(
    post: Callable[[Event, Sequence[int]], OutgoingMessage], count: int, shown: int, ending: str
) -> None:
    who = ids(count)

    message = post(an_event(), who)

    assert message.content == " ".join(f"<@{one}>" for one in who[:shown]) + ending
    assert message.mention_user_ids == who[:shown]
    assert message.mention_role_ids == ()


@every_post
@pytest.mark.parametrize(
    ("count", "ending"), [pytest.param(100, "<@199>", id="100"), pytest.param(101, "<@199> +1 more", id="101")]
)
def test_no_more_than_a_hundred_are_pinged_however_short_their_ids(
    post: Callable[[Event, Sequence[int]], OutgoingMessage], count: int, ending: str
) -> None:
    message = post(an_event(), tuple(range(100, 100 + count)))

    assert len(message.mention_user_ids) == 100
    assert message.content.endswith(ending)


@settings(deadline=None)
@given(
    who=st.lists(st.integers(1, 2**63 - 1), unique=True, max_size=500),
    name=st.text(max_size=100),
    post=st.sampled_from(sorted(POSTS)),
)
def test_whoever_is_named_every_limit_holds_and_nobody_else_is_pinged(who: list[int], name: str, post: str) -> None:
    message = POSTS[post](an_event(name=name), who)  # the message itself checks Discord's limits

    named = [int(found) for found in regex.findall(r"<@(\d+)>", message.content)]
    assert named == list(message.mention_user_ids) == who[: len(named)]
    assert len(named) <= 100
    left_out = regex.search(r"\+(\d+) more$", message.content)
    assert len(named) + int(left_out[1] if left_out else 0) == len(who)
    assert limits.length(message.content) <= limits.CONTENT
