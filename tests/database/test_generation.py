"""Events of a series are made once each, in its own window, whatever runs, restarts or fails meanwhile."""

import asyncio
import datetime as dt
from collections.abc import Iterator
from dataclasses import replace

import pytest
from tortoise.exceptions import OperationalError

from bot.clock import ManualClock
from bot.events import generate
from bot.events.generate import Generator, Planned, generate_events_for_repeater, wanted_slots
from bot.events.series import create_series
from bot.events.series_spec import SeriesSpec
from bot.scheduling import due_rows
from bot.scheduling.agenda import Agenda
from bot.scheduling.bodies import CHECK_EVENT_REMINDERS, GENERATE_UPCOMING_EVENTS, OPEN_SCHEDULED_SIGNUPS
from bot.times.recurrence import Occurrence, SeriesRule, occurrences
from models.event import Event
from models.event_repeater import EventRepeater
from models.guild_settings import GuildSettings
from models.reminder_due import ReminderDue
from models.repeater_exception import RepeaterException
from models.states import EventState, ExceptionKind, Frequency, MonthEnd
from tests.builders import (
    DAY,
    GUILD,
    HOUR,
    FakeDiscord,
    audit_actions,
    derived_due,
    log_rows,
    make_event,
    make_guild,
    make_series,
    process,
    stored_due,
    utc,
)

NOON = utc("2026-03-01 12:00")


@pytest.fixture(autouse=True)
def _no_window_is_remembered() -> Iterator[None]:
    """Some tests change what the zone data says."""
    generate._window.cache_clear()
    yield
    generate._window.cache_clear()


async def slots(series: EventRepeater | None = None) -> list[str]:
    events = Event.all() if series is None else Event.filter(series_id=series.id)
    return [str(event.slot)[:10] for event in await events.order_by("scheduled_at")]


def a_generator(agenda: Agenda | None = None) -> Generator:
    return Generator(agenda or Agenda(), instance="test", debounce=dt.timedelta(seconds=3), every=HOUR)


async def daily(**fields: object) -> EventRepeater:
    wanted = {"frequency": Frequency.DAILY, "day_of_week": None, "timezone": "UTC", "generate_days_ahead": 2}
    return await make_series(now=NOON, **(wanted | fields))


async def test_the_window_reaches_from_today_to_its_last_day_both_included(database: str) -> None:
    series = await daily(time_of_day="12:01")

    made = await generate_events_for_repeater(series, now=NOON)

    assert made == 3
    assert await slots() == ["2026-03-01", "2026-03-02", "2026-03-03"]


@pytest.mark.parametrize(
    ("time_of_day", "first"),
    [
        pytest.param("11:59", "2026-03-02", id="a minute ago"),
        pytest.param("12:00", "2026-03-02", id="exactly now"),
        pytest.param("12:01", "2026-03-01", id="in a minute"),
    ],
)
def test_past_instants_of_today_are_left_out(time_of_day: str, first: str) -> None:
    rule = SeriesRule(
        frequency=Frequency.DAILY,
        interval=1,
        day_of_week=None,
        time_of_day=dt.time.fromisoformat(time_of_day),
        timezone="UTC",
        starts_at=dt.date(2026, 1, 1),
        ends_at=None,
        month_end=MonthEnd.LAST_DAY,
    )

    wanted = [one.local_date.isoformat() for one in wanted_slots(Planned(1, rule, 2), [], now=NOON).values()]

    assert (wanted[0], wanted[-1]) == (first, "2026-03-03")


async def test_today_is_the_series_own_date_and_the_guilds_zone_does_not_matter(database: str) -> None:
    await make_guild(timezone="America/New_York")
    # At noon UTC it is 1 in the morning of the 2nd on Kiritimati, and 1 in the morning of the 1st in Niue.
    east = await daily(name="East", timezone="Pacific/Kiritimati", time_of_day="23:00")
    west = await daily(name="West", timezone="Pacific/Niue", time_of_day="23:00")

    await a_generator().generate_upcoming_events(NOON)

    assert await slots(east) == ["2026-03-02", "2026-03-03", "2026-03-04"]
    assert await slots(west) == ["2026-03-01", "2026-03-02", "2026-03-03"]


async def test_an_event_has_its_series_fields_and_when_its_sign_ups_open(database: str) -> None:
    series = await make_series(
        now=NOON,
        description="Bring a torch.",
        discord_announcement_role_ids=[5],
        discord_announcement_hours=3,
        max_players=8,
        duration_minutes=45,
        signup_opens_hours=48,
        created_by=9,
    )

    await generate_events_for_repeater(series, now=NOON)

    event = await Event.filter(slot="2026-03-08T19:00[Europe/London]").get()
    assert (event.name, event.description, event.created_by) == ("London Sunday", "Bring a torch.", 9)
    assert {name: getattr(event, name) for name in generate.CASCADED_FIELDS} == {
        name: getattr(series, name) for name in generate.CASCADED_FIELDS
    }
    assert (event.state, event.scheduled_at) == (EventState.UPCOMING, utc("2026-03-08 19:00"))
    assert event.signups_open_at == utc("2026-03-06 19:00")
    assert await stored_due() == await derived_due()
    assert (await stored_due())[event.id, "announcement"] == utc("2026-03-08 16:00")


