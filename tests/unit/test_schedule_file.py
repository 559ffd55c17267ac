"""A schedule file is taken whole, or refused whole with the sentences that say why."""

import codecs
import datetime as dt
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.errors import BotError
from bot.events.schedule_file import ScheduleFileError, read_schedule
from bot.events.series_spec import SeriesSpec
from tests.schedules import community_or_skip, mixed_schedule

LEAST = {
    "name": "Raid night",
    "frequency": "weekly",
    "time_of_day": "19:00",
    "timezone": "Europe/London",
    "starts_at": "2026-01-05",
}


def entry(**fields: object) -> dict[str, object]:
    return LEAST | fields


def written(document: object) -> bytes:
    return json.dumps(document).encode()


def refusal(raw: bytes) -> ScheduleFileError:
    with pytest.raises(ScheduleFileError) as caught:
        read_schedule(raw)
    return caught.value


def faults(*entries: object) -> tuple[str, ...]:
    return refusal(written({"series": entries})).faults


def test_a_schedule_is_read_in_its_order() -> None:
    raw = written({"source": "by hand", "series": [entry(name="B"), entry(name="A", time_of_day="07:30")]})

    series = read_schedule(raw)

    assert [one.name for one in series] == ["B", "A"]
    assert series[1] == SeriesSpec.model_validate(entry(name="A", time_of_day="07:30"))
    assert series[1].time_of_day == dt.time(7, 30)


def test_a_byte_order_mark_is_no_part_of_the_document() -> None:
    assert len(read_schedule(codecs.BOM_UTF8 + written({"series": [LEAST]}))) == 1


def test_a_schedule_announces_unless_it_says_otherwise() -> None:
    told, silent = read_schedule(written({"series": [entry(), entry(name="B", discord_announcement=False)]}))

    assert (told.discord_announcement, silent.discord_announcement) == (True, False)


def test_the_mixed_schedule_is_a_good_file() -> None:
    assert len(read_schedule(written(mixed_schedule()))) == 40


def test_a_real_communitys_schedule_is_a_good_file() -> None:
    schedule = community_or_skip()

    assert len(read_schedule(written(schedule))) == len(schedule["series"])


def test_a_thousand_series_and_a_megabyte_are_taken() -> None:
    raw = written({"series": [entry(name=f"{number}") for number in range(1_000)]})

    assert len(read_schedule(raw + b" " * (1_000_000 - len(raw)))) == 1_000


