"""An edit of a series is shown first and made exactly as shown; undone, it leaves no difference and sends nothing."""

import asyncio
import datetime as dt
import random
from typing import Any

import pytest

from bot.changes.realign import RealignPlan
from bot.changes.series_edit import SeriesEditing, Wish
from bot.changes.series_edit_request import Clearing, SeriesEditDesk, SeriesEditRequest
from bot.changes.series_split import SeriesSplitting
from bot.changes.series_state import is_over, pause_series
from bot.changes.series_sync import plan_of, sync_future_events
from bot.changes.stale import StaleError
from bot.clock import ManualClock
from bot.errors import BotError
from bot.events.browse import NoSuchSeriesError
from bot.events.generate import generate_events_for_repeater
from bot.events.series_requests import SeriesNameTakenError
from bot.events.transitions import Transition, Transitions
from bot.message.limits import CONTENT, length
from bot.message.proposal import NOTHING_CHANGED, Proposal, Reply
from bot.scheduling.agenda import Agenda
from bot.transactions import connection
from models.audit_log import AuditLog
from models.event import Event
from models.event_repeater import EventRepeater
from models.states import EventState, Frequency
from tests.builders import (
    CHANNEL,
    DAY,
    GUILD,
    HOUR,
    MINUTE,
    OTHER_GUILD,
    SECOND,
    FakeDiscord,
    audit_actions,
    derived_due,
    make_guild,
    make_series,
    process,
    stored_due,
    utc,
)

NOW = utc("2026-03-02 12:00")  # a Monday
ADMIN, OTHER_ADMIN = 42, 43
DEBOUNCE = 3 * SECOND
LATER = "Only from one event on"
STALE = "It was changed since you were shown this"


def desk(agenda: Agenda | None = None) -> SeriesEditDesk:
    shared = agenda or Agenda()
    return SeriesEditDesk(
        SeriesEditing(shared, debounce=DEBOUNCE, instance="one"),
        SeriesSplitting(shared, debounce=DEBOUNCE, instance="one"),
    )


async def propose(series: EventRepeater, *, now: dt.datetime = NOW, actor: int = ADMIN, **fields: Any) -> Reply:  # noqa: ANN401
    request = SeriesEditRequest(str(series.id), **fields)
    return await desk().propose(request, guild_id=GUILD, actor=actor, now=now)


async def shown(series: EventRepeater, *, now: dt.datetime = NOW, **fields: Any) -> Proposal:  # noqa: ANN401
    reply = await propose(series, now=now, **fields)
    assert isinstance(reply, Proposal)
    return reply


async def edit(series: EventRepeater, *, now: dt.datetime = NOW, **fields: Any) -> str:  # noqa: ANN401
    """Edit a series and confirm it."""
    done = await (await shown(series, now=now, **fields)).ways[0].then(now)
    assert isinstance(done, str)
    return done


async def tuesdays(**fields: object) -> EventRepeater:
    """Store a series with its events: Tuesdays at 19:00 in London, on the 3rd and the 10th."""
    series = await make_series(now=NOW, **({"day_of_week": "TU", "discord_announcement_hours": 48} | fields))
    await generate_events_for_repeater(series, now=NOW)
    return series


async def announce(event: Event) -> None:
    """Let an event have its post."""
    await Event.filter(id=event.id).update(announcement_message_id=77, announcement_channel_id=CHANNEL)


async def ahead(series: EventRepeater) -> list[Event]:
    return await Event.filter(series_id=series.id).order_by("scheduled_at", "id")


async def stands(series: EventRepeater) -> list[str]:
    """Return the times at which events of the series are upcoming."""
    events = await ahead(series)
    return [f"{event.scheduled_at:%d %H:%M}" for event in events if event.state is EventState.UPCOMING]


async def snapshot(series: EventRepeater, *, but: frozenset[str] = frozenset()) -> list[dict[str, object]]:
    """Return everything that an event of the series says to anybody."""
    hidden = {"id", "created_at", "state_since", "post_version", "post_due_at"} | but
    return [
        {name: getattr(event, name) for name in Event._meta.db_fields if name not in hidden}
        for event in await ahead(series)
    ]


