"""What is exported from one server and imported into another is the same; twice is once, and nothing is half done."""

import asyncio
import datetime as dt
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from bot.calendars import storing as calendar_import
from bot.calendars.desk import CalendarDesk, exported, own_calendar
from bot.calendars.file import CalendarFile
from bot.calendars.storing import Plan, PlanChangedError, Stored, plan_of, read_for, store
from bot.events.exceptions import note_moved, note_skipped
from bot.events.generate import generate_events_for_repeater
from bot.events.series import create_series
from bot.events.series_spec import SeriesSpec
from bot.message.proposal import Proposal
from bot.operations.calendar_import import NothingImportedError, import_calendar, is_calendar
from bot.reminders.forecast import Window, forecast
from bot.reminders.outlook import Reason
from bot.scheduling import due_rows
from bot.scheduling.agenda import Agenda
from models.event import Event
from models.event_repeater import EventRepeater
from models.event_signup import EventSignup
from models.guild_settings import GuildSettings
from models.repeater_exception import RepeaterException
from models.states import EventState, ExceptionKind, SignupStatus
from tests.builders import DAY, GUILD, HOUR, OTHER_GUILD, audit_actions, make_event, make_guild, make_series, utc
from tests.calendars import vcalendar
from tests.chaos.hands.row_dump import dumped
from tests.schedules import mixed_schedule, with_varied_reminders

NOW = utc("2026-03-01 12:00")
MARA, NILS = 11, 12


async def export(guild_id: int = GUILD, series: EventRepeater | None = None, now: dt.datetime = NOW) -> bytes:
    typed = str(series.id) if series is not None else None
    return (await exported("ICS", typed, guild_id=guild_id, title="Hall", now=now)).content


async def read(raw: bytes, guild_id: int = OTHER_GUILD) -> CalendarFile:
    return await read_for(raw, guild_id=guild_id, most_bytes=5_000_000, default_timezone="UTC", now=NOW)


async def take(raw: bytes, guild_id: int = OTHER_GUILD) -> tuple[Plan, Stored]:
    found = await read(raw, guild_id)
    plan = await plan_of(found, guild_id=guild_id, now=NOW)
    return plan, await store(found, plan, guild_id=guild_id, actor=MARA, timezone="UTC", now=NOW)


async def sundays(guild_id: int = GUILD, **fields: object) -> EventRepeater:
    series = await make_series(now=NOW, guild_id=guild_id, **fields)
    await generate_events_for_repeater(series, now=NOW)
    return series


async def seen(guild_id: int, days: int = 40) -> list[tuple[Any, ...]]:
    found = await forecast(guild_id, Window(NOW, NOW + days * DAY), now=NOW)
    return sorted(
        (one.at, one.kind, one.name, one.occurrence, one.channel_id, one.recipients or 0, str(one.reason))
        for one in found
        # A cancelled event is told of where it was cancelled; elsewhere it never stood.
        if one.reason is not Reason.CANCELLED
    )


async def standing(guild_id: int) -> list[tuple[Any, ...]]:
    rows = await Event.filter(guild_id=guild_id, scheduled_at__gt=NOW).exclude(state=EventState.CANCELLED)
    return sorted(
        (row.scheduled_at, row.name, row.description, row.duration_minutes, row.is_off_schedule, row.max_players or 0)
        for row in rows
    )


async def move(event: Event, by: dt.timedelta, **fields: object) -> None:
    event.scheduled_at += by
    event.overridden_fields = ["scheduled_at", *fields]
    await event.update_from_dict(dict(fields)).save()
    await due_rows.refresh([event.id])
    assert event.series_id is not None
    await note_moved(event.series_id, dt.date.fromisoformat(str(event.slot)[:10]), is_back=False)


