"""Who comes to an event: every button in every state, a place to one of many, and a post that ends up true."""

import asyncio
import datetime as dt
import itertools
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from tortoise.exceptions import OperationalError

from bot.clock import ManualClock
from bot.database import opened
from bot.errors import BotError
from bot.events.signups.people import People, Person, people_of
from bot.events.signups.rules import (
    EventGoneError,
    FrozenError,
    NotAskedError,
    Press,
    RemovedError,
    RoleRequiredError,
    RolesUnknownError,
    SignupsClosedError,
    SignupsNotOpenError,
)
from bot.events.signups.sign_up import SignupAnswer, Signups, guild_of_event
from bot.events.signups.waiting_line import fill_places
from bot.message.outgoing import OutgoingMessage
from bot.scheduling.agenda import Agenda
from bot.scheduling.bodies import SYNC_DISCORD_EVENTS
from bot.transactions import atomic
from models.event import Event
from models.event_signup import EventSignup
from models.states import ATTENDING, EventState, SignupStatus
from tests.builders import (
    GUILD,
    HOUR,
    MINUTE,
    OTHER_GUILD,
    SECOND,
    FakeDiscord,
    make_event,
    make_guild,
    process,
    stored_due,
    utc,
)

NOW = utc("2026-03-01 12:00")
DEBOUNCE = 3 * SECOND
ADA, BRUNO, CLEO, DORA, SOMEBODY = 11, 12, 13, 14, 99
SIGN_UP, MAYBE, CANT, CONFIRM, CANT_MAKE_IT = Press
SIGNED_UP, CONFIRMED, TENTATIVE, WAITLISTED, DECLINED, REMOVED = SignupStatus
UPCOMING, SIGNUPS_OPEN, ROLL_CALL, IN_PROGRESS, COMPLETED, CANCELLED = EventState


async def open_event(**fields: object) -> Event:
    return await make_event(now=NOW, **({"state": SIGNUPS_OPEN} | fields))  # type: ignore[arg-type]


def on(
    event: Event, *, agenda: Agenda | None = None, now: dt.datetime = NOW
) -> Callable[..., Coroutine[Any, Any, SignupAnswer]]:
    """Return a way to press a button of the event: by whom, and which."""
    signups = Signups(agenda or Agenda(), debounce=DEBOUNCE)

    def _press(user_id: int, press: Press = SIGN_UP, **options: Any) -> Coroutine[Any, Any, SignupAnswer]:  # noqa: ANN401
        wanted: dict[str, Any] = {"guild_id": event.guild_id, "role_ids": frozenset(), "now": now}
        return signups.press(press, event.id, user_id=user_id, **(wanted | options))

    return _press


async def statuses(event: Event) -> dict[int, SignupStatus]:
    return {row.user_id: row.status for row in await EventSignup.filter(event_id=event.id)}


async def line_of(event: Event) -> list[int]:
    return [person.user_id for person in (await people_of(event.id)).waitlisted]


async def attending(event: Event) -> list[int]:
    return [person.user_id for person in (await people_of(event.id)).attending]


async def version(event: Event) -> int:
    return (await Event.get(id=event.id)).post_version


async def as_another_process(url: str, work: Callable[[], Coroutine[Any, Any, object]]) -> object:
    """Do the work on a connection of its own, as a second process would; gather it with others."""
    async with opened(url):
        return await work()


# ------------------------------------------------------------------------------------ every state, status and button

# What a person becomes, "same" where nothing changes, or how it is refused.
Outcome = SignupStatus | str | type[BotError]
BUTTONS = (SIGN_UP, MAYBE, CANT, CONFIRM, CANT_MAKE_IT)
ASK, FROZEN, OUT = NotAskedError, FrozenError, RemovedError