async def test_another_weekday_moves_the_events_and_says_what_was_announced(database: str) -> None:
    series = await tuesdays()
    first, second = await ahead(series)
    await announce(first)

    reply = await shown(series, days="TH")

    assert "- days: TU → TH" in reply.text
    assert "every week on Thursday at 19:00 in Europe/London" in reply.text
    at = [int(event.scheduled_at.timestamp()) for event in (first, second)]
    later = [moment + 2 * 24 * 3600 for moment in at]
    assert (
        f"**Moved, each as a new event (2)**: <t:{at[0]}:F> (announced) → <t:{later[0]}:F>,"
        f" <t:{at[1]}:F> → <t:{later[1]}:F>" in reply.text
    )
    assert [way.label for way in reply.ways] == ["Change the series", LATER, "Discard"]
    assert await stands(series) == ["03 19:00", "10 19:00"]

    assert await reply.ways[0].then(NOW) == "**London Sunday** was changed; events: 2 moved."

    assert await stands(series) == ["05 19:00", "12 19:00"]
    gone = await Event.get(id=first.id)
    assert (gone.state, gone.is_withdrawn, gone.moved_to) == (EventState.CANCELLED, True, first.scheduled_at + 2 * DAY)
    assert (gone.post_version, gone.post_due_at) == (1, NOW + DEBOUNCE)
    assert not await Event.filter(id=second.id).exists()
    assert await stored_due() == await derived_due()
    assert await audit_actions() == ["series.edit", "event.realign", "series.realign"]
    row = await AuditLog.get(action="series.edit")
    assert (row.actor_user_id, row.before, row.after) == (ADMIN, {"day_of_week": "TU"}, {"day_of_week": "TH"})


async def test_an_edit_and_its_undoing_leave_no_difference(database: str) -> None:
    series = await tuesdays(generate_days_ahead=30)
    first = (await ahead(series))[0]
    await announce(first)
    before, due = await snapshot(series), len(await stored_due())

    await edit(series, days="TH", time="21:00")
    await edit(series, now=NOW + MINUTE, days="TU", time="19:00")

    assert await snapshot(series) == before
    assert (await Event.get(id=first.id)).state is EventState.UPCOMING
    assert len(await stored_due()) == due
    assert await stored_due() == await derived_due()


async def test_an_edit_and_its_undoing_send_nothing_again(database: str, clock: ManualClock) -> None:
    await make_guild()
    discord = FakeDiscord(clock)
    clock.set(NOW)
    series = await tuesdays(signup_opens_hours=24)
    bot = await process(discord, clock)
    await bot.run_until(NOW + HOUR)
    assert len(discord.posts) == 1

    await edit(series, now=clock.now(), days="TH")
    await bot.services.agenda.run(bot.services.body("sync_discord_events"), clock.now() + MINUTE)
    away = discord.titles()
    await edit(series, now=clock.now(), days="TU")
    await bot.run_until(utc("2026-03-04 12:00"))

    assert away == ["Moved: London Sunday"]
    assert discord.titles() == ["London Sunday"]
    assert len(discord.posts) == 1


async def test_what_is_no_schedule_follows_but_for_what_was_edited_there(database: str) -> None:
    series = await tuesdays(generate_days_ahead=30)
    plain, edited, opened, *_ = await ahead(series)
    await Event.filter(id=edited.id).update(name="Finals", overridden_fields=["name", "max_players"], max_players=4)
    await Event.filter(id=opened.id).update(state=EventState.SIGNUPS_OPEN)
    await announce(plain)

    reply = await shown(series, name="Raid", places=20, description="Bring potions.")
    done = await reply.ways[0].then(NOW)

    assert "The 4 events ahead follow, but for what was edited there, and unless sign-ups were opened." in reply.text
    assert done == "**London Sunday** was changed."
    rows = {event.id: (event.name, event.max_players, event.description) for event in await ahead(series)}
    assert rows[plain.id] == ("Raid", 20, "Bring potions.")
    assert rows[edited.id] == ("Finals", 4, "Bring potions.")
    assert rows[opened.id] == ("London Sunday", None, "")
    assert (await Event.get(id=plain.id)).post_due_at == NOW + DEBOUNCE
    assert await audit_actions() == ["series.edit"]
    row = await AuditLog.get()
    assert row.after == {"name": "Raid", "max_players": 20, "description": "14 characters"}


