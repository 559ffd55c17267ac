"""A one-off event is stored with its audit and what is due for it, or not at all."""

import datetime as dt

import pytest
from pydantic import ValidationError

from bot.events.generate import CASCADED_FIELDS
from bot.events.one_off import EventPassedError, EventSpec, create_event
from bot.events.series_spec import each_fault
from models.audit_log import AuditLog
from models.event import Event
from models.guild_settings import GuildSettings
from models.states import EventState
from tests.builders import DAY, GUILD, HOUR, MINUTE, derived_due, make_guild, stored_due, utc

NOW = utc("2026-03-01 12:00")
ADMIN = 42


def spec(**fields: object) -> EventSpec:
    least = {"name": "Raid night", "scheduled_at": NOW + 10 * DAY}
    return EventSpec.model_validate(least | fields)


def faults(**fields: object) -> list[str]:
    with pytest.raises(ValidationError) as refused:
        spec(**fields)
    return list(each_fault(refused.value, spec=EventSpec))


async def created(**fields: object) -> Event:
    return await create_event(spec(**fields), guild_id=GUILD, created_by=ADMIN, now=NOW)


async def test_an_event_has_its_row_its_audit_and_its_due_rows(database: str) -> None:
    await make_guild()
    event = await created(max_players=5, discord_announcement_role_ids=[7], required_role_id=8)

    await event.refresh_from_db()
    audit = await AuditLog.get()
    assert (event.name, event.state, event.series_id, event.slot) == ("Raid night", EventState.UPCOMING, None, None)
    assert (event.scheduled_at, event.created_at, event.created_by) == (NOW + 10 * DAY, NOW, ADMIN)
    assert (event.max_players, event.discord_announcement_role_ids, event.required_role_id) == (5, [7], 8)
    assert (audit.action, audit.guild_id, audit.actor_user_id, audit.subject_id) == (
        "event.create",
        GUILD,
        ADMIN,
        event.id,
    )
    assert audit.after == {"name": "Raid night", "scheduled_at": (NOW + 10 * DAY).isoformat()}
    assert await stored_due() == await derived_due() == {(event.id, "announcement"): NOW + 9 * DAY}


@pytest.mark.parametrize(
    ("hours", "starts_in", "opens_at"),
    [
        (168, 10 * DAY, NOW + 3 * DAY),
        (168, 7 * DAY, NOW),
        (168, 7 * DAY - MINUTE, NOW),
        (1, 2 * HOUR, NOW + HOUR),
        (None, 10 * DAY, NOW),
    ],
    ids=["ahead", "exactly now", "past", "an hour", "at once"],
)
async def test_sign_ups_open_their_hours_before_the_start_and_at_once_where_that_has_passed(
    database: str, hours: int | None, starts_in: dt.timedelta, opens_at: dt.datetime
) -> None:
    event = await created(scheduled_at=NOW + starts_in, signup_opens_hours=hours)

    assert event.signups_open_at == opens_at


async def test_a_guild_that_is_new_gets_its_settings_with_the_zone_that_is_given(database: str) -> None:
    await create_event(spec(), guild_id=GUILD, created_by=None, now=NOW, timezone="Europe/Berlin")

    assert (await GuildSettings.get(guild_id=GUILD)).timezone == "Europe/Berlin"


@pytest.mark.parametrize("late_by", [dt.timedelta(0), MINUTE], ids=["exactly now", "past"])
async def test_an_event_whose_time_has_come_meanwhile_is_refused_and_nothing_stored(
    database: str, late_by: dt.timedelta
) -> None:
    with pytest.raises(EventPassedError, match="has passed meanwhile"):
        await create_event(spec(scheduled_at=NOW), guild_id=GUILD, created_by=ADMIN, now=NOW + late_by)

    assert (await Event.all().count(), await AuditLog.all().count()) == (0, 0)


async def test_a_time_in_another_zone_is_stored_as_the_same_instant(database: str) -> None:
    local = dt.datetime(2026, 3, 10, 20, 0, tzinfo=dt.timezone(dt.timedelta(hours=1)))
    event = await created(scheduled_at=local)
    await event.refresh_from_db()

    assert event.scheduled_at == utc("2026-03-10 19:00")


# ------------------------------------------------------------------------------------------------------------ the spec


def test_the_sign_up_reminder_is_refused_in_one_sentence_that_names_the_command() -> None:
    (fault,) = faults(discord_signup_reminder=True)

    assert fault.startswith("discord_signup_reminder true is not possible for an event without a series")
    assert "/series create" in fault
    assert fault.count(".") == 1


def test_every_switch_that_a_series_hands_down_can_be_given() -> None:
    assert set(CASCADED_FIELDS) <= set(EventSpec.model_fields)


@pytest.mark.parametrize(
    ("field", "most"),
    [
        ("discord_announcement_hours", 366 * 24),
        ("discord_confirm_attendance_hours", 366 * 24),
        ("discord_profile_reminder_hours", 366 * 24),
        ("signup_opens_hours", 366 * 24),
        ("duration_minutes", 10_080),
    ],
)
def test_spans_are_taken_up_to_their_limit_and_refused_one_past_it(field: str, most: int) -> None:
    assert getattr(spec(**{field: most}), field) == most
    (fault,) = faults(**{field: most + 1})
    assert fault.startswith(f"{field} {most + 1} ")


@pytest.mark.parametrize(("field", "most"), [("name", 100), ("description", 1_000)])
def test_texts_are_taken_up_to_their_limit_and_refused_one_past_it(field: str, most: int) -> None:
    assert getattr(spec(**{field: "x" * most}), field) == "x" * most
    (fault,) = faults(**{field: "x" * (most + 1)})
    assert f"has {most + 1} characters; at most {most} are allowed" in fault
    (wide,) = faults(**{field: "\N{BELL}" * (most // 2 + 1)})
    assert "as Discord counts them" in wide


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"scheduled_at": dt.datetime(2026, 3, 10, 19, 0)}, "a moment with a zone"),  # noqa: DTZ001 -- that is the fault
        ({"scheduled_at": "2026-03-10 19:00"}, "a moment with a zone"),
        ({"max_players": 0}, "a whole number from 1"),
        ({"name": " \u200b "}, "shows nothing"),
        ({"name": "a\nb"}, "control character U+000A"),
        ({"series_id": 1}, "not a field"),
        ({"discord_announcement": 1}, "true or false"),
    ],
)
def test_what_no_event_can_be_is_refused(fields: dict[str, object], says: str) -> None:
    (fault,) = faults(**fields)

    assert says in fault