async def test_sign_ups_without_hours_open_when_the_event_is_made(database: str) -> None:
    series = await make_series(now=NOON, signup_opens_hours=None)

    await generate_events_for_repeater(series, now=NOON)

    assert {event.signups_open_at for event in await Event.all()} == {NOON}


async def test_a_skipped_or_moved_occurrence_is_not_made(database: str) -> None:
    series = await daily(generate_days_ahead=4)
    await RepeaterException.create(series=series, local_date=dt.date(2026, 3, 2), kind=ExceptionKind.SKIP)
    await RepeaterException.create(series=series, local_date=dt.date(2026, 3, 4), kind=ExceptionKind.MOVED)

    await a_generator().generate_upcoming_events(NOON)
    await generate_events_for_repeater(series, now=NOON)

    assert await slots() == ["2026-03-01", "2026-03-03", "2026-03-05"]


async def test_a_cancelled_occurrence_stays_cancelled(database: str) -> None:
    series = await daily()
    await generate_events_for_repeater(series, now=NOON)
    await Event.filter(slot__startswith="2026-03-02").update(state=EventState.CANCELLED)

    await a_generator().generate_upcoming_events(NOON + HOUR)

    assert [event.state for event in await Event.all().order_by("scheduled_at")] == [
        EventState.UPCOMING,
        EventState.CANCELLED,
        EventState.UPCOMING,
    ]


async def test_a_second_run_adds_nothing(database: str) -> None:
    series = await daily()
    await generate_events_for_repeater(series, now=NOON)
    before = await stored_due()

    again = await generate_events_for_repeater(series, now=NOON)
    await a_generator().generate_upcoming_events(NOON)

    assert again == 0
    assert await Event.all().count() == 3
    assert await stored_due() == before


async def test_two_generators_at_once_add_nothing_twice(database: str) -> None:
    for number in range(5):
        await daily(name=f"Series {number}", generate_days_ahead=6)

    await asyncio.gather(*(a_generator().generate_upcoming_events(NOON) for _ in range(4)))

    assert await Event.all().count() == 5 * 7
    assert await stored_due() == await derived_due()


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"is_active": False}, id="paused"),
        pytest.param({"ends_at": dt.date(2026, 2, 28)}, id="ended yesterday"),
    ],
)
async def test_a_paused_or_ended_series_makes_nothing_and_its_events_stay(
    database: str, fields: dict[str, object]
) -> None:
    series = await daily()
    await generate_events_for_repeater(series, now=NOON)
    await EventRepeater.filter(id=series.id).update(**fields)
    before = await stored_due()

    await a_generator().generate_upcoming_events(NOON + DAY)
    await series.refresh_from_db()

    assert await generate_events_for_repeater(series, now=NOON + DAY) == 0
    assert await slots() == ["2026-03-01", "2026-03-02", "2026-03-03"]
    assert await stored_due() == before


async def test_a_series_ends_with_its_last_day(database: str) -> None:
    await daily(ends_at=dt.date(2026, 3, 2))

    await a_generator().generate_upcoming_events(NOON)

    assert await slots() == ["2026-03-01", "2026-03-02"]


async def test_a_series_has_its_events_as_soon_as_it_is_created(database: str) -> None:
    spec = SeriesSpec.model_validate(
        {"name": "Raid", "frequency": "daily", "time_of_day": "19:00", "timezone": "UTC", "starts_at": "2026-03-01"}
    )

    await create_series([spec], guild_id=GUILD, created_by=9, now=NOON)

    assert len(await slots()) == 15
    assert len(await stored_due()) == 15


async def test_a_weekly_series_comes_each_week_although_the_process_lives_six_days(
    database: str, clock: ManualClock
) -> None:
    await make_guild()
    await make_series(now=NOON, generate_days_ahead=2)
    discord = FakeDiscord(clock)

    for _ in range(6):
        bot = await process(discord, clock)
        await bot.run_until(clock.now() + 6 * DAY)
        await bot.services.leave()

    # 36 days from Sunday noon hold six Sundays; those in Britain's summer time come an hour earlier.
    assert await slots() == ["2026-03-01", "2026-03-08", "2026-03-15", "2026-03-22", "2026-03-29", "2026-04-05"]
    assert [post.sent_at for post in discord.in_channel()] == [
        utc("2026-03-01 12:00"),  # made less than a day before its start: at once
        utc("2026-03-07 19:00"),
        utc("2026-03-14 19:00"),
        utc("2026-03-21 19:00"),
        utc("2026-03-28 18:00"),
        utc("2026-04-04 18:00"),
    ]


