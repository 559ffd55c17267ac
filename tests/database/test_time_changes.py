"""Who signed up hears of a new time once, and of the last one alone: whatever dies, moves or fails in between."""

import datetime as dt

from bot.changes.event_time import EventTimes
from bot.clock import ManualClock
from bot.leases.failures import ErrorClass
from bot.message.outgoing import OutgoingMessage
from bot.reminders import markers
from bot.scheduling.agenda import Agenda
from bot.scheduling.bodies import TELL_TIME_CHANGES
from models.discord_message_log import DiscordMessageLog
from models.event import Event
from models.ops_note import OpsNote
from models.player_profile import PlayerProfile
from models.states import EventState, SignupStatus
from tests.admin_hands import ADMIN, take
from tests.builders import DAY, GUILD, HOUR, MINUTE, SECOND, FakeDiscord, log_rows, make_series, process, refused
from tests.conftest import START
from tests.people import PEOPLE, Fleet, asked_event, each_once, know, opt_out, reached, sign_up

SOURCE = "time_changed"
LATER = START + 3 * DAY


async def move(
    event: Event, to: dt.datetime, *, now: dt.datetime, tell: bool | None = None, agenda: Agenda | None = None
) -> None:
    desk = EventTimes(agenda or Agenda(), debounce=3 * SECOND, default_timezone="UTC")
    typed = f"<t:{int(to.timestamp())}:F>"
    reply = await desk.propose(str(event.id), typed, tell=tell, guild_id=GUILD, actor=ADMIN, now=now)
    await take(reply, now=now)


def says(discord: FakeDiscord, who: int) -> list[str]:
    """Return the times that a person was told, in order."""
    found = [post.message.embed for post in discord.dms(who)]
    return [one.fields[0].value.partition(" ")[0] for one in found if one is not None]


def stamp(moment: dt.datetime) -> str:
    return f"<t:{int(moment.timestamp())}:F>"


async def parents() -> list[tuple[int, bool | None]]:
    return [(row.part, row.success) for row in await log_rows(SOURCE) if not row.recipient_id]


async def test_everybody_who_may_come_is_told_once_and_at_once(
    database: str, fleet: Fleet, discord: FakeDiscord, clock: ManualClock
) -> None:
    event = await asked_event(PEOPLE[:2], starts_in=2 * DAY)
    for who, status in zip(
        PEOPLE[2:7],
        (
            SignupStatus.CONFIRMED,
            SignupStatus.TENTATIVE,
            SignupStatus.WAITLISTED,
            SignupStatus.DECLINED,
            SignupStatus.REMOVED,
        ),
        strict=True,
    ):
        await sign_up(event, [who], status)
    await know(PEOPLE)
    bot = await fleet.start()
    await fleet.run_until(clock.now() + SECOND)

    await move(event, LATER, now=clock.now(), agenda=bot.services.agenda)
    moved_at = clock.now()
    await fleet.run_until(clock.now() + 10 * SECOND)
    assert max(post.sent_at for post in discord.posts) - moved_at < 5 * SECOND
    fleet.passes_every = 8 * HOUR
    await fleet.run_until(LATER + HOUR)

    assert reached(discord) == each_once(PEOPLE[:5]) | dict.fromkeys(PEOPLE[5:], 0)
    assert says(discord, PEOPLE[0]) == [stamp(LATER)]
    assert await parents() == [(1, True)]
    (post,) = discord.dms(PEOPLE[0])
    assert markers.read(post.message.marker) == markers.Marked(SOURCE, event.id, part=1)
    assert "moved to another time" in post.message.content


async def test_after_a_crash_anywhere_everybody_is_told_once(
    database: str, fleet: Fleet, discord: FakeDiscord, clock: ManualClock
) -> None:
    event = await asked_event(PEOPLE, starts_in=2 * DAY)
    await know(PEOPLE)
    await move(event, LATER, now=clock.now())

    for number, when in ((1, "before"), (3, "after"), (2, "before"), (1, "after")):
        await fleet.start(crash_at=("dm", number, when))
        assert await fleet.run_until(clock.now() + HOUR, until_crash=True)
        clock.advance(MINUTE)
    await fleet.start()
    await fleet.run_until(clock.now() + 3 * MINUTE)

    assert reached(discord) == each_once()
    assert await parents() == [(1, True)]


