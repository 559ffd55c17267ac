"""One event is edited by itself: only what is given changes, as shown or not at all, and a series keeps off it."""

import asyncio
import datetime as dt
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.changes.event_edit import EventChanges, EventEdits
from bot.changes.stale import NotAheadError, StaleError
from bot.errors import BotError
from bot.events.generate import generate_events_for_repeater
from bot.events.lifecycle import Lifecycle
from bot.message.proposal import NOTHING_CHANGED, Reply
from bot.scheduling.agenda import Agenda
from bot.scheduling.bodies import CHECK_EVENT_REMINDERS, OPEN_SCHEDULED_SIGNUPS, SYNC_DISCORD_EVENTS
from models.audit_log import AuditLog
from models.event import Event
from models.event_repeater import EventRepeater
from models.event_signup import EventSignup
from models.states import EventState, SignupStatus
from tests.admin_hands import ADMIN, columns, shown, take
from tests.builders import (
    DAY,
    GUILD,
    HOUR,
    MINUTE,
    OTHER_GUILD,
    SECOND,
    audit_actions,
    derived_due,
    make_event,
    make_series,
    stored_due,
)
from tests.conftest import START
from tests.people import sign_up

NOW = START
DEBOUNCE = 3 * SECOND


async def propose(event: Event, *, now: dt.datetime = NOW, agenda: Agenda | None = None, **options: Any) -> Reply:  # noqa: ANN401
    desk = EventEdits(agenda or Agenda(), debounce=DEBOUNCE, instance="one")
    return await desk.propose(str(event.id), EventChanges(**options), guild_id=GUILD, actor=ADMIN, now=now)


async def edit(event: Event, **options: Any) -> Event:  # noqa: ANN401
    """Edit an event as an admin does, and return it as it stands then."""
    await take(await propose(event, **options), now=NOW)
    return await Event.get(id=event.id)


async def occurrence(**fields: object) -> Event:
    series = await make_series(now=NOW, **fields)
    await generate_events_for_repeater(series, now=NOW)
    return await Event.filter(series_id=series.id).order_by("scheduled_at").first()  # type: ignore[return-value]


EVERYTHING: dict[str, tuple[dict[str, Any], dict[str, object]]] = {
    "name": ({"name": "  Dragon  "}, {"name": "Dragon"}),
    "description": ({"description": "Bring ropes."}, {"description": "Bring ropes."}),
    "duration": ({"duration_minutes": 45}, {"duration_minutes": 45}),
    "places": ({"places": 7}, {"max_players": 7}),
    "channel": ({"channel_id": 77}, {"discord_announcement_channel_id": 77}),
    "ping role": ({"ping_role_id": 78}, {"discord_announcement_role_ids": [78]}),
    "announcement": ({"announce_hours": 5}, {"discord_announcement_hours": 5}),
    "no announcement": ({"announce_hours": 0}, {"discord_announcement": False}),
    "sign-up reminder": (
        {"signup_reminder_hours": 9},
        {"discord_signup_reminder": True, "discord_signup_reminder_hours": 9},
    ),
    "attendance": (
        {"attendance_hours": 3},
        {"discord_confirm_attendance": True, "discord_confirm_attendance_hours": 3},
    ),
    "profile": ({"profile_hours": 4}, {"discord_profile_reminder": True, "discord_profile_reminder_hours": 4}),
    "opening": ({"signups_open_hours": 2}, {"signup_opens_hours": 2}),
    "opening at once": ({"signups_open_hours": 0}, {"signup_opens_hours": None}),
    "offer": ({"offer_minutes": 30}, {"signup_offer_minutes": 30}),
    "native event": ({"native_event": True}, {"discord_create_event": True}),
    "required role": ({"required_role_id": 79}, {"required_role_id": 79}),
}


