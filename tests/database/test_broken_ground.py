"""What an attempt to break the delivery of direct messages and reminders found: each fault is a test here."""

import datetime as dt

from bot.leases.failures import ErrorClass
from tests.builders import CHANNEL, DAY, HOUR, MINUTE, OPS_CHANNEL, SECOND, FakeDiscord, make_event, make_guild, refused
from tests.conftest import START
from tests.people import PEOPLE, Fleet, each_once, know, reached, signup_event

NOW = START


def posted_at(discord: FakeDiscord) -> list[dt.timedelta]:
    """When a post in the announcement channel was asked for."""
    return [at - NOW for at, channel in discord.attempts if channel == CHANNEL]


# ---------------------------------------------------------------------------------- Discord has flagged the bot as spam


async def test_a_post_of_a_flagged_bot_waits_longer_each_time_and_goes_out_once(
    database: str, discord: FakeDiscord, fleet: Fleet
) -> None:
    await make_guild(ops_channel_id=None)
    await make_event(now=NOW)
    discord.next_sends = [refused(ErrorClass.OPENING_TOO_FAST) for _ in range(5)]
    await fleet.start()

    await fleet.run_until(NOW + HOUR)

    assert posted_at(discord) == [seconds * SECOND for seconds in (0, 30, 90, 210, 450, 930)]
    assert discord.titles() == ["Raid night"]


async def test_a_post_of_a_flagged_bot_lets_the_dms_rest_and_is_told(
    database: str, discord: FakeDiscord, fleet: Fleet
) -> None:
    await signup_event(discord_announcement=True)
    await know(PEOPLE)
    discord.next_sends = [refused(ErrorClass.OPENING_TOO_FAST)]
    await fleet.start()

    await fleet.run_until(NOW + 4 * MINUTE)
    before = [post.channel_id for post in discord.posts]
    await fleet.run_until(NOW + 10 * MINUTE)

    # The note, and the post itself half a minute later; the DMs only after five minutes.
    assert sorted(before) == [CHANNEL, OPS_CHANNEL]
    assert reached(discord) == each_once()


async def test_a_flag_that_lasts_is_told_once_a_day_and_not_at_each_rest(
    database: str, discord: FakeDiscord, fleet: Fleet
) -> None:
    await signup_event(starts_in=36 * HOUR, discord_signup_reminder_hours=36)
    rests = int(25 * HOUR / (5 * MINUTE))
    discord.next_openings = [refused(ErrorClass.OPENING_TOO_FAST) for _ in range(rests)]
    fleet.passes_every = 5 * MINUTE
    await fleet.start()

    await fleet.run_until(NOW + 30 * HOUR)

    assert [post.sent_at for post in discord.in_channel(OPS_CHANNEL)] == [NOW, NOW + DAY]
    assert reached(discord) == each_once()
