"""What a series may hold, and the sentence for each thing that it may not."""

import datetime as dt
import zoneinfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from bot.events.series_spec import SeriesSpec, describe_faults
from bot.message.quoting import did_you_mean, quoted
from bot.times.known_timezones import known_timezones
from bot.times.recurrence import SeriesRule
from models.states import Frequency, MonthEnd

LEAST: dict[str, object] = {
    "name": "Raid night",
    "frequency": "weekly",
    "time_of_day": "19:00",
    "timezone": "Europe/London",
    "starts_at": "2026-01-05",
}
REMINDER_HOURS = [
    "discord_announcement_hours",
    "discord_signup_reminder_hours",
    "discord_confirm_attendance_hours",
    "discord_profile_reminder_hours",
]
IDS = ["discord_announcement_channel_id", "required_role_id", "attendee_role_id"]
SWITCHES = [
    "is_active",
    "discord_announcement",
    "discord_signup_reminder",
    "discord_confirm_attendance",
    "discord_confirm_attendance_dm",
    "discord_profile_reminder",
    "discord_create_event",
]


def spec(**fields: object) -> SeriesSpec:
    return SeriesSpec.model_validate(LEAST | fields)


def faults(document: object) -> tuple[str, ...]:
    with pytest.raises(ValidationError) as caught:
        SeriesSpec.model_validate(document)
    return describe_faults(caught.value)


def fault(**fields: object) -> str:
    (only,) = faults(LEAST | fields)
    return only


def test_what_is_left_out_has_its_default() -> None:
    assert spec().model_dump() == {
        "name": "Raid night",
        "description": "",
        "frequency": Frequency.WEEKLY,
        "interval": 1,
        "day_of_week": None,
        "time_of_day": dt.time(19),
        "timezone": "Europe/London",
        "starts_at": dt.date(2026, 1, 5),
        "ends_at": None,
        "month_end": MonthEnd.LAST_DAY,
        "generate_days_ahead": 14,
        "is_active": True,
        "discord_announcement": True,
        "discord_announcement_hours": 24,
        "discord_announcement_channel_id": None,
        "discord_announcement_role_ids": [],
        "discord_signup_reminder": False,
        "discord_signup_reminder_hours": 24,
        "discord_confirm_attendance": False,
        "discord_confirm_attendance_hours": 2,
        "discord_confirm_attendance_dm": True,
        "discord_profile_reminder": False,
        "discord_profile_reminder_hours": 24,
        "discord_create_event": False,
        "signup_opens_hours": 168,
        "signup_offer_minutes": None,
        "max_players": None,
        "duration_minutes": 120,
        "required_role_id": None,
        "attendee_role_id": None,
    }


def test_the_rule_is_the_schedule_of_the_series() -> None:
    series = spec(day_of_week="TU,TH", interval=2, ends_at="2026-06-30", month_end="skip")

    assert series.rule == SeriesRule(
        frequency=Frequency.WEEKLY,
        interval=2,
        day_of_week="TU,TH",
        time_of_day=dt.time(19),
        timezone="Europe/London",
        starts_at=dt.date(2026, 1, 5),
        ends_at=dt.date(2026, 6, 30),
        month_end=MonthEnd.SKIP,
    )


def test_a_form_may_give_values_instead_of_their_text() -> None:
    values = {"frequency": Frequency.DAILY, "time_of_day": dt.time(7, 5), "starts_at": dt.date(2026, 1, 5)}

    assert spec(**values) == spec(frequency="daily", time_of_day="07:05", starts_at="2026-01-05")


def test_two_series_do_not_share_a_list_of_roles() -> None:
    spec().discord_announcement_role_ids.append(1)

    assert spec().discord_announcement_role_ids == []


def test_a_series_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        spec().name = "Other"


def test_every_field_says_what_it_may_hold() -> None:
    assert [name for name, field in SeriesSpec.model_fields.items() if not field.description] == []