@pytest.mark.parametrize("what", EVERYTHING)
async def test_only_what_is_given_changes_and_a_series_keeps_off_it(database: str, what: str) -> None:
    options, changes = EVERYTHING[what]
    event = await occurrence()

    after = await edit(event, **options)

    moved = {"signups_open_at"} if "signup_opens_hours" in changes else set()
    changed = {name for name, value in columns(event).items() if value != getattr(after, name)}
    native = {"native_due_at"} if after.discord_create_event else set()
    assert changed == set(changes) | moved | native | {"overridden_fields", "post_version"}
    assert {name: getattr(after, name) for name in changes} == changes
    assert after.overridden_fields == sorted(changes)
    assert await stored_due() == await derived_due()
    row = await AuditLog.get()
    assert (row.action, row.actor_user_id, row.instance) == ("event.edit", ADMIN, "one")
    assert row.after is not None
    assert set(row.after) == set(changes)
    assert "Bring ropes." not in str(row.after)


async def test_old_and_new_are_shown_first_and_back_changes_nothing(database: str) -> None:
    event = await make_event(now=NOW, max_players=10, announcement_channel_id=1, announcement_message_id=2)

    reply = await propose(event, name="Dragon", places=0, announce_hours=48, notes=("Look out.",))

    assert shown(reply).splitlines() == [
        "Change **Raid night**?",
        "Name: \u201cRaid night\u201d → \u201cDragon\u201d",
        "Places: 10 → without limit",
        "Announcement: 24 h before → 48 h before",
        "Its post is edited; nobody is pinged again.",
        "Look out.",
    ]
    assert await take(reply, now=NOW, label="Back") == NOTHING_CHANGED
    assert (await Event.get(id=event.id)).name == "Raid night"
    assert await audit_actions() == []


async def test_what_is_edited_reaches_the_loops_and_the_post(database: str) -> None:
    agenda = Agenda()
    event = await make_event(now=NOW, announcement_channel_id=1, announcement_message_id=2)

    await take(await propose(event, agenda=agenda, name="Dragon"), now=NOW)

    assert (await Event.get(id=event.id)).post_due_at == NOW + DEBOUNCE
    assert agenda.next(CHECK_EVENT_REMINDERS) == agenda.next(OPEN_SCHEDULED_SIGNUPS) == NOW
    assert agenda.next(SYNC_DISCORD_EVENTS) == NOW + DEBOUNCE


@pytest.mark.parametrize("option", ["description", "channel", "ping_role", "required_role"])
async def test_what_was_given_can_be_taken_away(database: str, option: str) -> None:
    event = await make_event(
        now=NOW,
        description="Old",
        discord_announcement_channel_id=77,
        discord_announcement_role_ids=[78],
        required_role_id=79,
    )

    after = await edit(event, clear=option)

    assert [
        bool(after.description),
        after.discord_announcement_channel_id is not None,
        bool(after.discord_announcement_role_ids),
        after.required_role_id is not None,
    ] == [one != option for one in ("description", "channel", "ping_role", "required_role")]


async def test_a_one_off_has_nobody_to_remind_of_its_sign_ups(database: str) -> None:
    event = await make_event(now=NOW)

    with pytest.raises(BotError, match="belongs to no series, so there are no subscribers") as refused:
        await propose(event, signup_reminder_hours=5, name="Dragon")

    assert "\n" not in str(refused.value)


async def test_an_event_whose_series_was_deleted_is_edited_in_all_else(database: str) -> None:
    event = await occurrence(discord_signup_reminder=True)
    await EventRepeater.all().delete()

    after = await edit(event, name="Dragon")

    assert (after.name, after.discord_signup_reminder, after.series_id) == ("Dragon", True, None)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "is like that already"),
        ({"name": "Raid night"}, "is like that already"),
        ({"announce_hours": 24, "places": 0}, "is like that already"),
        ({"name": "x" * 101}, "has 101 characters"),
        ({"name": "\u200b"}, "shows nothing"),
        ({"description": "\N{BELL}" * 501}, "as Discord counts them"),
        ({"announce_hours": 9_000}, "is more than 8784"),
        ({"duration_minutes": 0}, " 0 is not allowed"),
    ],
)
async def test_what_cannot_be_is_one_sentence(database: str, options: dict[str, Any], words: str) -> None:
    event = await make_event(now=NOW)

    with pytest.raises(BotError, match=words) as refused:
        await propose(event, **options)

    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("state", "starts_in", "why"),
    [
        (EventState.IN_PROGRESS, HOUR, "it is running"),
        (EventState.COMPLETED, -HOUR, "it is over"),
        (EventState.CANCELLED, HOUR, "it was cancelled"),
        (EventState.ROLL_CALL, 0 * HOUR, "has passed"),
    ],
)
async def test_what_began_or_was_cancelled_is_not_edited(
    database: str, state: EventState, starts_in: dt.timedelta, why: str
) -> None:
    event = await make_event(now=NOW, starts_in=starts_in, state=state)

    with pytest.raises(NotAheadError, match=rf"\*\*Raid night\*\* cannot be edited: .*{why}"):
        await propose(event, name="Dragon")


