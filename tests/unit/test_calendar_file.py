"""Calendar files as the world writes them: understood exactly, or refused by entry in one sentence; never a trace."""

import datetime as dt

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bot.calendars.entries import Details, Extra
from bot.calendars.lines import MAX_ENTRIES, CalendarFileError
from bot.errors import BotError
from bot.times.recurrence import occurrences
from models.states import Frequency, MonthEnd
from tests.calendars import FROM, TO, read, vcalendar

START = "DTSTART;TZID=Europe/Berlin:20260106T190000"
BERLIN = """BEGIN:VTIMEZONE\r
TZID:The hall\r
X-LIC-LOCATION:Europe/Berlin\r
BEGIN:STANDARD\r
DTSTART:19701025T030000\r
TZOFFSETFROM:+0200\r
TZOFFSETTO:+0100\r
END:STANDARD\r
END:VTIMEZONE\r
"""


def returning(rule: str, start: str = START, *more: str) -> bytes:
    return vcalendar(start, f"RRULE:{rule}", *more)


@pytest.mark.parametrize(
    ("rule", "start", "expected"),
    [
        ("FREQ=DAILY", "20260106", ["2026-01-06", "2026-01-07"]),
        ("FREQ=DAILY;INTERVAL=3;WKST=SU", "20260106", ["2026-01-06", "2026-01-09"]),
        ("FREQ=DAILY;BYDAY=MO,TU,WE,TH,FR", "20260109", ["2026-01-09", "2026-01-12"]),
        ("freq=weekly;byday=tu", "20260106", ["2026-01-06", "2026-01-13"]),
        ("FREQ=WEEKLY;COUNT=2", "20260106", ["2026-01-06", "2026-01-13", None]),
        ("FREQ=WEEKLY;WKST=MO;INTERVAL=2;BYDAY=TU,SU", "20260106", ["2026-01-06", "2026-01-11", "2026-01-20"]),
        ("FREQ=WEEKLY;WKST=SU;INTERVAL=2;BYDAY=TU", "20260106", ["2026-01-06", "2026-01-20"]),
        ("FREQ=WEEKLY;BYHOUR=19;BYMINUTE=0;BYSECOND=0", "20260106", ["2026-01-06", "2026-01-13"]),
        ("FREQ=WEEKLY;UNTIL=20260113T180000Z", "20260106", ["2026-01-06", "2026-01-13", None]),
        ("FREQ=WEEKLY;UNTIL=20260113T175959Z", "20260106", ["2026-01-06", None]),
        ("FREQ=WEEKLY;UNTIL=20260113T190000", "20260106", ["2026-01-06", "2026-01-13", None]),
        ("FREQ=WEEKLY;UNTIL=20260113", "20260106", ["2026-01-06", "2026-01-13", None]),
        ("FREQ=WEEKLY;UNTIL=99991231T235959Z", "20260106", ["2026-01-06", "2026-01-13", "2026-01-20"]),
        ("FREQ=WEEKLY;BYDAY=WE", "20260106", ["2026-01-07", "2026-01-14"]),
        ("FREQ=MONTHLY", "20260131", ["2026-01-31", "2026-03-31"]),
        ("FREQ=MONTHLY;BYMONTHDAY=-1", "20260228", ["2026-02-28", "2026-03-31", "2026-04-30"]),
        ("FREQ=MONTHLY;BYMONTHDAY=28,29,30;BYSETPOS=-1", "20260130", ["2026-01-30", "2026-02-28", "2026-03-30"]),
        ("FREQ=MONTHLY;BYDAY=2WE", "20260114", ["2026-01-14", "2026-02-11"]),
        ("FREQ=MONTHLY;BYDAY=+2WE", "20260114", ["2026-01-14", "2026-02-11"]),
        ("FREQ=MONTHLY;BYDAY=WE;BYSETPOS=2", "20260114", ["2026-01-14", "2026-02-11"]),
        ("FREQ=MONTHLY;BYDAY=FR;BYSETPOS=-1", "20260130", ["2026-01-30", "2026-02-27"]),
        ("FREQ=MONTHLY;BYDAY=5MO", "20260330", ["2026-03-30", "2026-06-29"]),
        ("FREQ=YEARLY;BYMONTH=11;BYDAY=4TH", "20261126", ["2026-11-26", "2027-11-25"]),
        ("FREQ=YEARLY;INTERVAL=2", "20260301", ["2026-03-01", "2028-03-01"]),
        ("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=-1", "20260228", ["2026-02-28", "2027-02-28", "2028-02-29"]),
        ("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29", "20240229", ["2028-02-29", "2032-02-29"]),
    ],
)
def test_a_rule_within_ours_is_taken_exactly(rule: str, start: str, expected: list[str | None]) -> None:
    found = read(returning(rule, f"DTSTART;TZID=Europe/Berlin:{start}T190000"))

    assert found.refused == []
    (one,) = found.series
    ahead = [
        slot for slot in occurrences(one.spec.rule, FROM, dt.date(2033, 1, 1)) if slot.local_date not in one.left_out
    ]
    dates = [slot.local_date.isoformat() for slot in ahead[: len(expected)]]
    assert [*dates, *[None] * (len(expected) - len(dates))] == expected


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("FREQ=SECONDLY", "it returns by FREQ=SECONDLY; a series returns daily, weekly, monthly or yearly"),
        ("FREQ=HOURLY;INTERVAL=2", "it returns by FREQ=HOURLY"),
        ("INTERVAL=2", "it returns by FREQ=(nothing)"),
        ("FREQ=DAILY;COUNT=100000", "COUNT=100000; 1 to 1,000 is possible"),
        ("FREQ=DAILY;INTERVAL=0", "INTERVAL=0; 1 to 52 is possible"),
        ("FREQ=DAILY;INTERVAL=53", "INTERVAL=53"),
        ("FREQ=DAILY;INTERVAL=x", "INTERVAL=X, which is no list of whole numbers"),
        ("FREQ=WEEKLY;WKST=SU;INTERVAL=2;BYDAY=TU,SU", "no series returns by its rule FREQ=WEEKLY;WKST=SU"),
        ("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=1", "no series returns by its rule"),
        ("FREQ=MONTHLY;BYMONTHDAY=1,15", "no series returns by its rule"),
        ("FREQ=YEARLY;BYDAY=20MO", "no series returns by its rule FREQ=YEARLY;BYDAY=20MO"),
        ("FREQ=MONTHLY;BYMONTH=2;BYDAY=1MO", "BYMONTH=2, which a series does not have"),
        ("FREQ=MONTHLY;BYDAY=20MO", "BYDAY=20MO, which a series does not have"),
        ("FREQ=MONTHLY;BYDAY=MO;BYSETPOS=9", "its rule never comes round"),
        ("FREQ=DAILY;INTERVAL=7;BYDAY=MO", "no series returns by its rule"),
        ("FREQ=WEEKLY;WKST=XX", "WKST=XX, which is no weekday"),
        ("FREQ=YEARLY;BYWEEKNO=20", "BYWEEKNO=20, which a series does not have"),
        ("FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30", "BYMONTH=2, which a series does not have"),
        ("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "its rule never comes round"),
        ("FREQ=WEEKLY;UNTIL=20250101T000000Z", "its rule never comes round"),
        ("FREQ=WEEKLY;UNTIL=soon", "UNTIL=SOON, which is no date"),
        ("FREQ=WEEKLY;COUNT=3;UNTIL=20270101", "both COUNT and UNTIL"),
        ("FREQ=WEEKLY;BYHOUR=8", "BYHOUR=8, which a series does not have"),
        ("nonsense", "its rule nonsense cannot be read"),
    ],
)
def test_a_rule_that_no_series_has_is_refused_by_name(rule: str, words: str) -> None:
    found = read(returning(rule))

    assert (found.series, found.events, found.refusals) == ([], [], 1)
    assert found.refused[0].startswith("Entry 1 (Raid night): ")
    assert words in found.refused[0]