@pytest.mark.parametrize(
    ("field", "given_value", "kept"),
    [
        pytest.param("name", "  Raid \t", "Raid", id="name without the space around it"),
        pytest.param("name", "x" * 100, "x" * 100, id="longest name"),
        pytest.param("name", "😀" * 50, "😀" * 50, id="longest name of emoji"),
        pytest.param("name", "@everyone <@1> **ליל** <t:0:F>", "@everyone <@1> **ליל** <t:0:F>", id="mentions and RTL"),
        pytest.param("description", "a\tb\r\nc", "a\tb\r\nc", id="description of two lines"),
        pytest.param("description", "x" * 1000, "x" * 1000, id="longest description"),
        pytest.param("interval", 52, 52, id="greatest interval"),
        pytest.param("day_of_week", "tu, th", "TU,TH", id="weekdays tidied"),
        pytest.param("day_of_week", "MO,TU,WE,TH,FR,SA,SU", "MO,TU,WE,TH,FR,SA,SU", id="the whole week"),
        pytest.param("time_of_day", "00:00", dt.time(0), id="midnight"),
        pytest.param("time_of_day", "23:59", dt.time(23, 59), id="last minute"),
        pytest.param("timezone", "America/Argentina/Buenos_Aires", "America/Argentina/Buenos_Aires", id="zone"),
        pytest.param("ends_at", "2026-01-05", dt.date(2026, 1, 5), id="ends on its first day"),
        pytest.param("ends_at", "9999-12-31", dt.date(9999, 12, 31), id="ends never"),
        pytest.param("generate_days_ahead", 366, 366, id="farthest ahead"),
        pytest.param("discord_announcement_role_ids", [1, "2"], [1, 2], id="ids as numbers and text"),
        pytest.param("required_role_id", 2**63 - 1, 2**63 - 1, id="greatest id"),
        pytest.param("attendee_role_id", "123456789012345678", 123456789012345678, id="id as text"),
        pytest.param("signup_opens_hours", 1, 1, id="sign-ups open an hour before"),
        pytest.param("signup_opens_hours", 8784, 8784, id="sign-ups open a year before"),
        pytest.param("signup_opens_hours", None, None, id="sign-ups open at once"),
        pytest.param("max_players", 1, 1, id="one place"),
        pytest.param("duration_minutes", 10_080, 10_080, id="a week long"),
    ],
)
def test_a_value_is_taken(field: str, given_value: object, kept: object) -> None:
    assert getattr(spec(**{field: given_value}), field) == kept


@pytest.mark.parametrize("text", ["2WE", "-1FR", "1MO,3MO", "-5MO,-5TU,-5WE,-5TH,-5FR,-5SA,-5SU"])
def test_a_monthly_weekday_is_taken(text: str) -> None:
    assert spec(frequency="monthly", day_of_week=text).day_of_week == text


@pytest.mark.parametrize("field", REMINDER_HOURS)
@pytest.mark.parametrize("hours", [None, 0, -1, -(2**31), 1, 336])
def test_reminder_hours_are_kept_as_given(field: str, hours: int | None) -> None:
    assert getattr(spec(**{field: hours}), field) == hours


@pytest.mark.parametrize("field", REMINDER_HOURS)
@pytest.mark.parametrize(("days", "hours"), [(14, 337), (1, 25), (366, 8785)])
def test_a_reminder_due_before_its_event_exists_is_refused(field: str, days: int, hours: int) -> None:
    assert fault(**{"generate_days_ahead": days, field: hours}) == (
        f"{field} {hours} is more than {hours - 1}, the hours of generate_days_ahead ({days} days): "
        "the reminder would be due before its event exists."
    )


@pytest.mark.parametrize("hours", [1.5, "24", True, 2.0, -(2**31) - 1])
@pytest.mark.parametrize("field", REMINDER_HOURS)
def test_reminder_hours_are_whole_numbers(field: str, hours: object) -> None:
    assert fault(**{field: hours}) == (
        f"{field} {quoted(hours)} is not allowed; it must be a whole number of hours, or null for off."
    )


@pytest.mark.parametrize("field", SWITCHES)
@pytest.mark.parametrize("value", [0, 1, "true", None])
def test_a_switch_is_true_or_false(field: str, value: object) -> None:
    assert fault(**{field: value}) == f"{field} {quoted(value)} is not allowed; it must be true or false."


@pytest.mark.parametrize("field", IDS)
@pytest.mark.parametrize("value", [0, -1, 2**63, "9" * 20, "", "1e3", "٣", True, 1.0])
def test_an_id_is_one_of_discord(field: str, value: object) -> None:
    assert (
        fault(**{field: value}) == f"{field} {quoted(value)} is not allowed; it must be a Discord id, or null for none."
    )