async def test_a_process_that_dies_between_the_move_and_the_first_message_loses_nobody(
    database: str, fleet: Fleet, discord: FakeDiscord, clock: ManualClock
) -> None:
    event = await asked_event(PEOPLE[:3], starts_in=2 * DAY)
    await know(PEOPLE)
    await fleet.start("first")
    await fleet.run_until(clock.now() + SECOND)
    await move(event, LATER, now=clock.now())
    await fleet.kill("first")

    await fleet.start("second")
    await fleet.run_until(clock.now() + 2 * MINUTE)

    assert reached(discord, PEOPLE[:3]) == each_once(PEOPLE[:3])


async def test_two_processes_tell_everybody_once(
    database: str, fleet: Fleet, discord: FakeDiscord, clock: ManualClock
) -> None:
    event = await asked_event(PEOPLE, starts_in=2 * DAY)
    await know(PEOPLE)
    await fleet.start("one")
    await fleet.start("two")
    await move(event, LATER, now=clock.now())

    await fleet.run_until(clock.now() + 2 * MINUTE)

    assert reached(discord) == each_once()


async def test_moved_twice_before_anything_went_out_people_hear_of_the_last_time_only(
    database: str, fleet: Fleet, discord: FakeDiscord, clock: ManualClock
) -> None:
    event = await asked_event(PEOPLE[:4], starts_in=2 * DAY)
    await know(PEOPLE)
    for days in (3, 4, 5):
        await move(event, START + days * DAY, now=clock.now())

    await fleet.start()
    await fleet.run_until(clock.now() + 3 * MINUTE)

    assert [says(discord, who) for who in PEOPLE[:4]] == [[stamp(START + 5 * DAY)]] * 4
    assert await parents() == [(3, True)]


async def test_moved_again_in_the_middle_the_rest_hears_of_the_last_time_alone(
    database: str, fleet: Fleet, discord: FakeDiscord, clock: ManualClock
) -> None:
    event = await asked_event(PEOPLE, starts_in=2 * DAY)
    await know(PEOPLE)
    bot = await fleet.start()

    async def _again(_message: OutgoingMessage) -> None:
        if len(discord.posts) == 3:
            discord.before_send = None
            fleet.lines["one"].before_send = None
            await move(event, START + 5 * DAY, now=clock.now(), agenda=bot.services.agenda)

    fleet.lines["one"].before_send = _again
    await move(event, LATER, now=clock.now(), agenda=bot.services.agenda)
    await fleet.run_until(clock.now() + 3 * MINUTE)

    told = [says(discord, who) for who in PEOPLE]
    assert all(times[-1] == stamp(START + 5 * DAY) for times in told)
    assert all(len(times) == len(set(times)) for times in told), "somebody was told the same twice"
    assert sum(len(times) == 2 for times in told) in {3, 4}, "those alone who were reached before"


async def test_moved_once_more_without_a_word_who_was_not_told_yet_reads_the_time_that_stands(
    database: str, fleet: Fleet, discord: FakeDiscord, clock: ManualClock
) -> None:
    event = await asked_event(PEOPLE[:3], starts_in=2 * DAY)
    await know(PEOPLE)
    await move(event, LATER, now=clock.now())
    await move(event, START + 5 * DAY, now=clock.now(), tell=False)

    await fleet.start()
    await fleet.run_until(clock.now() + 3 * MINUTE)

    assert [says(discord, who) for who in PEOPLE[:3]] == [[stamp(START + 5 * DAY)]] * 3


async def test_told_nobody_where_the_admin_said_no_or_it_was_cancelled_since(
    database: str, fleet: Fleet, discord: FakeDiscord, clock: ManualClock
) -> None:
    event = await asked_event(PEOPLE[:3], starts_in=2 * DAY)
    await move(event, LATER, now=clock.now(), tell=False)
    await fleet.start()
    await fleet.run_until(clock.now() + MINUTE)
    await fleet.kill("one")
    await move(event, START + 5 * DAY, now=clock.now())
    await Event.filter(id=event.id).update(state=EventState.CANCELLED)

    await fleet.start()
    await fleet.run_until(clock.now() + 3 * MINUTE)

    assert discord.posts == []
    assert await log_rows(SOURCE) == []


