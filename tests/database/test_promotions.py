"""Who moves up is told once, whatever dies in between; and a place that is offered goes to one, in time, or on."""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import pytest

from bot.bootstrap import ServiceOptions
from bot.clock import ManualClock
from bot.database import opened
from bot.errors import BotError
from bot.events.lifecycle import transition
from bot.events.signups.desk import SignupDesk
from bot.events.signups.people import people_of
from bot.events.signups.rules import OfferOverError, Press, RemovedError, RoleRequiredError
from bot.events.signups.sign_up import SignupAnswer, Signups
from bot.events.signups.waiting_line import PASSED, end_offers, fill_places, promote, wake_after_promotion
from bot.leases import ledger
from bot.leases.failures import ErrorClass
from bot.leases.ledger import Claim, Lease
from bot.message.proposal import Proposal
from bot.scheduling.agenda import Agenda
from bot.scheduling.bodies import (
    DRAIN_DM_QUEUE,
    OPEN_SCHEDULED_SIGNUPS,
    TELL_PROMOTIONS,
)
from bot.transactions import atomic
from models.event import Event
from models.event_signup import EventSignup
from models.states import EventState, SignupStatus
from tests.builders import (
    GUILD,
    HOUR,
    MINUTE,
    SECOND,
    FakeDiscord,
    Process,
    log_rows,
    make_event,
    make_guild,
    process,
    refused,
    utc,
)

NOW = utc("2026-03-01 12:00")
ADA, BRUNO, CLEO, DORA, EMIL = 11, 12, 13, 14, 15
SIGN_UP, MAYBE, CANT, CONFIRM, CANT_MAKE_IT = Press
SIGNED_UP, CONFIRMED, TENTATIVE, WAITLISTED, DECLINED, REMOVED = SignupStatus
OFFER: dict[str, Any] = {"signup_offer_minutes": 30}


class Night:
    """One event with one place, people who press, and the Discord and clock that its processes share."""

    def __init__(self, event: Event, discord: FakeDiscord, clock: ManualClock) -> None:
        self.event, self.discord, self.clock = event, discord, clock
        self.signups = Signups(Agenda(), debounce=3 * SECOND)

    async def press(self, *people: int, press: Press = SIGN_UP) -> list[SignupAnswer]:
        return [
            await self.signups.press(
                press, self.event.id, guild_id=GUILD, user_id=who, role_ids=frozenset(), now=self.clock.now()
            )
            for who in people
        ]

    async def answer(self, who: int, *, accepts: bool, **options: Any) -> SignupAnswer:  # noqa: ANN401
        wanted: dict[str, Any] = {"guild_id": GUILD, "role_ids": frozenset(), "now": self.clock.now()}
        return await self.signups.answer_offer(self.event.id, accepts=accepts, user_id=who, **(wanted | options))

    async def process(self, name: str = "one", **options: Any) -> Process:  # noqa: ANN401
        bot = await process(self.discord, self.clock, name=name, options=ServiceOptions(**options))
        self.signups = bot.services.signups
        return bot

    def told(self, who: int) -> list[str]:
        """Return what the DMs to somebody begin with."""
        return [post.message.content.partition(",")[0].partition(":")[0] for post in self.discord.dms(who)]

    async def coming(self) -> list[int]:
        return [person.user_id for person in (await people_of(self.event.id)).attending]

    async def line(self) -> list[int]:
        return [person.user_id for person in (await people_of(self.event.id)).waitlisted]

    async def held_for(self) -> list[int]:
        people = await people_of(self.event.id)
        return [person.user_id for person in people.waitlisted if person.offered_until is not None]

    async def row(self, who: int) -> EventSignup:
        return await EventSignup.get(event_id=self.event.id, user_id=who)


