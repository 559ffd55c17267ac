"""What a person gets by direct message: each kind, and each series, is off where they turned it off, and on again."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.clock import ManualClock
from bot.events import notifications
from bot.events.browse import NoSuchSeriesError
from bot.events.notifications import (
    NoSuchNotificationError,
    Switch,
    _preferring,
    kinds,
    page,
    search_switches,
    silenced,
    switches,
    turn,
)
from bot.events.profiles import Preferences, preferences_of, save
from bot.events.subscriptions import subscribe
from bot.message.limits import CONTENT, length
from bot.message.proposal import Proposal
from bot.reminders.recipients import to_confirm, to_fill_in, to_sign_up
from bot.scheduling import registry
from bot.scheduling.registry import ScheduledReminder
from models.event import Event
from models.event_repeater import EventRepeater
from models.player_profile import PlayerProfile
from models.states import EventState, SignupStatus
from tests.builders import (
    GUILD,
    MINUTE,
    OTHER_GUILD,
    FakeDiscord,
    make_event,
    make_guild,
    make_series,
    process,
    utc,
)
from tests.people import REQUIRED_FIELD, asked_event, reached, sign_up

NOW = utc("2026-03-01 12:00")
ADA, BRUNO, CLEO = 11, 12, 13


@pytest.fixture(autouse=True)
def _reminders_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the notices, of which there may be more one day."""
    monkeypatch.setattr(notifications, "NOTICES", ())


@pytest.fixture
def discord(clock: ManualClock) -> FakeDiscord:
    return FakeDiscord(clock)


async def a_series(name: str, *, guild_id: int = GUILD, subscribers: tuple[int, ...] = ()) -> EventRepeater:
    series = await make_series(now=NOW, name=name, guild_id=guild_id)
    for user_id in subscribers:
        await subscribe(series.id, guild_id=guild_id, user_id=user_id, now=NOW)
    return series


async def an_event_of(series: EventRepeater, *people: int, **fields: object) -> Event:
    wanted = {"series_id": series.id, "guild_id": series.guild_id, "state": EventState.SIGNUPS_OPEN}
    event = await make_event(now=NOW, **(wanted | fields))
    await sign_up(event, people)
    return event


async def turned(*, off: str | None = None, on: str | None = None, user_id: int = ADA) -> str:
    return await turn(off, on, guild_id=GUILD, user_id=user_id, now=NOW)


async def shown(user_id: int = ADA) -> list[str]:
    return (await page(user_id, guild_id=GUILD)).text.splitlines()[1:]


async def test_who_has_turned_nothing_off_sees_every_kind_and_the_series_that_concern_them(database: str) -> None:
    await a_series("Subscribed *here*", subscribers=(ADA,))
    await an_event_of(await a_series("Coming"), ADA)
    await an_event_of(await a_series("Declined"), BRUNO)
    await an_event_of(await a_series("Over"), ADA, state=EventState.COMPLETED)
    await a_series("Elsewhere", guild_id=OTHER_GUILD, subscribers=(ADA,))

    asked = await page(ADA, guild_id=GUILD)

    assert asked.text.splitlines()[1:] == [
        "- sign-up reminder: on",
        "- attendance reminder: on",
        "- profile reminder: on",
        "- everything about **Coming**: on",
        r"- everything about **Subscribed \*here\***: on",
    ]
    assert [way.label for way in asked.ways] == [
        "Turn off: sign-up reminder",
        "Turn off: attendance reminder",
        "Turn off: profile reminder",
        "Turn off: Coming",
        "Turn off: Subscribed *here*",
    ]


async def test_a_kind_is_turned_off_once_and_on_once_for_this_person_in_this_server(database: str) -> None:
    said = [await turned(off="signup_reminder") for _ in range(2)]
    lines = await shown()
    elsewhere = await page(ADA, guild_id=OTHER_GUILD)
    others = await shown(BRUNO)
    said += [await turned(on="signup_reminder") for _ in range(2)]

    assert said == [
        "The direct messages are off now: sign-up reminder.",
        "The direct messages are off already: sign-up reminder.",
        "The direct messages are on now: sign-up reminder.",
        "The direct messages are on already: sign-up reminder.",
    ]
    assert lines[0] == "- sign-up reminder: **off**"
    assert "off**" not in elsewhere.text
    assert "off**" not in "".join(others)


async def test_a_series_is_turned_off_and_stays_on_the_page_although_nothing_else_ties_one_to_it(database: str) -> None:
    series = await a_series("Lantern _walk_")

    said = await turned(off=str(series.id))

    assert said == r"The direct messages are off now: everything about **Lantern \_walk\_**."
    assert (await shown())[-1] == r"- everything about **Lantern \_walk\_**: **off**"