DATE = "a date from 1970-01-01 to 2999-12-31, such as 2026-03-29"
TIME = "a time of day from 00:00 to 23:59, such as 19:30"
PLAIN = "to the minute and without a zone, such as 19:30"
MIDNIGHT = "2026-01-05 00:00:00+00:00"
WEEKDAYS = "weekdays such as TU or TU,TH, with monthly such as 2WE or -1FR, or null"
ONLY_MONTHLY = "which only monthly does; with weekly it must be such as TU or TU,TH"
IDS_ALLOWED = "a list of at most 100 Discord ids"
OPENS = "a whole number of hours from 1 to 8784, or null for at once"
MINUTES = "a whole number of minutes from 1 to 10080 (a week)"
REFUSED = [
    ("name", "", "'' shows nothing; it must be text of 1 to 100 characters."),
    ("name", "\u3164\u2800", "'\u3164\u2800' shows nothing; it must be text of 1 to 100 characters."),
    ("name", " \u200b\u2060", "' \\u200b\\u2060' shows nothing; it must be text of 1 to 100 characters."),
    ("name", 5, "5 is not allowed; it must be text of 1 to 100 characters on one line."),
    ("name", None, "null is not allowed; it must be text of 1 to 100 characters on one line."),
    ("name", "x" * 101, f"'{'x' * 58}… has 101 characters; at most 100 are allowed."),
    ("name", "a\0b", "'a\\x00b' contains the control character U+0000, which is not allowed."),
    ("name", "a\nb", "'a\\nb' contains the control character U+000A, which is not allowed."),
    ("name", "a\u2028b", "'a\\u2028b' contains the control character U+2028, which is not allowed."),
    ("name", "a\x9bb", "'a\\x9bb' contains the control character U+009B, which is not allowed."),
    ("name", "\ud800", "'\\ud800' is not allowed; it must be text of 1 to 100 characters on one line."),
    ("description", "a\0", "'a\\x00' contains the control character U+0000, which is not allowed."),
    ("description", "x" * 1001, f"'{'x' * 58}… has 1001 characters; at most 1000 are allowed."),
    ("description", None, "null is not allowed; it must be text of at most 1000 characters."),
    ("frequency", "Weekly", "'Weekly' is not allowed; it must be one of daily, weekly, monthly, yearly."),
    ("frequency", ["daily"], "(a list of 1) is not allowed; it must be one of daily, weekly, monthly, yearly."),
    ("interval", 0, "0 is not allowed; it must be a whole number from 1 to 52."),
    ("interval", 53, "53 is not allowed; it must be a whole number from 1 to 52."),
    ("interval", True, "true is not allowed; it must be a whole number from 1 to 52."),
    ("interval", "2", "'2' is not allowed; it must be a whole number from 1 to 52."),
    ("interval", 10**4300, "(a number of thousands of digits) is not allowed; it must be a whole number from 1 to 52."),
    ("day_of_week", 2, f"2 is not allowed; it must be {WEEKDAYS}."),
    ("day_of_week", "", "'' is not a list of weekdays; it must be such as TU or TU,TH."),
    ("day_of_week", "Tuesday", "'Tuesday' is not a list of weekdays; it must be such as TU or TU,TH."),
    ("day_of_week", "TU,TU", "'TU,TU' names a day twice or more than 7 days; it must be such as TU or TU,TH."),
    ("day_of_week", "2TU", f"'2TU' counts within a month, {ONLY_MONTHLY}."),
    ("time_of_day", "24:00", f"'24:00' is not allowed; it must be {TIME}."),
    ("time_of_day", "7:00", f"'7:00' is not allowed; it must be {TIME}."),
    ("time_of_day", "19:00:00", f"'19:00:00' is not allowed; it must be {TIME}."),
    ("time_of_day", "19:00\n", f"'19:00\\n' is not allowed; it must be {TIME}."),
    ("time_of_day", 1900, f"1900 is not allowed; it must be {TIME}."),
    ("time_of_day", dt.time(19, 0, 1), f"19:00:01 is not a plain wall time; it must be {PLAIN}."),
    ("time_of_day", dt.time(19, tzinfo=dt.UTC), f"19:00:00+00:00 is not a plain wall time; it must be {PLAIN}."),
    ("timezone", "Europe/Lodnon", "'Europe/Lodnon' is not known; did you mean Europe/London?"),
    ("timezone", "europe/london", "'europe/london' is not known; did you mean Europe/London?"),
    ("timezone", "new york", "'new york' is not known; did you mean America/New_York?"),
    ("timezone", "../etc/passwd", "'../etc/passwd' is not known; it must be a name such as Europe/London."),
    ("timezone", "/etc/localtime", "'/etc/localtime' is not known; it must be a name such as Europe/London."),
    ("timezone", "localtime", "'localtime' is not known; it must be a name such as Europe/London."),
    ("timezone", "posixrules", "'posixrules' is not known; it must be a name such as Europe/London."),
    ("timezone", "", "'' is not known; it must be a name such as Europe/London."),
    ("timezone", 1, "1 is not allowed; it must be the name of a time zone, such as Europe/London."),
    ("starts_at", "2026-02-30", "'2026-02-30' is not a day of the calendar; it must be a date such as 2026-03-29."),
    ("starts_at", "03/04", f"'03/04' is not allowed; it must be {DATE}."),
    ("starts_at", "20260105", f"'20260105' is not allowed; it must be {DATE}."),
    ("starts_at", "1969-12-31", f"'1969-12-31' is not allowed; it must be {DATE}."),
    ("starts_at", "3000-01-01", f"'3000-01-01' is not allowed; it must be {DATE}."),
    ("starts_at", dt.datetime(2026, 1, 5, tzinfo=dt.UTC), f"{MIDNIGHT} is not allowed; it must be {DATE}."),
    ("ends_at", "2026-01-04", "'2026-01-04' is before starts_at (2026-01-05); it must be that day or later, or null."),
    ("ends_at", "soon", "'soon' is not allowed; it must be a date such as 2026-03-29, or null for no end."),
    ("month_end", "last", "'last' is not allowed; it must be one of last_day, skip."),
    ("generate_days_ahead", 0, "0 is not allowed; it must be a whole number of days from 1 to 366."),
    ("generate_days_ahead", 367, "367 is not allowed; it must be a whole number of days from 1 to 366."),
    ("discord_announcement_role_ids", 5, f"5 is not allowed; it must be {IDS_ALLOWED}."),
    ("discord_announcement_role_ids", {}, f"(an object) is not allowed; it must be {IDS_ALLOWED}."),
    ("discord_announcement_role_ids", [1] * 101, f"(a list of 101) is not allowed; it must be {IDS_ALLOWED}."),
    ("signup_opens_hours", 0, f"0 is not allowed; it must be {OPENS}."),
    ("signup_opens_hours", -1, f"-1 is not allowed; it must be {OPENS}."),
    ("signup_opens_hours", 8785, f"8785 is not allowed; it must be {OPENS}."),
    (
        "signup_offer_minutes",
        0,
        "0 is not allowed; it must be a whole number of minutes from 1 to 10080 (a week), or null for no wait.",
    ),
    ("max_players", 0, "0 is not allowed; it must be a whole number from 1, or null for no limit."),
    ("max_players", 2**31, "2147483648 is not allowed; it must be a whole number from 1, or null for no limit."),
    ("duration_minutes", 0, f"0 is not allowed; it must be {MINUTES}."),
    ("duration_minutes", 10_081, f"10081 is not allowed; it must be {MINUTES}."),
]  # fmt: skip