@pytest.mark.parametrize(
    ("start", "timezone"),
    [
        ("DTSTART;TZID=Europe/Berlin:20260106T190000", "Europe/Berlin"),
        ('DTSTART;TZID="Europe/Berlin":20260106T190000', "Europe/Berlin"),
        ("DTSTART;TZID=europe/berlin:20260106T190000", "Europe/Berlin"),
        ("DTSTART;TZID=W. Europe Standard Time:20260106T190000", "Europe/Berlin"),
        ("DTSTART;TZID=/mozilla.org/20050126_1/Europe/Berlin:20260106T190000", "Europe/Berlin"),
        ("DTSTART;TZID=The hall:20260106T190000", "Europe/Berlin"),
        ("DTSTART:20260106T190000", "Europe/Paris"),
        ("DTSTART:20260106T190000Z", "UTC"),
        ("DTSTART;VALUE=DATE-TIME;TZID=Asia/Tokyo:20260106T190000", "Asia/Tokyo"),
    ],
)
def test_a_zone_is_known_by_its_many_names(start: str, timezone: str) -> None:
    head = f"X-WR-TIMEZONE:Europe/Paris\r\n{BERLIN}"
    raw = vcalendar(start, "RRULE:FREQ=WEEKLY", head=head)

    (one,) = read(raw).series

    assert one.spec.timezone == timezone
    assert one.spec.time_of_day == dt.time(19)