async def test_other_hours_move_what_is_due_and_when_sign_ups_open(database: str) -> None:
    series = await tuesdays()
    (first, second) = await ahead(series)

    await edit(series, announce_hours=2, signups_open_hours=24)

    assert await stored_due() == await derived_due()
    assert (await stored_due())[(first.id, "announcement")] == first.scheduled_at - 2 * HOUR
    assert (await Event.get(id=second.id)).signups_open_at == second.scheduled_at - DAY
    await edit(series, signups_open_hours=0)
    assert (await Event.get(id=second.id)).signups_open_at == second.created_at
    await edit(series, announce_hours=48, signups_open_hours=168)
    assert [event.signups_open_at for event in await ahead(series)] == [first.signups_open_at, second.signups_open_at]


async def test_further_ahead_makes_more_events_and_no_longer_ahead_removes_none(database: str) -> None:
    series = await tuesdays()

    assert await edit(series, days_ahead=21) == "**London Sunday** was changed; events: 1 added."
    assert await edit(series, days_ahead=2) == "**London Sunday** was changed."

    assert await stands(series) == ["03 19:00", "10 19:00", "17 19:00"]


async def test_an_event_that_an_admin_edited_goes_only_if_it_is_ticked(database: str) -> None:
    series = await tuesdays()
    first, second = await ahead(series)
    await Event.filter(id=first.id).update(overridden_fields=["name"], name="Finals")

    reply = await shown(series, days="TH")
    assert f"(1)**: <t:{int(first.scheduled_at.timestamp())}:F>: edited by itself" in reply.text
    assert [way.label for way in reply.ways] == ["Change the series", "Also remove 3 March 2026", LATER, "Discard"]
    ticked = await reply.ways[1].then(NOW)
    assert isinstance(ticked, Proposal)
    assert [way.label for way in ticked.ways] == ["Change the series", "Keep 3 March 2026", LATER, "Discard"]
    back = await ticked.ways[1].then(NOW)
    assert isinstance(back, Proposal)
    assert back.text == reply.text
    await ticked.ways[0].then(NOW)

    assert await stands(series) == ["05 19:00", "12 19:00"]
    assert not await Event.filter(id=first.id).exists()
    assert second.id not in {event.id for event in await ahead(series)}


async def test_unticked_it_stays_with_its_own_values(database: str) -> None:
    series = await tuesdays()
    first, _ = await ahead(series)
    await Event.filter(id=first.id).update(overridden_fields=["name"], name="Finals")

    await edit(series, days="TH", name="Raid")

    assert await stands(series) == ["03 19:00", "05 19:00", "12 19:00"]
    assert (await Event.get(id=first.id)).name == "Finals"


async def test_a_schedule_without_an_event_ahead_is_asked_for_by_a_button_that_says_so(database: str) -> None:
    series = await tuesdays()

    reply = await shown(series, ends="2026-03-02")

    assert "The new schedule has no event ahead: every upcoming event goes." in reply.text
    assert reply.ways[0].label == "Remove all 2 upcoming events"
    assert await reply.ways[-1].then(NOW) == NOTHING_CHANGED
    assert await stands(series) == ["03 19:00", "10 19:00"]
    assert await reply.ways[0].then(NOW) == "**London Sunday** was changed; events: 2 removed."
    assert await stands(series) == []


async def test_a_series_that_had_ended_already_realigns_nothing(database: str) -> None:
    series = await tuesdays()
    await EventRepeater.filter(id=series.id).update(ends_at=dt.date(2026, 3, 1))

    reply = await shown(series, time="20:00")
    await reply.ways[0].then(NOW)

    assert "The 2 events ahead stay as they are: it has ended." in reply.text
    assert await stands(series) == ["03 19:00", "10 19:00"]
    assert await edit(series, clear=Clearing.ENDS) == "**London Sunday** was changed; events: 2 moved."
    assert await stands(series) == ["03 20:00", "10 20:00"]