DEEP = "The file is nested too deeply; a schedule is a list of plain objects."
LIST = "it must be a list of objects, one for each series."


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        pytest.param(b"", "The file is empty.", id="empty"),
        pytest.param(codecs.BOM_UTF8 + b" \r\n", "The file is empty.", id="only a mark and space"),
        pytest.param(
            b"x" * 1_000_001, "The file has 1,000,001 bytes; at most 1,000,000 (1 MB) are read.", id="a byte over"
        ),
        pytest.param(b"[" * 10**7, "The file has 10,000,000 bytes; at most 1,000,000 (1 MB) are read.", id="10 MB"),
        pytest.param(b'{"a\xff', "The file is not UTF-8 text: byte 3 (counted from 0) cannot be read.", id="not UTF-8"),
        pytest.param(
            codecs.BOM_UTF8 + b"{\xe2\x28",
            "The file is not UTF-8 text: byte 4 (counted from 0) cannot be read.",
            id="not UTF-8 after a mark",
        ),
        pytest.param(
            '{"series": []}'.encode("utf-16"),
            "The file is not UTF-8 text: byte 0 (counted from 0) cannot be read.",
            id="UTF-16",
        ),
        pytest.param(b"name,frequency", "The file is not JSON: line 1, column 1: expecting value.", id="a table"),
        pytest.param(b"\0", "The file is not JSON: line 1, column 1: expecting value.", id="NUL"),
        pytest.param(
            b'{"series": [\n  {"name" 1}]}',
            "The file is not JSON: line 2, column 11: expecting ':' delimiter.",
            id="broken in line 2",
        ),
        pytest.param(b"{} {}", "The file is not JSON: line 1, column 4: extra data.", id="two documents"),
        pytest.param(
            b'{"a": "b', "The file is not JSON: line 1, column 7: unterminated string starting.", id="cut off"
        ),
        pytest.param(
            b'{"a": "\n"}', "The file is not JSON: line 1, column 8: invalid control character.", id="raw line"
        ),
        pytest.param(b'{"a": NaN}', "The file has the value NaN, which is not JSON.", id="NaN"),
        pytest.param(b"-Infinity", "The file has the value -Infinity, which is not JSON.", id="infinity"),
        pytest.param(b"9" * 5000, "The file has a number of 5,000 digits, which no field takes.", id="long number"),
        pytest.param(b"[" * 200_000, DEEP, id="deep lists"),
        pytest.param(b'{"a":' * 200_000, DEEP, id="deep objects"),
        pytest.param(
            b'{"a": 1, "b": {"c": 1, "c": 1}}',
            "The key 'c' stands twice in one object; only one value can hold.",
            id="key twice",
        ),
        pytest.param(b"[]", 'The file must be an object such as {"series": [...]}, not (a list of 0).', id="a list"),
        pytest.param(b"null", 'The file must be an object such as {"series": [...]}, not null.', id="null"),
        pytest.param(b'"series"', "The file must be an object such as {\"series\": [...]}, not 'series'.", id="text"),
        pytest.param(b"{}", f"series is missing; {LIST}", id="no series"),
        pytest.param(b'{"series": null}', f"series null is not allowed; {LIST}", id="series null"),
        pytest.param(b'{"series": {}}', f"series (an object) is not allowed; {LIST}", id="series an object"),
        pytest.param(b'{"series": []}', "series has 0 entries; it must have 1 to 1,000.", id="series empty"),
        pytest.param(
            written({"series": [0] * 1_001}), "series has 1,001 entries; it must have 1 to 1,000.", id="too many"
        ),
        pytest.param(
            written({"source": 5, "series": [LEAST]}), "source 5 is not allowed; it must be text.", id="source"
        ),
        pytest.param(
            written({"sources": "x", "series": [LEAST]}),
            "'sources' is not a key of a schedule file; did you mean source?",
            id="unknown key",
        ),
        pytest.param(
            written({"version": 1, "series": [LEAST]}), "'version' is not a key of a schedule file.", id="strange key"
        ),
    ],
)
def test_a_bad_document_is_refused_in_one_sentence(raw: bytes, sentence: str) -> None:
    error = refusal(raw)

    assert error.faults == (sentence,)
    assert str(error) == sentence
    assert isinstance(error, BotError)


def test_every_fault_of_the_document_itself_is_told() -> None:
    assert refusal(b'{"xseries": [], "source": 1}').faults == (
        "'xseries' is not a key of a schedule file; did you mean series?",
        "source 1 is not allowed; it must be text.",
        f"series is missing; {LIST}",
    )


def test_a_fault_names_its_entry() -> None:
    assert faults(entry(name="A"), entry(name="B"), entry(timezone="Europe/Lodnon")) == (
        "Entry 3 (\"Raid night\"): timezone 'Europe/Lodnon' is not known; did you mean Europe/London?",
    )


def test_every_fault_of_every_entry_is_told_in_order() -> None:
    nameless = {key: value for key, value in LEAST.items() if key != "name"}

    assert faults(entry(name=5), nameless, entry(interval=0, day_of_weak="TU"), 5, []) == (
        "Entry 1: name 5 is not allowed; it must be text of 1 to 100 characters on one line.",
        "Entry 2: name is missing; it must be text of 1 to 100 characters on one line.",
        'Entry 3 ("Raid night"): interval 0 is not allowed; it must be a whole number from 1 to 52.',
        "Entry 3 (\"Raid night\"): 'day_of_weak' is not a field of a series; did you mean day_of_week?",
        "Entry 4: a series must be an object with its fields, not 5.",
        "Entry 5: a series must be an object with its fields, not (a list of 0).",
    )


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Raid night", "Raid night"),
        ("Raid night", "  RAID night "),
        ("Straße", "STRASSE"),
        ("\uff32\uff21\uff29\uff24", "raid"),
        ("Café", "Cafe\u0301"),
    ],
)
def test_a_name_that_reads_the_same_is_refused_with_both_entries(first: str, second: str) -> None:
    assert faults(entry(name=first), entry(name="Between"), entry(name=second)) == (
        f'Entries 1 and 3 have the same name ("{second.strip()}"); each series needs its own.',
    )