def test_a_time_without_a_zone_is_read_by_the_servers_clock_and_said_so() -> None:
    found = read(vcalendar("DTSTART:20260706T190000"))

    assert found.events[0].spec.scheduled_at == dt.datetime(2026, 7, 6, 18, tzinfo=dt.UTC)
    assert found.notes == ["Times without a zone are read in Europe/London."]


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([], "it has no DTSTART"),
        (["DTSTART;VALUE=DATE:20260106"], "it lasts whole days (its DTSTART is a date)"),
        (["DTSTART;TZID=Mars/Olympus:20260106T190000"], "in the zone Mars/Olympus, which is not known"),
        (["DTSTART:20260230T190000"], "its DTSTART 20260230T190000 is not in the calendar"),
        (["DTSTART:soon"], "its DTSTART soon is no date and time"),
        ([START, "DTEND;TZID=Europe/Berlin:20260106T180000"], "it ends before it begins"),
        ([START, "DTEND;TZID=Europe/Berlin:20260206T190000"], "its DURATION in minutes 44640 is not allowed"),
        ([START, "DURATION:long"], "its DURATION long is none"),
        ([START, "STATUS:CANCELLED"], "it is cancelled"),
        ([START, "RRULE:FREQ=DAILY", "RRULE:FREQ=WEEKLY"], "it has several rules"),
        ([START, "EXRULE:FREQ=DAILY"], "it has several rules"),
        (["DTSTART:20260106T190030Z", "RRULE:FREQ=DAILY"], "a series begins on a whole minute"),
        ([START, "RDATE;VALUE=PERIOD:20260107T190000Z/PT2H"], "its RDATE lists periods"),
        ([START, "X-TOCSIN-SETTINGS:{"], "its X-TOCSIN-SETTINGS are not those of this version"),
        ([START, 'X-TOCSIN-SETTINGS:{"required_role_id":1}'], "its X-TOCSIN-SETTINGS are not those of this version"),
        ([START, 'X-TOCSIN-SETTINGS:{"max_players":0}'], "its max_players 0 is not allowed"),
        (["UID:", START], None),
    ],
)
def test_an_entry_without_a_place_here_is_refused_and_the_others_are_taken(lines: list[str], words: str | None) -> None:
    other = "BEGIN:VEVENT\r\nUID:two@tests\r\nSUMMARY:Other\r\nDTSTART:20260301T100000Z\r\nEND:VEVENT\r\n"

    found = read(vcalendar(*lines, head=other))

    assert [one.uid for one in found.events][:1] == ["two@tests"]
    if words is not None:
        assert found.refusals == 1
        assert words in found.refused[0]


