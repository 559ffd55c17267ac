"""A series is shown before it is stored; what is unclear is asked, what is wrong is said."""

import asyncio
import datetime as dt
from typing import Any

import pytest

from bot.errors import BotError
from bot.events.series_requests import SeriesDesk, SeriesRequest
from bot.message.proposal import NOTHING_CHANGED, Proposal, Reply
from bot.scheduling.agenda import Agenda
from bot.scheduling.bodies import CHECK_EVENT_REMINDERS
from models.audit_log import AuditLog
from models.event import Event
from models.event_repeater import EventRepeater
from models.guild_settings import GuildSettings
from models.states import Frequency, MonthEnd
from tests.builders import CHANNEL, GUILD, OTHER_GUILD, derived_due, make_guild, make_series, stored_due, utc

NOW = utc("2026-03-01 12:00")
ADMIN = 42
# "RAID" in letters of full width.
WIDE = "\uff32\uff21\uff29\uff24"


async def ask(request: SeriesRequest, *, now: dt.datetime = NOW, agenda: Agenda | None = None) -> Reply:
    desk = SeriesDesk(agenda or Agenda(), default_timezone="UTC")
    return await desk.propose(request, guild_id=GUILD, actor=ADMIN, now=now)


def request(**fields: Any) -> SeriesRequest:  # noqa: ANN401 -- whatever a request takes
    least = {"name": "Raid", "frequency": Frequency.WEEKLY, "time": "19:30"}
    return SeriesRequest(**(least | fields))


async def preview(**fields: Any) -> Proposal:  # noqa: ANN401 -- as above
    reply = await ask(request(**fields))
    assert isinstance(reply, Proposal)
    return reply


async def take(reply: Reply, label: str) -> Reply:
    assert isinstance(reply, Proposal)
    return await {way.label: way for way in reply.ways}[label].then(NOW)


def stamp(moment: str) -> str:
    return f"<t:{int(utc(moment).timestamp())}:F>"


async def nothing_stored() -> bool:
    return [await Event.all().count(), await EventRepeater.all().count(), await AuditLog.all().count()] == [0, 0, 0]


async def test_what_would_be_created_is_shown_with_its_first_times_and_nothing_is_stored(database: str) -> None:
    await make_guild(timezone="Europe/Berlin")

    asked = await preview(days="tu,th", signup_reminder_hours=12, places=8)

    assert asked.text.splitlines() == [
        (
            "Create **Raid**, every week on Tuesday and Thursday at 19:30 in Europe/Berlin, from 1 March 2026,"
            " without end?"
        ),
        f"First {stamp('2026-03-03 18:30')}, then {stamp('2026-03-05 18:30')}, then {stamp('2026-03-10 18:30')}.",
        "Events are made 14 days ahead: 4 at once.",
        "Each lasts 120 min. Places: 8. Sign-ups open 168 h before.",
        "Announced: 24 h before.",
        "Sign-up reminder: 12 h before.",
        "Attendance reminder: off. Profile reminder: off.",
    ]
    assert await nothing_stored()


async def test_created_it_is_stored_as_it_was_shown_with_its_first_events(database: str) -> None:
    await make_guild()
    agenda = Agenda()
    asked = await ask(
        request(
            days="TU", every=2, timezone="Europe/Berlin", starts="2026-03-03", ends="2026-12-24", description="Lamps.",
            channel_id=7, ping_role_id=8, places=5, duration_minutes=60, announce_hours=48, signup_reminder_hours=24,
            attendance_hours=2, profile_hours=3, signups_open_hours=0, days_ahead=30, month_end=MonthEnd.SKIP,
        ),
        agenda=agenda,
    )  # fmt: skip

    says = await take(asked, "Create")

    series = await EventRepeater.get()
    assert says == "**Raid** was created; 3 events were made."
    assert (series.frequency, series.interval, series.day_of_week) == (Frequency.WEEKLY, 2, "TU")
    assert (series.time_of_day, series.timezone, series.month_end) == ("19:30", "Europe/Berlin", MonthEnd.SKIP)
    assert (series.starts_at, series.ends_at) == (dt.date(2026, 3, 3), dt.date(2026, 12, 24))
    assert (series.generate_days_ahead, series.duration_minutes, series.max_players) == (30, 60, 5)
    assert (series.discord_announcement_hours, series.discord_announcement_role_ids) == (48, [8])
    assert (series.discord_signup_reminder, series.discord_signup_reminder_hours) == (True, 24)
    assert (series.discord_confirm_attendance, series.discord_profile_reminder) == (True, True)
    assert (series.signup_opens_hours, series.created_by, series.guild_id) == (None, ADMIN, GUILD)
    assert await Event.filter(series_id=series.id, discord_signup_reminder=True).count() == 3
    assert await stored_due() == await derived_due()
    assert agenda.next(CHECK_EVENT_REMINDERS) == NOW


async def test_discarding_stores_nothing(database: str) -> None:
    assert await take(await preview(), "Discard") == NOTHING_CHANGED
    assert await nothing_stored()


async def test_a_day_that_was_left_out_is_today_by_the_series_own_clock(database: str) -> None:
    late = utc("2026-03-01 23:30")
    reply = await ask(request(timezone="Pacific/Auckland"), now=late)

    assert isinstance(reply, Proposal)
    assert "every week on Monday" in reply.text
    assert "from 2 March 2026" in reply.text


async def test_dates_that_can_mean_two_days_are_asked_about_one_after_the_other(database: str) -> None:
    await make_guild()
    asked = await preview(starts="03/04/2026", ends="05/06/2026")
    assert asked.text.startswith("starts ")
    assert [way.label for way in asked.ways] == ["4 March 2026", "3 April 2026", "Discard"]

    second = await take(asked, "3 April 2026")
    assert isinstance(second, Proposal)
    assert second.text.startswith("ends ")

    shown = await take(second, "6 May 2026")
    assert isinstance(shown, Proposal)
    assert "from 3 April 2026, until 6 May 2026" in shown.text
    assert await nothing_stored()


