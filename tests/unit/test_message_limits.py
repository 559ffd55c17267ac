"""Discord's limits: what a message refuses to hold, and the cut that never tears what must stay whole."""

import pytest
import regex
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bot.message import limits
from bot.message.custom_ids import Verb, encode
from bot.message.limits import cut, length
from bot.message.outgoing import Button, Embed, EmbedField, MessageLimitError, OutgoingMessage

FAMILY = "👨‍👩‍👧‍👦"
LINK = "https://example.com/a/long/path"
WHOLE_PIECES = [
    "<@123456789012345678>",
    "<@!123456789012345678>",
    "<@&123456789012345678>",
    "<#123456789012345678>",
    "<t:1772996400:F>",
    "<:torch:123456789012345678>",
    "<a:torch:123456789012345678>",
    "</event create:123456789012345678>",
    "<id:customize>",
    "[the rules](https://example.com/rules)",
    LINK,
    r"\*",
    FAMILY,
    "é",
    "🇬🇧",
]


@pytest.mark.parametrize(
    ("text", "units"),
    [("", 0), ("abc", 3), ("é", 1), ("🐉", 2), (FAMILY, 11), ("\ud800", 1)],
    ids=["empty", "letters", "accent", "beyond the basic plane", "joined emoji", "half a pair"],
)
def test_a_text_is_as_long_as_discord_may_hold_it_to_be(text: str, units: int) -> None:
    assert length(text) == units


@pytest.mark.parametrize(
    ("text", "limit", "found"),
    [
        pytest.param("abcdef", 6, "abcdef", id="fits exactly"),
        pytest.param("abcdefg", 6, "abcde…", id="one too long"),
        pytest.param("abcde fgh", 7, "abcde…", id="no space before the ending"),
        pytest.param("🐉🐉🐉", 6, "🐉🐉🐉", id="three of two units fit in six"),
        pytest.param("🐉🐉🐉", 5, "🐉🐉…", id="in five, two and the ending"),
        pytest.param("🐉🐉🐉", 4, "🐉…", id="in four, one: half of one is none"),
        pytest.param("abc", 1, "…", id="the ending alone"),
    ],
)
def test_a_text_is_cut_to_its_limit(text: str, limit: int, found: str) -> None:
    assert cut(text, limit) == found


def test_an_ending_of_its_own_is_counted() -> None:
    assert cut("one, two, three, four", 15, ending=" +2 more") == "one, tw +2 more"


def test_an_ending_that_does_not_fit_is_the_callers_fault() -> None:
    with pytest.raises(ValueError, match="an ending of 8 does not fit into 7"):
        cut("one, two, three", 7, ending=" +2 more")


@pytest.mark.parametrize("piece", WHOLE_PIECES)
def test_a_cut_takes_a_whole_piece_or_nothing_of_it(piece: str) -> None:
    text = f"see {piece} and more"
    whole = length("see " + piece)

    cuts = {cut(text, limit) for limit in range(1, length(text))}

    assert {one for one in cuts if "…" in one and length(one) <= whole} == {"…", "s…", "se…", "see…"}
    assert f"see {piece}…" in cuts


# With spaces between: a link reaches to the next one, and a backslash makes the next character stand for itself.
WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\\"), max_size=3)
PIECES = st.lists(st.one_of(st.sampled_from(WHOLE_PIECES), WORDS), max_size=30).map(" ".join)


@settings(deadline=None)
@given(text=PIECES, limit=st.integers(1, 120))
@example(text="\u0600<@123456789012345678>", limit=5)
@example(text="<@123456789012345678>\u0301", limit=22)
def test_a_cut_fits_and_ends_where_a_piece_ends(text: str, limit: int) -> None:
    found = cut(text, limit)

    assert length(found) <= limit
    if found == text:
        return
    kept = found.removesuffix("…")
    rest = text[len(kept) :]
    assert text.startswith(kept)
    # What was cut off begins a grapheme of its own, or the space that was trimmed with it.
    boundaries = {match.start() for match in regex.finditer(r"\X", text)}
    assert len(kept) in boundaries or rest[:1].isspace()
    inside = [
        m
        for m in regex.finditer(r"<[@#]\S*?\d+>|<t:\d+:F>|https://example[^\s)]*|\[the rules\]\(\S+\)", text)
        if m.start() < len(kept) < m.end()
    ]
    assert inside == []


