"""User text among the bot's own words: shown as typed, on one line, never as markup and never as a ping."""

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.message.escaping import escape

# One that is not behind an odd number of backslashes.
UNESCAPED = regex.compile(r"(?<!\\)(?:\\\\)*([*_~`|<>\[\]()#@:-])")
MARKUP = st.text(alphabet=st.one_of(st.characters(), st.sampled_from("*_~`|<>[]()#@:-\\&!\n\r\t\u2028 ")))


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        pytest.param("plain words, and 1.5!", "plain words, and 1.5!", id="nothing to do"),
        pytest.param("", "", id="empty"),
        pytest.param(" a \n\t b ", "a b", id="one line"),
        pytest.param("\\", "\\\\", id="a backslash"),
        pytest.param("- item", r"\- item", id="a list"),
        pytest.param("-# small", r"\-\# small", id="small text"),
        pytest.param("<t:0:R>", r"\<t\:0\:R\>", id="a timestamp"),
        pytest.param(":smile: <:x:1>", r"\:smile\: \<\:x\:1\>", id="emoji"),
        pytest.param("https://x.y", r"https\://x.y", id="an address"),
        pytest.param("a\u202eb \u2066c", "ab c", id="marks that turn the direction"),
        pytest.param("שלום", "שלום", id="letters from right to left"),
    ],
)
def test_text_is_escaped(text: str, escaped: str) -> None:
    assert escape(text) == escaped


@settings(deadline=None)
@given(MARKUP)
def test_no_markup_is_left_unescaped(text: str) -> None:
    assert UNESCAPED.search(escape(text)) is None


@settings(deadline=None)
@given(MARKUP)
def test_nothing_is_lost_but_line_breaks_double_spaces_and_turned_directions(text: str) -> None:
    shown = regex.sub(r"\\([\\*_~`|<>\[\]()#@:-])", r"\1", escape(text))

    assert shown == " ".join(regex.sub("[\u202a-\u202e\u2066-\u2069]", "", text).split())
    assert len(escape(text).splitlines()) <= 1
