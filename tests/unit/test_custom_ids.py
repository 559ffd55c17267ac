"""What a button carries is read back as it was written, and nothing else is taken for it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.message.custom_ids import CustomId, Verb, decode, encode
from bot.message.limits import CUSTOM_ID


@given(verb=st.sampled_from(Verb), subject=st.integers(min_value=0, max_value=2**63 - 1))
def test_an_id_of_a_row_is_read_back(verb: Verb, subject: int) -> None:
    text = encode(verb, subject)

    read = decode(text)

    assert len(text) <= CUSTOM_ID
    assert read == CustomId(verb, str(subject))
    assert read is not None
    assert read.row_id == subject


@given(text=st.text(max_size=120))
def test_whatever_a_button_carries_is_read_or_politely_not(text: str) -> None:
    read = decode(text)

    assert read is None or str(read) == text


@pytest.mark.parametrize("text", ["", "t1:signup:", "t1::7", "t2:signup:7", "signup:7", "t1:signup:7\n", "t1:Sign:7"])
def test_what_is_not_of_this_version_is_not_read(text: str) -> None:
    assert decode(text) is None


@pytest.mark.parametrize("subject", ["a b", "", "x" * 61, "7;DROP"])
def test_what_could_not_be_read_back_is_not_written(subject: str) -> None:
    with pytest.raises(ValueError, match="is no custom id"):
        encode(Verb.SIGN_UP, subject)


@pytest.mark.parametrize("subject", ["seven", "-1", "9223372036854775808", "1-2", "\u0661"])
def test_what_is_no_row_is_not_taken_for_one(subject: str) -> None:
    with pytest.raises(ValueError, match="is no id of a row"):
        _ = CustomId(Verb.SIGN_UP, subject).row_id