async def night(**fields: object) -> Night:
    """Return an event with one place that Ada has, and for which Bruno, Cleo and Dora wait."""
    clock = ManualClock(NOW)
    await make_guild()
    wanted = {"state": EventState.SIGNUPS_OPEN, "max_players": 1, "discord_announcement": False} | fields
    found = Night(await make_event(now=NOW, **wanted), FakeDiscord(clock), clock)  # type: ignore[arg-type]
    await found.press(ADA, BRUNO, CLEO, DORA)
    return found


# ------------------------------------------------------------------------------------------------------- moved up


@pytest.mark.parametrize("offers", [{}, OFFER], ids=["at once", "by offers"])
async def test_who_waits_and_is_given_a_place_by_an_admin_is_told_once(database: str, offers: dict[str, Any]) -> None:
    world = await night(**offers)
    bot = await world.process()
    await bot.tick()
    desk = SignupDesk(bot.services.agenda, debounce=3 * SECOND)

    asked = await desk.add(str(world.event.id), DORA, guild_id=GUILD, actor=1, now=NOW)
    assert isinstance(asked, Proposal)
    await asked.ways[0].then(NOW)
    await bot.run_until(NOW + HOUR)

    assert world.told(DORA) == ["There is a place for you"]
    assert [button.label for button in world.discord.dms(DORA)[0].message.buttons] == ["Can't make it"]
    assert [world.told(who) for who in (ADA, BRUNO, CLEO)] == [[], [], []]
    assert await world.coming() == [ADA, DORA]


@pytest.mark.parametrize("cancelled", [True, False], ids=["cancelled", "as it was"])
async def test_an_event_cancelled_between_rendering_and_claim_tells_nobody(
    database: str, monkeypatch: pytest.MonkeyPatch, *, cancelled: bool
) -> None:
    world = await night()
    bot = await world.process()
    await bot.tick()
    claim_lease, claimed = ledger.claim_lease, list[str]()

    async def _claim(claim: Claim, **rest: Any) -> Lease | None:  # noqa: ANN401 -- passed on as they came
        claimed.append(claim.key.source)
        if cancelled:
            event = await Event.get(id=world.event.id)
            assert await transition(event, allowed={event.state}, to=EventState.CANCELLED, now=NOW, debounce=3 * SECOND)
        return await claim_lease(claim, **rest)

    monkeypatch.setattr(ledger, "claim_lease", _claim)
    await world.press(ADA, press=CANT)
    await bot.run_until(NOW + MINUTE)

    assert claimed == ["promotion"]
    assert len(world.discord.dms(BRUNO)) == (0 if cancelled else 1)
    assert len(await log_rows("promotion")) == (0 if cancelled else 1)


async def test_who_is_added_and_did_not_wait_is_not_told(database: str) -> None:
    world = await night(max_players=9)
    bot = await world.process()

    await SignupDesk(bot.services.agenda, debounce=3 * SECOND).add(
        str(world.event.id), EMIL, guild_id=GUILD, actor=1, now=NOW
    )
    await bot.run_until(NOW + HOUR)

    assert world.told(EMIL) == []


async def test_who_moves_up_is_told_once_by_dm_with_a_way_to_give_the_place_back(database: str) -> None:
    world = await night()
    bot = await world.process()
    await bot.tick()

    (answer,) = await world.press(ADA, press=CANT)
    await bot.run(TELL_PROMOTIONS)
    await bot.run_until(NOW + HOUR)

    (dm,) = world.discord.dms(BRUNO)
    assert answer.promoted == (BRUNO,)
    assert dm.message.content == "There is a place for you: you moved up from the wait-list and are signed up now."
    assert [button.label for button in dm.message.buttons] == ["Can't make it"]
    assert dm.message.marker == f"#{world.event.id} place 1"
    assert [len(world.discord.dms(who)) for who in (ADA, CLEO, DORA)] == [0, 0, 0]
    assert [(row.recipient_id, row.part, row.success) for row in await log_rows("promotion")] == [(BRUNO, 1, True)]