OPEN: dict[SignupStatus | None, tuple[Outcome, ...]] = {
    None: (SIGNED_UP, TENTATIVE, DECLINED, ASK, ASK),
    SIGNED_UP: ("same", TENTATIVE, DECLINED, CONFIRMED, DECLINED),
    CONFIRMED: ("same", TENTATIVE, DECLINED, "same", DECLINED),
    TENTATIVE: (SIGNED_UP, "same", DECLINED, ASK, ASK),
    WAITLISTED: ("same", TENTATIVE, DECLINED, ASK, DECLINED),
    DECLINED: (SIGNED_UP, TENTATIVE, "same", ASK, "same"),
    REMOVED: (OUT, OUT, OUT, OUT, OUT),
}
AT_ROLL_CALL: dict[SignupStatus | None, tuple[Outcome, ...]] = {
    None: (FROZEN, FROZEN, FROZEN, ASK, ASK),
    SIGNED_UP: ("same", FROZEN, DECLINED, CONFIRMED, DECLINED),
    CONFIRMED: ("same", FROZEN, DECLINED, "same", DECLINED),
    TENTATIVE: (FROZEN, "same", FROZEN, ASK, ASK),
    WAITLISTED: ("same", FROZEN, DECLINED, ASK, DECLINED),
    DECLINED: (FROZEN, FROZEN, "same", ASK, "same"),
    REMOVED: (FROZEN, FROZEN, OUT, OUT, OUT),
}


def everywhere(refusal: type[BotError]) -> dict[SignupStatus | None, tuple[Outcome, ...]]:
    return dict.fromkeys(OPEN, (refusal,) * 5)


TABLE: dict[str, tuple[EventState, dt.timedelta, dict[SignupStatus | None, tuple[Outcome, ...]]]] = {
    "upcoming": (UPCOMING, HOUR, everywhere(SignupsNotOpenError)),
    "sign-ups open": (SIGNUPS_OPEN, HOUR, OPEN),
    "open, a moment before the start": (SIGNUPS_OPEN, dt.timedelta(microseconds=1), OPEN),
    "roll call": (ROLL_CALL, HOUR, AT_ROLL_CALL),
    "in progress": (IN_PROGRESS, -HOUR, everywhere(SignupsClosedError)),
    "started early": (IN_PROGRESS, HOUR, everywhere(SignupsClosedError)),
    "completed": (COMPLETED, -HOUR, everywhere(SignupsClosedError)),
    "cancelled": (CANCELLED, HOUR, everywhere(SignupsClosedError)),
    "upcoming, begun": (UPCOMING, 0 * HOUR, everywhere(SignupsClosedError)),
    "open, begun": (SIGNUPS_OPEN, 0 * HOUR, everywhere(SignupsClosedError)),
    "roll call, begun": (ROLL_CALL, 0 * HOUR, everywhere(SignupsClosedError)),
}


async def stand(event: Event, user_id: int, status: SignupStatus | None) -> None:
    """Let a person stand with an event as if they had pressed before."""
    if status is WAITLISTED:
        await EventSignup.create(event=event, user_id=SOMEBODY, status=SIGNED_UP, created_at=NOW, changed_at=NOW)
    if status is not None:
        position = 7 if status is WAITLISTED else None
        await EventSignup.create(
            event=event, user_id=user_id, status=status, position=position, created_at=NOW, changed_at=NOW
        )


async def outcome_of(state: EventState, starts_in: dt.timedelta, before: SignupStatus | None, press: Press) -> Outcome:
    event = await make_event(now=NOW, starts_in=starts_in, state=state, max_players=1)
    await stand(event, ADA, before)
    rows, agenda = await EventSignup.filter(event_id=event.id).values(), Agenda()
    outcome: Outcome
    try:
        answer = await on(event, agenda=agenda)(ADA, press)
        outcome = answer.status if answer.changed else "same"
        assert (await statuses(event))[ADA] is answer.status
    except BotError as refused:
        outcome = type(refused)
    if outcome not in SignupStatus.__members__.values():
        assert await EventSignup.filter(event_id=event.id).values() == rows
    changed = isinstance(outcome, SignupStatus)
    assert await version(event) == changed
    assert agenda.next(SYNC_DISCORD_EVENTS) == (NOW + DEBOUNCE if changed else None)
    return outcome


@pytest.mark.parametrize("row", TABLE)
async def test_each_button_does_what_the_state_and_the_person_allow(database: str, row: str) -> None:
    state, starts_in, expected = TABLE[row]

    found = {
        status: tuple([await outcome_of(state, starts_in, status, press) for press in BUTTONS]) for status in expected
    }

    assert found == expected


