"""Why each reminder of an event was sent, will be or is not, in words, and why one person was told or was not."""

import datetime as dt

import pytest

from bot.clock import ManualClock
from bot.events.browse import NoSuchEventError
from bot.leases.failures import ErrorClass
from bot.message.limits import CONTENT, length
from bot.reminders.forecast import Prospects
from bot.reminders.lots import Lot
from bot.reminders.why import explain, why
from bot.scheduling.bodies import CHECK_EVENT_REMINDERS
from bot.scheduling.registry import registered
from models.discord_message_log import DiscordMessageLog
from models.event import Event
from models.event_signup import EventSignup
from models.player_profile import PlayerProfile
from models.states import EventState, SignupStatus
from tests.builders import (
    CHANNEL,
    DAY,
    GUILD,
    HOUR,
    MINUTE,
    OTHER_GUILD,
    SECOND,
    FakeDiscord,
    make_event,
    make_guild,
    make_series,
    process,
    refused,
)
from tests.conftest import START
from tests.people import REQUIRED_FIELD, fill_in, opt_out, sign_up, subscribe

pytestmark = pytest.mark.usefixtures("database")

OPEN = EventState.SIGNUPS_OPEN
WHO = 7
ALL_ON = {
    "discord_signup_reminder": True,
    "discord_confirm_attendance": True,
    "discord_profile_reminder": True,
}


async def told(
    event: Event, *, now: dt.datetime = START, person: int | None = None, may_post: bool = True
) -> list[str]:
    """Return the lines that an admin reads of an event's reminders."""
    prospects = Prospects(may_post=lambda _: may_post)
    text = await why(str(event.id), guild_id=event.guild_id, now=now, person=person, prospects=prospects)
    assert length(text) <= CONTENT
    return text.splitlines()[1:]


def stamp(moment: dt.datetime) -> str:
    return f"<t:{int(moment.timestamp())}:F>"


async def test_before_anything_is_sent_it_says_what_comes_and_what_is_off() -> None:
    await make_guild()
    event = await make_event(now=START, starts_in=30 * HOUR, state=OPEN, discord_confirm_attendance=True)
    await sign_up(event, [1, 2])
    comes, called = START + 6 * HOUR, START + 28 * HOUR
    posts = f"a post in <#{CHANNEL}>, naming 2 people; a direct message to 2 people."

    assert await told(event) == [
        f"- **announcement**: comes {stamp(comes)} (<t:{int(comes.timestamp())}:R>): a post in <#{CHANNEL}>.",
        "- **sign-up reminder**: not sent: it is switched off.",
        f"- **attendance reminder**: comes {stamp(called)} (<t:{int(called.timestamp())}:R>): {posts}",
        "- **profile reminder**: not sent: it is switched off.",
    ]
    assert "but I may not post in" in (await told(event, may_post=False))[0]


async def test_what_was_sent_is_named_with_its_moment_its_link_and_its_counts(clock: ManualClock) -> None:
    await make_guild()
    event = await make_event(now=START, starts_in=2 * HOUR, state=OPEN, discord_confirm_attendance=True)
    await sign_up(event, [1, 2])
    discord = FakeDiscord(clock)
    discord.closed_dms.add(2)
    bot = await process(discord, clock)
    await bot.run_until(START + MINUTE)
    post = discord.in_channel()[0]

    lines = await told(event, now=clock.now(), person=2)

    link = f"https://discord.com/channels/{GUILD}/{CHANNEL}/{post.message_id}"
    assert lines[0] == f"- **announcement**: sent {stamp(START)} {link}."
    assert lines[2] == f"- **attendance reminder**: sent {stamp(START)}: 2 sent, 1 unreachable by direct message."
    assert lines[3].startswith(f"  - attendance post: sent {stamp(START)} https://discord.com/channels/")
    assert lines[4] == f"  - <@2> takes no direct message from me, which was seen {stamp(START + SECOND)}."


async def test_a_failure_is_told_with_what_it_failed_of_and_when_it_is_tried_again(clock: ManualClock) -> None:
    await make_guild()
    event = await make_event(now=START, starts_in=6 * HOUR)
    discord = FakeDiscord(clock)
    discord.forbidden.add(CHANNEL)
    await (await process(discord, clock)).run(CHECK_EVENT_REMINDERS)

    (line, *_) = await told(event)

    again = START + HOUR
    assert line == (
        f"- **announcement**: comes {stamp(again)} (<t:{int(again.timestamp())}:R>): a post in <#{CHANNEL}>."
        f" Tried last {stamp(START)}: I lack a permission there; tried again {stamp(again)}."
    )


