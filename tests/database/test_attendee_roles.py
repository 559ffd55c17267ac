"""The role of those with a place: given, taken back, and brought in line again whatever failed or died in between."""

import asyncio
from collections import Counter

import pytest

from bot.clock import ManualClock
from bot.events.signups.attendee_roles import RoleError, RoleFault
from bot.events.signups.rules import Press
from bot.scheduling.bodies import OPEN_SCHEDULED_SIGNUPS, SYNC_ATTENDEE_ROLES
from models.event import Event
from models.event_signup import EventSignup
from models.ops_note import OpsNote
from models.states import EventState, SignupStatus
from tests.builders import (
    CHANNEL,
    GUILD,
    HOUR,
    MINUTE,
    OPS_CHANNEL,
    SECOND,
    FakeDiscord,
    Process,
    make_event,
    make_guild,
    process,
    utc,
)

NOW = utc("2026-03-01 12:00")
ADA, BRUNO, CLEO = 11, 12, 13
ROLE = 5
SIGNED_UP, CONFIRMED, TENTATIVE, WAITLISTED, DECLINED, REMOVED = SignupStatus


class Members:
    """The members of a server made by hand: who has which role; failures by script, by person or by role."""

    def __init__(self) -> None:
        self.have: set[tuple[int, int]] = set()
        self.calls: Counter[str] = Counter()
        self.faults: dict[int, RoleFault] = {}
        self.dies_after_next = False

    async def give_role(self, guild_id: int, user_id: int, role_id: int) -> None:
        self._fail("give", guild_id, user_id, role_id)
        self.have.add((user_id, role_id))
        if self.dies_after_next:
            raise asyncio.CancelledError

    async def take_role(self, guild_id: int, user_id: int, role_id: int) -> None:
        self._fail("take", guild_id, user_id, role_id)
        self.have.discard((user_id, role_id))
        if self.dies_after_next:
            raise asyncio.CancelledError

    async def has_left(self, guild_id: int, user_id: int) -> bool:
        return False

    def _fail(self, call: str, guild_id: int, user_id: int, role_id: int) -> None:
        assert guild_id == GUILD
        self.calls[call] += 1
        fault = self.faults.get(user_id) or self.faults.get(role_id)
        if fault is not None:
            raise RoleError(fault)


class Stage:
    """One server's events that give a role, and a process of the bot."""

    def __init__(self, bot: Process, members: Members, discord: FakeDiscord, clock: ManualClock) -> None:
        self.bot, self.members, self.discord, self.clock = bot, members, discord, clock

    async def event(self, **fields: object) -> Event:
        wanted = {"state": EventState.SIGNUPS_OPEN, "attendee_role_id": ROLE, "discord_announcement": False} | fields
        self.bot.services.agenda.wake(OPEN_SCHEDULED_SIGNUPS, self.clock.now())
        return await make_event(now=self.clock.now(), **wanted)  # type: ignore[arg-type]

    async def press(self, event: Event, *people: int, press: Press = Press.SIGN_UP) -> None:
        for who in people:
            await self.bot.services.signups.press(
                press, event.id, guild_id=GUILD, user_id=who, role_ids=frozenset(), now=self.clock.now()
            )

    async def settle(self) -> set[int]:
        """Let a minute pass; return who has the role then."""
        await self.bot.run_until(self.clock.now() + MINUTE)
        return {who for who, role in self.members.have if role == ROLE}

    async def marked(self) -> set[int]:
        return {row.user_id for row in await EventSignup.filter(has_role=True)}


async def stage() -> Stage:
    clock, members = ManualClock(NOW), Members()
    discord = FakeDiscord(clock)
    await make_guild()
    bot = await process(discord, clock, members=members)
    await bot.tick()
    return Stage(bot, members, discord, clock)


async def test_a_place_brings_the_role_and_losing_it_takes_it_back(database: str) -> None:
    here = await stage()
    event = await here.event(max_players=1)

    await here.press(event, ADA, BRUNO)
    first = await here.settle()
    await here.press(event, ADA, press=Press.CANT)
    second = await here.settle()

    assert (first, second) == ({ADA}, {BRUNO})
    assert await here.marked() == {BRUNO}
    assert here.members.calls == {"give": 2, "take": 1}


@pytest.mark.parametrize("ends", ["completed", "cancelled"])
async def test_the_role_is_taken_back_when_the_event_ends(database: str, ends: str) -> None:
    here = await stage()
    event = await here.event()
    await here.press(event, ADA, BRUNO)
    assert await here.settle() == {ADA, BRUNO}

    if ends == "cancelled":
        await Event.filter(id=event.id).update(state=EventState.CANCELLED)
        await here.bot.run(SYNC_ATTENDEE_ROLES)
    else:
        await here.bot.run_until(event.scheduled_at + HOUR)
        assert await here.settle() == {ADA, BRUNO}
        await here.bot.run_until(event.scheduled_at + 3 * HOUR)

    assert await here.settle() == set()
    assert await here.marked() == set()