async def test_what_is_exported_imports_elsewhere_as_the_same_series_events_and_forecast(database: str) -> None:
    await make_guild()
    await make_guild(OTHER_GUILD)
    schedule = with_varied_reminders(mixed_schedule())["series"][::5]
    specs = [SeriesSpec.model_validate(entry) for entry in schedule]
    made = await create_series(specs, guild_id=GUILD, created_by=MARA, now=NOW)
    daily = made[0]
    events = await Event.filter(series_id=daily.id).order_by("scheduled_at")
    await note_skipped(daily.id, dt.date.fromisoformat(str(events[1].slot)[:10]))
    await events[1].delete()
    await move(events[3], 26 * HOUR)
    await move(events[4], HOUR, name="Late stand-up", description="With cake.", duration_minutes=45)
    await Event.filter(id=events[5].id).update(state=EventState.CANCELLED)
    await make_event(now=NOW, starts_in=9 * DAY, name="One-off", description="Once.", max_players=3)
    await make_event(now=NOW, starts_in=3 * DAY, series=daily, name=daily.name, is_off_schedule=True)
    await make_event(now=NOW, starts_in=4 * DAY, name="Cancelled one-off", state=EventState.CANCELLED)

    plan, done = await take(await export())

    assert (len(plan.series), len(plan.events), plan.known, plan.taken) == (len(specs), 2, 0, ())
    assert done.planned == await Event.filter(guild_id=OTHER_GUILD).count()
    before, after = await standing(GUILD), await standing(OTHER_GUILD)
    assert [row[:4] for row in after] == [row[:4] for row in before]
    assert [row[4] for row in after] == [row[4] for row in before]
    here, there = await seen(GUILD), await seen(OTHER_GUILD)
    assert len(here) > 50
    assert there == here
    copy = await EventRepeater.get(guild_id=OTHER_GUILD, name=daily.name)
    kinds = [(one.local_date, one.kind) for one in await RepeaterException.filter(series_id=copy.id)]
    assert sorted(kinds) == [
        (dt.date(2026, 3, 3), ExceptionKind.SKIP),
        (dt.date(2026, 3, 5), ExceptionKind.MOVED),
        (dt.date(2026, 3, 6), ExceptionKind.MOVED),
        (dt.date(2026, 3, 7), ExceptionKind.SKIP),
    ]


async def test_the_same_file_twice_changes_nothing_and_says_so(database: str) -> None:
    await sundays()
    await make_event(now=NOW, starts_in=9 * DAY)
    raw = await export()
    await take(raw)
    before = await dumped()

    plan = await plan_of(await read(raw), guild_id=OTHER_GUILD, now=NOW)
    again = await CalendarDesk(Agenda(), default_timezone="UTC").propose(raw, guild_id=OTHER_GUILD, actor=MARA, now=NOW)

    assert (plan.is_empty, plan.known) == (True, 2)
    assert again == "Nothing of this file would be stored.\nHere already, and left as they are: 2."
    assert await dumped() == before


async def test_a_servers_own_export_is_here_already(database: str) -> None:
    await sundays()
    await make_event(now=NOW, starts_in=9 * DAY)

    plan = await plan_of(await read(await export(), GUILD), guild_id=GUILD, now=NOW)

    assert (plan.is_empty, plan.known) == (True, 2)


async def test_what_was_imported_is_exported_under_its_own_uid(database: str) -> None:
    raw = vcalendar("DTSTART;TZID=Europe/London:20260303T190000", "RRULE:FREQ=WEEKLY")
    await take(raw)

    assert b"UID:one@tests\r\n" in await export(OTHER_GUILD)


async def test_two_exports_are_equal_and_hold_nothing_of_another_server(database: str) -> None:
    series = await sundays(name="Here")
    await sundays(OTHER_GUILD, name="Elsewhere")
    await make_event(now=NOW, guild_id=OTHER_GUILD, name="Elsewhere too")

    assert await export() == await export() == (await export(series=series)).replace(b"Here", b"Hall", 1)
    assert b"Elsewhere" not in await export()


async def test_of_two_imports_at_once_one_stores_and_the_other_says_so(database: str) -> None:
    await make_guild(OTHER_GUILD)
    await sundays()
    found = await read(await export())
    plan = await plan_of(found, guild_id=OTHER_GUILD, now=NOW)

    results = await asyncio.gather(
        *(store(found, plan, guild_id=OTHER_GUILD, actor=who, timezone="UTC", now=NOW) for who in (MARA, NILS)),
        return_exceptions=True,
    )

    assert {type(one) for one in results} == {PlanChangedError, Stored}
    assert await EventRepeater.filter(guild_id=OTHER_GUILD).count() == 1


async def test_an_import_that_fails_on_its_way_leaves_nothing(database: str) -> None:
    await sundays()
    await make_event(now=NOW, starts_in=9 * DAY)
    raw = await export()
    await make_guild(OTHER_GUILD)
    before = await dumped()

    async def _fails(*_args: object, **_fields: object) -> None:
        raise RuntimeError("planted")

    with patch.object(calendar_import, "_store_events", _fails), pytest.raises(RuntimeError, match="planted"):
        await take(raw)

    assert await dumped() == before