async def test_everybody_whom_a_raised_limit_lets_in_is_told(database: str) -> None:
    world = await night()
    bot = await world.process()

    async def _unit() -> tuple[int, ...]:
        await Event.filter(id=world.event.id).update(max_players=3)
        return await promote(world.event.id, was=world.event.max_players, now=NOW)

    promoted = await atomic(_unit)
    wake_after_promotion(bot.services.agenda, now=NOW)
    await bot.run_until(NOW + MINUTE)

    assert promoted == (BRUNO, CLEO)
    assert [world.told(who) for who in (BRUNO, CLEO, DORA)] == [
        ["There is a place for you"],
        ["There is a place for you"],
        [],
    ]


async def test_who_moves_up_again_is_told_again(database: str) -> None:
    world = await night()
    bot = await world.process()
    await world.press(ADA, press=CANT)
    await bot.run_until(NOW + MINUTE)
    await world.press(BRUNO, press=CANT)
    await bot.run_until(NOW + 2 * MINUTE)
    await world.press(BRUNO)
    for who in (CLEO, DORA):
        await world.press(who, press=CANT)
        await bot.run_until(world.clock.now() + MINUTE)

    assert [post.message.marker for post in world.discord.dms(BRUNO)] == [
        f"#{world.event.id} place 1",
        f"#{world.event.id} place 2",
    ]


async def test_who_gave_the_place_back_before_their_turn_came_is_not_told(database: str) -> None:
    world = await night()
    bot = await world.process()
    await bot.tick()
    await world.press(ADA, press=CANT)
    await bot.services.agenda.run(bot.services.body(TELL_PROMOTIONS), NOW)

    await world.press(BRUNO, press=CANT)
    await bot.run_until(NOW + MINUTE)

    assert (world.told(BRUNO), world.told(CLEO)) == ([], ["There is a place for you"])


@pytest.mark.parametrize("state", [EventState.CANCELLED, EventState.IN_PROGRESS])
async def test_of_an_event_that_is_no_longer_ahead_nobody_is_told(database: str, state: EventState) -> None:
    world = await night()
    await world.press(ADA, press=CANT)
    await Event.filter(id=world.event.id).update(state=state)

    await (await world.process()).run_until(NOW + MINUTE)

    assert world.discord.posts == []


async def test_closed_dms_end_as_failed_with_the_reason_once(database: str) -> None:
    world = await night()
    world.discord.closed_dms.add(BRUNO)
    bot = await world.process()
    await world.press(ADA, press=CANT)

    await bot.run_until(NOW + 5 * HOUR)

    assert [(row.success, row.error_class, row.attempts) for row in await log_rows("promotion")] == [
        (False, "recipient_unreachable", 1)
    ]
    assert world.discord.posts == []
    assert await world.coming() == [BRUNO]


async def test_an_outage_is_tried_again_until_it_is_over(database: str) -> None:
    world = await night()
    world.discord.next_sends = [refused(ErrorClass.OUTAGE), refused(ErrorClass.OUTAGE)]
    bot = await world.process()
    await world.press(ADA, press=CANT)

    await bot.run_until(NOW + 10 * MINUTE)

    assert world.told(BRUNO) == ["There is a place for you"]
    assert [row.success for row in await log_rows("promotion")] == [False, False, True]


# --------------------------------------------------------------------------------------------- deaths and processes


async def test_killed_before_anybody_was_told_the_next_process_tells(database: str) -> None:
    world = await night()
    first = await world.process()
    await first.tick()
    await world.press(ADA, press=CANT)
    await first.services.agenda.run(first.services.body(TELL_PROMOTIONS), NOW)
    await first.crash()

    world.clock.advance(5 * SECOND)
    await (await world.process()).run_until(NOW + 10 * MINUTE)

    assert world.told(BRUNO) == ["There is a place for you"]