async def test_a_slow_pass_never_shifts_a_slot(database: str) -> None:
    series = await daily()
    generator = a_generator()

    for late in (dt.timedelta(0), dt.timedelta(seconds=90), dt.timedelta(hours=5), dt.timedelta(hours=23, minutes=59)):
        await generator.generate_upcoming_events(NOON + DAY + late)

    assert [event.scheduled_at for event in await Event.filter(series_id=series.id).order_by("scheduled_at")] == [
        utc("2026-03-02 19:00"),
        utc("2026-03-03 19:00"),
        utc("2026-03-04 19:00"),
        utc("2026-03-05 19:00"),
    ]


async def test_the_pass_names_its_next_moment_and_wakes_who_depends_on_it(database: str) -> None:
    agenda = Agenda()
    await daily()

    upcoming = await a_generator(agenda).generate_upcoming_events(NOON)

    assert upcoming == NOON + HOUR
    assert agenda.next(CHECK_EVENT_REMINDERS) == agenda.next(OPEN_SCHEDULED_SIGNUPS) == NOON


async def test_a_pass_that_changes_nothing_wakes_nobody(database: str) -> None:
    agenda = Agenda()
    await daily()
    await a_generator().generate_upcoming_events(NOON)

    await a_generator(agenda).generate_upcoming_events(NOON)

    assert agenda.next(CHECK_EVENT_REMINDERS) is None


async def test_series_that_cannot_be_read_do_not_stop_the_others(database: str) -> None:
    faults: list[dict[str, object]] = [
        {"timezone": "Mars/Olympus"},
        {"timezone": "../etc/passwd"},
        {"day_of_week": "XX", "frequency": Frequency.WEEKLY},
        {"time_of_day": "25:99"},
        {"interval": 0},
    ]
    first = await daily(name="First")
    broken = [await daily(name=f"Broken {number}") for number in range(len(faults))]
    for series, fault in zip(broken, faults, strict=True):
        await EventRepeater.filter(id=series.id).update(**fault)
    last = await daily(name="Last")

    await a_generator().generate_upcoming_events(NOON)

    assert [len(await slots(one)) for one in (first, *broken, last)] == [3, 0, 0, 0, 0, 0, 3]


