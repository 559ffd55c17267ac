"""The roll call and the profile reminder: one post, DMs beside it, and who is named where no DM reaches."""

import datetime as dt
from typing import Any

import pytest

from bot.clock import ManualClock
from bot.leases.failures import ErrorClass
from bot.message.outgoing import OutgoingMessage
from models.discord_message_log import DiscordMessageLog
from models.event import Event
from models.event_signup import EventSignup
from models.guild_settings import GuildSettings
from models.ops_note import OpsNote
from models.player_profile import PlayerProfile
from models.states import EventState, SignupStatus
from tests.builders import (
    CHANNEL,
    DAY,
    GUILD,
    HOUR,
    MINUTE,
    OPS_CHANNEL,
    OTHER_CHANNEL,
    SECOND,
    FakeDiscord,
    process,
    refused,
    stored_due,
)
from tests.conftest import START
from tests.people import (
    PEOPLE,
    Fleet,
    asked_event,
    change,
    children,
    counted,
    counts,
    each_once,
    ends,
    fill_in,
    know,
    opt_out,
    parent,
    reached,
    sign_up,
)

NOW = START
INTERVAL = SECOND / 5
ATTENDANCE: dict[str, Any] = {"discord_confirm_attendance": True, "discord_confirm_attendance_hours": 2}
PROFILE: dict[str, Any] = {"discord_profile_reminder": True, "discord_profile_reminder_hours": 24}


def posts(discord: FakeDiscord, channel_id: int = CHANNEL) -> list[OutgoingMessage]:
    return [post.message for post in discord.in_channel(channel_id)]


def pings(message: OutgoingMessage) -> set[int]:
    return set(message.mention_user_ids)


async def rows_of(source: str) -> list[tuple[bool | None, str | None]]:
    rows = await DiscordMessageLog.filter(source=source).order_by("id")
    return [(row.success, row.error_class) for row in rows]


# -------------------------------------------------------------------------------------------------------- the roll call