@pytest.mark.parametrize("arrived", [True, False])
async def test_killed_in_the_middle_of_a_send_the_next_process_finds_out_and_tells_once(
    database: str, arrived: bool
) -> None:
    world = await night()
    first = await world.process()
    await first.tick()
    await world.press(ADA, press=CANT)
    hangs = asyncio.Event()

    async def _hang(_message: object) -> None:
        hangs.set()
        await asyncio.Event().wait()

    if arrived:
        world.discord.next_sends = [refused(ErrorClass.OUTAGE, arrived=True)]
    else:
        world.discord.before_send = _hang
    await first.services.agenda.run(first.services.body(TELL_PROMOTIONS), NOW)
    for _ in range(3):
        await first.services.agenda.run(first.services.body(DRAIN_DM_QUEUE), NOW)
        world.clock.advance(SECOND)
        for _ in range(100):
            await asyncio.sleep(0.001)
    await first.crash()
    world.discord.before_send = None

    second = await world.process(name="one")
    await second.run_until(NOW + 10 * MINUTE)

    assert world.told(BRUNO) == ["There is a place for you"]
    assert [row.success for row in await log_rows("promotion")] == [True]


async def test_of_two_processes_that_find_the_same_one_tells(database: str) -> None:
    world = await night()
    bots = [await world.process("one"), await world.process("two")]
    for bot in bots:
        await bot.tick()
    await world.press(ADA, press=CANT)

    for _ in range(20):
        for bot in bots:
            await bot.services.agenda.run(bot.services.body(TELL_PROMOTIONS), world.clock.now())
        await asyncio.gather(*(bot.run(DRAIN_DM_QUEUE) for bot in bots))
        world.clock.advance(SECOND)

    assert world.told(BRUNO) == ["There is a place for you"]
    assert [row.success for row in await log_rows("promotion")] == [True]


# --------------------------------------------------------------------------------------------------- offered in time


async def test_the_next_in_line_is_offered_the_place_and_it_is_held_for_them(database: str) -> None:
    world = await night(**OFFER)
    bot = await world.process()

    (freed,) = await world.press(ADA, press=CANT)
    await bot.run(TELL_PROMOTIONS)
    await bot.run_until(NOW + MINUTE)
    (late,) = await world.press(EMIL)

    (dm,) = world.discord.dms(BRUNO)
    until = int((NOW + 30 * MINUTE).timestamp())
    assert freed.promoted == (BRUNO,)
    assert dm.message.content == (
        f"A place became free, and it is held for you until <t:{until}:F> (<t:{until}:R>). Do you want it?"
    )
    assert [button.label for button in dm.message.buttons] == ["Accept", "No thanks"]
    assert (await world.coming(), await world.line(), late.status) == ([], [BRUNO, CLEO, DORA, EMIL], WAITLISTED)
    assert late.sentence.endswith("as number 4, and are asked by direct message when a place becomes free.")


@pytest.mark.parametrize("state", [EventState.SIGNUPS_OPEN, EventState.ROLL_CALL])
async def test_accepting_in_time_gives_the_place_and_again_says_so(database: str, state: EventState) -> None:
    world = await night(**OFFER)
    await world.press(ADA, press=CANT)
    await Event.filter(id=world.event.id).update(state=state)
    world.clock.advance(30 * MINUTE - SECOND)

    taken, again = await world.answer(BRUNO, accepts=True), await world.answer(BRUNO, accepts=True)

    assert taken.sentence.startswith("You are signed up for **Raid night**: ")
    assert (taken.status, again.changed, again.sentence) == (
        SIGNED_UP,
        False,
        "You are signed up for **Raid night** already.",
    )
    assert (await world.coming(), await world.line(), await world.held_for()) == ([BRUNO], [CLEO, DORA], [])
    assert (await world.row(BRUNO)).offered_until is None


async def test_signing_up_on_the_post_takes_the_place_that_is_held(database: str) -> None:
    world = await night(**OFFER)
    await world.press(ADA, press=CANT)

    (taken,) = await world.press(BRUNO)

    assert (taken.status, await world.coming(), await world.line()) == (SIGNED_UP, [BRUNO], [CLEO, DORA])


