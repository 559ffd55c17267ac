"""What the message log lets go of with age: nothing a second too early, nothing that anything still relies on."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.bootstrap import ServiceOptions
from bot.clock import InjectedLeaseClock, ManualClock
from bot.leases import retention
from bot.leases.keys import ATTENDANCE_POST, NATIVE_EVENT, OPS_NOTE, PROMOTION, TIME_CHANGED
from bot.leases.retention import Retention, forget_ended
from bot.scheduling.bodies import CLEANUP_STALE_EVENTS
from models.discord_message_log import DiscordMessageLog
from models.event import Event
from models.ops_note import OpsNote
from models.reminder_due import ReminderDue
from models.states import EventState
from tests.builders import DAY, GUILD, HOUR, SECOND, FakeDiscord, make_event, make_guild, process
from tests.conftest import START

KEEP = 90 * DAY
ENDED = START - KEEP
SOURCES = ("event_announcement", "signup_reminder", PROMOTION, TIME_CHANGED, NATIVE_EVENT, ATTENDANCE_POST)
UNKNOWN_SOURCE = "survey"


async def row(source: str = "event_announcement", source_id: int = 1, **fields: Any) -> DiscordMessageLog:  # noqa: ANN401 -- columns
    """Store a row that was sent so long ago that it may just go."""
    wanted: dict[str, Any] = {
        "guild_id": GUILD,
        "success": True,
        "claimed_at": ENDED - SECOND,
        "created_at": ENDED - SECOND,
        "finished_at": ENDED,
    }
    return await DiscordMessageLog.create(source=source, source_id=source_id, **(wanted | fields))


async def event(**fields: object) -> Event:
    """Store an event that has been over for so long that its rows may just go."""
    wanted: dict[str, Any] = {"state": EventState.COMPLETED, "state_since": ENDED, "scheduled_at": ENDED - HOUR}
    return await make_event(now=START, **(wanted | fields))


async def left() -> list[int]:
    return sorted([found.id for found in await DiscordMessageLog.all()])


async def forgotten(**fields: object) -> bool:
    """Return whether the row of an event that is over goes, with other values in either."""
    of_row = {name: value for name, value in fields.items() if name in DiscordMessageLog._meta.fields_map}
    of_event = {name: value for name, value in fields.items() if name not in of_row}
    return await goes((await event(**of_event)).id, **of_row)


async def goes(source_id: int, **fields: Any) -> bool:  # noqa: ANN401 -- columns
    one = await row(source_id=source_id, **fields)
    await forget_ended(before=ENDED, most=100)
    return not await DiscordMessageLog.exists(id=one.id)


@pytest.mark.parametrize("source", SOURCES)
async def test_of_an_event_that_is_over_for_long_every_kind_of_row_goes(database: str, source: str) -> None:
    one = await event()
    await row(source, one.id)
    await row(source, one.id, recipient_id=7, part=3)
    await row(source, one.id, recipient_id=8, success=False, error_class="recipient_unreachable")

    assert (await forget_ended(before=ENDED, most=100)).gone == 3
    assert await left() == []


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, True),
        ({"finished_at": ENDED + SECOND}, False),
        ({"state_since": ENDED + SECOND}, False),
        ({"state": EventState.CANCELLED, "scheduled_at": ENDED}, True),
        ({"state": EventState.CANCELLED, "scheduled_at": ENDED + SECOND}, False),
        ({"finished_at": None, "claimed_at": ENDED}, True),
        ({"finished_at": None, "claimed_at": ENDED + SECOND}, False),
    ],
    ids=["just", "row", "event", "cancelled", "cancelled ahead of its time", "without an end", "claimed later"],
)
async def test_it_goes_at_the_very_second_and_not_before(
    database: str, fields: Mapping[str, object], expected: bool
) -> None:
    assert await forgotten(**fields) is expected


@pytest.mark.parametrize("state", [state for state in EventState if state not in {"completed", "cancelled"}])
async def test_what_is_about_an_event_that_is_ahead_or_runs_stays_however_old(database: str, state: EventState) -> None:
    assert not await forgotten(state=state)


async def test_what_will_be_tried_again_stays_and_what_is_given_up_goes(database: str) -> None:
    assert not await forgotten(success=False, error_class="outage", next_attempt_at=ENDED)
    assert await forgotten(success=False, error_class="event_started")


async def test_while_anything_about_its_event_is_open_nothing_of_it_goes(database: str) -> None:
    one = await event()
    parent = await row("signup_reminder", one.id, success=None, finished_at=None)
    child = await row("signup_reminder", one.id, recipient_id=7)
    post = await row(ATTENDANCE_POST, one.id)

    await forget_ended(before=ENDED, most=100)
    assert await left() == [parent.id, child.id, post.id]

    await DiscordMessageLog.filter(id=parent.id).update(success=True, finished_at=ENDED)
    await forget_ended(before=ENDED, most=100)
    assert await left() == []


async def test_what_waits_to_be_told_as_missed_keeps_its_rows(database: str) -> None:
    one = await event()
    await ReminderDue.create(event_id=one.id, key="signup_reminder", due_at=ENDED)

    assert not await goes(one.id)


async def test_of_an_event_that_is_gone_the_rows_go_with_age(database: str) -> None:
    assert await goes(404)
    assert not await goes(405, finished_at=ENDED + SECOND)


async def test_a_source_that_only_another_version_knows_is_left_alone(database: str) -> None:
    assert not await goes(404, source=UNKNOWN_SOURCE)


async def test_of_a_note_the_last_word_stays_and_earlier_ones_go(database: str) -> None:
    note = await OpsNote.create(guild_id=GUILD, fault="post:1", says="", revision=2, updated_at=ENDED)

    assert await goes(note.id, source=OPS_NOTE, part=1)
    assert not await goes(note.id, source=OPS_NOTE, part=2)
    assert await goes(note.id + 1, source=OPS_NOTE, part=2)


async def test_a_pass_takes_at_most_so_many_and_the_next_comes_soon(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [(await row(source_id=404, recipient_id=who)).id for who in range(5)]
    monkeypatch.setattr(retention, "MOST_A_PASS", 2)
    body = Retention(lease_clock=InjectedLeaseClock(ManualClock(START)), keep=KEEP, every=HOUR)

    seen = [(await body.forget_old_messages(START), await left()) for _ in range(3)]

    assert seen == [(START + SECOND, ids[2:]), (START + SECOND, ids[4:]), (START + HOUR, [])]


async def test_a_round_begins_anew_once_it_came_to_the_end(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "MOST_A_PASS", 2)
    body = Retention(lease_clock=InjectedLeaseClock(ManualClock(START)), keep=KEEP, every=HOUR)
    kept = await row(finished_at=START)
    first = [await body.forget_old_messages(START), await left()]
    await row(source_id=2)

    assert first == [START + HOUR, [kept.id]]
    assert await body.forget_old_messages(START) == START + SECOND
    assert await left() == [kept.id]


async def test_the_process_that_leads_forgets_by_the_figure_of_the_configuration(
    database: str, clock: ManualClock
) -> None:
    await make_guild()
    one = await event(state_since=START - 3 * DAY, scheduled_at=START - 3 * DAY)
    await row(source_id=one.id, finished_at=START - 3 * DAY)
    old = await process(FakeDiscord(clock), clock)
    await old.run(CLEANUP_STALE_EVENTS)
    assert len(await left()) == 1
    await old.services.leave()

    new = await process(FakeDiscord(clock), clock, name="two", options=ServiceOptions(sent_retention=3 * DAY))
    await new.run(CLEANUP_STALE_EVENTS)

    assert await left() == []


# ------------------------------------------------------------------------------------------------------------ the rule

MOMENTS = st.sampled_from([ENDED - DAY, ENDED - SECOND, ENDED, ENDED + SECOND, START + DAY])


@dataclass(frozen=True)
class Told:
    """A row of the log, about the event of a place in the list, or of one that is gone."""

    about: int
    source: str
    recipient_id: int
    success: bool | None
    finished_at: dt.datetime
    next_attempt_at: dt.datetime | None


@dataclass(frozen=True)
class Held:
    """An event, and whether one of its reminders is still due."""

    state: EventState
    state_since: dt.datetime
    scheduled_at: dt.datetime
    is_due: bool


ROWS = st.builds(
    Told,
    about=st.integers(0, 3),
    source=st.sampled_from([*SOURCES, UNKNOWN_SOURCE]),
    recipient_id=st.integers(0, 1),
    success=st.sampled_from([None, True, True, False, False]),
    finished_at=MOMENTS,
    next_attempt_at=st.none() | MOMENTS,
)
EVENTS = st.builds(
    Held,
    state=st.sampled_from(EventState) | st.just(EventState.COMPLETED),
    state_since=MOMENTS,
    scheduled_at=MOMENTS,
    is_due=st.sampled_from([False, False, False, True]),
)


def should_go(one: Told, rows: list[Told], events: list[Held]) -> bool:
    """Say the rule once more, in plain words: over is over, for the row and for its event."""
    if one.source == UNKNOWN_SOURCE or one.success is None or one.finished_at > ENDED:
        return False
    if not one.success and one.next_attempt_at is not None:
        return False
    if any(other.success is None and other.about == one.about for other in rows):
        return False
    if one.about >= len(events):
        return True
    its = events[one.about]
    is_over = its.state in {EventState.COMPLETED, EventState.CANCELLED}
    return is_over and not its.is_due and max(its.state_since, its.scheduled_at) <= ENDED


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True)
@given(rows=st.lists(ROWS, max_size=8), events=st.lists(EVENTS, max_size=3))
async def test_whatever_the_rows_and_events_exactly_what_is_over_goes(
    database: str, rows: list[Told], events: list[Held]
) -> None:
    await DiscordMessageLog.all().delete()
    await Event.all().delete()
    stored = [
        await event(state=its.state, state_since=its.state_since, scheduled_at=its.scheduled_at) for its in events
    ]
    await ReminderDue.all().delete()
    for of, its in zip(stored, events, strict=True):
        if its.is_due:
            await ReminderDue.create(event_id=of.id, key="profile_reminder", due_at=ENDED)
    expected = []
    for part, one in enumerate(rows):
        values = asdict(one)
        about = values.pop("about")
        made = await row(source_id=stored[about].id if about < len(stored) else 10_000 + about, part=part, **values)
        expected += [made.id] * (not should_go(one, rows, events))

    up_to: int | None = 0
    while up_to is not None:
        up_to = (await forget_ended(before=ENDED, most=3, after=up_to)).up_to

    assert await left() == expected