async def test_a_role_that_another_event_of_the_person_gives_too_stays(database: str) -> None:
    here = await stage()
    first, second = await here.event(), await here.event(starts_in=9 * HOUR)
    await here.press(first, ADA)
    await here.press(second, ADA)
    await here.settle()

    await Event.filter(id=first.id).update(state=EventState.COMPLETED)
    await here.bot.run(SYNC_ATTENDEE_ROLES)
    between = await here.settle()
    await Event.filter(id=second.id).update(state=EventState.COMPLETED)
    await here.bot.run(SYNC_ATTENDEE_ROLES)

    assert (between, await here.settle()) == ({ADA}, set())
    assert here.members.calls["take"] == 1


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (RoleFault.NOT_ALLOWED, "I may not give or take the role <@&5> that people get for signing up."),
        (RoleFault.ROLE_GONE, "The role <@&5> that people get for signing up does not exist any more"),
    ],
)
async def test_a_role_that_cannot_be_given_is_one_note_in_words_and_is_tried_again(
    database: str, fault: RoleFault, says: str
) -> None:
    here = await stage()
    event = await here.event(starts_in=30 * HOUR)
    here.members.faults[ROLE] = fault
    await here.press(event, ADA, BRUNO, CLEO)

    await here.bot.run_until(NOW + 5 * HOUR)
    tried = here.members.calls["give"]
    here.members.faults.clear()
    await here.bot.run_until(NOW + 7 * HOUR)

    (note,) = here.discord.in_channel(OPS_CHANNEL)
    assert note.message.embed is not None
    assert note.message.embed.description.startswith(says)
    # A minute, two, four and so on, then hourly.
    assert 8 <= tried <= 12
    assert await here.settle() == {ADA, BRUNO, CLEO}
    assert (await OpsNote.get(fault="role:5")).says == ""
    assert await EventSignup.filter(status=SIGNED_UP).count() == 3


async def test_somebody_who_left_keeps_nobody_else_waiting_and_is_not_told_about(database: str) -> None:
    here = await stage()
    event = await here.event()
    here.members.faults[ADA] = RoleFault.MEMBER_LEFT
    await here.press(event, ADA, BRUNO)

    given = await here.settle()
    await here.press(event, ADA, BRUNO, press=Press.CANT)

    assert (given, await here.settle()) == ({BRUNO}, set())
    assert here.discord.in_channel(OPS_CHANNEL) == []


@pytest.mark.parametrize("fault", [RoleFault.MEMBER_LEFT, RoleFault.ROLE_GONE])
async def test_a_role_that_went_with_its_person_or_by_itself_counts_as_taken(database: str, fault: RoleFault) -> None:
    here = await stage()
    event = await here.event()
    await here.press(event, ADA)
    await here.settle()
    here.members.faults[ROLE] = fault

    await here.press(event, ADA, press=Press.CANT)
    await here.settle()

    assert await here.marked() == set()
    assert here.discord.in_channel(OPS_CHANNEL) == []


async def test_many_are_given_in_batches_a_few_seconds_apart(database: str) -> None:
    here = await stage()
    event = await here.event()
    await here.press(event, *range(100, 150))

    counts = []
    for _ in range(4):
        await here.bot.run(SYNC_ATTENDEE_ROLES)
        counts.append(here.members.calls["give"])
        here.clock.advance(3 * SECOND)

    assert counts == [20, 40, 50, 50]
    assert here.bot.next(SYNC_ATTENDEE_ROLES) is None


async def test_killed_between_the_call_and_its_mark_the_next_process_makes_it_good(database: str) -> None:
    here = await stage()
    event = await here.event()
    here.members.dies_after_next = True
    await here.press(event, ADA)
    with pytest.raises(asyncio.CancelledError):
        await here.bot.run(SYNC_ATTENDEE_ROLES)
    assert await here.marked() == set()
    here.members.dies_after_next = False

    second = await process(here.discord, here.clock, members=here.members)
    await second.run_until(NOW + MINUTE)

    assert (here.members.have, await here.marked()) == ({(ADA, ROLE)}, {ADA})


async def test_a_press_that_races_the_mark_ends_with_what_is_right(database: str) -> None:
    here = await stage()
    event = await here.event()
    await here.press(event, ADA)
    give = here.members.give_role

    async def _give_as_they_leave(guild_id: int, user_id: int, role_id: int) -> None:
        await give(guild_id, user_id, role_id)
        await here.press(event, ADA, press=Press.CANT)

    here.members.give_role = _give_as_they_leave  # type: ignore[method-assign]

    assert await here.settle() == set()
    assert await here.marked() == set()


async def test_what_ended_long_ago_and_a_server_that_is_away_are_left_alone(database: str) -> None:
    here = await stage()
    old = await here.event(starts_in=-32 * 24 * HOUR, state=EventState.COMPLETED)
    await EventSignup.create(event=old, user_id=ADA, status=SIGNED_UP, has_role=True, created_at=NOW, changed_at=NOW)
    event = await here.event()
    here.discord.unavailable.add(GUILD)
    await here.press(event, BRUNO)

    await here.settle()

    assert not here.members.calls
    assert here.discord.in_channel(CHANNEL) == []