async def test_no_thanks_takes_the_person_off_the_line_and_asks_the_next(database: str) -> None:
    world = await night(**OFFER)
    bot = await world.process()
    await world.press(ADA, press=CANT)

    passed_on, again = await world.answer(BRUNO, accepts=False), await world.answer(BRUNO, accepts=False)
    await bot.run(TELL_PROMOTIONS)
    await bot.run_until(NOW + MINUTE)

    assert passed_on.sentence == "You are down as not coming to **Raid night**; you left its wait-list."
    assert (passed_on.promoted, again.changed) == ((CLEO,), False)
    assert (await world.line(), await world.held_for()) == ([CLEO, DORA], [CLEO])
    assert (world.told(BRUNO), world.told(CLEO)) == ([], ["A place became free"])


async def test_time_that_runs_out_asks_the_next_right_then_and_nobody_twice(database: str) -> None:
    world = await night(**OFFER)
    bot = await world.process()
    await world.press(ADA, press=CANT)

    await bot.run_until(NOW + 5 * HOUR)

    asked = {who: [post.sent_at - NOW for post in world.discord.dms(who)] for who in (BRUNO, CLEO, DORA)}
    assert all(len(moments) == 1 for moments in asked.values())
    for number, who in enumerate((BRUNO, CLEO, DORA)):
        assert number * 30 * MINUTE <= asked[who][0] <= number * 30 * MINUTE + 5 * SECOND
    assert (await world.coming(), await world.line(), await world.held_for()) == ([], [BRUNO, CLEO, DORA], [])
    assert {row.offered_until for row in await EventSignup.filter(status=WAITLISTED)} == {PASSED}


async def test_a_place_that_everybody_let_pass_is_there_for_whoever_signs_up(database: str) -> None:
    world = await night(**OFFER)
    bot = await world.process()
    await world.press(ADA, press=CANT)
    await bot.run_until(NOW + 2 * HOUR)

    first, second = await world.press(CLEO, EMIL)

    assert (first.status, second.status) == (SIGNED_UP, WAITLISTED)
    assert await world.line() == [BRUNO, DORA, EMIL]


async def test_who_let_an_offer_pass_waits_behind_those_who_did_not_until_another_place_is_free(database: str) -> None:
    world = await night(**OFFER)
    bot = await world.process()
    await world.press(ADA, press=CANT)
    await bot.run_until(NOW + 31 * MINUTE)
    await world.answer(CLEO, accepts=True)

    (freed,) = await world.press(CLEO, press=CANT)
    after = await world.answer(DORA, accepts=False)

    assert (freed.promoted, after.promoted) == ((DORA,), (BRUNO,))
    assert (await world.row(BRUNO)).promotions == 2


async def test_an_offer_ends_when_the_event_begins(database: str) -> None:
    world = await night(**OFFER, starts_in=10 * MINUTE)
    bot = await world.process()
    await world.press(ADA, press=CANT)
    assert (await world.row(BRUNO)).offered_until == NOW + 10 * MINUTE

    await bot.run_until(NOW + 10 * MINUTE)

    assert await world.held_for() == []
    assert world.told(CLEO) == []
    with pytest.raises(BotError, match=r"has begun, so nothing was changed\.$"):
        await world.answer(BRUNO, accepts=True)


async def test_a_press_after_the_end_is_answered_in_words_and_changes_nothing(database: str) -> None:
    world = await night(**OFFER)
    await world.press(ADA, press=CANT)
    world.clock.advance(30 * MINUTE)

    says = (
        "No place in **Raid night** is held for you any more. Press Sign up in its post: you get a place, or stand in"
        " its line, whatever is there."
    )
    for who, accepts in ((BRUNO, True), (BRUNO, False), (DORA, True), (EMIL, False)):
        with pytest.raises(OfferOverError) as over:
            await world.answer(who, accepts=accepts)
        assert str(over.value) == says

    assert (await world.row(BRUNO)).offered_until == NOW + 30 * MINUTE