def embed_message(**fields: object) -> OutgoingMessage:
    return OutgoingMessage(marker="#1", embed=Embed(**fields))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("part", "limit"),
    [("title", limits.EMBED_TITLE), ("description", limits.EMBED_DESCRIPTION), ("footer", limits.EMBED_FOOTER)],
)
def test_a_part_of_an_embed_may_be_as_long_as_its_limit_and_no_longer(part: str, limit: int) -> None:
    embed_message(**{part: "x" * limit})

    with pytest.raises(MessageLimitError, match=f"embed {part} is {limit + 1} long, over the limit of {limit}"):
        embed_message(**{part: "x" * (limit + 1)})


def test_content_is_counted_in_utf_16_units() -> None:
    OutgoingMessage(marker="#1", content="🐉" * 1_000)

    with pytest.raises(MessageLimitError, match="content is 2002 long"):
        OutgoingMessage(marker="#1", content="🐉" * 1_001)


@pytest.mark.parametrize("content", ["", "  \n"])
def test_a_message_with_nothing_in_it_is_refused(content: str) -> None:
    with pytest.raises(MessageLimitError):
        OutgoingMessage(marker="#1", content=content)


@pytest.mark.parametrize(
    ("fields", "part"),
    [
        pytest.param([EmbedField("n", "v")] * 26, "embed fields is 26", id="26 fields"),
        pytest.param([EmbedField("n" * 257, "v")], "embed field name", id="a long name"),
        pytest.param([EmbedField("n", "v" * 1_025)], "embed field 'n' is 1025", id="a long value"),
        pytest.param([EmbedField("n", "v" * 1_000)] * 6, "embed is 6006", id="too much in all"),
    ],
)
def test_fields_past_a_limit_are_refused(fields: list[EmbedField], part: str) -> None:
    with pytest.raises(MessageLimitError, match=part):
        embed_message(fields=tuple(fields))


def test_25_fields_of_which_each_is_full_are_taken_up_to_6000() -> None:
    message = embed_message(fields=tuple([EmbedField("n" * 40, "v" * 200)] * 25))

    assert message.embed is not None
    assert len(message.embed.fields) == 25


def test_25_buttons_are_taken_and_26_are_not() -> None:
    buttons = tuple(Button(f"{number}", encode(Verb.SIGN_UP, number)) for number in range(26))

    taken = OutgoingMessage(marker="#1", content="x", buttons=buttons[:25])

    assert len(taken.buttons) == 25
    with pytest.raises(MessageLimitError, match="buttons is 26 long, over the limit of 25"):
        OutgoingMessage(marker="#1", content="x", buttons=buttons)


@pytest.mark.parametrize(
    ("fits", "over", "part"),
    [
        pytest.param(
            Button("x" * 80, "t1:signup:7"), Button("x" * 81, "t1:signup:7"), "button label .* is 81 long", id="label"
        ),
        pytest.param(
            Button("🐉" * 40, "t1:signup:7"),
            Button("🐉" * 40 + "x", "t1:signup:7"),
            "button label .* is 81 long",
            id="label of two units a character",
        ),
        pytest.param(Button("x", "i" * 100), Button("x", "i" * 101), "custom id .* is 101 long", id="custom id"),
    ],
)
def test_a_button_may_be_as_long_as_its_limit_and_no_longer(fits: Button, over: Button, part: str) -> None:
    OutgoingMessage(marker="#1", content="x", buttons=(fits,))

    with pytest.raises(MessageLimitError, match=part):
        OutgoingMessage(marker="#1", content="x", buttons=(fits, over))


def test_buttons_alone_are_no_message() -> None:
    with pytest.raises(MessageLimitError, match="content is 0 long"):
        OutgoingMessage(marker="#1", buttons=(Button("Sign up", "t1:signup:7"),))


def test_what_was_meant_to_be_sent_is_kept_without_who_is_pinged() -> None:
    message = OutgoingMessage(
        marker="#7",
        content="<@&1>",
        embed=Embed(title="T", fields=(EmbedField("n", "v"),), footer="#7"),
        buttons=(Button("Sign up", "t1:signup:7"),),
        version=2,
    )

    assert message.as_data() == {
        "marker": "#7",
        "version": 2,
        "content": "<@&1>",
        "embed": {
            "title": "T",
            "description": "",
            "fields": ({"name": "n", "value": "v", "inline": False},),
            "footer": "#7",
            "color": None,
        },
        "buttons": ["t1:signup:7"],
    }