async def test_pressing_twice_changes_nothing_and_says_so(database: str) -> None:
    event = await open_event(max_players=1)
    press = on(event)
    await press(SOMEBODY)
    firsts = [await press(ADA, MAYBE), await press(BRUNO, CANT), await press(CLEO)]
    rows = await EventSignup.all().order_by("id").values()

    again = [await press(ADA, MAYBE), await press(BRUNO, CANT), await press(CLEO), await press(SOMEBODY)]

    assert [answer.changed for answer in firsts] == [True] * 3
    assert [answer.sentence for answer in again] == [
        "You are down as maybe for **Raid night** already.",
        "You have said already that you cannot come to **Raid night**.",
        "You are on the wait-list of **Raid night** already, as number 1.",
        "You are signed up for **Raid night** already.",
    ]
    assert [answer.changed for answer in again] == [False] * 4
    assert await EventSignup.all().order_by("id").values() == rows
    assert await version(event) == 4


async def test_each_change_is_told_in_one_sentence(database: str) -> None:
    event = await open_event(max_players=1)
    press = on(event)
    when = f"<t:{int((NOW + 6 * HOUR).timestamp())}:F> (<t:{int((NOW + 6 * HOUR).timestamp())}:R>)"

    told = [
        (await press(user_id, button)).sentence
        for user_id, button in [
            (ADA, SIGN_UP),
            (BRUNO, SIGN_UP),
            (CLEO, SIGN_UP),
            (DORA, MAYBE),
            (DORA, CANT),
            (CLEO, CANT),
            (ADA, CONFIRM),
            (ADA, CANT_MAKE_IT),
            (BRUNO, MAYBE),
        ]
    ]

    assert told == [
        f"You are signed up for **Raid night**: {when}.",
        (
            "**Raid night** is full. You are on its wait-list as number 1, and move up by yourself when a place becomes"
            " free."
        ),
        (
            "**Raid night** is full. You are on its wait-list as number 2, and move up by yourself when a place becomes"
            " free."
        ),
        "You are down as maybe for **Raid night**; that takes no place.",
        "You are down as not coming to **Raid night**.",
        "You are down as not coming to **Raid night**; you left its wait-list.",
        f"You have confirmed that you come to **Raid night**: {when}.",
        "You are down as not coming to **Raid night**; your place is free for others now.",
        "You are down as maybe for **Raid night**; your place is free for others now.",
    ]


async def refusal(event: Event, user_id: int = ADA, press: Press = SIGN_UP, **options: object) -> str:
    with pytest.raises(BotError) as refused:
        await on(event)(user_id, press, **options)
    return str(refused.value)


async def test_each_refusal_is_one_sentence_that_says_what_to_do(database: str) -> None:
    opens = NOW + 2 * HOUR
    later = await make_event(now=NOW, signups_open_at=opens)
    by_hand = await make_event(now=NOW, signups_open_at=None)
    about_to = await make_event(now=NOW, signups_open_at=NOW)
    cancelled = await make_event(now=NOW, state=CANCELLED)
    over = await make_event(now=NOW, starts_in=-HOUR, state=COMPLETED)
    begun = await make_event(now=NOW, starts_in=0 * HOUR, state=SIGNUPS_OPEN)
    frozen = await make_event(now=NOW, state=ROLL_CALL)
    await stand(frozen, BRUNO, SIGNED_UP)
    await stand(frozen, CLEO, REMOVED)

    assert [
        await refusal(later),
        await refusal(by_hand),
        await refusal(about_to),
        await refusal(cancelled),
        await refusal(over),
        await refusal(begun),
        await refusal(frozen),
        await refusal(frozen, BRUNO, MAYBE),
        await refusal(frozen, ADA, CANT),
        await refusal(frozen, ADA, CONFIRM),
        await refusal(frozen, CLEO, CANT),
    ] == [
        (
            "Sign-ups for **Raid night** are not open yet."
            f" They open <t:{int(opens.timestamp())}:F> (<t:{int(opens.timestamp())}:R>)."
        ),
        "Sign-ups for **Raid night** are not open yet. An admin opens them.",
        "Sign-ups for **Raid night** are not open yet. They open any moment: press again in a minute.",
        "**Raid night** was cancelled, so nothing was changed.",
        "**Raid night** is over, so nothing was changed.",
        "**Raid night** has begun, so nothing was changed.",
        "Sign-ups for **Raid night** are closed for the roll call; ask an admin if you want to come.",
        "Sign-ups for **Raid night** are closed for the roll call; say Can't if you cannot come.",
        "Sign-ups for **Raid night** are closed for the roll call; you have no place to give back.",
        "This question is for those who signed up for **Raid night** and have a place; nothing was changed.",
        "An admin took you off **Raid night**; ask them if you want to come after all.",
    ]