async def test_one_post_pings_exactly_who_has_a_place_and_who_has_not_confirmed_gets_a_dm(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    event = await asked_event([101, 102], **ATTENDANCE)
    for who, status in enumerate(SignupStatus, start=201):
        await sign_up(event, [who], status)
    await opt_out(102, "attendance_reminder")
    bot = await process(discord, clock)

    await bot.run_until(NOW + 5 * MINUTE)

    (post,) = posts(discord)
    signed_up, confirmed = 201, 202
    assert list(SignupStatus)[:2] == [SignupStatus.SIGNED_UP, SignupStatus.CONFIRMED]
    assert pings(post) == {101, 102, signed_up, confirmed}
    assert post.content == f"<@101> <@102> <@{signed_up}> <@{confirmed}>"
    everybody = [101, 102, *range(201, 207)]
    assert reached(discord, everybody) == each_once(everybody, but=[102, *range(202, 207)])
    assert [button.label for button in post.buttons] == ["I'll be there", "Can't make it"]
    assert [button.label for button in discord.dms(101)[0].message.buttons] == ["I'll be there", "Can't make it"]
    assert await counts("attendance_reminder") == counted(sent=3)
    assert await stored_due() == {}


async def test_without_the_dm_switch_there_is_the_post_alone(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await asked_event(**ATTENDANCE, discord_confirm_attendance_dm=False)
    bot = await process(discord, clock)

    await bot.run_until(NOW + HOUR, at_most_apart=10 * MINUTE)

    assert [pings(post) for post in posts(discord)] == [set(PEOPLE)]
    assert reached(discord) == each_once(but=PEOPLE)
    assert await counts("attendance_reminder") == counted(sent=1)


@pytest.mark.parametrize("by_dm", [True, False])
async def test_with_nobody_signed_up_nothing_is_posted_at_all_and_it_is_done(
    database: str, clock: ManualClock, discord: FakeDiscord, by_dm: bool
) -> None:
    event = await asked_event([], **ATTENDANCE, discord_confirm_attendance_dm=by_dm)
    await sign_up(event, [101], SignupStatus.DECLINED)
    await sign_up(event, [102], SignupStatus.WAITLISTED)
    bot = await process(discord, clock)

    await bot.run_until(NOW + HOUR, at_most_apart=10 * MINUTE)

    assert (discord.attempts, await counts("attendance_reminder")) == ([], counted())
    assert await stored_due() == {}


async def test_who_confirms_or_declines_before_their_turn_gets_no_dm(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    event = await asked_event(**ATTENDANCE)
    await know(PEOPLE)
    bot = await process(discord, clock)
    await bot.run_until(NOW + INTERVAL)

    await EventSignup.filter(event_id=event.id, user_id=105).update(status=SignupStatus.CONFIRMED)
    await EventSignup.filter(event_id=event.id, user_id=106).update(status=SignupStatus.DECLINED)
    await bot.run_until(NOW + MINUTE)

    assert reached(discord) == each_once(but=[105, 106])
    assert await counts("attendance_reminder") == counted(sent=9, withdrawn=2)


async def test_a_hundred_and_fifty_are_named_within_the_limits_and_the_rest_is_counted(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    people = [10**18 + number for number in range(150)]
    await asked_event(people, **ATTENDANCE, discord_confirm_attendance_dm=False)
    bot = await process(discord, clock)

    await bot.run_until(NOW + MINUTE)

    (post,) = posts(discord)
    # 86 mentions of 22 characters with a space after each, and what counts the others: one more would not fit.
    assert post.content.endswith("+64 more")
    assert (len(post.content), pings(post)) == (1_986, set(people[:86]))


async def test_a_crash_after_the_post_posts_it_no_second_time(database: str, clock: ManualClock, fleet: Fleet) -> None:
    await asked_event([101, 102], **ATTENDANCE)
    await know([101, 102])
    for when in ("after", "before"):
        await fleet.start(crash_at=("post", 1, when))
        await fleet.run_until(clock.now() + 2 * MINUTE, until_crash=True)

    await fleet.start()
    await fleet.run_until(clock.now() + 3 * MINUTE)

    assert len(posts(fleet.discord)) == 1
    assert reached(fleet.discord, [101, 102]) == {101: 1, 102: 1}
    assert await counts("attendance_reminder") == counted(sent=3)


async def test_a_post_whose_outcome_is_unknown_is_looked_up_while_the_dms_go_on(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await asked_event([101, 102], **ATTENDANCE)
    await know([101, 102])
    discord.next_sends = [refused(ErrorClass.OUTAGE, arrived=True)]
    bot = await process(discord, clock)

    await bot.run_until(NOW + 5 * MINUTE)

    assert len(posts(discord)) == 1
    assert await rows_of("attendance_post") == [(True, None)]
    assert await counts("attendance_reminder") == counted(sent=3)


# ----------------------------------------------------------------------------------------------- a post that is refused


async def test_a_forbidden_channel_keeps_the_parent_open_while_the_dms_go_out_and_is_tried_once_an_hour(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await asked_event(**ATTENDANCE | {"discord_confirm_attendance_hours": 5}, starts_in=5 * HOUR)
    await know(PEOPLE)
    discord.forbidden.add(CHANNEL)
    bot = await process(discord, clock)

    await bot.run_until(NOW + 150 * MINUTE, at_most_apart=5 * MINUTE)
    held = (await counts("attendance_reminder"), reached(discord))
    tries = [at - NOW for at, channel in discord.attempts if channel == CHANNEL]
    notes = len(discord.in_channel(OPS_CHANNEL))
    discord.forbidden.clear()
    await bot.run_until(NOW + 4 * HOUR, at_most_apart=5 * MINUTE)

    assert held == (None, each_once())
    assert (tries, notes) == ([hour * HOUR for hour in range(3)], 1)
    assert [post.sent_at - NOW for post in discord.in_channel(CHANNEL)] == [3 * HOUR]
    assert await counts("attendance_reminder") == counted(sent=11)
    assert [note.says for note in await OpsNote.all()] == [""]


async def test_a_post_that_no_channel_takes_until_the_start_is_counted_as_failed(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await asked_event([101], **ATTENDANCE)
    discord.forbidden.add(CHANNEL)
    bot = await process(discord, clock)

    await bot.run_until(NOW + 3 * HOUR, at_most_apart=5 * MINUTE)

    assert await counts("attendance_reminder") == counted(sent=1, failed=1)
    assert (await rows_of("attendance_post"))[-1] == (False, "forbidden")
    assert len(discord.in_channel(OPS_CHANNEL)) == 1


async def test_a_post_without_a_channel_is_told_and_posted_where_one_is_set_later(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await asked_event(
        [101],
        **ATTENDANCE | {"discord_confirm_attendance_hours": 5},
        starts_in=5 * HOUR,
        guild={"announcement_channel_id": None},
    )
    bot = await process(discord, clock)
    await bot.run_until(NOW + MINUTE)
    told = len(discord.in_channel(OPS_CHANNEL))

    await GuildSettings.filter(guild_id=GUILD).update(announcement_channel_id=OTHER_CHANNEL)
    await bot.run_until(NOW + 2 * HOUR, at_most_apart=5 * MINUTE)

    assert told == 1
    assert [pings(post) for post in posts(discord, OTHER_CHANNEL)] == [{101}]


async def test_a_post_goes_where_the_event_is_announced_by_then(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    event = await asked_event(
        [101],
        **ATTENDANCE | {"discord_confirm_attendance_hours": 5},
        starts_in=5 * HOUR,
        discord_announcement_channel_id=CHANNEL,
    )
    discord.forbidden.add(CHANNEL)
    bot = await process(discord, clock)
    await bot.run_until(NOW + MINUTE)

    await Event.filter(id=event.id).update(discord_announcement_channel_id=OTHER_CHANNEL)
    await bot.run_until(NOW + 2 * HOUR, at_most_apart=5 * MINUTE)

    assert [pings(post) for post in posts(discord, OTHER_CHANNEL)] == [{101}]


async def test_a_post_that_the_start_overtakes_is_recorded_and_told_once(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await asked_event([101], **ATTENDANCE, starts_in=20 * SECOND)
    await know([101])
    discord.next_sends = [refused(ErrorClass.OUTAGE)]
    bot = await process(discord, clock)

    await bot.run_until(NOW + 10 * MINUTE)

    assert await rows_of("attendance_post") == [(False, "outage"), (False, "event_started")]
    assert await counts("attendance_reminder") == counted(sent=1, too_late=1)
    (note,) = posts(discord, OPS_CHANNEL)
    assert note.embed is not None
    assert "attendance reminder" in note.embed.description


async def test_an_event_that_is_put_off_while_its_post_is_refused_is_asked_about_at_its_new_time(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    event = await asked_event(**ATTENDANCE, discord_confirm_attendance_dm=False)
    discord.forbidden.add(CHANNEL)
    bot = await process(discord, clock)
    await bot.run_until(NOW + MINUTE)
    discord.forbidden.clear()

    await change(event, scheduled_at=NOW + DAY)
    bot.services.wake_all(clock.now())
    await bot.run_until(NOW + DAY + HOUR, at_most_apart=HOUR)

    assert [post.sent_at - NOW for post in discord.in_channel(CHANNEL)] == [22 * HOUR]
    assert await counts("attendance_reminder") == counted(sent=1)


# ---------------------------------------------------------------------------------------------------------- the profile


async def test_only_who_lacks_a_required_field_is_asked_by_dm_and_nothing_is_posted(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    event = await asked_event([101, 102, 103, 104, 105], **PROFILE)
    await sign_up(event, [106], SignupStatus.CONFIRMED)
    await sign_up(event, [107], SignupStatus.TENTATIVE)
    await fill_in(102, character="Ada")
    await fill_in(103, character="")
    await fill_in(104, nickname="not what is asked")
    await opt_out(105, "profile_reminder")
    bot = await process(discord, clock)

    await bot.run_until(NOW + HOUR, at_most_apart=10 * MINUTE)

    asked = [101, 103, 104, 106]
    assert {who for who, seen in reached(discord).items() if seen} == set(asked)
    (dm,) = discord.dms(101)
    assert dm.message.embed is not None
    assert {one.name: one.value for one in dm.message.embed.fields}["Still missing"] == "Character name"
    assert [button.label for button in dm.message.buttons] == ["Fill in my profile"]
    assert posts(discord) == []
    assert await counts("profile_reminder") == counted(sent=4)


async def test_a_guild_that_asks_nothing_asks_nobody(database: str, clock: ManualClock, discord: FakeDiscord) -> None:
    await asked_event(**PROFILE, guild={"profile_fields": []})
    bot = await process(discord, clock)

    await bot.run_until(NOW + HOUR, at_most_apart=10 * MINUTE)

    assert (discord.attempts, await counts("profile_reminder")) == ([], counted())


async def test_whom_no_dm_reaches_is_named_in_one_post_after_all_dms_are_settled(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await asked_event(**PROFILE, starts_in=12 * HOUR)
    await know(PEOPLE)
    discord.closed_dms.update({102, 110})
    bot = await process(discord, clock)

    await bot.run_until(NOW + HOUR, at_most_apart=10 * MINUTE)

    (post,) = posts(discord)
    assert (pings(post), post.content) == ({102, 110}, "<@102> <@110>")
    assert [at - NOW for at, channel in discord.attempts if channel == CHANNEL] == [9 * INTERVAL]
    assert await counts("profile_reminder") == counted(sent=9, unreachable=2)


async def test_where_everybody_was_reached_nothing_is_posted_also_after_a_restart(
    database: str, clock: ManualClock, fleet: Fleet
) -> None:
    await asked_event(**PROFILE)
    await know(PEOPLE)
    await fleet.start()
    await fleet.run_until(NOW + 9 * INTERVAL)
    await fleet.start()

    await fleet.run_until(NOW + HOUR)

    assert (posts(fleet.discord), await counts("profile_reminder")) == ([], counted(sent=10))


async def test_who_fills_it_in_before_the_post_is_not_named(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await asked_event([101, 102, 103], **PROFILE)
    await know([101, 102, 103])
    discord.closed_dms.update({101, 102})
    bot = await process(discord, clock)
    await bot.run_until(NOW + INTERVAL)

    await fill_in(101, character="Ada")
    await bot.run_until(NOW + HOUR, at_most_apart=10 * MINUTE)

    assert [pings(post) for post in posts(discord)] == [{102}]


async def test_where_all_of_the_unreached_fill_it_in_nothing_is_posted(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await asked_event([101, 102], **PROFILE)
    await know([101, 102])
    discord.closed_dms.add(101)
    bot = await process(discord, clock)
    await bot.run_until(NOW)

    await fill_in(101, character="Ada")
    await bot.run_until(NOW + HOUR, at_most_apart=10 * MINUTE)

    assert (posts(discord), await counts("profile_reminder")) == ([], counted(sent=1, unreachable=1))


async def test_fifteen_minutes_before_the_start_the_post_no_longer_waits_for_retries(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await asked_event([101, 102], **PROFILE, starts_in=20 * MINUTE)
    await know([101, 102])
    discord.closed_dms.add(101)
    discord.next_sends = [None, *[refused(ErrorClass.OUTAGE)] * 40]

    async def _only_the_post_goes_through(message: OutgoingMessage) -> None:
        if discord.attempts[-1][1] == CHANNEL:
            discord.next_sends.insert(0, None)

    discord.before_send = _only_the_post_goes_through
    bot = await process(discord, clock)

    await bot.run_until(NOW + 30 * MINUTE)

    # 102 was not reached either by then: an outage, tried again and again.
    assert [(post.sent_at - NOW, pings(post.message)) for post in discord.in_channel(CHANNEL)] == [
        (5 * MINUTE, {101, 102})
    ]
    assert await ends("profile_reminder") == {"recipient_unreachable": 1, "event_started": 1}


async def test_a_start_in_the_middle_names_nobody_where_nobody_was_unreachable(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await asked_event(**PROFILE, starts_in=5 * INTERVAL)
    await know(PEOPLE)
    bot = await process(discord, clock)

    await bot.run_until(NOW + 5 * MINUTE)

    assert (posts(discord), await rows_of("profile_unreachable")) == ([], [])
    assert await counts("profile_reminder") == counted(sent=5, too_late=5)


async def test_a_crash_before_the_naming_post_names_them_once_after_the_restart(
    database: str, clock: ManualClock, fleet: Fleet
) -> None:
    await asked_event(**PROFILE, starts_in=12 * HOUR)
    await know(PEOPLE)
    fleet.discord.closed_dms.update({102, 110})
    for when in ("before", "after"):
        await fleet.start(crash_at=("post", 1, when))
        await fleet.run_until(clock.now() + 3 * MINUTE, until_crash=True)

    await fleet.start()
    await fleet.run_until(clock.now() + 3 * MINUTE)

    assert [pings(post) for post in posts(fleet.discord)] == [{102, 110}]
    assert reached(fleet.discord) == each_once(but=[102, 110])
    assert await counts("profile_reminder") == counted(sent=9, unreachable=2)


async def test_a_guild_that_stops_asking_withdraws_what_waits(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await asked_event(**PROFILE)
    await know(PEOPLE)
    bot = await process(discord, clock)
    await bot.run_until(NOW + 4 * INTERVAL)

    await GuildSettings.filter(guild_id=GUILD).update(profile_fields=[])
    await bot.run_until(NOW + MINUTE)

    assert await counts("profile_reminder") == counted(sent=5, withdrawn=5)
    assert await PlayerProfile.all().count() == 0


# ---------------------------------------------------------------------------------------------------- all at one moment


async def test_three_fan_outs_of_one_event_at_one_moment_go_out_whole_and_side_by_side(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await asked_event(**ATTENDANCE | PROFILE, state=EventState.ROLL_CALL)
    await know(PEOPLE)
    discord.closed_dms.add(103)
    bot = await process(discord, clock)

    await bot.run_until(NOW + MINUTE)

    assert reached(discord) == {who: 0 if who == 103 else 2 for who in PEOPLE}
    assert await counts("attendance_reminder") == counted(sent=10, unreachable=1)
    assert await counts("profile_reminder") == counted(sent=10, unreachable=1)
    assert sorted(len(pings(post)) for post in posts(discord)) == [1, 10]
    assert await children("attendance_post") == {}
    row = await parent("attendance_reminder")
    assert row is not None
    assert (row.finished_at or NOW) - NOW <= dt.timedelta(seconds=5)