async def test_who_wants_no_such_message_or_takes_none_holds_nobody_up(
    database: str, fleet: Fleet, discord: FakeDiscord, clock: ManualClock
) -> None:
    event = await asked_event(PEOPLE[:4], starts_in=2 * DAY)
    await know(PEOPLE)
    await opt_out(PEOPLE[0], SOURCE)
    discord.closed_dms.add(PEOPLE[1])
    await move(event, LATER, now=clock.now())

    await fleet.start()
    await fleet.run_until(clock.now() + 3 * MINUTE)

    assert reached(discord, PEOPLE[:4]) == each_once(PEOPLE[:4], but=PEOPLE[:2])
    row = await DiscordMessageLog.get(source=SOURCE, recipient_id=0)
    assert row.embed_data is not None
    assert (row.embed_data["sent"], row.embed_data["unreachable"]) == (2, 1)


async def test_who_changed_their_mind_before_their_turn_is_not_told(
    database: str, fleet: Fleet, discord: FakeDiscord, clock: ManualClock
) -> None:
    event = await asked_event(PEOPLE[:3], starts_in=2 * DAY)
    await know(PEOPLE)
    bot = await fleet.start()

    async def _decline(_message: OutgoingMessage) -> None:
        fleet.lines["one"].before_send = None
        await event.signups.filter(user_id=PEOPLE[2]).update(status=SignupStatus.DECLINED)  # type: ignore[attr-defined]

    fleet.lines["one"].before_send = _decline
    await move(event, LATER, now=clock.now(), agenda=bot.services.agenda)
    await fleet.run_until(clock.now() + 3 * MINUTE)

    assert reached(discord, PEOPLE[:3]) == each_once(PEOPLE[:3], but=PEOPLE[2:3])


async def test_what_the_start_overtook_is_recorded_and_the_admins_are_told(
    database: str, fleet: Fleet, discord: FakeDiscord, clock: ManualClock
) -> None:
    first = await asked_event(PEOPLE[:2], starts_in=2 * DAY, name="The first")
    second = await another("The second", PEOPLE[2:5])
    await know(PEOPLE)
    for event in (first, second):
        await move(event, clock.now() + HOUR, now=clock.now())
    discord.unavailable.add(GUILD)
    await fleet.start()
    fleet.passes_every = 10 * MINUTE
    await fleet.run_until(clock.now() + 2 * HOUR)
    assert discord.posts == []

    discord.unavailable.clear()
    await fleet.run_until(clock.now() + 20 * MINUTE)

    assert [(row.success, row.error_class) for row in await log_rows(SOURCE)] == [(False, ErrorClass.EVENT_STARTED)] * 2
    note = await OpsNote.get(fault="missed")
    assert "The first" in note.says
    assert "The second" in note.says
    assert "time changed" in note.says
    assert reached(discord, PEOPLE[:5]) == dict.fromkeys(PEOPLE[:5], 0)


async def another(name: str, people: tuple[int, ...]) -> Event:
    event = await Event.create(
        guild_id=GUILD,
        name=name,
        state=EventState.SIGNUPS_OPEN,
        scheduled_at=START + 2 * DAY,
        created_at=START,
        state_since=START,
    )
    await sign_up(event, people)
    return event


async def test_a_message_that_failed_is_tried_again_and_comes_once(
    database: str, discord: FakeDiscord, clock: ManualClock
) -> None:
    event = await asked_event(PEOPLE[:2], starts_in=2 * DAY)
    await know(PEOPLE)
    bot = await process(discord, clock)
    await bot.tick()
    discord.next_sends = [refused(ErrorClass.OUTAGE), refused(ErrorClass.OUTAGE, arrived=True)]

    await move(event, LATER, now=clock.now(), agenda=bot.services.agenda)
    await bot.run_until(clock.now() + HOUR, at_most_apart=MINUTE)

    assert reached(discord, PEOPLE[:2]) == each_once(PEOPLE[:2])
    assert bot.next(TELL_TIME_CHANGES) is None


async def test_who_silenced_the_series_is_not_told(
    database: str, fleet: Fleet, discord: FakeDiscord, clock: ManualClock
) -> None:
    series = await make_series(now=START, is_active=False)
    event = await asked_event(PEOPLE[:2], starts_in=2 * DAY, series_id=series.id)
    await PlayerProfile.create(guild_id=GUILD, user_id=PEOPLE[0], series_opt_outs=[series.id], updated_at=START)
    await know(PEOPLE)
    await move(event, LATER, now=clock.now())
    await fleet.start()
    await fleet.run_until(clock.now() + 2 * MINUTE)

    assert reached(discord, PEOPLE[:2]) == each_once(PEOPLE[:2], but=PEOPLE[:1])
