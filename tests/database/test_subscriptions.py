"""Who is reminded of a series: once, in their own server, until they say otherwise."""

import asyncio

import pytest

from bot.events.subscriptions import (
    SeriesGoneError,
    guild_of_series,
    search_subscriptions,
    subscribe,
    subscriptions_of,
    unsubscribe,
)
from models.event_repeater import EventRepeater
from models.repeater_subscription import RepeaterSubscription
from tests.builders import GUILD, OTHER_GUILD, make_series, utc

NOW = utc("2026-03-01 12:00")
ADA, BRUNO = 11, 12


async def subscribers() -> list[tuple[int, int]]:
    return [(row.series_id, row.user_id) for row in await RepeaterSubscription.all().order_by("user_id")]


async def test_subscribing_twice_is_subscribing_once_and_says_so(database: str) -> None:
    series = await make_series(now=NOW, discord_signup_reminder=True)

    first = await subscribe(series.id, guild_id=GUILD, user_id=ADA, now=NOW)
    second = await subscribe(series.id, guild_id=GUILD, user_id=ADA, now=NOW)

    assert (first.changed, second.changed) == (True, False)
    assert [first.sentence, second.sentence] == [
        "I will remind you of the sign-ups for **London Sunday** by DM. `/unsubscribe` ends it.",
        "You are reminded of **London Sunday** already. `/unsubscribe` ends it.",
    ]
    assert await subscribers() == [(series.id, ADA)]


async def test_unsubscribing_twice_says_so(database: str) -> None:
    series = await make_series(now=NOW)
    await subscribe(series.id, guild_id=GUILD, user_id=ADA, now=NOW)
    await subscribe(series.id, guild_id=GUILD, user_id=BRUNO, now=NOW)

    first = await unsubscribe(series.id, guild_id=GUILD, user_id=ADA)
    second = await unsubscribe(series.id, guild_id=GUILD, user_id=ADA)

    assert (first.changed, second.changed) == (True, False)
    assert [first.sentence, second.sentence] == [
        "I will no longer remind you of **London Sunday**.",
        "You were not reminded of **London Sunday**, so nothing changes.",
    ]
    assert await subscribers() == [(series.id, BRUNO)]


@pytest.mark.parametrize(
    ("fields", "ending"),
    [
        ({"discord_signup_reminder": True}, "`/unsubscribe` ends it."),
        ({"discord_signup_reminder": False}, "until an admin switches it on."),
        ({"discord_signup_reminder": True, "discord_signup_reminder_hours": 0}, "until an admin switches it on."),
        ({"discord_signup_reminder": True, "discord_signup_reminder_hours": None}, "until an admin switches it on."),
        ({"discord_signup_reminder": True, "is_active": False}, "until an admin resumes it."),
    ],
    ids=["on", "off", "no hours", "null hours", "paused"],
)
async def test_who_subscribes_is_told_where_nothing_would_come(
    database: str, fields: dict[str, object], ending: str
) -> None:
    series = await make_series(now=NOW, **fields)

    answer = await subscribe(series.id, guild_id=GUILD, user_id=ADA, now=NOW)

    assert answer.changed
    assert answer.sentence.endswith(ending)


async def test_a_series_of_another_server_answers_as_one_that_is_gone(database: str) -> None:
    series = await make_series(now=NOW)
    await subscribe(series.id, guild_id=GUILD, user_id=ADA, now=NOW)
    told = []

    for series_id, guild_id in [(series.id, OTHER_GUILD), (series.id + 1, GUILD)]:
        for attempt in (
            subscribe(series_id, guild_id=guild_id, user_id=BRUNO, now=NOW),
            unsubscribe(series_id, guild_id=guild_id, user_id=ADA),
        ):
            with pytest.raises(SeriesGoneError) as refused:
                await attempt
            told.append(str(refused.value))

    assert told == ["This is no longer available."] * 4
    assert await subscribers() == [(series.id, ADA)]


async def test_eight_presses_at_once_subscribe_once(database: str) -> None:
    series = await make_series(now=NOW)

    answers = await asyncio.gather(*(subscribe(series.id, guild_id=GUILD, user_id=ADA, now=NOW) for _ in range(8)))

    assert sorted(answer.changed for answer in answers) == [False] * 7 + [True]
    assert await subscribers() == [(series.id, ADA)]


async def test_subscriptions_go_with_their_series(database: str) -> None:
    series = await make_series(now=NOW)
    await subscribe(series.id, guild_id=GUILD, user_id=ADA, now=NOW)

    await EventRepeater.filter(id=series.id).delete()

    assert await subscribers() == []


async def test_what_a_person_subscribed_to_is_offered_by_name_in_its_own_server(database: str) -> None:
    names = ["Friday raid", "raid", "Arena", "Raid night"]
    mine = [await make_series(now=NOW, name=name, is_active=name != "Arena") for name in names]
    other = await make_series(now=NOW, name="Raid elsewhere", guild_id=OTHER_GUILD)
    unwanted = await make_series(now=NOW, name="Raid of others")
    for series in (*mine, other):
        await subscribe(series.id, guild_id=series.guild_id, user_id=ADA, now=NOW)
    await subscribe(unwanted.id, guild_id=GUILD, user_id=BRUNO, now=NOW)

    everything = await subscriptions_of(ADA, guild_id=GUILD)
    typed = await search_subscriptions(" RAID ", guild_id=GUILD, user_id=ADA)

    by_name = {series.name: str(series.id) for series in mine}
    assert [one.label for one in everything] == ["Arena", "Friday raid", "raid", "Raid night"]
    assert [one.label for one in typed] == ["raid", "Raid night", "Friday raid"]
    assert all(one.value == by_name[one.label] for one in everything)


async def test_at_most_25_are_offered(database: str) -> None:
    for number in range(27):
        series = await make_series(now=NOW, name=f"Raid {number:02}")
        await subscribe(series.id, guild_id=GUILD, user_id=ADA, now=NOW)

    assert len(await search_subscriptions("raid", guild_id=GUILD, user_id=ADA)) == 25


async def test_the_server_of_a_series_is_found_for_a_press_in_a_dm(database: str) -> None:
    series = await make_series(now=NOW, guild_id=OTHER_GUILD)

    assert await guild_of_series(series.id) == OTHER_GUILD
    with pytest.raises(SeriesGoneError):
        await guild_of_series(series.id + 1)