async def test_a_series_whose_rows_cannot_be_written_does_not_stop_the_others(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, broken, last = [await daily(name=name) for name in ("First", "Broken", "Last")]
    real = generate_events_for_repeater

    async def failing(series: EventRepeater, *, now: dt.datetime) -> int:
        if series.id == broken.id:
            raise OperationalError("disk full")
        return await real(series, now=now)

    monkeypatch.setattr(generate, "generate_events_for_repeater", failing)

    await a_generator().generate_upcoming_events(NOON)

    assert [len(await slots(one)) for one in (first, broken, last)] == [3, 0, 3]


async def test_changing_the_guilds_zone_moves_and_adds_nothing(database: str) -> None:
    await make_guild(timezone="UTC")
    for number in range(20):
        await daily(name=f"Series {number}")
    await a_generator().generate_upcoming_events(NOON)
    before = await Event.all().order_by("id").values_list("id", "scheduled_at", "slot")

    await GuildSettings.filter(guild_id=GUILD).update(timezone="America/New_York")
    await a_generator().generate_upcoming_events(NOON)

    assert await Event.all().order_by("id").values_list("id", "scheduled_at", "slot") == before


# ---------------------------------------------------------------------------------------------------- new zone data


def shift_the_zone(monkeypatch: pytest.MonkeyPatch, by: dt.timedelta) -> None:
    """Let the zone data say, from now on, that every slot's instant is another one."""

    def _shifted(rule: SeriesRule, start: dt.date, end: dt.date) -> list[Occurrence]:
        return [replace(one, starts_at=one.starts_at + by) for one in occurrences(rule, start, end)]

    monkeypatch.setattr(generate, "occurrences", _shifted)
    generate._window.cache_clear()


async def test_new_zone_data_moves_unsent_events_to_their_slots_instant_and_adds_none(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await daily()
    await a_generator().generate_upcoming_events(NOON)
    before = {event.slot: event for event in await Event.all()}

    shift_the_zone(monkeypatch, HOUR)
    await a_generator().generate_upcoming_events(NOON)

    after = {event.slot: event for event in await Event.all()}
    assert {slot: event.id for slot, event in after.items()} == {slot: event.id for slot, event in before.items()}
    assert {event.scheduled_at - before[slot].scheduled_at for slot, event in after.items()} == {HOUR}
    assert {event.signups_open_at for event in after.values()} == {
        event.scheduled_at - 168 * HOUR for event in after.values()
    }
    assert await stored_due() == await derived_due()
    assert await audit_actions() == ["event.realign"] * 3


async def test_new_zone_data_leaves_alone_what_was_sent(
    database: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    await make_guild()
    await daily()
    bot = await process(FakeDiscord(clock), clock)
    await bot.tick()  # announces today's, which is less than a day off
    sent = {row.source_id for row in await log_rows()}

    shift_the_zone(monkeypatch, HOUR)
    await bot.run(GENERATE_UPCOMING_EVENTS)

    moved = {event.id: event.scheduled_at.hour for event in await Event.all()}
    assert len(sent) == 1
    assert {hour for event_id, hour in moved.items() if event_id in sent} == {19}
    assert {hour for event_id, hour in moved.items() if event_id not in sent} == {20}


async def test_new_zone_data_leaves_alone_what_has_a_time_of_its_own(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    series = await daily(generate_days_ahead=3)
    await generate_events_for_repeater(series, now=NOON)
    await Event.filter(slot__startswith="2026-03-02").update(state=EventState.ROLL_CALL)
    await Event.filter(slot__startswith="2026-03-03").update(state=EventState.CANCELLED)
    await Event.filter(slot__startswith="2026-03-04").update(overridden_fields=["scheduled_at"])

    shift_the_zone(monkeypatch, HOUR)
    await a_generator().generate_upcoming_events(NOON)

    assert [event.scheduled_at.hour for event in await Event.all().order_by("slot")] == [20, 19, 19, 19]


async def test_new_zone_data_does_not_repeat_an_event_that_has_begun(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    series = await daily(generate_days_ahead=1)
    await generate_events_for_repeater(series, now=NOON)
    begun = utc("2026-03-01 19:30")
    await Event.filter(slot__startswith="2026-03-01").update(state=EventState.IN_PROGRESS)

    shift_the_zone(monkeypatch, HOUR)
    await a_generator().generate_upcoming_events(begun)

    assert [event.scheduled_at for event in await Event.all().order_by("slot")] == [
        utc("2026-03-01 19:00"),
        utc("2026-03-02 20:00"),
    ]


async def test_sign_ups_that_opened_with_the_event_do_not_move_with_the_zone(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await daily(signup_opens_hours=None)
    await a_generator().generate_upcoming_events(NOON)

    shift_the_zone(monkeypatch, HOUR)
    await a_generator().generate_upcoming_events(NOON)

    assert {event.signups_open_at for event in await Event.all()} == {NOON}


# ------------------------------------------------------------------------------------------------- missing due rows


async def test_missing_due_rows_are_healed_by_the_hourly_pass(database: str) -> None:
    agenda = Agenda()
    events = [await make_event(now=NOON, starts_in=number * DAY) for number in range(1, 6)]
    await make_event(now=NOON, discord_announcement=False)
    await make_event(now=NOON, state=EventState.CANCELLED)
    await ReminderDue.all().delete()

    await a_generator(agenda).generate_upcoming_events(NOON)

    assert {event_id for event_id, _ in await stored_due()} == {event.id for event in events}
    assert await stored_due() == await derived_due()
    assert agenda.next(CHECK_EVENT_REMINDERS) == NOON


async def test_more_missing_rows_than_a_page_are_healed_in_one_pass(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(7):
        await make_event(now=NOON, starts_in=DAY + number * HOUR)
    await ReminderDue.all().delete()
    monkeypatch.setattr(due_rows.missing, "__kwdefaults__", {"after": 0, "limit": 3})

    await a_generator().generate_upcoming_events(NOON)

    assert len(await stored_due()) == 7


async def test_what_was_sent_or_gave_up_is_not_healed_and_what_waits_is(database: str, clock: ManualClock) -> None:
    await make_guild()
    discord = FakeDiscord(clock)
    bot = await process(discord, clock)
    sent = await make_event(now=NOON, starts_in=5 * HOUR)
    await bot.tick()
    discord.forbidden.add(2_000_001)
    waits = await make_event(now=NOON, starts_in=6 * HOUR)
    gave_up = await make_event(now=NOON, starts_in=HOUR)
    await bot.run(CHECK_EVENT_REMINDERS)
    before = await stored_due()
    await ReminderDue.all().delete()

    await bot.run(GENERATE_UPCOMING_EVENTS)

    assert before == await stored_due() == {(waits.id, "announcement"): NOON + HOUR}
    assert (await log_rows())[0].source_id == sent.id
    assert gave_up.id in {row.source_id for row in await log_rows() if not row.success}
