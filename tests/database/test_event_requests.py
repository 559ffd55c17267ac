"""A one-off is shown before it is stored; what is unclear is asked, what is wrong is said."""

import datetime as dt
from typing import Any

import pytest

from bot.errors import BotError
from bot.events.event_requests import EventDesk, EventRequest
from bot.message.limits import CONTENT, length
from bot.message.proposal import NOTHING_CHANGED, Proposal, Reply
from bot.scheduling.agenda import Agenda
from bot.scheduling.bodies import CHECK_EVENT_REMINDERS, OPEN_SCHEDULED_SIGNUPS
from models.audit_log import AuditLog
from models.event import Event
from models.event_repeater import EventRepeater
from models.states import EventState
from tests.builders import CHANNEL, DAY, GUILD, HOUR, OTHER_GUILD, derived_due, make_guild, stored_due, utc

NOW = utc("2026-03-01 12:00")
ADMIN = 42


async def ask(request: EventRequest, *, now: dt.datetime = NOW, agenda: Agenda | None = None) -> Reply:
    desk = EventDesk(agenda or Agenda(), default_timezone="UTC")
    return await desk.propose(request, guild_id=GUILD, actor=ADMIN, now=now)


def request(**fields: Any) -> EventRequest:  # noqa: ANN401 -- whatever a request takes
    least = {"name": "Raid night", "when": "2026-03-10 19:30"}
    return EventRequest(**(least | fields))


async def preview(**fields: Any) -> Proposal:  # noqa: ANN401 -- as above
    reply = await ask(request(**fields))
    assert isinstance(reply, Proposal)
    return reply


async def take(reply: Reply, label: str, *, now: dt.datetime = NOW) -> Reply:
    assert isinstance(reply, Proposal)
    return await {way.label: way for way in reply.ways}[label].then(now)


async def nothing_stored() -> bool:
    counts = [await Event.all().count(), await EventRepeater.all().count(), await AuditLog.all().count()]
    return counts == [0, 0, 0]


async def test_what_would_be_created_is_shown_with_its_times_and_nothing_is_stored(database: str) -> None:
    await make_guild(timezone="Europe/Berlin")
    begins = utc("2026-03-10 18:30")

    asked = await preview(
        description="Bring a lamp.", places=5, channel_id=7, ping_role_id=8, attendance_hours=2, required_role_id=9
    )

    start, end = int(begins.timestamp()), int((begins + 2 * HOUR).timestamp())
    opens = int((begins - 7 * DAY).timestamp())
    assert asked.text.splitlines() == [
        "Create **Raid night**?",
        f"Begins <t:{start}:F> (<t:{start}:R>), ends <t:{end}:F>.",
        f"Places: 5. Sign-ups open <t:{opens}:F>.",
        "Announced: 24 h before in <#7>, pinging <@&8>.",
        "Attendance reminder: 2 h before. Profile reminder: off.",
        "Only people with the role <@&9> can sign up.",
        "Says: Bring a lamp.",
    ]
    assert [way.label for way in asked.ways] == ["Create", "Discard"]
    assert await nothing_stored()


async def test_created_it_is_stored_as_it_was_shown_and_what_follows_is_brought_forward(database: str) -> None:
    await make_guild(timezone="Europe/Berlin")
    agenda = Agenda()
    asked = await ask(
        request(
            places=5, channel_id=7, ping_role_id=8, announce_hours=48, attendance_hours=2, profile_hours=3,
            duration_minutes=90, signups_open_hours=1, required_role_id=9,
        ),
        agenda=agenda,
    )  # fmt: skip

    says = await take(asked, "Create")

    event = await Event.get()
    start = int(event.scheduled_at.timestamp())
    assert says == f"**Raid night** was created: <t:{start}:F> (<t:{start}:R>)."
    assert event.scheduled_at == utc("2026-03-10 18:30")
    assert (event.guild_id, event.created_by, event.duration_minutes, event.max_players) == (GUILD, ADMIN, 90, 5)
    assert (event.discord_announcement, event.discord_announcement_hours) == (True, 48)
    assert (event.discord_announcement_channel_id, event.discord_announcement_role_ids) == (7, [8])
    assert (event.discord_confirm_attendance, event.discord_confirm_attendance_hours) == (True, 2)
    assert (event.discord_profile_reminder, event.discord_profile_reminder_hours) == (True, 3)
    assert (event.discord_signup_reminder, event.required_role_id) == (False, 9)
    assert event.signups_open_at == event.scheduled_at - HOUR
    assert await stored_due() == await derived_due()
    assert agenda.next(CHECK_EVENT_REMINDERS) == agenda.next(OPEN_SCHEDULED_SIGNUPS) == NOW


async def test_hours_of_zero_are_off_and_sign_ups_of_zero_open_at_once(database: str) -> None:
    await make_guild()
    asked = await preview(announce_hours=0, signups_open_hours=0)

    await take(asked, "Create")

    event = await Event.get()
    assert "Announced: off." in asked.text
    assert "Sign-ups open at once." in asked.text
    assert (event.discord_announcement, event.discord_confirm_attendance, event.discord_profile_reminder) == (
        False,
        False,
        False,
    )
    assert (event.signup_opens_hours, event.signups_open_at) == (None, NOW)
    assert await stored_due() == {}