async def test_a_paused_series_realigns_nothing(database: str) -> None:
    series = await tuesdays()
    await pause_series(str(series.id), guild_id=GUILD, actor=ADMIN, now=NOW)

    reply = await shown(series, days="TH", name="Raid")
    await reply.ways[0].then(NOW)

    assert (
        "events ahead keep their times: the series is paused; /series resume brings them in line. The rest they take"
        in reply.text
    )
    assert await stands(series) == ["03 19:00", "10 19:00"]
    assert {event.name for event in await ahead(series)} == {"Raid"}


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        (
            {"days": "TU,TH", "duration_minutes": 90},
            (
                "The 2 events that are kept or stay take on the rest too, but for what was edited there, and unless"
                " sign-ups were opened."
            ),
        ),
        ({"days": "TU,TH"}, None),
        ({"days": "TH", "duration_minutes": 90}, None),
        (
            {"duration_minutes": 90},
            "The 2 events ahead follow, but for what was edited there, and unless sign-ups were opened.",
        ),
        ({"days_ahead": 20}, None),
    ],
)
async def test_who_takes_the_new_values_is_said_where_the_schedule_changes_too(
    database: str, fields: dict[str, Any], says: str | None
) -> None:
    series = await tuesdays()

    reply = await shown(series, **fields)
    await reply.ways[0].then(NOW)

    said = [line for line in reply.text.splitlines() if " take on " in line or " follow, " in line]
    assert said == ([] if says is None else [says])
    if "duration_minutes" in fields:
        assert {event.duration_minutes for event in await ahead(series)} == {90}


async def test_an_event_that_went_and_another_that_came_are_not_what_was_shown(database: str) -> None:
    series = await tuesdays()
    first, _ = await ahead(series)
    reply = await shown(series, name="Raid")
    await first.delete()
    await Event.create(
        guild_id=GUILD, series_id=series.id, slot="2026-03-05T19:00[Europe/London]", name="Another",
        scheduled_at=NOW + 3 * DAY, created_at=NOW, state_since=NOW,
    )  # fmt: skip

    again = await reply.ways[0].then(NOW)

    assert isinstance(again, Proposal)
    assert again.text.startswith(STALE)
    assert {event.name for event in await ahead(series)} == {"London Sunday", "Another"}


async def test_events_past_upcoming_and_past_ones_keep_their_schedule(database: str) -> None:
    series = await tuesdays()
    first, _ = await ahead(series)
    await Event.filter(id=first.id).update(state=EventState.SIGNUPS_OPEN)
    past = await Event.create(
        guild_id=GUILD, series_id=series.id, slot="2026-03-01T19:00[Europe/London]", name="Past",
        scheduled_at=NOW - DAY, created_at=NOW - 9 * DAY, state_since=NOW - 9 * DAY,
    )  # fmt: skip

    reply = await shown(series, days="TH")
    await reply.ways[0].then(NOW)

    assert f"<t:{int(first.scheduled_at.timestamp())}:F>: sign-ups were opened" in reply.text
    kept = {event.id: event.state for event in await ahead(series)}
    assert (kept[first.id], kept[past.id]) == (EventState.SIGNUPS_OPEN, EventState.UPCOMING)
    assert (await Event.get(id=past.id)).name == "Past"


async def test_another_frequency_forgets_the_days_of_the_old_one(database: str) -> None:
    series = await tuesdays(starts_at=dt.date(2026, 3, 3))

    await edit(series, frequency=Frequency.MONTHLY)

    assert (await EventRepeater.get(id=series.id)).day_of_week is None
    assert await stands(series) == ["03 19:00"]


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({}, "Say what to change"),
        ({"days": "2TU"}, "days '2TU' counts within a month"),
        ({"time": "25:00"}, "time '25:00' is not allowed"),
        ({"timezone": "Mars/Base"}, "timezone 'Mars/Base' is not known"),
        ({"ends": "2025-12-24"}, "ends 2025-12-24 is before starts"),
        ({"announce_hours": 1000}, "announce\\_hours 1000 is more than 336"),
        ({"starts": "soon"}, "starts 'soon' is no date"),
    ],
    ids=lambda value: next(iter(value), "nothing") if isinstance(value, dict) else "",
)
async def test_what_cannot_be_is_refused_in_the_options_names(database: str, fields: dict[str, Any], says: str) -> None:
    series = await tuesdays()

    with pytest.raises(BotError) as refused:
        await propose(series, **fields)

    assert says.replace("\\", "") in str(refused.value).replace("\\", "")
    assert await audit_actions() == []