@pytest.mark.parametrize(
    ("field", "value", "sentence"), REFUSED, ids=[f"{row[0]}-{i}" for i, row in enumerate(REFUSED)]
)
def test_a_value_is_refused_in_one_sentence(field: str, value: object, sentence: str) -> None:
    assert fault(**{field: value}) == f"{field} {sentence}"


@pytest.mark.parametrize(("field", "most"), [("name", 100), ("description", 1000)])
def test_a_length_is_counted_as_discord_counts_too(field: str, most: int) -> None:
    emoji = "😀" * (most // 2 + 1)

    assert fault(**{field: emoji}).endswith(
        f" has {most + 2} characters as Discord counts them (an emoji is two); at most {most} are allowed."
    )


@pytest.mark.parametrize("frequency", ["daily", "yearly"])
def test_a_daily_or_yearly_series_takes_no_weekday(frequency: str) -> None:
    assert fault(frequency=frequency, day_of_week="TU") == (
        f"day_of_week 'TU' is not allowed with frequency {frequency}; leave it out."
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("TU", "does not say which one of the month; with monthly it must be such as 2WE or -1FR"),
        ("2WE,TU", "does not say which one of the month; with monthly it must be such as 2WE or -1FR"),
        ("6WE", "is not a list of weekdays; it must be such as 2WE or -1FR"),
        ("1MO,2MO,3MO,4MO,1TU,2TU,3TU,4TU", "names a day twice or more than 7 days; it must be such as 2WE or -1FR"),
    ],
)
def test_a_monthly_weekday_is_refused(text: str, why: str) -> None:
    assert fault(frequency="monthly", day_of_week=text) == f"day_of_week '{text}' {why}."