async def test_discarding_stores_nothing(database: str) -> None:
    await make_guild()

    assert await take(await preview(), "Discard") == NOTHING_CHANGED
    assert await nothing_stored()


async def test_a_date_that_can_mean_two_days_is_asked_about_and_the_answer_is_shown_before_it_is_stored(
    database: str,
) -> None:
    await make_guild()
    asked = await preview(when="03/04 19:30")
    assert "4 March 2026 or 3 April 2026: which do you mean?" in asked.text
    assert [way.label for way in asked.ways] == ["4 March 2026, 19:30", "3 April 2026, 19:30", "Discard"]

    shown = await take(asked, "3 April 2026, 19:30")
    assert isinstance(shown, Proposal)
    assert f"<t:{int(utc('2026-04-03 19:30').timestamp())}:F>" in shown.text
    assert await nothing_stored()

    await take(shown, "Create")
    assert (await Event.get()).scheduled_at == utc("2026-04-03 19:30")


async def test_an_hour_that_comes_twice_is_asked_about(database: str) -> None:
    await make_guild(timezone="Europe/Berlin")
    asked = await preview(when="2026-10-25 02:30")

    assert len(asked.ways) == 3
    shown = await take(asked, asked.ways[1].label)
    await take(shown, "Create")
    assert (await Event.get()).scheduled_at == utc("2026-10-25 01:30")


@pytest.mark.parametrize(
    ("when", "words"),
    [
        ("2026-03-29 02:30", "does not exist in Europe/Berlin"),
        ("2026-02-28 19:30", "which is not ahead"),
        ("soon", "cannot be read"),
        ("2040-01-01 19:30", "more than 5 years ahead"),
        ("' OR 1=1", "cannot be read"),
        ("\N{BELL}" * 60, "cannot be read"),
    ],
)
async def test_a_time_that_cannot_be_is_one_sentence_and_nothing_is_stored(
    database: str, when: str, words: str
) -> None:
    await make_guild(timezone="Europe/Berlin")
    with pytest.raises(BotError) as refused:
        await ask(request(when=when))

    says = str(refused.value)
    assert words in says
    assert "\n" not in says
    if "exist" in words:
        assert "01:59" in says
        assert "03:00" in says
    assert await nothing_stored()


async def test_every_fault_is_told_at_once_in_the_names_of_the_options(database: str) -> None:
    await make_guild()
    with pytest.raises(BotError) as refused:
        await ask(request(name="x" * 101, places=-1, announce_hours=9_000, signups_open_hours=9_000))

    says = str(refused.value).splitlines()
    assert len(says) == 4
    assert says[0].startswith(r"announce\_hours 9000 is more than 8784")
    assert says[1].startswith(r"signups\_open\_hours 9000 is not allowed")
    assert says[2].startswith(r"places \-1 is not allowed")
    assert says[3].startswith("name ")
    assert "discord_" not in str(refused.value)


async def test_what_else_is_wrong_is_said_before_a_question_is_asked(database: str) -> None:
    await make_guild()
    with pytest.raises(BotError, match="name "):
        await ask(request(name="x" * 101, when="03/04 19:30"))


async def test_an_event_whose_time_has_come_while_it_was_shown_is_refused(database: str) -> None:
    await make_guild()
    asked = await preview(when="2026-03-01 12:05")

    with pytest.raises(BotError, match="has passed meanwhile"):
        await take(asked, "Create", now=NOW + HOUR)
    assert await nothing_stored()


async def test_a_second_event_of_that_name_at_that_time_is_pointed_out(database: str) -> None:
    await make_guild()
    await take(await preview(), "Create")

    assert "creating makes a second one" in (await preview()).text
    assert "second one" not in (await preview(when="2026-03-10 19:31")).text
    await Event.all().update(guild_id=OTHER_GUILD)
    assert "second one" not in (await preview()).text
    await Event.all().update(guild_id=GUILD, state=EventState.CANCELLED)
    assert "second one" not in (await preview()).text


async def test_without_a_channel_to_announce_in_that_is_said(database: str) -> None:
    assert "/settings set announcement_channel" in (await preview()).text
    assert "/settings set" not in (await preview(channel_id=7)).text
    assert "/settings set" not in (await preview(announce_hours=0)).text

    await make_guild(announcement_channel_id=CHANNEL)
    assert "/settings set" not in (await preview()).text


async def test_notes_stand_before_the_longest_description(database: str) -> None:
    asked = await preview(name="*" * 100, description="_" * 1_000, notes=["I lack Send Messages in <#7>."])

    assert length(asked.text) <= CONTENT
    assert "I lack Send Messages in <#7>." in asked.text


async def test_a_server_without_settings_goes_by_the_default_zone(database: str) -> None:
    desk = EventDesk(Agenda(), default_timezone="Asia/Tokyo")
    asked = await desk.propose(request(), guild_id=GUILD, actor=ADMIN, now=NOW)

    await take(asked, "Create")

    assert (await Event.get()).scheduled_at == utc("2026-03-10 10:30")
