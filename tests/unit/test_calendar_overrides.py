"""Which override holds, what becomes of listed dates that have one, what lies too far ahead, and folds in a letter."""

import datetime as dt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.calendars.entries import Details, Extra
from bot.calendars.file import CalendarFile
from tests.calendars import read, vcalendar

START = "DTSTART;TZID=Europe/London:20260301T190000"
LISTED = "RDATE;TZID=Europe/London:20260303T190000"
WEEKLY = "RRULE:FREQ=WEEKLY"
IN_LONDON, IN_UTC = "RECURRENCE-ID;TZID=Europe/London:20260308T190000", "RECURRENCE-ID:20260308T190000Z"
OF_LISTED = "RECURRENCE-ID;TZID=Europe/London:20260303T190000"
GONE = (
    "its DTSTART has no zone of its own, and this server's, Mars/Phobos, is not known any more; an admin sets one that"
    " is."
)
TOO_FAR = "more than 5 years ahead, which cannot be represented here"


def with_overrides(raw: bytes, *overrides: tuple[str, ...]) -> bytes:
    events = "".join(
        "\r\n".join(["BEGIN:VEVENT", "UID:one@tests", "SUMMARY:Raid night", *lines, "END:VEVENT", ""])
        for lines in overrides
    )
    return raw.replace(b"END:VCALENDAR", events.encode() + b"END:VCALENDAR")


def to(hour: int, date: str = "20260308") -> str:
    return f"DTSTART;TZID=Europe/London:{date}T{hour}0000"


def events_at(found: CalendarFile) -> list[str]:
    return sorted(f"{one.spec.scheduled_at:%m-%d %H}" for one in found.events)


def extras_at(found: CalendarFile) -> list[str]:
    (one,) = found.series
    return [f"{extra.starts_at:%m-%d %H}" for extra in one.extras]


@pytest.mark.parametrize("spelled", [(IN_LONDON, IN_UTC), (IN_UTC, IN_LONDON)], ids=["local first", "UTC first"])
@pytest.mark.parametrize(("numbers", "hour"), [((5, 2), 20), ((2, 5), 21), ((3, 3), 21)])
def test_the_highest_sequence_holds_however_the_occurrence_is_spelled(
    spelled: tuple[str, str], numbers: tuple[int, int], hour: int
) -> None:
    overrides = [(spelled[n], f"SEQUENCE:{numbers[n]}", to(20 + n)) for n in range(2)]

    (series,) = read(with_overrides(vcalendar(START, WEEKLY), *overrides)).series

    assert [one.starts_at for one in series.changed] == [dt.datetime(2026, 3, 8, hour, tzinfo=dt.UTC)]


@pytest.mark.parametrize(("cancelled", "moved", "holds"), [(7, 5, True), (5, 7, False)])
def test_a_cancellation_holds_by_its_sequence_as_any_override(cancelled: int, moved: int, *, holds: bool) -> None:
    raw = with_overrides(
        vcalendar(START, WEEKLY),
        (IN_UTC, f"SEQUENCE:{cancelled}", "STATUS:CANCELLED", to(19)),
        (IN_LONDON, f"SEQUENCE:{moved}", to(20)),
    )

    (series,) = read(raw).series

    assert (series.left_out == {dt.date(2026, 3, 8)}, series.changed == ()) == (holds, holds)


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ((OF_LISTED, to(19, "20260303")), ["03-01 19", "03-03 19"]),
        ((OF_LISTED, to(21, "20260303")), ["03-01 19", "03-03 21"]),
        (("RECURRENCE-ID:20260303T190000Z", "STATUS:CANCELLED"), ["03-01 19"]),
        (("RECURRENCE-ID;VALUE=DATE:20260303", "STATUS:CANCELLED"), ["03-01 19"]),
        (("RECURRENCE-ID:20260301T190000Z", to(22, "20260301")), ["03-01 22", "03-03 19"]),
        ((OF_LISTED, "DTSTART:rubbish"), ["03-01 19", "03-03 19"]),
    ],
)
def test_an_override_of_a_listed_date_stands_in_its_place(override: tuple[str, ...], expected: list[str]) -> None:
    assert events_at(read(with_overrides(vcalendar(START, LISTED), override))) == expected


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ((OF_LISTED, to(19, "20260303")), ["03-03 19"]),
        ((OF_LISTED, to(21, "20260303")), ["03-03 21"]),
        ((OF_LISTED, "STATUS:CANCELLED"), []),
        (("RECURRENCE-ID;VALUE=DATE:20260303", "STATUS:CANCELLED"), []),
    ],
)
def test_so_does_one_of_a_date_listed_beside_a_rule(override: tuple[str, ...], expected: list[str]) -> None:
    found = read(with_overrides(vcalendar(START, WEEKLY, LISTED), override))

    assert (extras_at(found), found.refused) == (expected, [])