async def test_an_attempt_of_which_nobody_knows_is_said_to_be_looked_into(clock: ManualClock) -> None:
    await make_guild()
    event = await make_event(now=START, starts_in=6 * HOUR)
    discord = FakeDiscord(clock)
    discord.next_sends = [refused(ErrorClass.OUTAGE, arrived=True)]
    await (await process(discord, clock)).run(CHECK_EVENT_REMINDERS)

    (line, *_) = await told(event)

    assert line == "- **announcement**: not sent: it is being sent, or I am finding out whether it arrived."


async def everything_on(**fields: object) -> Event:
    await make_guild(profile_fields=[REQUIRED_FIELD])
    series = await make_series(now=START, is_active=False, starts_at=dt.date(2027, 1, 1))
    wanted = {"state": OPEN, "series_id": series.id} | ALL_ON
    return await make_event(now=START, starts_in=30 * HOUR, **(wanted | fields))


async def lots(event: Event, person: int = WHO) -> dict[str, Lot]:
    found = await explain(event, now=START, person=person)
    return {one.entry.key: one.personal.lot for one in found if one.personal is not None}


@pytest.mark.parametrize(
    ("status", "signup", "attendance", "profile"),
    [
        (None, Lot.WILL_BE_TOLD, Lot.NO_SIGNUP, Lot.NO_SIGNUP),
        (SignupStatus.SIGNED_UP, Lot.HAS_ANSWERED, Lot.WILL_BE_TOLD, Lot.WILL_BE_TOLD),
        (SignupStatus.CONFIRMED, Lot.HAS_ANSWERED, Lot.CONFIRMED, Lot.WILL_BE_TOLD),
        (SignupStatus.TENTATIVE, Lot.HAS_ANSWERED, Lot.TENTATIVE, Lot.TENTATIVE),
        (SignupStatus.WAITLISTED, Lot.HAS_ANSWERED, Lot.WAITLISTED, Lot.WAITLISTED),
        (SignupStatus.DECLINED, Lot.WILL_BE_TOLD, Lot.DECLINED, Lot.DECLINED),
        (SignupStatus.REMOVED, Lot.HAS_ANSWERED, Lot.REMOVED, Lot.REMOVED),
    ],
)
async def test_what_somebody_said_decides_what_they_are_told(
    status: SignupStatus | None, signup: Lot, attendance: Lot, profile: Lot
) -> None:
    event = await everything_on()
    await subscribe(event.series_id or 0, [WHO])
    if status is not None:
        await sign_up(event, [WHO], status)

    assert await lots(event) == {
        "signup_reminder": signup,
        "attendance_reminder": attendance,
        "profile_reminder": profile,
    }


async def test_whoever_did_not_ask_for_the_series_or_has_a_profile_is_told_so() -> None:
    event = await everything_on()
    await sign_up(event, [WHO])
    await fill_in(WHO, **{str(REQUIRED_FIELD["key"]): "there"})

    found = await lots(event)

    assert (found["signup_reminder"], found["profile_reminder"]) == (Lot.NOT_SUBSCRIBED, Lot.PROFILE_COMPLETE)


async def test_whoever_switched_off_a_kind_or_a_series_is_told_which() -> None:
    event = await everything_on()
    await sign_up(event, [WHO, 8])
    await opt_out(WHO, "attendance_reminder")
    await PlayerProfile.create(guild_id=GUILD, user_id=8, series_opt_outs=[event.series_id], updated_at=START)

    assert (await lots(event))["attendance_reminder"] is Lot.KIND_OFF
    assert (await lots(event, 8))["attendance_reminder"] is Lot.SERIES_OFF


async def test_of_a_reminder_that_is_not_sent_nobody_is_told() -> None:
    event = await everything_on(discord_confirm_attendance=False)
    await sign_up(event, [WHO])

    assert (await lots(event))["attendance_reminder"] is Lot.NOT_SENT


async def test_with_no_dm_wanted_the_post_alone_names_people() -> None:
    event = await everything_on(discord_confirm_attendance_dm=False)
    await sign_up(event, [WHO])

    assert (await lots(event))["attendance_reminder"] is Lot.BY_POST


async def test_whoever_came_after_it_went_out_is_said_not_to_have_been_told(clock: ManualClock) -> None:
    event = await everything_on(scheduled_at=START + 2 * HOUR)
    await sign_up(event, [1])
    await (await process(FakeDiscord(clock), clock)).run_until(START + MINUTE)
    await sign_up(event, [WHO])

    assert (await lots(event, 1))["attendance_reminder"] is Lot.TOLD
    assert (await lots(event))["attendance_reminder"] is Lot.WITHDRAWN