def test_an_entry_without_a_uid_is_refused() -> None:
    raw = b"BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:Raid\nDTSTART:20260106T190000Z\nEND:VEVENT\nEND:VCALENDAR\n"

    assert read(raw).refused == ["Entry 1 (Raid): it has no UID that tells it from others."]


def test_overrides_share_the_uid_of_their_series_wherever_they_stand() -> None:
    moved = (
        "BEGIN:VEVENT\r\nUID:one@tests\r\nSUMMARY:Raid night\r\nRECURRENCE-ID:20260113T180000Z\r\n"
        "DTSTART:20260114T180000Z\r\nDURATION:PT2H\r\nEND:VEVENT\r\n"
    )
    gone = (
        "BEGIN:VEVENT\r\nUID:one@tests\r\nSUMMARY:Raid night\r\nSTATUS:CANCELLED\r\n"
        "RECURRENCE-ID;TZID=Europe/Berlin:20260120T190000\r\nDTSTART:20260120T180000Z\r\nEND:VEVENT\r\n"
    )

    found = read(vcalendar(START, "DURATION:PT2H", "RRULE:FREQ=WEEKLY", head=moved + gone))

    assert found.refused == []
    (one,) = found.series
    assert [(change.local_date, change.starts_at) for change in one.changed] == [
        (dt.date(2026, 1, 13), dt.datetime(2026, 1, 14, 18, tzinfo=dt.UTC))
    ]
    assert one.left_out == {dt.date(2026, 1, 20)}


@pytest.mark.parametrize(
    "line",
    [
        "EXDATE;TZID=Europe/Berlin:20260113T190000,20260120T190000",
        "EXDATE:20260113T180000Z,20260120T180000Z",
        "EXDATE;VALUE=DATE:20260113,20260120",
    ],
)
def test_dates_are_left_out_however_they_are_written(line: str) -> None:
    (one,) = read(returning("FREQ=WEEKLY", START, line)).series

    assert one.left_out == {dt.date(2026, 1, 13), dt.date(2026, 1, 20)}


def test_further_dates_of_a_series_are_extra_events_of_it() -> None:
    (one,) = read(returning("FREQ=WEEKLY", START, "RDATE:20260108T180000Z,20260113T180000Z")).series

    assert one.extras == (Extra(dt.datetime(2026, 1, 8, 18, tzinfo=dt.UTC), Details("Raid night", "", 120)),)


def test_further_dates_of_a_single_event_are_events_with_names_of_their_own() -> None:
    found = read(vcalendar("DTSTART:20260106T190000Z", "RDATE:20260107T190000Z"))

    assert [one.uid for one in found.events] == ["one@tests", "one@tests/20260107T190000Z"]


def test_folded_lines_and_every_kind_of_line_ending_are_read() -> None:
    raw = vcalendar("DTSTART:20260106T190000Z", "DESCRIPTION:Bring\\, if you ca", " n\\nA lamp \\; and a\\\\b")
    expected = "Bring, if you can\nA lamp ; and a\\b"

    for ending in (b"\r\n", b"\n", b"\r"):
        (one,) = read(b"\xef\xbb\xbf" + raw.replace(b"\r\n", ending)).events
        assert one.spec.description == expected


def test_several_calendars_of_one_file_are_read_each_by_its_own_zone() -> None:
    first = vcalendar("DTSTART:20260106T190000", head="X-WR-TIMEZONE:Asia/Tokyo\r\n")
    second = vcalendar("DTSTART:20260106T190000", head="X-WR-TIMEZONE:UTC\r\n").replace(b"one@", b"two@")

    found = read(first + second)

    assert [one.spec.scheduled_at.hour for one in found.events] == [10, 19]


def test_of_an_override_changed_twice_the_later_one_holds() -> None:
    changes = "".join(
        f"BEGIN:VEVENT\r\nUID:one@tests\r\nSUMMARY:Raid\r\nSEQUENCE:{sequence}\r\nRECURRENCE-ID:20260113T180000Z\r\n"
        f"DTSTART:2026011{day}T180000Z\r\nEND:VEVENT\r\n"
        for sequence, day in ((2, 5), (1, 4))
    )

    (one,) = read(vcalendar(START, "RRULE:FREQ=WEEKLY", head=changes)).series

    assert [change.starts_at.day for change in one.changed] == [15]