@pytest.mark.parametrize(
    ("override", "details"),
    [
        ((OF_LISTED, to(19, "20260303")), Details("Raid night", "", 120)),
        ((OF_LISTED, to(19, "20260303"), "DESCRIPTION:With cake."), Details("Raid night", "With cake.", 120)),
        ((OF_LISTED, to(19, "20260303"), "LOCATION:Old mill"), Details("Raid night", "Old mill", 120)),
        ((OF_LISTED, to(19, "20260303"), "DURATION:PT45M"), Details("Raid night", "", 45)),
        (
            (IN_LONDON.replace("0308", "0310"), to(19, "20260303"), "DESCRIPTION:New."),
            Details("Raid night", "New.", 120),
        ),
    ],
    ids=["as the series", "description", "place", "duration", "of a date that is none of its own"],
)
def test_an_event_beside_the_rule_keeps_the_words_of_its_override(override: tuple[str, ...], details: Details) -> None:
    (series,) = read(with_overrides(vcalendar(START, WEEKLY), override)).series

    assert series.extras == (Extra(dt.datetime(2026, 3, 3, 19, tzinfo=dt.UTC), details),)


def test_so_does_one_of_a_listed_date_and_the_other_listed_dates_keep_those_of_the_series() -> None:
    raw = with_overrides(
        vcalendar(START, WEEKLY, f"{LISTED},20260305T190000", "DESCRIPTION:Every week."),
        (OF_LISTED, to(20, "20260303"), "DESCRIPTION:With cake.", "DURATION:PT3H"),
    ).replace(b"SUMMARY:Raid night\r\nRECURRENCE-ID", b"SUMMARY:Feast\r\nRECURRENCE-ID")

    (series,) = read(raw).series

    assert series.extras == (
        Extra(dt.datetime(2026, 3, 3, 20, tzinfo=dt.UTC), Details("Feast", "With cake.", 180)),
        Extra(dt.datetime(2026, 3, 5, 19, tzinfo=dt.UTC), Details("Raid night", "Every week.", 120)),
    )


def test_one_whose_words_have_no_place_here_is_refused_and_its_date_stays() -> None:
    override = (OF_LISTED, to(19, "20260303"), "DURATION:P40D")

    found = read(with_overrides(vcalendar(START, WEEKLY, LISTED), override))

    assert (len(found.refused), extras_at(found)) == (1, ["03-03 19"])
    assert found.refused[0].startswith("Entry 2 (Raid night): its DURATION in minutes 57600 is not allowed")
    assert found.refused[0].endswith("; its series has that date as any other.")


@pytest.mark.parametrize(
    "raw",
    [
        vcalendar("DTSTART:29900310T190000Z"),
        vcalendar(START, "RDATE:29900310T190000Z"),
        vcalendar(START, WEEKLY, "RDATE:29900310T190000Z"),
        with_overrides(vcalendar(START, "RRULE:FREQ=DAILY"), ("RECURRENCE-ID:29900310T190000Z", to(20, "29900310"))),
        with_overrides(vcalendar(START, "RRULE:FREQ=DAILY"), ("RECURRENCE-ID:29900310T190000Z", to(20))),
    ],
    ids=["single", "listed", "listed beside a rule", "moved there", "moved from there"],
)
def test_what_lies_centuries_ahead_is_refused_by_its_name(raw: bytes) -> None:
    found = read(raw)

    assert (len(found.refused), found.refused[0].split(":")[0][7:]) == (1, " (Raid night)")
    assert TOO_FAR in found.refused[0]
    assert [one.changed for one in found.series] in ([], [()])


@pytest.mark.parametrize(("date", "refused"), [("20301231T000000", 0), ("20301231T000001", 1)])
def test_five_years_ahead_to_the_second_are_taken(date: str, refused: int) -> None:
    found = read(vcalendar(f"DTSTART:{date}Z"))

    assert (found.refusals, len(found.events)) == (refused, 1 - refused)


def test_floating_times_of_a_server_whose_zone_is_gone_are_refused_by_entry() -> None:
    found = read(vcalendar("DTSTART:20260303T190000"), timezone="Mars/Phobos")

    assert [one.partition(": ")[2] for one in found.refused] == [GONE]
    assert found.notes == []


@settings(max_examples=60, deadline=None)
@given(
    st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp", "Zs"], exclude_characters="\\"), max_size=30),
    st.data(),
)
def test_a_line_may_be_folded_between_any_two_bytes(text: str, data: st.DataObject) -> None:
    encoded = text.encode()
    place = data.draw(st.integers(0, len(encoded)))
    folded = b"a" + encoded[:place] + b"\r\n " + encoded[place:] + b"b"

    found = read(vcalendar(START, "DESCRIPTION:XX").replace(b"XX", folded))

    assert [one.spec.description for one in found.events] == [f"a{text}b"]