async def test_a_name_with_markup_is_told_as_it_was_typed(database: str) -> None:
    event = await open_event(name="@everyone **free** <@&5> [x](https://e.com)")

    answer = await on(event)(ADA)

    assert r"**\@everyone \*\*free\*\* \<\@&5\> \[x\]\(https\://e.com\)**" in answer.sentence


# ------------------------------------------------------------------------------------------ another server, the role


async def test_an_event_of_another_server_answers_as_one_that_is_gone(database: str) -> None:
    event = await open_event()
    await on(event)(BRUNO)

    told = [await refusal(event, BRUNO, press, guild_id=OTHER_GUILD) for press in BUTTONS]
    await Event.filter(id=event.id).delete()
    gone = [await refusal(event, BRUNO, press) for press in BUTTONS]

    assert told == gone == ["This is no longer available."] * 5
    assert await EventSignup.all().count() == 0


async def test_the_server_of_an_event_is_found_for_a_press_in_a_dm(database: str) -> None:
    event = await open_event(guild_id=OTHER_GUILD)

    assert await guild_of_event(event.id) == OTHER_GUILD
    with pytest.raises(EventGoneError):
        await guild_of_event(event.id + 1)


async def test_who_lacks_the_role_that_the_event_asks_for_is_told_its_name(database: str) -> None:
    event = await open_event(required_role_id=5)
    press = on(event)

    refused = [await refusal(event, ADA, button, role_ids=frozenset({4, 6})) for button in (SIGN_UP, MAYBE)]
    with pytest.raises(RoleRequiredError):
        await press(ADA)
    declined = await press(ADA, CANT)
    let_in = await press(ADA, role_ids=frozenset({4, 5}))

    assert refused == ["**Raid night** is for people with the role <@&5>; ask an admin for it."] * 2
    assert (declined.status, let_in.status) == (DECLINED, SIGNED_UP)


async def test_roles_that_discord_did_not_tell_matter_only_where_one_is_asked_for(database: str) -> None:
    asks, asks_not = await open_event(required_role_id=5), await open_event()

    with pytest.raises(RolesUnknownError) as refused:
        await on(asks)(ADA, role_ids=None)
    answer = await on(asks_not)(ADA, role_ids=None)

    assert str(refused.value) == (
        "**Raid night** asks for a role and Discord did not say whether you have it: try again in a minute."
    )
    assert answer.status is SIGNED_UP
    assert await statuses(asks) == {}


async def test_who_lost_the_role_meanwhile_keeps_the_place_and_may_confirm_or_leave(database: str) -> None:
    event = await open_event(required_role_id=5)
    press = on(event)
    await press(ADA, role_ids=frozenset({5}))

    again, confirmed = await press(ADA), await press(ADA, CONFIRM)
    left = await press(ADA, CANT_MAKE_IT)

    assert (again.changed, confirmed.status, left.status) == (False, CONFIRMED, DECLINED)


# ------------------------------------------------------------------------------------------------ the line and rows


async def test_the_line_is_numbered_from_one_and_closes_up(database: str) -> None:
    event = await open_event(max_players=1)
    press = on(event)

    answers = [await press(user_id) for user_id in (ADA, BRUNO, CLEO, DORA)]
    await press(BRUNO, MAYBE)
    closed_up = await press(DORA)
    back_again = await press(BRUNO)

    assert [(answer.status, answer.position) for answer in answers] == [
        (SIGNED_UP, None),
        (WAITLISTED, 1),
        (WAITLISTED, 2),
        (WAITLISTED, 3),
    ]
    assert (closed_up.position, back_again.position) == (2, 3)
    assert await line_of(event) == [CLEO, DORA, BRUNO]