async def test_another_servers_event_is_answered_as_one_that_is_not_there(database: str) -> None:
    theirs = await make_event(now=NOW, guild_id=OTHER_GUILD)

    with pytest.raises(BotError, match="There is no event"):
        await propose(theirs, name="Dragon")


async def test_fewer_places_than_people_throw_nobody_out_and_say_so(database: str) -> None:
    event = await make_event(now=NOW, state=EventState.SIGNUPS_OPEN, max_players=3)
    await sign_up(event, [101, 102, 103])

    reply = await propose(event, places=2)
    await take(reply, now=NOW)

    assert "3 people have a place already: nobody is thrown out" in shown(reply)
    assert await EventSignup.filter(status=SignupStatus.SIGNED_UP).count() == 3


@pytest.mark.parametrize(("places", "moved_up"), [(3, [201]), (5, [201, 202, 203]), (0, [201, 202, 203])])
async def test_more_places_let_the_line_move_up(database: str, places: int, moved_up: list[int]) -> None:
    event = await make_event(now=NOW, state=EventState.SIGNUPS_OPEN, max_players=2)
    await sign_up(event, [101, 102])
    for place, who in enumerate((201, 202, 203), 1):
        row = EventSignup(event_id=event.id, user_id=who, created_at=NOW, changed_at=NOW, position=place)
        row.status = SignupStatus.WAITLISTED
        await row.save()

    says = await take(await propose(event, places=places), now=NOW)

    going = await EventSignup.filter(status=SignupStatus.SIGNED_UP, user_id__gt=200).order_by("user_id")
    assert [row.user_id for row in going] == moved_up
    assert says == f"**Raid night** was changed. From the wait-list {len(moved_up)} moved up."


@pytest.mark.parametrize(("places", "offers"), [(3, None), (4, None), (4, 0), (0, None)])
async def test_where_places_are_offered_the_line_is_asked(database: str, places: int, offers: int | None) -> None:
    event = await make_event(now=NOW, state=EventState.SIGNUPS_OPEN, max_players=2, signup_offer_minutes=30)
    await sign_up(event, [101, 102])
    for place, who in enumerate((201, 202), 1):
        row = EventSignup(event_id=event.id, user_id=who, created_at=NOW, changed_at=NOW, position=place)
        row.status = SignupStatus.WAITLISTED
        await row.save()

    reply = await propose(event, places=places, offer_minutes=offers)
    says = await take(reply, now=NOW)

    asked = places > 0 and offers is None
    moves = "is asked whether they want a place" if asked else "moves up"
    assert f"Who waits in line {moves} where there is one." in shown(reply)
    became = {3: "1 is asked whether they want a place", 4: "2 are asked whether they want a place", 0: "2 moved up"}
    told = became[places] if offers is None else "2 moved up"
    assert says == f"**Raid night** was changed. From the wait-list {told}."
    waits = await EventSignup.filter(status=SignupStatus.WAITLISTED).count()
    assert waits == (2 if asked else 0)


async def test_other_hours_move_the_opening_of_sign_ups(database: str) -> None:
    event = await make_event(now=NOW, starts_in=10 * DAY, signups_open_at=NOW + 3 * DAY)

    assert (await edit(event, signups_open_hours=24)).signups_open_at == NOW + 9 * DAY
    assert (await edit(event, signups_open_hours=0)).signups_open_at == NOW