async def test_who_lacks_the_role_or_was_removed_cannot_accept(database: str) -> None:
    world = await night(**OFFER)
    await world.press(ADA, press=CANT)
    await Event.filter(id=world.event.id).update(required_role_id=5)

    with pytest.raises(RoleRequiredError):
        await world.answer(BRUNO, accepts=True)
    await EventSignup.filter(user_id=BRUNO).update(status=REMOVED, offered_until=None, position=None)
    with pytest.raises(RemovedError):
        await world.answer(BRUNO, accepts=True, role_ids=frozenset({5}))


async def test_an_offer_of_another_servers_event_is_gone(database: str) -> None:
    world = await night(**OFFER)
    await world.press(ADA, press=CANT)

    with pytest.raises(BotError, match=r"^This is no longer available\.$"):
        await world.answer(BRUNO, accepts=True, guild_id=GUILD + 1)

    assert await world.held_for() == [BRUNO]


async def test_a_lowered_limit_takes_the_latest_offers_back_and_no_place(database: str) -> None:
    world = await night(**OFFER, max_players=3)
    await world.press(EMIL, 21)
    await world.press(BRUNO, CLEO, press=CANT)
    held = await world.held_for()
    assert held == [DORA, EMIL]

    async def _unit() -> None:
        await Event.filter(id=world.event.id).update(max_players=2)
        await promote(world.event.id, was=3, now=NOW)

    await atomic(_unit)

    assert await world.held_for() == held[: 2 - len(await world.coming())]
    assert len(await world.coming()) + len(await world.held_for()) == 2


async def test_a_lowered_limit_asks_nobody_again_who_let_an_offer_pass(database: str) -> None:
    world = await night(**OFFER, max_players=3)
    await world.press(ADA, BRUNO, press=CANT)
    before = await world.held_for()
    later = NOW + OFFER["signup_offer_minutes"] * MINUTE
    await end_offers(Agenda(), now=later, debounce=3 * SECOND)
    assert (await world.held_for(), len(before)) == ([], 1)

    async def _limit(was: int, to: int) -> tuple[int, ...]:
        await Event.filter(id=world.event.id).update(max_players=to)
        return await promote(world.event.id, was=was, now=later)

    lowered = await atomic(partial(_limit, 3, 2))
    raised = await atomic(partial(_limit, 2, 3))

    assert (lowered, raised) == ((), tuple(before))


async def test_a_limit_that_is_lifted_lets_those_with_an_offer_in_too(database: str) -> None:
    world = await night(**OFFER)
    await world.press(ADA, press=CANT)

    async def _unit() -> tuple[int, ...]:
        await Event.filter(id=world.event.id).update(max_players=None)
        return await promote(world.event.id, was=world.event.max_players, now=NOW)

    assert await atomic(_unit) == (BRUNO, CLEO, DORA)
    assert (await world.line(), await world.held_for()) == ([], [])


class Left:
    """The members of a server that one person has left."""

    def __init__(self, who: int) -> None:
        self._who = who

    async def has_left(self, guild_id: int, user_id: int) -> bool:
        assert guild_id == GUILD
        return user_id == self._who

    async def give_role(self, guild_id: int, user_id: int, role_id: int) -> None:
        raise AssertionError

    async def take_role(self, guild_id: int, user_id: int, role_id: int) -> None:
        raise AssertionError


async def test_who_left_the_server_loses_the_offer_to_the_next(database: str) -> None:
    world = await night(**OFFER)
    bot = await process(world.discord, world.clock, members=Left(BRUNO))
    world.signups = bot.services.signups
    await world.press(ADA, press=CANT)

    await bot.run_until(NOW + MINUTE)

    assert (world.told(BRUNO), world.told(CLEO)) == ([], ["A place became free"])
    assert (await world.row(BRUNO)).status is DECLINED