async def test_a_series_that_was_deleted_is_forgotten_with_the_next_change(database: str) -> None:
    gone, stays = await a_series("Gone"), await a_series("Stays")
    await turned(off=str(gone.id))
    await gone.delete()

    assert (await shown())[-1] == "- profile reminder: on"
    await turned(off=str(stays.id))

    assert (await preferences_of(ADA, guild_id=GUILD)).series_off == {stays.id}


async def test_a_button_turns_what_it_says_whatever_happened_meanwhile(database: str) -> None:
    asked = await page(ADA, guild_id=GUILD)
    await turned(off="signup_reminder")

    reply = await asked.ways[0].then(NOW)

    assert isinstance(reply, Proposal)
    assert reply.text.splitlines()[0] == "The direct messages are off already: sign-up reminder."
    assert reply.ways[0].label == "Turn on: sign-up reminder"
    again = await reply.ways[0].then(NOW)
    assert isinstance(again, Proposal)
    assert again.text.splitlines()[0] == "The direct messages are on now: sign-up reminder."


@pytest.mark.parametrize(
    ("typed", "error"),
    [
        ("announcement", NoSuchNotificationError),
        ("London Sunday", NoSuchNotificationError),
        ("@everyone", NoSuchNotificationError),
        ("999", NoSuchSeriesError),
    ],
)
async def test_what_the_server_does_not_have_is_refused_and_nothing_changes(
    database: str, typed: str, error: type[Exception]
) -> None:
    await a_series("London Sunday")

    with pytest.raises(error) as told:
        await turned(off="signup_reminder", on=typed)

    assert "@everyone" not in str(told.value).replace(r"\@everyone", "")
    assert await PlayerProfile.all().count() == 0


async def test_a_series_of_another_server_is_none_of_this_one(database: str) -> None:
    series = await a_series("Elsewhere", guild_id=OTHER_GUILD)

    with pytest.raises(NoSuchSeriesError):
        await turned(off=str(series.id))


async def test_only_what_is_on_can_be_chosen_to_be_turned_off_and_the_other_way_round(database: str) -> None:
    series = await a_series("Raid", subscribers=(ADA,))
    await turned(off="profile_reminder")

    on = await search_switches("", on=True, guild_id=GUILD, user_id=ADA)
    off = await search_switches("", on=False, guild_id=GUILD, user_id=ADA)

    assert [(one.label, one.value) for one in on] == [
        ("series Raid", str(series.id)),
        ("sign-up reminder", "signup_reminder"),
        ("attendance reminder", "attendance_reminder"),
    ]
    assert [one.value for one in off] == ["profile_reminder"]
    assert [one.value for one in await search_switches("rai", on=True, guild_id=GUILD, user_id=ADA)] == [str(series.id)]


async def test_what_no_reminder_sends_can_be_turned_off_too_once_it_is_named(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notifications, "NOTICES", (notifications.Kind("promoted", "place that became free"),))

    said = await turned(off="promoted")

    assert said == "The direct messages are off now: place that became free."
    assert (await shown())[3] == "- place that became free: **off**"
    assert await silenced("promoted", 7, [ADA, BRUNO], guild_id=GUILD) == {ADA}


def test_every_kind_has_a_key_and_words_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    known = kinds()

    assert len({kind.key for kind in known}) == len({kind.words for kind in known}) == len(known)
    assert not any(kind.key.isdigit() for kind in known)


