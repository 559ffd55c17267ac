"""An admin's transition leads where the table says; a wrong state or a lost race is one sentence that names it."""

import asyncio
import datetime as dt

import pytest

from bot.errors import BotError
from bot.events.transitions import Transition, Transitions, states_that_allow
from bot.message.proposal import NOTHING_CHANGED, Proposal, Reply
from bot.scheduling.agenda import Agenda
from bot.scheduling.bodies import CHECK_EVENT_REMINDERS, OPEN_SCHEDULED_SIGNUPS, SYNC_DISCORD_EVENTS
from models.audit_log import AuditLog
from models.event import Event
from models.event_signup import EventSignup
from models.states import EventState, SignupStatus
from tests.builders import (
    DAY,
    GUILD,
    OTHER_GUILD,
    SECOND,
    audit_actions,
    derived_due,
    make_event,
    make_series,
    state_of,
    stored_due,
    utc,
)

NOW = utc("2026-03-01 12:00")
ADMIN = 42
DEBOUNCE = 3 * SECOND
UPCOMING, SIGNUPS_OPEN, ROLL_CALL, IN_PROGRESS, COMPLETED, CANCELLED = EventState
# 01-domain.md, "Event states": what an admin may do, from where to where.
TABLE = {
    Transition.OPEN_SIGNUPS: ({UPCOMING}, SIGNUPS_OPEN),
    Transition.ROLL_CALL: ({SIGNUPS_OPEN}, ROLL_CALL),
    Transition.REOPEN: ({ROLL_CALL}, SIGNUPS_OPEN),
    Transition.START: ({SIGNUPS_OPEN, ROLL_CALL}, IN_PROGRESS),
    Transition.CANCEL: ({UPCOMING, SIGNUPS_OPEN, ROLL_CALL}, CANCELLED),
}
WORDS = {
    UPCOMING: "not open yet",
    SIGNUPS_OPEN: "sign-ups are open",
    ROLL_CALL: "roll call is on",
    IN_PROGRESS: "it is running",
    COMPLETED: "it is over",
    CANCELLED: "it was cancelled",
}


def transitions(agenda: Agenda | None = None) -> Transitions:
    return Transitions(agenda or Agenda(), debounce=DEBOUNCE, instance="one")


async def do(which: Transition, event: Event, *, now: dt.datetime = NOW, by: Transitions | None = None) -> Reply:
    """Make a transition, confirmed where it asks for that."""
    desk = by or transitions()
    if which is not Transition.CANCEL:
        return await desk.make(which, str(event.id), guild_id=GUILD, actor=ADMIN, now=now)
    reply = await desk.propose_cancel(str(event.id), guild_id=GUILD, actor=ADMIN, now=now)
    return await reply.ways[0].then(now) if isinstance(reply, Proposal) else reply


@pytest.mark.parametrize("which", Transition)
@pytest.mark.parametrize("state", EventState)
async def test_each_transition_is_made_from_its_states_alone(
    database: str, which: Transition, state: EventState
) -> None:
    event = await make_event(now=NOW, state=state)
    allowed, to = TABLE[which]

    says = await do(which, event)

    assert isinstance(says, str)
    assert "**Raid night**" in says
    if state in allowed:
        assert await state_of(event) is to
        row = await AuditLog.get()
        assert row.action == ("event.cancel" if which is Transition.CANCEL else "event.edit")
        assert (row.actor_user_id, row.before, row.after) == (ADMIN, {"state": state.value}, {"state": to.value})
        assert row.instance == "one"
    else:
        assert await state_of(event) is state
        assert WORDS[state] in says
        assert await audit_actions() == []
    assert await stored_due() == await derived_due()


def test_what_completion_offers_is_what_the_table_allows() -> None:
    assert {which: states_that_allow(which) for which in Transition} == {which: row[0] for which, row in TABLE.items()}


@pytest.mark.parametrize("which", [Transition.OPEN_SIGNUPS, Transition.ROLL_CALL, Transition.REOPEN])
@pytest.mark.parametrize("late", [True, False], ids=["exactly at its start", "just before"])
async def test_sign_ups_are_not_opened_or_closed_once_the_start_has_come(
    database: str, which: Transition, late: bool
) -> None:
    (state,) = TABLE[which][0]
    starts_in = dt.timedelta(0) if late else dt.timedelta(microseconds=1)
    event = await make_event(now=NOW, state=state, starts_in=starts_in)

    says = await do(which, event)

    assert ("has passed" in str(says)) is late
    assert (await state_of(event) is state) is late


async def test_an_event_may_be_started_before_and_after_its_time(database: str) -> None:
    early = await make_event(now=NOW, state=SIGNUPS_OPEN, starts_in=DAY)
    late = await make_event(now=NOW, state=ROLL_CALL, starts_in=-SECOND)

    await do(Transition.START, early)
    await do(Transition.START, late)

    assert [await state_of(early), await state_of(late)] == [IN_PROGRESS, IN_PROGRESS]


async def test_a_transition_brings_forward_what_follows_from_it(database: str) -> None:
    agenda = Agenda()
    event = await make_event(now=NOW)

    await do(Transition.OPEN_SIGNUPS, event, by=transitions(agenda))

    assert agenda.next(CHECK_EVENT_REMINDERS) == agenda.next(OPEN_SCHEDULED_SIGNUPS) == NOW
    assert agenda.next(SYNC_DISCORD_EVENTS) == NOW + DEBOUNCE