@pytest.mark.parametrize("button", [MAYBE, CANT, CANT_MAKE_IT])
@pytest.mark.parametrize("held", [SIGNED_UP, CONFIRMED])
async def test_a_freed_place_goes_to_the_first_in_line(database: str, button: Press, held: SignupStatus) -> None:
    event = await open_event(max_players=1)
    press = on(event)
    for user_id in (ADA, BRUNO, CLEO):
        await press(user_id)
    if held is CONFIRMED:
        await press(ADA, CONFIRM)

    answer = await press(ADA, button)

    assert answer.promoted == (BRUNO,)
    assert (await attending(event), await line_of(event)) == ([BRUNO], [CLEO])
    promoted = await EventSignup.get(event_id=event.id, user_id=BRUNO)
    assert (promoted.status, promoted.position) == (SIGNED_UP, None)


async def test_at_the_roll_call_a_freed_place_still_goes_to_the_first_in_line(database: str) -> None:
    event = await open_event(max_players=1)
    press = on(event)
    await press(ADA)
    await press(BRUNO)
    await Event.filter(id=event.id).update(state=ROLL_CALL)

    answer = await press(ADA, CANT_MAKE_IT)
    confirmed = await press(BRUNO, CONFIRM)

    assert (answer.promoted, confirmed.status) == ((BRUNO,), CONFIRMED)


async def test_who_leaves_without_a_place_moves_nobody_up(database: str) -> None:
    event = await open_event(max_players=1)
    press = on(event)
    for user_id in (ADA, BRUNO, CLEO):
        await press(user_id)
    await press(DORA, MAYBE)

    answers = [await press(BRUNO, CANT), await press(DORA, CANT)]

    assert [answer.promoted for answer in answers] == [(), ()]
    assert (await attending(event), await line_of(event)) == ([ADA], [CLEO])


async def test_a_raised_limit_fills_every_free_place_before_somebody_new(database: str) -> None:
    event = await open_event(max_players=1)
    press = on(event)
    for user_id in (ADA, BRUNO, CLEO):
        await press(user_id)
    await Event.filter(id=event.id).update(max_players=3)

    new = await press(DORA)

    assert (new.status, new.position, new.promoted) == (WAITLISTED, 1, (BRUNO, CLEO))
    assert await line_of(event) == [DORA]


async def test_a_limit_that_is_lifted_lets_everybody_in(database: str) -> None:
    event = await open_event(max_players=1)
    press = on(event)
    for user_id in (ADA, BRUNO, CLEO):
        await press(user_id)
    event.max_players = None
    await event.save(update_fields=["max_players"])

    promoted = await atomic(lambda: fill_places(event, now=NOW))
    new = await press(DORA)

    assert (promoted, new.status) == ((BRUNO, CLEO), SIGNED_UP)
    assert await line_of(event) == []


async def test_a_lowered_limit_takes_nobodys_place_and_lets_nobody_in(database: str) -> None:
    event = await open_event(max_players=3)
    press = on(event)
    for user_id in (ADA, BRUNO, CLEO):
        await press(user_id)
    await Event.filter(id=event.id).update(max_players=1)

    new = await press(DORA)
    left = await press(ADA, CANT)

    assert (new.status, left.promoted) == (WAITLISTED, ())
    assert (await attending(event), await line_of(event)) == ([BRUNO, CLEO], [DORA])


async def test_a_change_of_mind_keeps_the_row_and_starts_it_anew(database: str) -> None:
    event = await open_event()
    await on(event, now=NOW)(ADA)
    await on(event, now=NOW + MINUTE)(ADA, CONFIRM)
    confirmed = await EventSignup.get()
    await on(event, now=NOW + 2 * MINUTE)(ADA, CANT)
    declined = await EventSignup.get()

    assert (confirmed.changed_at, confirmed.confirmed_at) == (NOW, NOW + MINUTE)
    assert (declined.id, declined.created_at) == (confirmed.id, NOW)
    assert (declined.changed_at, declined.confirmed_at) == (NOW + 2 * MINUTE, None)