async def test_a_series_in_a_clock_gap_is_taken_with_a_note_on_the_day(database: str) -> None:
    await make_guild()
    asked = await preview(frequency=Frequency.DAILY, time="2:30", timezone="Europe/Paris")

    assert "On 29 March 2026 the clock in Europe/Paris skips 02:30: that one begins at 03:00." in asked.text
    assert "On 25 October 2026 the clock in Europe/Paris shows 02:30 twice" in asked.text
    assert await take(asked, "Create") == "**Raid** was created; 14 events were made."


async def test_a_month_that_lacks_the_day_is_told(database: str) -> None:
    monthly = {"frequency": Frequency.MONTHLY, "starts": "2026-01-31"}

    assert "every month on day 31, else on the month's last, at" in (await preview(**monthly)).text
    skipping = await preview(**monthly, month_end=MonthEnd.SKIP)
    assert "on day 31, in months that have it, at" in skipping.text
    assert stamp("2026-05-31 19:30") in skipping.text
    assert stamp("2026-04-30 19:30") not in skipping.text


async def test_a_series_that_never_returns_says_so(database: str) -> None:
    asked = await preview(starts="2020-01-01", ends="2020-12-31")

    assert "Within a year from now it does not return once." in asked.text


async def test_every_fault_is_told_at_once_in_the_names_of_the_options(database: str) -> None:
    with pytest.raises(BotError) as refused:
        await ask(request(name=" ", time="25:00", days="XX", every=53, timezone="Europe/Berln", announce_hours=400))

    says = str(refused.value).splitlines()
    assert [line.split(" ")[0] for line in says] == ["name", "every", "days", "time", "timezone", r"announce\_hours"]
    assert "did you mean Europe/Berlin?" in says[4]
    assert r"the hours of days\_ahead \(14 days\)" in says[5]
    assert await nothing_stored()


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"starts": "soon"}, "starts 'soon' is no date that can be read"),
        ({"starts": "2026-02-30"}, "is no date that can be read"),
        ({"ends": "2026-02-01", "starts": "2026-03-01"}, r"ends 2026\-02\-01 is before starts"),
        ({"frequency": Frequency.DAILY, "days": "TU"}, "is not allowed with frequency daily"),
        ({"ends": "2026-02-01", "starts": "2026-03-01"}, "it must be that day or later, or left out."),
        ({"days": "2WE"}, "which only monthly does"),
        ({"days": "interval"}, "days 'interval' is not a list of weekdays"),
        ({"time": "19pm"}, "such as 19"),
        ({"time": "' OR 1=1"}, "is not allowed"),
        ({"name": "x" * 101}, "at most 100 are allowed"),
        ({"name": "\N{BELL}" * 51}, "as Discord counts them"),
        ({"description": "x" * 1_001}, "at most 1000 are allowed"),
    ],
)
async def test_what_cannot_be_is_one_sentence_and_nothing_is_stored(
    database: str, fields: dict[str, Any], words: str
) -> None:
    with pytest.raises(BotError) as refused:
        await ask(request(**fields))

    assert words in str(refused.value)
    assert "\n" not in str(refused.value)
    assert await nothing_stored()


async def test_a_name_that_is_taken_is_refused_when_it_is_shown_and_when_it_is_created(database: str) -> None:
    await make_guild()
    first, second = await preview(), await preview(name=WIDE)
    await take(first, "Create")

    with pytest.raises(BotError, match=rf"There is a series named \*\*{WIDE}\*\* already"):
        await take(second, "Create")
    with pytest.raises(BotError, match="There is a series named"):
        await preview(name="raid")

    assert await EventRepeater.all().count() == 1
    assert await AuditLog.all().count() == 1


async def test_the_name_of_another_servers_series_is_free(database: str) -> None:
    await make_series(now=NOW, guild_id=OTHER_GUILD, name="Raid")

    assert "Create **Raid**" in (await preview()).text


async def test_of_two_that_create_one_name_at_once_one_does(database: str) -> None:
    await make_guild()
    shown = [await preview() for _ in range(4)]

    done = await asyncio.gather(*(take(one, "Create") for one in shown), return_exceptions=True)

    assert sum(isinstance(one, str) for one in done) == 1
    assert {type(one).__name__ for one in done} == {"str", "SeriesNameTakenError"}
    assert await EventRepeater.all().count() == 1


async def test_of_two_whose_names_read_alike_at_once_one_is_created(database: str) -> None:
    await make_guild()
    shown = [await preview(name=name) for name in ("Raid", "RAID", "raid", WIDE)]

    done = await asyncio.gather(*(take(one, "Create") for one in shown), return_exceptions=True)

    assert [type(one).__name__ for one in done].count("SeriesNameTakenError") == 3
    assert await EventRepeater.all().count() == 1


async def test_a_server_that_is_new_keeps_the_default_zone_and_is_told_that_it_has_no_channel(database: str) -> None:
    desk = SeriesDesk(Agenda(), default_timezone="Asia/Tokyo")
    asked = await desk.propose(request(), guild_id=GUILD, actor=ADMIN, now=NOW)
    assert isinstance(asked, Proposal)
    assert "in Asia/Tokyo" in asked.text
    assert "/settings set announcement_channel" in asked.text

    await take(asked, "Create")
    assert (await GuildSettings.get(guild_id=GUILD)).timezone == "Asia/Tokyo"

    await GuildSettings.filter(guild_id=GUILD).update(announcement_channel_id=CHANNEL)
    assert "/settings set" not in (await preview(name="Other")).text