async def test_a_post_is_marked_to_be_edited_after_the_debounce(database: str) -> None:
    event = await make_event(now=NOW, announcement_channel_id=1, announcement_message_id=2)

    await do(Transition.CANCEL, event)

    await event.refresh_from_db()
    assert (event.post_due_at, event.post_version) == (NOW + DEBOUNCE, 1)


@pytest.mark.parametrize("which", Transition)
async def test_another_servers_event_is_answered_as_one_that_is_not_there(database: str, which: Transition) -> None:
    theirs = await make_event(now=NOW, guild_id=OTHER_GUILD)

    with pytest.raises(BotError, match="There is no event"):
        await do(which, theirs)

    assert await state_of(theirs) is UPCOMING


@pytest.mark.parametrize("which", Transition)
async def test_a_deleted_event_is_not_there(database: str, which: Transition) -> None:
    event = await make_event(now=NOW)
    await event.delete()

    with pytest.raises(BotError, match="There is no event"):
        await do(which, event)


# ---------------------------------------------------------------------------------------------------------- cancelling


async def question(event: Event) -> Proposal:
    reply = await transitions().propose_cancel(str(event.id), guild_id=GUILD, actor=ADMIN, now=NOW)
    assert isinstance(reply, Proposal)
    return reply


async def sign_up(event: Event, *statuses: SignupStatus) -> None:
    for user, status in enumerate(statuses, 1):
        await EventSignup.create(event_id=event.id, user_id=user, status=status, created_at=NOW, changed_at=NOW)


async def test_before_it_is_cancelled_an_admin_reads_what_that_does_and_nothing_is_done(database: str) -> None:
    series = await make_series(now=NOW)
    event = await make_event(
        now=NOW, state=SIGNUPS_OPEN, max_players=5, series_id=series.id, announcement_channel_id=1,
        announcement_message_id=2,
    )  # fmt: skip
    await sign_up(event, SignupStatus.SIGNED_UP, SignupStatus.CONFIRMED, SignupStatus.TENTATIVE)
    starts = int(event.scheduled_at.timestamp())

    asked = await question(event)

    assert asked.text.splitlines() == [
        f"Cancel **Raid night** on <t:{starts}:F> (<t:{starts}:R>)?",
        "People: 2 of 5 places taken, 1 confirmed, 1 maybe.",
        "Its post will say that it is cancelled; nobody gets a direct message about it, so tell them yourself.",
        "Its reminders stop. The series goes on.",
    ]
    assert [way.label for way in asked.ways] == ["Cancel the event", "Back"]
    assert await state_of(event) is SIGNUPS_OPEN


async def test_an_event_that_was_not_announced_says_so(database: str) -> None:
    asked = await question(await make_event(now=NOW))

    assert "It has not been announced and will not be; nobody gets a direct message about it." in asked.text


async def test_going_back_changes_nothing(database: str) -> None:
    event = await make_event(now=NOW)
    asked = await question(event)

    assert await asked.ways[1].then(NOW) == NOTHING_CHANGED
    assert await state_of(event) is UPCOMING


async def test_what_changed_since_it_was_shown_is_shown_again_before_it_is_done(database: str) -> None:
    event = await make_event(now=NOW, state=SIGNUPS_OPEN)
    asked = await question(event)
    await sign_up(event, SignupStatus.SIGNED_UP)

    again = await asked.ways[0].then(NOW)

    assert isinstance(again, Proposal)
    assert "1 signed up" in again.text
    assert await state_of(event) is SIGNUPS_OPEN
    assert await again.ways[0].then(NOW) == "**Raid night** was cancelled."
    assert await state_of(event) is CANCELLED


async def test_an_event_that_was_put_off_meanwhile_is_shown_again(database: str) -> None:
    event = await make_event(now=NOW)
    asked = await question(event)
    await Event.filter(id=event.id).update(scheduled_at=event.scheduled_at + DAY)

    assert isinstance(await asked.ways[0].then(NOW), Proposal)
    assert await state_of(event) is UPCOMING


@pytest.mark.parametrize(("state", "words"), [(IN_PROGRESS, "it is running"), (CANCELLED, "it was cancelled")])
async def test_confirming_too_late_names_the_state_it_is_in(database: str, state: EventState, words: str) -> None:
    event = await make_event(now=NOW)
    asked = await question(event)
    await Event.filter(id=event.id).update(state=state)

    says = await asked.ways[0].then(NOW)

    assert says == f"**Raid night** was changed by somebody else just now: {words}. Look at it, then try again."
    assert await audit_actions() == []


async def test_confirming_after_it_was_deleted_says_so(database: str) -> None:
    event = await make_event(now=NOW)
    asked = await question(event)
    await event.delete()

    assert await asked.ways[0].then(NOW) == "**Raid night** was deleted meanwhile."


# --------------------------------------------------------------------------------------------------------------- races


async def test_of_two_admins_at_once_one_changes_the_state_and_the_other_reads_what_it_became(database: str) -> None:
    for _ in range(10):
        event = await make_event(now=NOW, state=SIGNUPS_OPEN)

        says = await asyncio.gather(do(Transition.ROLL_CALL, event), do(Transition.START, event))

        state = await state_of(event)
        told = [str(one) for one in says]
        done = [one for one in told if "is on:" in one or "has begun" in one]
        lost = [one for one in told if one not in done]
        # Started after the roll was called both may be made, one after the other.
        assert state in {ROLL_CALL, IN_PROGRESS}
        assert len(done) == await AuditLog.filter(subject_id=event.id).count()
        assert all(WORDS[state] in one for one in lost)