async def test_a_fifth_reminder_can_be_turned_off_by_itself(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fifth = ScheduledReminder(
        key="packing_reminder",
        task_name="send_packing_reminder",
        hours_field="discord_profile_reminder_hours",
        enabled_field="discord_profile_reminder",
        required_states=frozenset({EventState.SIGNUPS_OPEN}),
        log_source="packing_reminder",
    )
    monkeypatch.setattr(registry, "REMINDERS", (*registry.REMINDERS, fifth))

    await turned(off="packing_reminder")

    assert [kind.key for kind in kinds()][-1] == "packing_reminder"
    assert await silenced("packing_reminder", None, [ADA, BRUNO], guild_id=GUILD) == {ADA}


# --------------------------------------------------------------------------------------------- whom the reminders reach


async def test_each_reminder_leaves_out_who_turned_its_kind_or_its_series_off_and_nobody_else(database: str) -> None:
    await make_guild(profile_fields=[REQUIRED_FIELD])
    series, other = await a_series("Raid", subscribers=(ADA, BRUNO, CLEO)), await a_series("Other")
    event = await an_event_of(series)
    kept = await an_event_of(series, ADA, BRUNO, CLEO)
    await turned(off="signup_reminder", user_id=ADA)
    await turned(off="attendance_reminder", user_id=ADA)
    await turned(off="profile_reminder", user_id=ADA)
    await turned(off=str(series.id), user_id=BRUNO)
    await turned(off=str(other.id), user_id=CLEO)

    reached = [await to_sign_up(event), await to_confirm(kept), await to_fill_in(kept)]

    assert reached == [(CLEO,)] * 3
    assert await to_confirm(kept, [ADA, BRUNO]) == ()


async def test_an_event_without_a_series_is_silenced_by_its_kind_alone(database: str) -> None:
    series = await a_series("Raid")
    event = await make_event(now=NOW, state=EventState.SIGNUPS_OPEN)
    await sign_up(event, (ADA, BRUNO), SignupStatus.SIGNED_UP)
    await turned(off=str(series.id), user_id=ADA)
    await turned(off="attendance_reminder", user_id=BRUNO)

    assert await to_confirm(event) == (ADA,)


async def test_who_turned_a_series_off_gets_no_dm_and_is_mentioned_in_the_post_of_the_roll_call(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    event = await asked_event([ADA, BRUNO], discord_confirm_attendance=True, discord_confirm_attendance_hours=2)
    series = await make_series(now=clock.now(), is_active=False)
    await Event.filter(id=event.id).update(series_id=series.id)
    await turn(str(series.id), guild_id=GUILD, user_id=ADA, now=clock.now())
    bot = await process(discord, clock)

    await bot.run_until(clock.now() + 5 * MINUTE)

    assert reached(discord, [ADA, BRUNO]) == {ADA: 0, BRUNO: 1}
    (post,) = discord.in_channel()
    assert set(post.message.mention_user_ids) == {ADA, BRUNO}


async def test_who_is_silenced_is_found_among_thousands(database: str) -> None:
    people = range(1, 12_001)
    await PlayerProfile.bulk_create(
        [
            PlayerProfile(guild_id=GUILD, user_id=user_id, reminder_opt_outs=["profile_reminder"], updated_at=NOW)
            for user_id in people
            if user_id % 3 == 0
        ]
    )

    found = await silenced("profile_reminder", 7, people, guild_id=GUILD)

    assert found == {user_id for user_id in people if user_id % 3 == 0}


# ---------------------------------------------------------------------------------------------------------- two at once


async def test_of_two_changes_and_a_form_at_once_none_is_lost(database: str) -> None:
    await make_guild(profile_fields=[{"key": "ign", "label": "Name"}])

    for _ in range(5):
        await asyncio.gather(
            turned(off="signup_reminder"),
            turned(off="profile_reminder"),
            save({"ign": "Ada"}, guild_id=GUILD, user_id=ADA, now=NOW),
        )
        row = await PlayerProfile.get(guild_id=GUILD, user_id=ADA)
        assert (row.reminder_opt_outs, row.field_values) == (["profile_reminder", "signup_reminder"], {"ign": "Ada"})
        await row.delete()


@settings(max_examples=15)
@given(steps=st.lists(st.tuples(st.sampled_from(["signup_reminder", "profile_reminder", "one", "two"]), st.booleans())))
def test_what_holds_is_the_last_word_on_each(steps: list[tuple[str, bool]]) -> None:
    ids = {"one": 1, "two": 2}
    known = Preferences("Europe/Paris")
    for what, on in steps:
        one = Switch(what, on, series_id=ids[what]) if what in ids else Switch(what, on, kind=what)
        known = _preferring(one, frozenset({1, 2}), known, on=on)

    last = dict(steps)
    assert known.kinds_off == {what for what, on in last.items() if not on and what not in ids}
    assert known.series_off == {ids[what] for what, on in last.items() if not on and what in ids}
    assert known.timezone == "Europe/Paris"


async def test_who_subscribes_to_what_they_turned_off_is_told_that_nothing_comes(database: str) -> None:
    first, second = await a_series("First"), await a_series("Second")
    await turned(off=str(first.id))

    told = [(await subscribe(series.id, guild_id=GUILD, user_id=ADA, now=NOW)).sentence for series in (first, second)]

    hint = "You turned these direct messages off, so nothing comes until you turn them on in `/notifications`."
    assert [hint in sentence for sentence in told] == [True, False]


async def test_a_page_of_many_series_fits_and_has_no_more_buttons_than_a_message_takes(database: str) -> None:
    for number in range(40):
        await a_series(f"{number:02} {'*' * 90}", subscribers=(ADA,))

    asked = await page(ADA, guild_id=GUILD, said="The direct messages are off now: " + r"\*" * 200)

    assert length(asked.text) <= CONTENT
    assert len(asked.ways) == 25
    assert asked.text.splitlines()[-1].endswith(" more")
    assert len(await switches(ADA, guild_id=GUILD)) == 43