async def test_killed_before_an_offer_ended_the_next_process_ends_it(database: str) -> None:
    world = await night(**OFFER)
    first = await world.process()
    await world.press(ADA, press=CANT)
    await first.run_until(NOW + MINUTE)
    await first.crash()
    world.clock.set(NOW + 2 * HOUR)

    second = await world.process()
    await second.run_until(NOW + 2 * HOUR + MINUTE)

    assert await world.held_for() == [CLEO]
    assert (await world.row(CLEO)).offered_until == NOW + 2 * HOUR + 30 * MINUTE
    assert (world.told(BRUNO), world.told(CLEO)) == (["A place became free"], ["A place became free"])


async def test_one_event_whose_offers_cannot_be_ended_stops_no_other(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = await night(**OFFER)
    other = await make_event(now=NOW, max_players=1, state=EventState.SIGNUPS_OPEN, **OFFER)
    await world.press(ADA, press=CANT)
    await EventSignup.create(
        event=other, user_id=EMIL, status=WAITLISTED, position=1, offered_until=NOW, created_at=NOW, changed_at=NOW
    )
    bot = await world.process()
    world.clock.advance(HOUR)

    async def _fails_for_one(event: Event, **options: Any) -> tuple[int, ...]:  # noqa: ANN401
        if event.id == world.event.id:
            raise RuntimeError("planted")
        return await fill_places(event, **options)

    monkeypatch.setattr("bot.events.signups.waiting_line.fill_places", _fails_for_one)
    await bot.run(OPEN_SCHEDULED_SIGNUPS)

    assert (await world.row(BRUNO)).offered_until == NOW + 30 * MINUTE
    assert (await EventSignup.get(user_id=EMIL)).offered_until == PASSED


# ------------------------------------------------------------------------------------------------------------- races


async def as_another_process(url: str, work: Callable[[], Coroutine[Any, Any, object]]) -> object:
    async with opened(url):
        return await work()


async def test_a_place_accepted_as_its_offer_ends_goes_to_one(database: str) -> None:  # noqa: C901 -- four at once
    worlds = []
    for _ in range(12):
        event = await make_event(now=NOW, max_players=1, state=EventState.SIGNUPS_OPEN, **OFFER)
        worlds.append(Night(event, FakeDiscord(ManualClock(NOW)), ManualClock(NOW)))
        await worlds[-1].press(ADA, BRUNO, CLEO)
        await worlds[-1].press(ADA, press=CANT)
        worlds[-1].clock.advance(30 * MINUTE - SECOND)

    async def _accept() -> None:
        for world in worlds:
            with contextlib.suppress(OfferOverError):
                await world.answer(BRUNO, accepts=True)

    async def _end() -> None:
        for _ in worlds:
            await end_offers(Agenda(), now=NOW + 30 * MINUTE, debounce=3 * SECOND)

    async def _sign_up() -> None:
        for world in worlds:
            await world.press(EMIL)

    await asyncio.gather(*(as_another_process(database, work) for work in (_accept, _end, _end, _sign_up)))

    for world in worlds:
        people = await people_of(world.event.id)
        held = [one for one in people.waitlisted if one.offered_until is not None]
        assert len(people.attending) + len(held) == 1
        assert {one.user_id for one in (*people.attending, *people.waitlisted)} == {BRUNO, CLEO, EMIL}


async def test_accepting_twice_at_once_is_one_place_and_two_answers(database: str) -> None:
    world = await night(**OFFER)
    await world.press(ADA, press=CANT)

    answers = await asyncio.gather(*(world.answer(BRUNO, accepts=True) for _ in range(5)))

    assert sorted(answer.changed for answer in answers) == [False] * 4 + [True]
    assert await world.coming() == [BRUNO]