async def test_what_it_has_already_changes_nothing(database: str) -> None:
    series = await tuesdays()

    says = await propose(series, days="TU", time="19:00", places=0, every=1)

    assert says == "**London Sunday** has all of that already, so nothing changes."


async def test_another_servers_series_is_not_there(database: str) -> None:
    series = await tuesdays(guild_id=OTHER_GUILD)

    with pytest.raises(NoSuchSeriesError):
        await propose(series, days="TH")


async def test_a_name_that_another_series_has_is_refused_also_where_it_came_meanwhile(database: str) -> None:
    series = await tuesdays()
    await make_series(now=NOW, name="Raid")
    await make_series(now=NOW, name="Elsewhere", guild_id=OTHER_GUILD)

    with pytest.raises(SeriesNameTakenError):
        await propose(series, name="raid ")
    reply = await shown(series, name="Elsewhere")
    await make_series(now=NOW, name="ELSEWHERE")
    with pytest.raises(SeriesNameTakenError):
        await reply.ways[0].then(NOW)

    assert (await EventRepeater.get(id=series.id)).name == "London Sunday"
    assert await edit(series, name="LONDON SUNDAY") == "**London Sunday** was changed."


async def test_a_date_that_can_be_two_is_asked_about(database: str) -> None:
    series = await tuesdays()

    asked = await shown(series, ends="03/04/2026")
    chosen = await asked.ways[-2].then(NOW)

    assert [way.label for way in asked.ways] == ["4 March 2026", "3 April 2026", "Discard"]
    assert isinstance(chosen, Proposal)
    assert "- ends: none → 3 April 2026" in chosen.text


@pytest.mark.parametrize("what", ["edited", "opened", "announced", "made", "deleted"])
async def test_what_is_not_as_it_was_shown_is_refused_and_shown_anew(database: str, what: str) -> None:
    series = await tuesdays()
    first, second = await ahead(series)
    reply = await shown(series, days="TH")
    if what == "edited":
        await edit(series, places=5)
    elif what == "opened":
        transitions = Transitions(Agenda(), debounce=DEBOUNCE)
        await transitions.make(Transition.OPEN_SIGNUPS, str(first.id), guild_id=GUILD, actor=ADMIN, now=NOW)
    elif what == "announced":
        await announce(second)
    elif what == "made":
        await generate_events_for_repeater(series, now=NOW + 8 * DAY)
    else:
        await Event.filter(id=second.id).delete()
    before = await snapshot(series)

    again = await reply.ways[0].then(NOW + MINUTE)

    assert isinstance(again, Proposal)
    assert again.text.startswith(STALE)
    assert await snapshot(series) == before
    done = await again.ways[0].then(NOW + MINUTE)
    assert isinstance(done, str)
    assert "was changed" in done


async def test_of_two_admins_who_confirm_at_once_one_is_refused(database: str) -> None:
    series = await tuesdays()
    replies = [await shown(series, days="TH"), await shown(series, days="FR")]

    done = await asyncio.gather(*(reply.ways[0].then(NOW) for reply in replies))

    assert sorted(isinstance(one, Proposal) for one in done) == [False, True]
    refused = next(one for one in done if isinstance(one, Proposal))
    assert refused.text.startswith(STALE)
    stored = await EventRepeater.get(id=series.id)
    assert (
        await stands(series)
        == {"TH": ["05 19:00", "12 19:00"], "FR": ["06 19:00", "13 19:00"]}[str(stored.day_of_week)]
    )
    assert await stored_due() == await derived_due()