async def test_people_are_listed_as_they_came_and_the_line_as_it_waits(database: str) -> None:
    event, other = await open_event(max_players=3), await open_event()
    presses = [
        (ADA, SIGN_UP),
        (BRUNO, SIGN_UP),
        (CLEO, SIGN_UP),
        (21, SIGN_UP),
        (20, SIGN_UP),
        (31, MAYBE),
        (30, CANT),
        (ADA, CANT),
        (ADA, SIGN_UP),
        (BRUNO, CONFIRM),
    ]
    for second, (user_id, button) in enumerate(presses):
        await on(event, now=NOW + second * SECOND)(user_id, button)
    await on(other)(77)
    await stand(event, 40, REMOVED)

    assert await people_of(event.id) == People(
        attending=(Person(BRUNO, CONFIRMED), Person(CLEO, SIGNED_UP), Person(21, SIGNED_UP)),
        waitlisted=(Person(20, WAITLISTED), Person(ADA, WAITLISTED)),
        tentative=(Person(31, TENTATIVE),),
        declined=(Person(30, DECLINED),),
    )
    assert await people_of(other.id + 1) == People()


async def test_sign_ups_go_with_their_event(database: str) -> None:
    event = await open_event()
    await on(event)(ADA)

    await Event.filter(id=event.id).delete()

    assert await EventSignup.all().count() == 0