def test_a_second_event_of_the_same_uid_is_refused() -> None:
    twin = "BEGIN:VEVENT\r\nUID:one@tests\r\nSUMMARY:Twin\r\nDTSTART:20260301T100000Z\r\nEND:VEVENT\r\n"

    found = read(vcalendar(START, head=twin))

    assert found.refused == ["Entry 2 (Raid night): it has the same UID as entry 1."]


def test_what_is_over_is_left_out_and_counted() -> None:
    found = read(vcalendar("DTSTART:20250106T190000Z") + returning("FREQ=DAILY;COUNT=2", "DTSTART:20250106T190000Z"))

    assert (found.series, found.events, found.past, found.refusals) == ([], [], 1, 1)


@pytest.mark.parametrize(("year", "past", "refusals"), [(2025, 1, 0), (2026, 0, 1)])
def test_of_what_is_over_no_fault_is_told(year: int, past: int, refusals: int) -> None:
    found = read(vcalendar(f"DTSTART:{year}0106T190000Z", f"DTEND:{year}0106T180000Z"))

    assert (found.events, found.past, found.refusals) == ([], past, refusals)


def test_what_is_no_event_is_named() -> None:
    todo = "BEGIN:VTODO\r\nUID:x\r\nEND:VTODO\r\n"

    found = read(vcalendar("DTSTART:20260106T190000Z", head=todo))

    assert found.notes == ["What is no event was left out: 1 VTODO."]


def test_text_that_is_too_long_is_cut_and_said_so() -> None:
    found = read(vcalendar("DTSTART:20260106T190000Z", f"DESCRIPTION:{'x' * 5_000}"))

    assert len(found.events[0].spec.description) == 1_000
    assert found.notes == ["1 entry has more text than fits here, and it was cut."]


def test_a_month_end_of_ours_comes_back_as_one() -> None:
    (one,) = read(returning("FREQ=MONTHLY;BYMONTHDAY=28,29,30,31;BYSETPOS=-1", "DTSTART:20260131T190000Z")).series

    assert (one.spec.frequency, one.spec.month_end) == (Frequency.MONTHLY, MonthEnd.LAST_DAY)
    assert [slot.local_date.day for slot in occurrences(one.spec.rule, FROM, TO)][:3] == [31, 28, 31]


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "The file is empty."),
        (b" \r\n ", "The file is empty."),
        (b"\x00\xff\xfe", "it does not begin with BEGIN:VCALENDAR"),
        (b'{"series": []}', "The file is no calendar (ICS)"),
        ("BEGIN:VCALENDAR".encode("utf-16"), "The file is no calendar (ICS)"),
        (b"BEGIN:VCALENDAR\nSUMMARY:\xff\nEND:VCALENDAR", "line 2 cannot be read"),
        (b"BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:x", "The file ends within 'VEVENT': it was cut off."),
        (b"BEGIN:VCALENDAR\nEND:VEVENT", "Line 2 ends 'VEVENT', which does not stand open there."),
        (b"BEGIN:VCALENDAR\nEND:VCALENDAR\nHello", "Line 3 stands outside of a calendar: 'Hello'."),
        (b"BEGIN:VCALENDAR\nEND:VCALENDAR\nBEGIN:VEVENT", "Line 3 begins 'VEVENT' outside of a calendar."),
        (b"BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY\nEND:VEVENT\nEND:VCALENDAR", "Line 3 cannot be read: 'SUMMARY'."),
        (
            b"BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:a\r\n b\r\n\tc\r\n\r\nSUMMARY\r\nEND:VEVENT",
            "Line 7 cannot be read: 'SUMMARY'.",
        ),
        (b"\r\n \t\n\n  BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMM\n ARY\nEND:VEVENT", "Line 6 cannot be read: 'SUMMARY'."),
        (
            b"\xef\xbb\xbf\n\nBEGIN:VCALENDAR\nX-A:b\n c\nEND:VEVENT",
            "Line 6 ends 'VEVENT', which does not stand open there.",
        ),
        (
            b"BEGIN:VCALENDAR\n" + b"BEGIN:VEVENT\nEND:VEVENT\n" * (MAX_ENTRIES + 1) + b"END:VCALENDAR",
            "The file has more than 2,000 events",
        ),
        (b"BEGIN:VCALENDAR" + b" " * 5_000_000, "The file has more than 5,000,000 bytes"),
    ],
)
def test_a_file_that_is_no_calendar_is_refused_in_one_sentence(raw: bytes, words: str) -> None:
    with pytest.raises(CalendarFileError) as refused:
        read(raw)

    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