async def test_one_who_confirms_twice_at_once_changes_it_once(database: str) -> None:
    series = await tuesdays()
    reply = await shown(series, days="TH")

    done = await asyncio.gather(*(reply.ways[0].then(NOW) for _ in range(2)))

    assert sum(isinstance(one, str) and "was changed" in one for one in done) == 1
    assert await stands(series) == ["05 19:00", "12 19:00"]
    assert (await audit_actions()).count("series.edit") == 1


async def test_an_edit_that_meets_the_generator_leaves_no_event_of_the_old_rule(database: str) -> None:
    for number in range(5):
        series = await tuesdays(name=f"Series {number}")
        await Event.filter(series_id=series.id, slot__contains="-10T").delete()
        reply = await shown(series, days="TH")
        old = await EventRepeater.get(id=series.id)

        done, _ = await asyncio.gather(reply.ways[0].then(NOW), generate_events_for_repeater(old, now=NOW))

        if isinstance(done, Proposal):  # the generator was first
            done = await done.ways[0].then(NOW)
        assert await stands(series) == ["05 19:00", "12 19:00"]


async def test_an_edit_that_meets_an_opening_loses_no_event(database: str) -> None:
    for number in range(5):
        series = await tuesdays(name=f"Series {number}")
        first, _ = await ahead(series)
        reply = await shown(series, days="TH")
        transitions = Transitions(Agenda(), debounce=DEBOUNCE)

        done, said = await asyncio.gather(
            reply.ways[0].then(NOW),
            transitions.make(Transition.OPEN_SIGNUPS, str(first.id), guild_id=GUILD, actor=ADMIN, now=NOW),
        )

        row = await Event.get_or_none(id=first.id)
        if isinstance(done, Proposal):  # the opening was first
            assert row is not None
            assert row.state is EventState.SIGNUPS_OPEN
            assert done.text.startswith(STALE)
        else:
            assert row is None
            assert "deleted meanwhile" in said


async def test_sync_alone_removes_nothing_and_realigning_refuses_another_plan(database: str) -> None:
    series = await tuesdays()
    await EventRepeater.filter(id=series.id).update(day_of_week="TH", name="Raid")
    fresh = await EventRepeater.get(id=series.id)

    touched = await sync_future_events(fresh, now=NOW, debounce=DEBOUNCE)
    assert [event.name for event in touched] == ["Raid", "Raid"]
    assert await stands(series) == ["03 19:00", "10 19:00"]
    with pytest.raises(StaleError):
        await sync_future_events(fresh, realign_schedule=True, now=NOW, debounce=DEBOUNCE, expected=RealignPlan())
    assert await stands(series) == ["03 19:00", "10 19:00"]
    touched = await sync_future_events(fresh, realign_schedule=True, now=NOW, debounce=DEBOUNCE)

    assert sorted(f"{event.scheduled_at:%d}" for event in touched) == ["05", "12"]
    assert await stands(series) == ["05 19:00", "12 19:00"]


async def test_what_is_made_is_what_was_shown_whatever_the_edits(database: str) -> None:
    chance = random.Random(7)
    series = await tuesdays(generate_days_ahead=20)
    given: list[dict[str, object]] = [
        {"frequency": Frequency.WEEKLY, "day_of_week": "TU,TH"}, {"frequency": Frequency.DAILY, "interval": 3},
        {"frequency": Frequency.MONTHLY}, {"timezone": "America/New_York"}, {"time_of_day": dt.time(2, 30)},
        {"frequency": Frequency.WEEKLY, "day_of_week": "SU"}, {"ends_at": dt.date(2026, 3, 9)}, {"ends_at": None},
    ]  # fmt: skip
    editing = SeriesEditing(Agenda(), debounce=DEBOUNCE)
    for step in range(12):
        now = NOW + step * HOUR
        for event in chance.sample(await ahead(series), 1) if await ahead(series) else []:
            await announce(event)
        wish = Wish(series.id, GUILD, ADMIN, chance.choice(given))
        reply = await editing.propose(wish, now=now)
        if isinstance(reply, str):
            continue

        before = {event.id: event for event in await ahead(series)}
        await reply.ways[0].then(now)

        fresh = await EventRepeater.get(id=series.id)
        again = await plan_of(fresh, now=now)
        assert (again.leaving, again.arrivals) == ((), ())
        rows = {event.id: event for event in await ahead(series)}
        assert all(event_id in rows or event.announcement_message_id is None for event_id, event in before.items())
        wanted = [event for event in rows.values() if event.state is EventState.UPCOMING]
        assert len({event.scheduled_at for event in wanted}) == len(wanted)
        assert await stored_due() == await derived_due()