async def test_another_servers_event_is_none_of_this_ones() -> None:
    await make_guild()
    event = await make_event(now=START, guild_id=OTHER_GUILD, starts_in=DAY)

    with pytest.raises(NoSuchEventError):
        await why(str(event.id), guild_id=GUILD, now=START)


async def test_the_longest_explanation_fits_one_message() -> None:
    event = await everything_on(name="_" * 100)
    await sign_up(event, range(1, 200))

    for line in await told(event, person=1):
        assert line


# ------------------------------------------------------------------------------- a new time, a place that became free


async def test_of_an_event_that_never_moved_and_has_no_line_neither_is_told() -> None:
    event = await everything_on()
    await sign_up(event, [WHO])

    assert len(await told(event)) == len(registered())


async def test_a_new_time_is_told_with_its_counts_and_each_persons_lot(clock: ManualClock) -> None:
    await make_guild()
    event = await make_event(now=START, starts_in=6 * HOUR, state=OPEN, discord_announcement=False)
    await sign_up(event, [1, 2])
    await sign_up(event, [3], SignupStatus.DECLINED)
    await opt_out(4, "time_changed")
    await sign_up(event, [4])
    await Event.filter(id=event.id).update(time_changes=1)

    comes = (await told(event))[-1]
    discord = FakeDiscord(clock)
    discord.closed_dms.add(2)
    await (await process(discord, clock)).run_until(START + MINUTE)

    assert comes == "- **new time**: comes now: a direct message to 2 people."
    assert (await told(event))[-1] == f"- **new time**: sent {stamp(START)}: 1 sent, 1 unreachable by direct message."
    assert [
        (await told(event, person=who))[-1].partition("> ")[2].partition(" <t:")[0].rstrip(".") for who in range(1, 6)
    ] == [
        Lot.TOLD,
        Lot.DMS_CLOSED,
        Lot.DECLINED,
        Lot.KIND_OFF,
        Lot.NO_SIGNUP,
    ]


async def test_a_new_time_that_the_start_overtook_says_so() -> None:
    await make_guild()
    event = await make_event(now=START, starts_in=HOUR, state=OPEN, discord_announcement=False)
    await sign_up(event, [1])
    await Event.filter(id=event.id).update(time_changes=1)

    lines = await told(event, now=START + HOUR, person=1)

    assert lines[-2:] == [
        "- **new time**: not sent: no moment is left for it before the event begins.",
        f"  - <@1> {Lot.NOT_SENT}.",
    ]


async def test_who_got_a_place_is_counted_by_what_became_of_the_word(clock: ManualClock) -> None:
    await make_guild()
    event = await make_event(now=START, starts_in=6 * HOUR, state=OPEN, discord_announcement=False)
    await sign_up(event, [1, 2, 3])
    await EventSignup.filter(event_id=event.id).update(promotions=1)
    await sign_up(event, [4])

    before = await told(event, person=1)
    discord = FakeDiscord(clock)
    discord.closed_dms.add(2)
    discord.next_sends = [None, None, *[refused(ErrorClass.RATE_LIMITED)] * 2]
    bot = await process(discord, clock)
    await bot.run_until(START + 2 * SECOND)
    await bot.run_until(clock.now() + 30 * SECOND)

    (row,) = await DiscordMessageLog.filter(recipient_id=3).order_by("-id").limit(1)
    assert row.next_attempt_at is not None
    again = stamp(row.next_attempt_at)
    assert before[-2:] == [
        "- **free places**: 3 people moved up or are offered one: 3 still to be told.",
        f"  - <@1> {Lot.WILL_BE_TOLD}.",
    ]
    lines = [await told(event, now=clock.now(), person=who) for who in (1, 2, 3, 4)]
    places = "1 told, 1 unreachable by direct message, 1 not told so far"
    whole = f"- **free places**: 3 people moved up or are offered one: {places}; tried again {again}."
    assert {one[-2] for one in lines} == {whole}
    assert lines[0][-1].startswith(f"  - <@1> {Lot.TOLD} <t:")
    assert lines[1][-1].startswith(f"  - <@2> {Lot.DMS_CLOSED} <t:")
    assert lines[2][-1].startswith(f"  - <@3> {Lot.FAILED}. Tried last <t:")
    assert lines[2][-1].endswith(f"Discord told me to wait; tried again {again}.")
    assert lines[3][-1] == f"  - <@4> {Lot.NOT_MEANT}."