async def test_a_name_that_another_series_has_is_refused_by_entry(database: str) -> None:
    await sundays(OTHER_GUILD, name="RAID NIGHT")
    rule = vcalendar("DTSTART;TZID=Europe/London:20260303T190000", "RRULE:FREQ=WEEKLY")
    found = await read(rule + rule.replace(b"one@", b"two@"))

    plan = await plan_of(found, guild_id=OTHER_GUILD, now=NOW)

    assert [one.number for one in plan.taken] == [1, 2]
    assert plan.is_empty


async def test_what_changed_since_it_was_shown_is_shown_again(database: str) -> None:
    desk = CalendarDesk(Agenda(), default_timezone="UTC")
    raw = vcalendar("DTSTART;TZID=Europe/London:20260303T190000", "RRULE:FREQ=WEEKLY")
    shown = await desk.propose(raw, guild_id=OTHER_GUILD, actor=MARA, now=NOW)
    assert isinstance(shown, Proposal)
    await take(raw)

    said = await shown.ways[0].then(NOW)

    assert said == "Nothing of this file would be stored.\nHere already, and left as it is: 1."
    assert await EventRepeater.filter(guild_id=OTHER_GUILD).count() == 1


async def test_an_import_is_audited_as_what_it_makes(database: str) -> None:
    single = vcalendar("DTSTART:20260309T190000Z").replace(b"one@", b"two@")
    await take(vcalendar("DTSTART;TZID=Europe/London:20260303T190000", "RRULE:FREQ=WEEKLY") + single)

    assert await audit_actions() == ["series.create", "series.import", "event.create"]


async def test_a_servers_template_fills_what_a_foreign_file_does_not_say(database: str) -> None:
    await make_guild(OTHER_GUILD, series_template={"max_players": 7}, event_template={"duration_minutes": 45})
    single = vcalendar("DTSTART:20260309T190000Z").replace(b"one@", b"two@")
    await take(vcalendar("DTSTART;TZID=Europe/London:20260303T190000", "RRULE:FREQ=WEEKLY", "DURATION:PT1H") + single)

    series, event = await EventRepeater.get(), await Event.get(series_id=None)
    assert (series.max_players, series.duration_minutes, event.duration_minutes) == (7, 60, 45)


async def test_a_withdrawn_and_a_cancelled_occurrence_are_left_out_of_the_file(database: str) -> None:
    series = await sundays()
    first, second = await Event.filter(series_id=series.id).order_by("scheduled_at").limit(2)
    await Event.filter(id=first.id).update(state=EventState.CANCELLED)
    await Event.filter(id=second.id).update(state=EventState.CANCELLED, is_withdrawn=True)

    text = (await export()).decode()

    assert "EXDATE;TZID=Europe/London:20260301T190000,20260308T190000" in text


async def test_a_paused_series_ends_with_what_it_has_made(database: str) -> None:
    await sundays()
    await EventRepeater.all().update(is_active=False)

    done = await exported("ICS", None, guild_id=GUILD, title="Hall", now=NOW)

    assert b"UNTIL=20260315T190000Z" in done.content
    assert "London Sunday is paused" in done.text


async def test_a_persons_file_holds_what_they_may_come_to_here_and_nothing_else(database: str) -> None:
    wanted = (
        (SignupStatus.SIGNED_UP, "CONFIRMED"),
        (SignupStatus.CONFIRMED, "CONFIRMED"),
        (SignupStatus.TENTATIVE, "TENTATIVE"),
        (SignupStatus.WAITLISTED, "TENTATIVE"),
    )
    for status in SignupStatus:
        event = await make_event(now=NOW, name=status.value, state=EventState.SIGNUPS_OPEN)
        await EventSignup.create(event=event, user_id=MARA, status=status, created_at=NOW, changed_at=NOW)
    over = await make_event(now=NOW, name="over", state=EventState.COMPLETED)
    away = await make_event(now=NOW, name="away", guild_id=OTHER_GUILD, state=EventState.SIGNUPS_OPEN)
    others = await make_event(now=NOW, name="another's", state=EventState.SIGNUPS_OPEN)
    for event, who in ((over, MARA), (away, MARA), (others, NILS)):
        await EventSignup.create(
            event=event, user_id=who, status=SignupStatus.SIGNED_UP, created_at=NOW, changed_at=NOW
        )

    done = await own_calendar(GUILD, MARA, title="Hall", now=NOW)

    text = done.content.decode()
    assert text.count("BEGIN:VEVENT") == 4
    for status, shown in wanted:
        (event_text,) = (part for part in text.split("BEGIN:VEVENT") if f"SUMMARY:{status.value}\r\n" in part)
        assert f"STATUS:{shown}" in event_text
    assert "X-TOCSIN" not in text
    assert (await own_calendar(GUILD, 99, title="Hall", now=NOW)).content == b""