async def test_of_two_admins_who_edit_one_thing_at_once_one_is_refused(database: str) -> None:
    event = await occurrence()
    replies = [await propose(event, name=name) for name in ("One", "Two", "Three")]

    ends = await asyncio.gather(*(take(reply, now=NOW) for reply in replies), return_exceptions=True)

    assert sorted(type(end).__name__ for end in ends) == ["StaleError", "StaleError", "str"]
    assert await audit_actions() == ["event.edit"]


async def test_two_admins_who_edit_different_things_both_do(database: str) -> None:
    event = await occurrence()
    replies = [await propose(event, name="One"), await propose(event, places=4)]

    await asyncio.gather(*(take(reply, now=NOW) for reply in replies[:1]))
    with pytest.raises(StaleError):  # its preview says what the series keeps off, which is no longer all
        await take(replies[1], now=NOW)

    after = await edit(event, places=4)
    assert (after.name, after.max_players, after.overridden_fields) == ("One", 4, ["name", "max_players"])


@pytest.mark.parametrize("first", ["start", "edit"])
async def test_an_event_that_starts_meanwhile_is_either_edited_before_or_refused(database: str, first: str) -> None:
    event = await make_event(now=NOW, starts_in=MINUTE, state=EventState.SIGNUPS_OPEN)
    reply = await propose(event, name="Dragon")
    lifecycle = Lifecycle(Agenda(), instance="one", debounce=DEBOUNCE, cleanup_every=HOUR)
    works = [lifecycle.open_scheduled_signups(NOW + MINUTE), take(reply, now=NOW + MINUTE - SECOND)]

    ends = await asyncio.gather(*(works if first == "start" else works[::-1]), return_exceptions=True)

    after = await Event.get(id=event.id)
    assert after.state is EventState.IN_PROGRESS
    was_edited = any(isinstance(end, str) for end in ends)
    assert after.name == ("Dragon" if was_edited else "Raid night")
    assert was_edited or any(isinstance(end, NotAheadError) for end in ends)


async def test_deleted_or_begun_before_the_press_it_is_refused(database: str) -> None:
    gone = await make_event(now=NOW)
    begun = await make_event(now=NOW, starts_in=MINUTE)
    replies = [await propose(event, name="Dragon") for event in (gone, begun)]
    await gone.delete()

    with pytest.raises(StaleError):
        await take(replies[0], now=NOW)
    with pytest.raises(NotAheadError, match="has passed"):
        await take(replies[1], now=NOW + MINUTE)


async def test_an_edit_that_cannot_be_recorded_is_not_made(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    event = await make_event(now=NOW)
    reply = await propose(event, name="Dragon")

    async def _fails(*_args: object, **_kwargs: object) -> None:
        raise RuntimeError

    monkeypatch.setattr("bot.audit.record", _fails)
    with pytest.raises(RuntimeError):
        await take(reply, now=NOW)

    assert (await Event.get(id=event.id)).name == "Raid night"


OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from(["One", "Two"]),
        "places": st.integers(0, 4),
        "announce_hours": st.integers(0, 3),
        "attendance_hours": st.integers(0, 3),
        "signups_open_hours": st.integers(0, 3),
        "duration_minutes": st.integers(1, 3),
    },
)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edits=st.lists(OPTIONS, min_size=1, max_size=3))
async def test_edited_and_edited_back_nothing_differs(database: str, edits: list[dict[str, Any]]) -> None:
    event = await occurrence(name=f"Series {await EventRepeater.all().count()}")
    before, due = columns(event), await stored_due()

    for options in edits:
        try:
            reply = await propose(await Event.get(id=event.id), **options)
        except BotError:
            continue
        await take(reply, now=NOW)
        assert await stored_due() == await derived_due()
    back: dict[str, Any] = {"name": event.name, "places": 0, "announce_hours": 24, "attendance_hours": 0}
    try:
        reply = await propose(event, signups_open_hours=168, duration_minutes=120, **back)
        await take(reply, now=NOW)
    except BotError:
        pass

    stands = await Event.get(id=event.id)
    after = columns(stands)
    differs = {name for name in before if before[name] != after[name]}
    # Hours of what is off are remembered.
    assert differs <= {"post_version", "overridden_fields", "discord_confirm_attendance_hours"}
    assert set(stands.overridden_fields) <= {"discord_confirm_attendance_hours"}
    assert await stored_due() == due