def test_a_list_names_each_faulty_item() -> None:
    assert faults(LEAST | {"discord_announcement_role_ids": [1, "x", 0]}) == (
        "discord_announcement_role_ids item 2 'x' is not allowed; it must be a Discord id.",
        "discord_announcement_role_ids item 3 0 is not allowed; it must be a Discord id.",
    )


@pytest.mark.parametrize(
    ("key", "sentence"),
    [
        ("day_of_weak", "'day_of_weak' is not a field of a series; did you mean day_of_week?"),
        ("guild_id", "'guild_id' is not a field of a series."),
        ("", "'' is not a field of a series."),
        ("xyz" * 40, f"'{'xyz' * 19}x… is not a field of a series."),
        ("x\n", "'x\\n' is not a field of a series."),
        ("\ud800", "'\\ud800' is not a field of a series."),
    ],
)
def test_an_unknown_field_is_refused(key: str, sentence: str) -> None:
    assert fault(**{key: 1}) == sentence


def test_a_key_that_is_no_text_is_refused() -> None:
    assert faults(LEAST | {5: 1}) == ("5 is not a field of a series.",)


def test_every_fault_is_told_at_once() -> None:
    assert faults(
        {"frequency": "weakly", "day_of_week": "2TU", "timezone": "UTC", "starts_at": "x", "ends_at": "y"}
    ) == (
        "name is missing; it must be text of 1 to 100 characters on one line.",
        "frequency 'weakly' is not allowed; it must be one of daily, weekly, monthly, yearly.",
        f"time_of_day is missing; it must be {TIME}.",
        f"starts_at 'x' is not allowed; it must be {DATE}.",
        "ends_at 'y' is not allowed; it must be a date such as 2026-03-29, or null for no end.",
    )


@pytest.mark.parametrize(
    ("document", "found"), [([], "(a list of 0)"), (None, "null"), ("x", "'x'"), (1.5, "1.5"), (b"x", "(a bytes)")]
)
def test_what_is_no_object_is_no_series(document: object, found: str) -> None:
    assert faults(document) == (f"a series must be an object with its fields, not {found}.",)


def test_every_zone_that_is_a_place_is_known() -> None:
    assert zoneinfo.available_timezones() - known_timezones() <= {"Factory", "localtime", "posixrules"}
    assert {"Australia/Lord_Howe", "Pacific/Apia", "Africa/Casablanca", "Asia/Gaza", "UTC"} <= known_timezones()


def test_a_suggestion_is_made_only_when_it_is_near() -> None:
    assert did_you_mean("xseries", ["source", "series"]) == "; did you mean series?"
    assert did_you_mean("xyz", ["source", "series"]) == "."


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=())),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def reads_as_a_sentence(text: str) -> bool:
    return text.isprintable() and text[-1] in ".?" and "pydantic" not in text and "://" not in text


@settings(deadline=None)  # the first search for a zone reads all of them
@given(
    fields=st.dictionaries(
        st.sampled_from(sorted(SeriesSpec.model_fields)) | st.text(st.characters(exclude_categories=()), max_size=9),
        JSON_VALUES,
        max_size=4,
    )
)
def test_whatever_a_field_holds_its_fault_is_a_printable_sentence(fields: dict[str, object]) -> None:
    assert all(map(reads_as_a_sentence, faults_if_any(LEAST | fields)))


def faults_if_any(document: object) -> tuple[str, ...]:
    try:
        SeriesSpec.model_validate(document)
    except ValidationError as error:
        return describe_faults(error)
    return ()
