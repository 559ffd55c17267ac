"""What is foreseen, message by message, and each reason against one; tests/chaos/forecast tries it at random."""

import datetime as dt
from dataclasses import replace
from typing import Any

import pytest

from bot.clock import ManualClock
from bot.events.generate import generate_events_for_repeater
from bot.events.series import create_series
from bot.events.series_spec import SeriesSpec
from bot.reminders.forecast import ANYBODYS, Foreseen, Prospects, Window, forecast
from bot.reminders.lots import Lot
from bot.reminders.outlook import Reason
from bot.reminders.why import explain
from bot.scheduling import registry
from bot.scheduling.bodies import CHECK_EVENT_REMINDERS
from models.event import Event
from models.event_repeater import EventRepeater
from models.repeater_exception import RepeaterException
from models.states import EventState, ExceptionKind, SignupStatus
from tests.builders import (
    CHANNEL,
    DAY,
    GUILD,
    HOUR,
    MINUTE,
    OTHER_CHANNEL,
    OTHER_GUILD,
    FakeDiscord,
    log_rows,
    make_event,
    make_guild,
    make_series,
    process,
    stored_due,
    utc,
)
from tests.conftest import START
from tests.people import change, opt_out, sign_up, subscribe
from tests.schedules import expected_announcements, mixed_schedule, with_varied_reminders

pytestmark = pytest.mark.usefixtures("database")

OPEN = EventState.SIGNUPS_OPEN
ATTENDANCE = {"discord_announcement": False, "discord_confirm_attendance": True}


async def seen(days: float = 7, prospects: Prospects = ANYBODYS, *, guild_id: int = GUILD) -> list[Foreseen]:
    return await forecast(guild_id, Window(START, START + days * DAY), now=START, prospects=prospects)


async def lines(
    days: float = 7, prospects: Prospects = ANYBODYS
) -> list[tuple[str, str, int | None, int | None, Reason | None]]:
    """Return what is foreseen: hours from now, kind, channel, recipients, reason."""
    return [
        (f"{(one.at - START) / HOUR:g}", one.kind, one.channel_id, one.recipients, one.reason)
        for one in await seen(days, prospects)
    ]


async def test_an_announcement_is_foreseen_to_the_moment() -> None:
    await make_guild()
    event = await make_event(now=START, starts_in=30 * HOUR)

    (one,) = await seen()

    assert one == Foreseen(
        at=START + 6 * HOUR,
        kind="announcement",
        name="Raid night",
        series_id=None,
        series=None,
        event_id=event.id,
        slot=None,
        occurrence=START + 30 * HOUR,
        channel_id=CHANNEL,
    )


async def test_what_is_overdue_goes_out_at_once_and_what_lies_beyond_the_window_is_left_out() -> None:
    await make_guild()
    await make_event(now=START - 10 * HOUR, starts_in=20 * HOUR)
    await make_event(now=START, starts_in=25 * HOUR)
    await make_event(now=START, starts_in=9 * DAY)

    assert [one.at for one in await seen(days=1 / 24)] == [START]
    assert [one.at for one in await seen(days=1 / 24 + 1e-9)] == [START, START + HOUR]


async def test_occurrences_that_are_not_made_yet_are_foreseen_by_their_slots_over_a_change_of_the_clock() -> None:
    await make_guild()
    series = await make_series(now=START, generate_days_ahead=2)

    found = await seen(days=30)

    assert [(one.slot, f"{one.at:%m-%d %H}", one.event_id, one.series) for one in found] == [
        ("2026-03-01T19:00[Europe/London]", "03-01 12", None, "London Sunday"),
        ("2026-03-08T19:00[Europe/London]", "03-07 19", None, "London Sunday"),
        ("2026-03-15T19:00[Europe/London]", "03-14 19", None, "London Sunday"),
        ("2026-03-22T19:00[Europe/London]", "03-21 19", None, "London Sunday"),
        ("2026-03-29T19:00[Europe/London]", "03-28 18", None, "London Sunday"),
    ]
    await generate_events_for_repeater(series, now=START)
    assert [(one.slot, one.at) for one in await seen(days=30)] == [(one.slot, one.at) for one in found]


