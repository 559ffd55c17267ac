"""What is ahead in a server: its own events, soonest first, each with where the person stands."""

from bot.events.ahead import Outlook, Standing, outlook
from models.event import Event
from models.event_signup import EventSignup
from models.states import EventState, SignupStatus
from tests.builders import GUILD, HOUR, OTHER_GUILD, make_event, utc

NOW = utc("2026-03-01 12:00")
ADA = 11


async def stand(event: Event, user_id: int, status: SignupStatus, position: int | None = None) -> None:
    await EventSignup.create(
        event=event, user_id=user_id, status=status, position=position, created_at=NOW, changed_at=NOW
    )


async def test_only_what_is_ahead_in_the_server_is_found_soonest_first(database: str) -> None:
    for name, hours, state in [
        ("second", 2, EventState.ROLL_CALL),
        ("first", 1, EventState.SIGNUPS_OPEN),
        ("third", 3, EventState.UPCOMING),
        ("begun", 0, EventState.SIGNUPS_OPEN),
        ("running", 1, EventState.IN_PROGRESS),
        ("over", -1, EventState.COMPLETED),
        ("off", 1, EventState.CANCELLED),
    ]:
        await make_event(now=NOW, name=name, starts_in=hours * HOUR, state=state)
    await make_event(now=NOW, name="elsewhere", guild_id=OTHER_GUILD, state=EventState.SIGNUPS_OPEN)

    found = await outlook(GUILD, ADA, now=NOW)

    assert [one.name for one in found.events] == ["first", "second", "third"]
    assert found.total == 3
    assert await outlook(3, ADA, now=NOW) == Outlook((), 0)


async def test_places_and_the_persons_own_standing_are_counted_over_real_rows(database: str) -> None:
    event = await make_event(now=NOW, state=EventState.SIGNUPS_OPEN, max_players=2)
    other = await make_event(now=NOW, state=EventState.SIGNUPS_OPEN, starts_in=7 * HOUR)
    await stand(event, 1, SignupStatus.SIGNED_UP)
    await stand(event, 2, SignupStatus.CONFIRMED)
    await stand(event, 3, SignupStatus.TENTATIVE)
    await stand(event, 4, SignupStatus.WAITLISTED, 2)
    await stand(event, 5, SignupStatus.WAITLISTED, 9)
    await stand(event, ADA, SignupStatus.WAITLISTED, 5)
    await stand(other, ADA, SignupStatus.DECLINED)

    found = await outlook(GUILD, ADA, now=NOW)
    others = await outlook(GUILD, 5, now=NOW)

    assert [(one.taken, one.own) for one in found.events] == [
        (2, Standing(SignupStatus.WAITLISTED, 2)),
        (0, Standing(SignupStatus.DECLINED)),
    ]
    assert [one.own for one in others.events] == [Standing(SignupStatus.WAITLISTED, 3), None]


async def test_a_place_that_is_held_for_somebody_is_told_while_it_is(database: str) -> None:
    event = await make_event(now=NOW, state=EventState.SIGNUPS_OPEN, max_players=1)
    for user_id, until in ((ADA, NOW + HOUR), (5, NOW), (6, None)):
        await stand(event, user_id, SignupStatus.WAITLISTED, user_id)
        await EventSignup.filter(event_id=event.id, user_id=user_id).update(offered_until=until)

    owns = [(await outlook(GUILD, user_id, now=NOW)).events[0].own for user_id in (ADA, 5, 6)]

    assert [own.offered_until if own is not None else None for own in owns] == [NOW + HOUR, None, None]


async def test_beyond_what_fits_into_an_answer_the_rest_is_counted(database: str) -> None:
    for hours in range(1, 64):
        await make_event(now=NOW, starts_in=hours * HOUR)

    found = await outlook(GUILD, ADA, now=NOW)

    assert (len(found.events), found.total) == (60, 63)