async def test_a_press_whose_mark_on_the_post_fails_did_not_happen(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    event, agenda = await open_event(max_players=1), Agenda()
    press = on(event, agenda=agenda)
    await press(ADA)
    await press(BRUNO)
    before = await EventSignup.all().order_by("id").values()

    async def _fails(*args: object, **fields: object) -> None:
        raise OperationalError("disk full")

    monkeypatch.setattr("bot.events.signups.sign_up.mark_changed", _fails)

    with pytest.raises(OperationalError):
        await press(ADA, CANT)

    assert await EventSignup.all().order_by("id").values() == before


async def test_a_press_changes_nothing_of_what_is_due(database: str) -> None:
    event = await open_event()
    due = await stored_due()

    await on(event)(ADA)

    assert await stored_due() == due != {}


# ------------------------------------------------------------------------------------------------------------- races


async def test_of_two_hundred_who_press_at_once_twenty_get_the_places(database: str) -> None:
    event = await open_event(max_players=20)
    press = on(event)

    answers = await asyncio.gather(*(press(user_id) for user_id in range(1, 201)))

    assert [answer.status for answer in answers].count(SIGNED_UP) == 20
    assert sorted(answer.position for answer in answers if answer.position) == list(range(1, 181))
    rows = await EventSignup.filter(event_id=event.id)
    assert len({row.user_id for row in rows}) == 200
    assert sum(row.status in ATTENDING for row in rows) == 20
    assert len({row.position for row in rows if row.status is WAITLISTED}) == 180
    by_line = dict(enumerate(await line_of(event), 1))
    assert by_line == {answer.position: user_id for user_id, answer in enumerate(answers, 1) if answer.position}
    assert await version(event) == 200


async def test_the_last_place_goes_to_one_of_two_each_time(database: str) -> None:
    events = [await open_event(max_players=1) for _ in range(50)]

    for event in events:
        press = on(event)
        answers = await asyncio.gather(press(ADA), press(BRUNO))

        assert sorted(answer.status for answer in answers) == [SIGNED_UP, WAITLISTED]


async def test_of_two_processes_that_fill_one_event_neither_lets_too_many_in(database: str) -> None:
    event = await open_event(max_players=20)

    async def _fifty(first: int) -> None:
        for user_id in range(first, first + 50):
            await on(event)(user_id)

    await asyncio.gather(
        as_another_process(database, lambda: _fifty(1)), as_another_process(database, lambda: _fifty(1_001))
    )

    rows = await EventSignup.filter(event_id=event.id)
    assert sum(row.status is SIGNED_UP for row in rows) == 20
    assert len({row.position for row in rows if row.status is WAITLISTED}) == 80
    assert await version(event) == 100


async def test_a_place_given_back_as_another_is_asked_for_is_never_lost(database: str) -> None:
    events = [await open_event(max_players=1) for _ in range(25)]
    for event in events:
        await on(event)(ADA)

    async def _each(user_id: int, button: Press) -> None:
        for event in events:
            await on(event)(user_id, button)

    await asyncio.gather(
        as_another_process(database, lambda: _each(ADA, CANT)),
        as_another_process(database, lambda: _each(BRUNO, SIGN_UP)),
        as_another_process(database, lambda: _each(CLEO, SIGN_UP)),
    )

    for event in events:
        came, waits = await attending(event), await line_of(event)
        assert (len(came), len(waits)) == (1, 1)
        assert {*came, *waits} == {BRUNO, CLEO}


async def test_a_person_who_presses_two_buttons_at_once_has_one_row(database: str) -> None:
    event = await open_event()
    press = on(event)

    answers = await asyncio.gather(*(press(ADA, button) for button in (SIGN_UP, MAYBE, CANT) * 5))

    row = await EventSignup.get()
    assert row.status in {answer.status for answer in answers}
    assert await version(event) == sum(answer.changed for answer in answers)


async def test_presses_and_state_moves_at_one_time_do_not_wait_for_each_other(
    database: str, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    await make_guild()
    bot = await process(FakeDiscord(clock), clock)
    events = [await open_event(starts_in=SECOND, max_players=3) for _ in range(10)]
    clock.advance(SECOND)

    presses = [on(event)(user_id) for user_id in range(1, 6) for event in events]
    done = await asyncio.gather(bot.tick(), *presses, return_exceptions=True)

    assert [error for error in done if isinstance(error, Exception) and not isinstance(error, SignupsClosedError)] == []
    assert [record.message for record in caplog.records if "deadlock" in record.message] == []
    assert {event.state for event in await Event.all()} == {IN_PROGRESS}


# ---------------------------------------------------------------------------------------------------------- the post


async def test_a_storm_of_presses_costs_one_edit_a_debounce_and_ends_with_the_truth(
    database: str, clock: ManualClock
) -> None:
    await make_guild()
    discord = FakeDiscord(clock)
    bot = await process(discord, clock)
    event = await open_event(max_players=20)
    await bot.tick()
    (post,) = discord.in_channel()
    signups = Signups(bot.services.agenda, debounce=DEBOUNCE)
    edited: list[dt.datetime] = []

    async def _note(message: OutgoingMessage) -> None:
        edited.append(clock.now())

    discord.before_edit = _note
    for user_id in range(1, 201):
        await signups.press(SIGN_UP, event.id, guild_id=GUILD, user_id=user_id, role_ids=frozenset(), now=clock.now())
        clock.advance(dt.timedelta(milliseconds=40))
        await bot.tick()
    await bot.run_until(NOW + MINUTE)

    # Eight seconds of presses: an edit three seconds after the first press that the one before did not show.
    assert len(edited) == 3
    assert all(later - earlier >= DEBOUNCE for earlier, later in itertools.pairwise(edited))
    assert post.shown.version == await version(event) == 200
    assert (await Event.get(id=event.id)).post_due_at is None


async def test_the_post_is_due_a_debounce_after_the_first_change_that_it_does_not_show(database: str) -> None:
    event = await open_event(announcement_channel_id=5, announcement_message_id=6)

    await on(event, now=NOW)(ADA)
    await on(event, now=NOW + SECOND)(BRUNO)
    await on(event, now=NOW + 2 * SECOND)(BRUNO)

    marked = await Event.get(id=event.id)
    assert (marked.post_due_at, marked.post_version) == (NOW + DEBOUNCE, 2)


async def test_presses_that_change_nothing_cost_no_edit(database: str, clock: ManualClock) -> None:
    await make_guild()
    discord = FakeDiscord(clock)
    bot = await process(discord, clock)
    event = await open_event()
    await on(event)(ADA)
    await bot.tick()

    for _ in range(5):
        await on(event, agenda=bot.services.agenda)(ADA)
    await bot.run_until(NOW + MINUTE)

    assert discord.edit_attempts == 0