async def test_an_occurrence_that_is_made_late_is_announced_by_the_pass_that_makes_it() -> None:
    await make_guild()
    hours = {"discord_announcement_hours": 24, "generate_days_ahead": 1}
    await make_series(now=START, day_of_week=None, frequency="daily", timezone="UTC", time_of_day="00:00", **hours)

    found = await seen(2, Prospects(generates_at=START + 20 * MINUTE))

    # The passes are at twenty past; midnight's occurrence of the day after next is made once that day has come.
    assert [f"{one.at:%d %H:%M}" for one in found] == ["01 12:20", "02 00:20", "03 00:20"]


async def test_a_skipped_occurrence_is_not_foreseen() -> None:
    await make_guild()
    series = await make_series(now=START)
    await RepeaterException.create(series=series, local_date=dt.date(2026, 3, 8), kind=ExceptionKind.SKIP)

    found = await seen(days=15)

    assert [one.slot[:10] for one in found if one.slot] == ["2026-03-01", "2026-03-15"]


async def test_reminders_wait_for_the_moment_at_which_time_opens_the_sign_ups() -> None:
    await make_guild()
    series = await make_series(now=START, starts_at=dt.date(2027, 1, 1))
    await subscribe(series.id, [1, 2, 3])
    await opt_out(3, "signup_reminder")
    asks = {"discord_announcement": False, "discord_signup_reminder": True, "discord_signup_reminder_hours": 24}
    await make_event(now=START, starts_in=12 * HOUR, series_id=series.id, signups_open_at=START + 5 * HOUR, **asks)

    assert await lines() == [("5", "signup_reminder", None, 2, None)]


async def test_a_roll_call_is_one_post_that_names_who_has_a_place_and_a_dm_to_who_has_not_confirmed() -> None:
    await make_guild()
    event = await make_event(now=START, starts_in=12 * HOUR, state=OPEN, **ATTENDANCE)
    await sign_up(event, [1, 2])
    await sign_up(event, [3], SignupStatus.CONFIRMED)
    await sign_up(event, [4], SignupStatus.WAITLISTED)

    assert await lines() == [
        ("10", "attendance_post", CHANNEL, 3, None),
        ("10", "attendance_reminder", None, 2, None),
    ]


async def test_a_failed_attempt_is_foreseen_for_when_it_may_be_repeated(clock: ManualClock) -> None:
    await make_guild(announcement_channel_id=None)
    event = await make_event(now=START, starts_in=6 * HOUR)
    bot = await process(FakeDiscord(clock), clock)
    await bot.run(CHECK_EVENT_REMINDERS)
    assert [row.error_class for row in await log_rows()] == ["no_channel"]
    await change(event, discord_announcement_channel_id=OTHER_CHANNEL)

    assert await lines() == [("1", "announcement", OTHER_CHANNEL, 0, None)]


async def one_off(**fields: object) -> None:
    await make_event(now=START, starts_in=30 * HOUR, **fields)


async def with_nobody() -> None:
    await one_off(state=OPEN, **ATTENDANCE)


async def with_everybody_out() -> None:
    event = await make_event(
        now=START, starts_in=30 * HOUR, state=OPEN, discord_announcement_channel_id=7, **ATTENDANCE
    )
    await sign_up(event, [1])
    await opt_out(1, "attendance_reminder")


async def of_a_paused_series() -> None:
    await make_series(now=START, is_active=False)


async def sent_and_put_off() -> None:
    event = await make_event(now=START, starts_in=6 * HOUR)
    clock = ManualClock(START)
    bot = await process(FakeDiscord(clock), clock)
    await bot.run(CHECK_EVENT_REMINDERS)
    await change(event, scheduled_at=START + 48 * HOUR)


CASES: dict[str, tuple[Any, list[tuple[str, str, Reason | None]]]] = {
    "off": (lambda: one_off(discord_announcement=False), []),
    "no hours": (lambda: one_off(discord_announcement_hours=None), []),
    "nobody": (
        with_nobody,
        [("28", "attendance_post", Reason.NOBODY), ("28", "attendance_reminder", Reason.NOBODY)],
    ),
    "everybody out": (
        with_everybody_out,
        [("28", "attendance_post", None), ("28", "attendance_reminder", Reason.OPTED_OUT)],
    ),
    "sent and put off": (sent_and_put_off, [("24", "announcement", Reason.ALREADY_SENT)]),
    "cancelled": (lambda: one_off(state=EventState.CANCELLED), [("6", "announcement", Reason.CANCELLED)]),
    "never opened": (lambda: one_off(**ATTENDANCE), [("28", "attendance_reminder", Reason.NOT_IN_STATE)]),
    "opened too late": (
        lambda: one_off(**ATTENDANCE, signups_open_at=START + 30 * HOUR),
        [("28", "attendance_reminder", Reason.NOT_IN_STATE)],
    ),
    "roll call on": (lambda: one_off(state=EventState.ROLL_CALL), [("6", "announcement", Reason.NOT_IN_STATE)]),
    "paused": (of_a_paused_series, [("0", "announcement", Reason.SERIES_PAUSED)]),
}