async def test_a_zone_of_the_same_offset_keeps_every_row_and_sends_nothing(database: str) -> None:
    series = await tuesdays()
    first, second = await ahead(series)
    await announce(first)

    reply = await shown(series, timezone="Europe/Dublin")
    assert "**Kept (2)**" in reply.text
    assert "cancelled, or where" not in reply.text
    await reply.ways[0].then(NOW)

    rows = await ahead(series)
    assert [(event.id, event.state, event.scheduled_at) for event in rows] == [
        (event.id, EventState.UPCOMING, event.scheduled_at) for event in (first, second)
    ]
    assert [event.slot for event in rows] == [f"2026-03-{day}T19:00[Europe/Dublin]" for day in ("03", "10")]
    assert await generate_events_for_repeater(series, now=NOW) == 0
    assert await audit_actions() == ["series.edit"]


async def test_a_year_of_days_is_planned_in_a_few_queries(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    series = await tuesdays(frequency=Frequency.DAILY, day_of_week=None, generate_days_ahead=366)
    client, asked = type(connection()), list[str]()
    for name in ("execute_query", "execute_query_dict"):
        run = getattr(client, name)

        async def _counted(self: object, query: str, *rest: object, _run: Any = run) -> object:  # noqa: ANN401
            asked.append(query)
            return await _run(self, query, *rest)

        monkeypatch.setattr(client, name, _counted)
    series.time_of_day = "20:00"

    wanted = await plan_of(series, now=NOW)

    assert (len(wanted.replaced), len(wanted.removed), len(wanted.added)) == (367, 0, 0)
    assert len(asked) <= 8  # the events, what was sent, who answered, the exceptions; one may be made of two
    monkeypatch.undo()
    await sync_future_events(series, now=NOW, debounce=DEBOUNCE)  # nothing was stored, so nothing is handed down
    text = (await shown(series, time="20:00")).text
    assert "+" in text
    assert length(text) <= CONTENT


async def test_a_series_whose_zone_was_lost_can_be_given_another(database: str) -> None:
    series = await tuesdays(ends_at=dt.date(2027, 1, 1))
    await EventRepeater.filter(id=series.id).update(timezone="Mars/Gone")

    with pytest.raises(BotError, match="timezone 'Mars/Gone' is not known"):
        await propose(series, days="TH")

    assert await edit(series, timezone="Europe/Paris", days="TH") == "**London Sunday** was changed; events: 2 moved."


async def test_a_time_that_the_clock_skips_and_a_switch_are_said_in_words(database: str) -> None:
    series = await tuesdays(day_of_week="SU")

    reply = await shown(series, time="01:30", announce_hours=0, signup_reminder_hours=12)

    assert "On 29 March 2026 the clock in Europe/London skips 01:30: that one begins at 02:00." in reply.text
    assert "- announcement: on → off\n" in reply.text
    assert "- sign\\-up reminder: off → on\n" in reply.text


@pytest.mark.parametrize(
    ("ends_at", "timezone", "over"),
    [
        (None, "Europe/London", False),
        (dt.date(2026, 3, 1), "Europe/London", True),
        (dt.date(2026, 3, 2), "Europe/London", False),
        (dt.date(2026, 3, 1), "Atlantis/Gone", False),
    ],
)
async def test_a_series_is_over_after_its_last_day_and_of_an_unknown_zone_nobody_can_tell(
    database: str, ends_at: dt.date | None, timezone: str, *, over: bool
) -> None:
    series = await make_series(now=NOW, ends_at=ends_at, timezone=timezone)

    assert is_over(series, now=NOW) is over