DATES = ",".join(f"2026{month:02}{day:02}T100000Z" for month in range(1, 13) for day in range(1, 29))


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (
            [f"DTSTART:{DATES[:16]}", f"RDATE:{DATES},{DATES.replace('T10', 'T12')}"],
            "has 672 single events; at most 300",
        ),
        (["DTSTART:20260101T100000Z", *[f"EXDATE:{DATES}"] * 30], "has 10,080 dates in lists; at most 10,000"),
    ],
)
def test_a_file_of_which_too_much_would_be_stored_is_refused(lines: list[str], words: str) -> None:
    with pytest.raises(CalendarFileError, match=words):
        read(vcalendar(*lines))


def test_a_file_of_too_many_series_is_refused_before_any_rule_is_looked_at() -> None:
    one = f"BEGIN:VEVENT\r\nUID:x\r\n{START}\r\nRRULE:FREQ=DAILY\r\nEND:VEVENT\r\n"

    with pytest.raises(CalendarFileError, match="has 201 series; at most 200"):
        read(vcalendar(START, head=one * 201))


def said_of(raw: bytes) -> list[str]:
    try:
        found = read(raw)
    except BotError as refused:
        return [str(refused)]
    return [*found.refused, *found.notes]


_LINES = st.sampled_from(
    returning("FREQ=MONTHLY;BYDAY=2TU", START, "EXDATE:20260210T180000Z", "DURATION:PT1H").decode().splitlines()
)
_PROPERTIES = st.sampled_from(["DTSTART", "DTEND", "DURATION", "RRULE", "EXDATE", "RDATE", "RECURRENCE-ID", "UID"])
_ANY_LINE = st.builds(
    "{}{}{}".format, _PROPERTIES, st.sampled_from([":", ";TZID=", ";VALUE=DATE:"]), st.text(max_size=40)
)


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=200) | st.lists(_LINES | _ANY_LINE, max_size=20).map(lambda lines: "\n".join(lines).encode()))
@example(vcalendar("DTSTART:00010101T000000", "RRULE:FREQ=DAILY;UNTIL=00010101T000000"))
@example(vcalendar("DTSTART:99991231T235959Z", "RRULE:FREQ=YEARLY;INTERVAL=52"))
@example(vcalendar("DTSTART;TZID=Pacific/Apia:00010101T000000", "EXDATE;TZID=Asia/Tokyo:99991231T000000"))
@example(vcalendar("DTSTART:20260101T000000Z", "RRULE:FREQ=WEEKLY;BYDAY=" + ",".join(["MO"] * 40)))
@example(vcalendar("DTSTART:20260101T000000Z", "RRULE:FREQ=WEEKLY;BYDAY=MO,MO"))
@example(vcalendar("DTSTART:20260101T000000Z", "RRULE:FREQ=MONTHLY;BYSETPOS=0"))
@example(vcalendar("DTSTART:20260101T000000Z", "RRULE:FREQ=DAILY;WKST="))
def test_whatever_the_bytes_are_there_is_an_answer(raw: bytes) -> None:
    wrapped = b"BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:x\nSUMMARY:y\n" + raw + b"\nEND:VEVENT\nEND:VCALENDAR"

    assert all(sentence.isprintable() for sentence in [*said_of(raw), *said_of(wrapped)])