def test_each_later_entry_of_a_name_is_told_beside_its_other_faults() -> None:
    assert faults(entry(), entry(interval=0), entry()) == (
        'Entries 1 and 2 have the same name ("Raid night"); each series needs its own.',
        'Entry 2 ("Raid night"): interval 0 is not allowed; it must be a whole number from 1 to 52.',
        'Entries 1 and 3 have the same name ("Raid night"); each series needs its own.',
    )


def test_a_name_is_shown_in_printable_characters_and_cut() -> None:
    hostile, long = faults(entry(name="a\0\n\u202eb\ud800"), entry(name="x" * 99, interval=0))

    assert hostile.startswith('Entry 1 ("a\ufffd\ufffd\ufffdb\ufffd"): name ')
    assert long.startswith(f'Entry 2 ("{"x" * 60}"): interval 0 ')


@pytest.mark.parametrize(
    ("count", "omitted"), [pytest.param(20, 0, id="twenty"), pytest.param(21, 1, id="one more"), (1_000, 980)]
)
def test_twenty_faults_are_told_and_the_rest_counted(count: int, omitted: int) -> None:
    error = refusal(written({"series": [entry(name=str(number), interval=0) for number in range(count)]}))

    assert error.faults == tuple(
        f'Entry {number + 1} ("{number}"): interval 0 is not allowed; it must be a whole number from 1 to 52.'
        for number in range(20)
    )
    assert error.omitted == omitted
    assert str(error).splitlines() == [*error.faults, *([f"and {omitted} more"] if omitted else [])]


def test_an_entry_with_more_faults_than_are_told_is_counted_whole() -> None:
    error = refusal(written({"series": [entry(**{f"extra_{number}": 0 for number in range(50_000)}), 5]}))

    assert (len(error.faults), error.omitted) == (20, 49_981)


def test_unknown_keys_beyond_those_told_are_counted() -> None:
    error = refusal(written({f"extra_{number}": 0 for number in range(50_000)}))

    assert (len(error.faults), error.omitted) == (20, 49_981)


def taken_or_refused(raw: bytes) -> None:
    try:
        series = read_schedule(raw)
    except ScheduleFileError as error:
        assert all(fault.isprintable() for fault in error.faults)  # noqa: PT017 - either way is good
    else:
        assert all(isinstance(one, SeriesSpec) for one in series)


@settings(deadline=None)
@given(raw=st.binary(max_size=300))
def test_no_bytes_raise_anything_else(raw: bytes) -> None:
    taken_or_refused(raw)


@settings(deadline=None)
@given(data=st.data(), cut=st.integers(0, 400), put=st.binary(max_size=4))
def test_no_spoilt_schedule_raises_anything_else(data: st.DataObject, cut: int, put: bytes) -> None:
    raw = written({"series": [LEAST]})
    end = data.draw(st.integers(cut, cut + 5))

    taken_or_refused(raw[:cut] + put + raw[end:])


KEYS = st.sampled_from(sorted(SeriesSpec.model_fields)) | st.text(st.characters(exclude_categories=()), max_size=5)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=())),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)


@settings(deadline=None)
@given(
    entries=st.lists(st.dictionaries(KEYS, VALUES, max_size=4).map(lambda fields: LEAST | fields) | VALUES, max_size=4)
)
def test_no_document_raises_anything_else(entries: list[object]) -> None:
    taken_or_refused(written({"series": entries}))
