"""A typed day is one date, a question or a refusal; never a guess."""

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.times.typed_date import AmbiguousDate, ReadDate, in_words, read_date
from bot.times.typed_time import WhenError

TODAY = dt.date(2026, 3, 1)


def read(text: str, *, today: dt.date = TODAY) -> ReadDate | AmbiguousDate:
    return read_date(text, option="starts", today=today)


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("2026-03-29", dt.date(2026, 3, 29)),
        ("  2026-3-9 ", dt.date(2026, 3, 9)),
        ("29.3.2026", dt.date(2026, 3, 29)),
        ("29.3.", dt.date(2026, 3, 29)),
        ("28.2.", dt.date(2027, 2, 28)),
        ("1.3.", dt.date(2026, 3, 1)),
        ("29.2.", dt.date(2028, 2, 29)),
        ("13/04/2026", dt.date(2026, 4, 13)),
        ("04/13/2026", dt.date(2026, 4, 13)),
        ("05/05/2026", dt.date(2026, 5, 5)),
        ("2020-01-01", dt.date(2020, 1, 1)),
    ],
)
def test_a_date_that_can_mean_one_day_is_read(text: str, date: dt.date) -> None:
    assert read(text) == ReadDate(date)


@pytest.mark.parametrize(
    ("text", "dates"),
    [
        ("03/04/2026", (dt.date(2026, 3, 4), dt.date(2026, 4, 3))),
        ("4/3/2026", (dt.date(2026, 3, 4), dt.date(2026, 4, 3))),
        ("03-04-2026", (dt.date(2026, 3, 4), dt.date(2026, 4, 3))),
        ("03/04", (dt.date(2026, 3, 4), dt.date(2026, 4, 3))),
        ("02/03", (dt.date(2026, 3, 2), dt.date(2027, 2, 3))),
    ],
)
def test_a_date_that_can_mean_two_days_is_asked_about_with_both_named(text: str, dates: tuple[dt.date, ...]) -> None:
    asked = read(text)

    assert isinstance(asked, AmbiguousDate)
    assert asked.dates == dates
    assert asked.question.startswith("starts ")
    assert all(in_words(date) in asked.question for date in dates)
    assert asked.question.endswith("which do you mean?")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "2026-02-29",
        "2026-13-01",
        "31.4.",
        "2026-03-29 19:30",
        "99/99",
        "@everyone",
        "' OR 1=1",
        "\u0661.\u0663.",
    ],
)
def test_whatever_else_is_refused_in_one_sentence_with_an_example(text: str) -> None:
    with pytest.raises(WhenError) as refused:
        read(text)

    says = str(refused.value)
    assert says.startswith("starts ")
    assert says.endswith("is no date that can be read; type it such as 2026-03-01.")
    assert "@everyone" not in says.replace("\\@everyone", "")


@given(st.dates(dt.date(1970, 1, 1), dt.date(2999, 12, 31)))
def test_what_it_shows_it_reads_back(date: dt.date) -> None:
    assert read(date.isoformat()) == ReadDate(date)


@given(st.text(max_size=30), st.dates(dt.date(2000, 1, 1), dt.date(2100, 12, 31)))
def test_any_text_is_read_asked_about_or_refused(text: str, today: dt.date) -> None:
    try:
        found = read(text, today=today)
    except WhenError as refused:
        says = str(refused)
    else:
        says = ""
        assert isinstance(found, ReadDate) or len(found.dates) == 2

    assert len(says) < 400