@pytest.mark.parametrize("case", CASES)
async def test_each_reason_why_something_is_not_sent(case: str) -> None:
    await make_guild()
    make, expected = CASES[case]
    await make()

    assert [(hours, kind, reason) for hours, kind, _, _, reason in await lines(days=2)] == expected


async def test_a_missing_channel_a_missing_permission_and_an_unavailable_server_are_reasons() -> None:
    await make_guild()
    await one_off()

    assert await lines(prospects=Prospects(may_post=lambda _: False)) == [
        ("6", "announcement", CHANNEL, 0, Reason.NO_PERMISSION)
    ]
    assert await lines(prospects=Prospects(is_available=False)) == [
        ("6", "announcement", CHANNEL, 0, Reason.GUILD_UNAVAILABLE)
    ]


async def test_without_a_channel_the_dms_go_out_all_the_same() -> None:
    await make_guild(announcement_channel_id=None)
    event = await make_event(now=START, starts_in=12 * HOUR, state=OPEN, **ATTENDANCE)
    await sign_up(event, [1])

    assert await lines() == [
        ("10", "attendance_post", None, 1, Reason.NO_CHANNEL),
        ("10", "attendance_reminder", None, 1, None),
    ]


async def test_another_servers_rows_are_not_foreseen() -> None:
    await make_guild()
    await make_guild(OTHER_GUILD)
    await make_event(now=START, guild_id=OTHER_GUILD)
    await make_series(now=START, guild_id=OTHER_GUILD)

    assert await seen(days=30) == []
    assert len(await seen(days=30, guild_id=OTHER_GUILD)) == 6


async def test_a_series_that_cannot_be_read_hides_no_other() -> None:
    await make_guild()
    await make_series(now=START)
    broken = await make_series(now=START, name="Broken")
    await EventRepeater.filter(id=broken.id).update(timezone="Nowhere/Land")

    assert {one.series for one in await seen(days=10)} == {"London Sunday"}


async def test_forty_mixed_series_are_foreseen_as_an_oracle_lays_them_out() -> None:
    start, days = utc("2026-03-20 00:00"), 20
    schedule = with_varied_reminders(mixed_schedule())
    await make_guild()
    specs = [SeriesSpec.model_validate(entry) for entry in schedule["series"]]
    await create_series(specs, guild_id=GUILD, created_by=None, now=start)

    window = Window(start, start + days * DAY)
    found = await forecast(GUILD, window, now=start, prospects=Prospects(generates_at=start))

    foreseen = {
        (one.series, one.occurrence.isoformat(), one.at.isoformat()) for one in found if one.kind == "announcement"
    }
    assert foreseen == expected_announcements(schedule, start, days)
    assert len(foreseen) > 200


async def test_a_fifth_reminder_is_foreseen_without_a_word_about_it(monkeypatch: pytest.MonkeyPatch) -> None:
    fifth = replace(registry.REMINDERS[3], key="fifth", log_source="fifth", task_name="send_fifth")
    monkeypatch.setattr(registry, "REMINDERS", (fifth,))
    await make_guild()
    event = await make_event(now=START, starts_in=30 * HOUR, state=OPEN, discord_profile_reminder=True)

    assert await lines() == [("6", "fifth", None, None, None)]
    (one,) = await explain(event, now=START, person=1)
    assert one.personal is not None
    assert one.personal.lot is Lot.UNKNOWN


async def test_forecasting_stores_nothing() -> None:
    await make_guild()
    await make_series(now=START)

    await seen(days=30)

    assert await log_rows() == []
    assert not await Event.all().exists()
    assert await stored_due() == {}
