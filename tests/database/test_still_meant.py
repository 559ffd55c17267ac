"""A direct message about an event is asked for once more after its claim: is there still an event, and its place?"""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from bot.clock import ManualClock
from bot.leases import ledger
from bot.leases.event_rows import still_stands
from bot.leases.failures import ErrorClass
from bot.leases.keys import PROMOTION, TIME_CHANGED, MessageKey
from bot.leases.ledger import Claim, Lease
from models.event import Event
from models.event_signup import EventSignup
from models.states import EventState, SignupStatus
from tests.builders import DAY, HOUR, MINUTE, SECOND, FakeDiscord, log_rows, make_event, refused
from tests.people import PEOPLE, Fleet, asked_event, counted, counts, each_once, know, reached, sign_up

WHO = PEOPLE[0]
Meanwhile = Callable[[Event], Awaitable[object]]


async def declines(event: Event) -> None:
    await EventSignup.filter(event_id=event.id, user_id=WHO).update(status=SignupStatus.DECLINED)


async def cancelled(event: Event) -> None:
    await Event.filter(id=event.id).update(state=EventState.CANCELLED)


async def moved_again(event: Event) -> None:
    await Event.filter(id=event.id).update(time_changes=2)


def at_the_claim(monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[], Awaitable[object]]) -> None:
    """Let something happen once, right before the first lease of a person's message is taken."""
    claim_lease, once = ledger.claim_lease, [True]

    async def _claim(claim: Claim, **rest: Any) -> Lease | None:  # noqa: ANN401 -- passed on as they came
        if once and claim.key.recipient_id:
            once.clear()
            await meanwhile()
        return await claim_lease(claim, **rest)

    monkeypatch.setattr(ledger, "claim_lease", _claim)


async def with_a_new_time() -> Event:
    """Store an event that was moved, and one who signed up and was not told yet."""
    await know(PEOPLE)
    return await asked_event([WHO], starts_in=2 * DAY, time_changes=1)


async def told_of_the_new_time() -> list[object]:
    """Return what every fan-out about a new time recorded that is finished or open."""
    return [row.embed_data for row in await log_rows(TIME_CHANGED) if not row.recipient_id]


@pytest.mark.parametrize(
    ("meanwhile", "recorded"), [(declines, [counted(withdrawn=1)]), (cancelled, [])], ids=["declines", "cancelled"]
)
async def test_who_gives_their_place_back_or_whose_event_goes_before_the_claim_is_not_told_a_new_time(
    database: str, fleet: Fleet, monkeypatch: pytest.MonkeyPatch, meanwhile: Meanwhile, recorded: list[object]
) -> None:
    event = await with_a_new_time()
    at_the_claim(monkeypatch, lambda: meanwhile(event))

    await fleet.start()
    await fleet.run_until(fleet.clock.now() + 3 * MINUTE)

    assert reached(fleet.discord, [WHO]) == {WHO: 0}
    assert [row.recipient_id for row in await log_rows(TIME_CHANGED) if row.recipient_id] == []
    assert await told_of_the_new_time() == recorded


@pytest.mark.parametrize("meanwhile", [declines, cancelled])
async def test_who_gives_their_place_back_while_the_message_is_held_back_is_not_told(
    database: str, fleet: Fleet, discord: FakeDiscord, clock: ManualClock, meanwhile: Meanwhile
) -> None:
    event = await with_a_new_time()

    async def _held() -> None:
        await meanwhile(event)
        clock.advance(6 * SECOND)

    await fleet.start()
    fleet.lines["one"].throttle = _held
    await fleet.run_until(clock.now() + 3 * MINUTE)

    assert reached(discord, [WHO]) == {WHO: 0}
    assert [row.recipient_id for row in await log_rows(TIME_CHANGED) if row.recipient_id] == []


async def test_a_new_time_that_is_none_any_more_at_its_claim_gives_way_to_the_newer_one(
    database: str, fleet: Fleet, discord: FakeDiscord, monkeypatch: pytest.MonkeyPatch, clock: ManualClock
) -> None:
    event = await with_a_new_time()
    at_the_claim(monkeypatch, lambda: moved_again(event))

    await fleet.start()
    await fleet.run_until(clock.now() + 3 * MINUTE)

    assert reached(discord, [WHO]) == {WHO: 1}
    assert [(row.part, row.success) for row in await log_rows(TIME_CHANGED) if row.recipient_id] == [(2, True)]


async def test_who_declines_right_before_the_claim_is_not_asked_for_a_confirmation_and_the_others_are(
    database: str, fleet: Fleet, discord: FakeDiscord, monkeypatch: pytest.MonkeyPatch, clock: ManualClock
) -> None:
    await know(PEOPLE)
    asks: dict[str, Any] = {"discord_confirm_attendance": True, "discord_confirm_attendance_hours": 24}
    event = await asked_event(PEOPLE[:3], starts_in=12 * HOUR, discord_confirm_attendance_dm=True, **asks)
    at_the_claim(monkeypatch, lambda: declines(event))

    await fleet.start()
    await fleet.run_until(clock.now() + 3 * MINUTE)

    assert reached(discord, PEOPLE[:3]) == each_once(PEOPLE[:3], but=[WHO])
    assert await counts("attendance_reminder") == counted(sent=3, withdrawn=1)  # two people, and the post


async def test_who_cannot_be_reached_and_declines_meanwhile_is_asked_no_more(
    database: str, fleet: Fleet, discord: FakeDiscord, monkeypatch: pytest.MonkeyPatch, clock: ManualClock
) -> None:
    event = await asked_event([WHO], starts_in=2 * DAY, time_changes=1)
    discord.next_openings = [refused(ErrorClass.RECIPIENT_UNREACHABLE)] * 5
    at_the_claim(monkeypatch, lambda: declines(event))

    await fleet.start()
    await fleet.run_until(clock.now() + 3 * MINUTE)

    assert len(discord.next_openings) == 4, "the channel was opened again and again"
    assert await told_of_the_new_time() == [counted(withdrawn=1)]


@pytest.mark.parametrize(
    ("source", "meant"),
    [
        ("attendance_reminder", {SignupStatus.SIGNED_UP}),
        ("profile_reminder", {SignupStatus.SIGNED_UP, SignupStatus.CONFIRMED}),
        (PROMOTION, {SignupStatus.SIGNED_UP, SignupStatus.CONFIRMED, SignupStatus.WAITLISTED}),
        (
            TIME_CHANGED,
            {SignupStatus.SIGNED_UP, SignupStatus.CONFIRMED, SignupStatus.TENTATIVE, SignupStatus.WAITLISTED},
        ),
        ("signup_reminder", set(SignupStatus)),
    ],
)
async def test_a_message_about_an_event_stands_for_those_it_is_meant_for(
    database: str, clock: ManualClock, source: str, meant: set[SignupStatus]
) -> None:
    event = await make_event(now=clock.now(), state=EventState.SIGNUPS_OPEN, time_changes=1)
    for who, status in enumerate(SignupStatus, 1):
        await sign_up(event, [who], status)

    stands = {
        status
        for who, status in enumerate(SignupStatus, 1)
        if await still_stands(MessageKey(source, event.id, who, part=1))
    }

    assert stands == meant
    assert await still_stands(MessageKey(source, event.id, 99, part=1)) is (source == "signup_reminder")
    await Event.filter(id=event.id).update(state=EventState.CANCELLED)
    assert not await still_stands(MessageKey(source, event.id, 1, part=1))
    assert not await still_stands(MessageKey(source, event.id + 1, 1, part=1))