async def test_the_table_counts_what_people_said_and_holds_no_formula(database: str) -> None:
    series = await make_series(now=NOW, name="=Series")
    event = await make_event(now=NOW, series=series, name="+Raid", max_players=3)
    await EventSignup.create(event=event, user_id=MARA, status=SignupStatus.TENTATIVE, created_at=NOW, changed_at=NOW)
    await make_event(now=NOW, guild_id=OTHER_GUILD, name="Elsewhere")

    done = await exported("CSV", str(series.id), guild_id=GUILD, title="Hall", now=NOW)

    header, row = done.content.decode("utf-8-sig").splitlines()
    assert header.startswith(
        "event_id,series,name,starts_at_utc,ends_at_utc,state,places,signed_up,confirmed,tentative"
    )
    assert row == f"{event.id},'=Series,'+Raid,2026-03-01 18:00,2026-03-01 20:00,upcoming,3,0,0,1,0,0,0"


async def operator(raw: bytes, *, preview: bool = False, announce_in: int | None = None) -> list[str]:
    return await import_calendar(
        raw, guild_id=OTHER_GUILD, announce_in=announce_in, timezone="UTC", now=NOW, preview=preview
    )


async def test_the_command_line_stores_what_it_can_and_names_the_rest(database: str) -> None:
    whole_day = vcalendar("DTSTART;VALUE=DATE:20260309").replace(b"one@", b"two@")
    raw = vcalendar("DTSTART;TZID=Europe/London:20260303T190000", "RRULE:FREQ=WEEKLY") + whole_day
    before = await dumped()

    assert (await operator(raw, preview=True))[0] == "Import 1 series and 0 single events?"
    assert await dumped() == before

    lines = await operator(raw, announce_in=5)
    assert "Entry 2 (Raid night): it lasts whole days (its DTSTART is a date); an event here begins at a time." in lines
    assert lines[-1] == "Imported 1 series; 2 events are planned. They are announced in channel 5."
    assert (await GuildSettings.get(guild_id=OTHER_GUILD)).announcement_channel_id == 5
    assert (await operator(raw))[:2] == [
        "Nothing of this file would be stored.",
        "Here already, and left as it is: 1.",
    ]


async def test_the_command_line_fails_where_nothing_has_a_place(database: str) -> None:
    with pytest.raises(NothingImportedError, match="it lasts whole days"):
        await operator(vcalendar("DTSTART;VALUE=DATE:20260309"))

    assert await GuildSettings.all().count() == 0


def test_a_calendar_is_known_by_what_it_holds_or_else_by_its_name() -> None:
    assert is_calendar(b"\xef\xbb\xbf\r\nbegin:vcalendar\r\n", Path("schedule.json"))
    assert is_calendar(b"", Path("Empty.ICS"))
    assert not is_calendar(b'{"series": []}', Path("schedule.json"))
    assert not is_calendar(b'\xef\xbb\xbf {"series": []}', Path("schedule.ics"))


@pytest.mark.parametrize(("most", "cut"), [(3, False), (2, True)])
async def test_a_table_that_does_not_hold_everything_says_so(
    database: str, monkeypatch: pytest.MonkeyPatch, most: int, *, cut: bool
) -> None:
    monkeypatch.setattr("bot.calendars.table.MOST_ROWS", most)
    for days in (1, 2, 3):
        await make_event(now=NOW, starts_in=days * DAY, name=f"Night {days}")

    done = await exported("CSV", None, guild_id=GUILD, title="Hall", now=NOW)

    head = f"{most} events, as a table."
    assert done.text == (f"{head}\nThere are more than 2 events; the latest are left out." if cut else head)
    assert [name in done.content.decode() for name in ("Night 1", "Night 2", "Night 3")] == [True, True, not cut]
