"""Events and series are found by what was typed, in their own server alone."""

import datetime as dt
from collections import Counter

import pytest

from bot.errors import BotError
from bot.events.browse import (
    NoSuchEventError,
    NoSuchSeriesError,
    answer_counts,
    find_event,
    find_series,
    guild_timezone,
    row_id,
    search_events,
    search_series,
)
from bot.events.overview import list_events, list_series, show_event, show_series
from bot.message.limits import CONTENT, length
from models.event import Event
from models.event_signup import EventSignup
from models.states import EventState, SignupStatus
from tests.builders import DAY, GUILD, HOUR, OTHER_GUILD, make_event, make_guild, make_series, utc

NOW = utc("2026-03-01 12:00")
NONSENSE = [
    "",
    "Raid night",
    "0",
    "-1",
    "1.0",
    "1e3",
    " ",
    "999999",
    str(2**63),
    "9" * 5_000,
    "٣",
    "²",
    "' OR 1=1",
    "1; DROP TABLE event",
    "%",
    "\N{BELL}" * 100,
    "\x00",
    "@everyone",
    "<@&1>",
]


# ------------------------------------------------------------------------------------------------------- what is found


@pytest.mark.parametrize("typed", NONSENSE, ids=range(len(NONSENSE)))
async def test_whatever_is_no_id_of_this_server_is_one_sentence(database: str, typed: str) -> None:
    await make_event(now=NOW)
    await make_series(now=NOW)
    for find, error in ((find_event, NoSuchEventError), (find_series, NoSuchSeriesError)):
        with pytest.raises(error) as refused:
            await find(typed, guild_id=GUILD)

        says = str(refused.value)
        assert says.endswith("choose one from the list that appears as you type.")
        assert len(says) < 300
        assert "\n" not in says
        assert "@everyone" not in says.replace("\\@everyone", "")


async def test_the_id_of_another_server_is_answered_exactly_as_one_that_is_not_there(database: str) -> None:
    event = await make_event(now=NOW, guild_id=OTHER_GUILD)
    series = await make_series(now=NOW, guild_id=OTHER_GUILD)
    says: list[str] = []
    for find, row in ((find_event, event), (find_series, series)):
        for typed in (str(row.id), str(row.id + 1)):
            with pytest.raises(BotError) as refused:
                await find(typed, guild_id=GUILD)
            says.append(str(refused.value).replace(typed, "N"))

    assert says[0] == says[1]
    assert says[2] == says[3]
    assert (await find_event(f" {event.id} ", guild_id=OTHER_GUILD)).id == event.id
    assert (await find_series(str(series.id), guild_id=OTHER_GUILD)).id == series.id


@pytest.mark.parametrize(("typed", "known"), [("7", 7), ("007", 7), (str(2**63 - 1), 2**63 - 1), (str(2**63), None)])
def test_an_id_fits_its_column(typed: str, known: int | None) -> None:
    assert row_id(typed) == known


# ------------------------------------------------------------------------------------------------------------ searching


async def labels(typed: str, **options: object) -> list[str]:
    found = await search_events(typed, guild_id=GUILD, now=NOW, **options)  # type: ignore[arg-type]
    return [one.label for one in found]


async def test_events_ahead_come_first_soonest_first_then_the_past_latest_first(database: str) -> None:
    await make_guild(timezone="UTC")
    for name, starts_in in (("b", 2 * DAY), ("a", DAY), ("old", -DAY), ("older", -2 * DAY)):
        await make_event(now=NOW, name=name, starts_in=starts_in)

    assert await labels("") == [
        "a · Mon 02 Mar 2026 12:00",
        "b · Tue 03 Mar 2026 12:00",
        "old · Sat 28 Feb 2026 12:00",
        "older · Fri 27 Feb 2026 12:00",
    ]


async def test_an_event_of_more_than_a_year_ago_is_offered_no_more_and_still_found_by_its_id(database: str) -> None:
    await make_guild()
    old = await make_event(now=NOW, name="old", starts_in=-366 * DAY)
    await make_event(now=NOW, name="just within", starts_in=-366 * DAY + HOUR)

    assert [label.partition(" ·")[0] for label in await labels("")] == ["just within"]
    assert (await find_event(str(old.id), guild_id=GUILD)).id == old.id


async def test_a_name_that_begins_so_comes_before_one_that_holds_it(database: str) -> None:
    await make_guild()
    await make_event(now=NOW, name="Night raid", starts_in=HOUR)
    await make_event(now=NOW, name="RAID night", starts_in=2 * HOUR)
    await make_event(now=NOW, name="Quiz", starts_in=3 * HOUR)

    assert [label.partition(" ·")[0] for label in await labels("raid")] == ["RAID night", "Night raid"]


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [("ÄPFEL", 1), ("äpfel", 1), ("pfel", 2), ("apf", 1), ("Ж", 1), ("\uff21\uff30", 1)],
    ids=["capitals", "small", "a part", "plain", "another alphabet", "full width"],
)
async def test_letter_case_does_not_count_in_any_alphabet(database: str, typed: str, wanted: int) -> None:
    await make_guild()
    for name in ("Äpfel", "ж apfel"):
        await make_event(now=NOW, name=name)

    assert len(await labels(typed)) == wanted


async def test_what_is_typed_is_no_pattern(database: str) -> None:
    await make_guild()
    await make_event(now=NOW, name="100% lamp_oil")
    await make_event(now=NOW, name="Raid")

    assert len(await labels("%")) == 1
    assert len(await labels("_")) == 1
    assert len(await labels("\\")) == 0
    assert len(await labels("' OR 1=1")) == 0
    assert len(await labels("\x00")) == 0


async def test_another_servers_are_never_offered_and_25_at_most_with_names_that_fit(database: str) -> None:
    await make_guild()
    for number in range(30):
        await make_event(now=NOW, name="\N{BELL}" * 50, starts_in=(number + 1) * HOUR)
    await make_event(now=NOW, guild_id=OTHER_GUILD, name="theirs")
    await make_series(now=NOW, guild_id=OTHER_GUILD, name="theirs")

    found = await labels("")

    assert len(found) == 25
    assert max(length(label) for label in found) <= 100
    assert await labels("theirs") == []
    assert await search_series("theirs", guild_id=GUILD) == []


async def test_times_are_shown_by_the_servers_own_clock(database: str) -> None:
    await make_event(now=NOW, name="a", starts_in=DAY)
    assert await labels("a", timezone="Asia/Tokyo") == ["a · Mon 02 Mar 2026 21:00"]

    await make_guild(timezone="Europe/Berlin")
    assert await labels("a", timezone="Asia/Tokyo") == ["a · Mon 02 Mar 2026 13:00"]
    assert await guild_timezone(GUILD, default="Asia/Tokyo") == "Europe/Berlin"
    assert await guild_timezone(OTHER_GUILD, default="Asia/Tokyo") == "Asia/Tokyo"


async def test_only_the_states_that_are_asked_for_are_offered(database: str) -> None:
    await make_guild()
    for state in EventState:
        await make_event(now=NOW, name=state.value, state=state)

    found = await labels("", states={EventState.ROLL_CALL, EventState.CANCELLED})

    assert [label.partition(" ·")[0] for label in found] == ["roll_call", "cancelled"]
    assert found[1].endswith("(cancelled)")


async def test_series_are_found_by_name_and_by_whether_they_are_paused(database: str) -> None:
    await make_series(now=NOW, name="Raid")
    paused = await make_series(now=NOW, name="A raid", is_active=False)

    assert [one.label for one in await search_series("RAID", guild_id=GUILD)] == ["Raid", "A raid (paused)"]
    assert [one.label for one in await search_series("", guild_id=GUILD, active=True)] == ["Raid"]
    assert [one.value for one in await search_series("", guild_id=GUILD, active=False)] == [str(paused.id)]


# ------------------------------------------------------------------------------------------------------------ looking


async def test_people_are_counted_by_event_and_by_what_they_said(database: str) -> None:
    one, other = await make_event(now=NOW), await make_event(now=NOW)
    for user, status in ((1, SignupStatus.SIGNED_UP), (2, SignupStatus.SIGNED_UP), (3, SignupStatus.DECLINED)):
        await EventSignup.create(event_id=one.id, user_id=user, status=status, created_at=NOW, changed_at=NOW)

    assert await answer_counts([one.id, other.id]) == {
        one.id: Counter({SignupStatus.SIGNED_UP: 2, SignupStatus.DECLINED: 1}),
        other.id: Counter(),
    }
    assert await answer_counts([]) == {}


async def test_a_server_without_anything_is_told_what_to_do(database: str) -> None:
    assert "/event create" in await list_events(guild_id=GUILD, now=NOW)
    assert "/series create" in await list_series(guild_id=GUILD)


async def test_lists_hold_this_servers_rows_alone_soonest_first_and_count_what_does_not_fit(database: str) -> None:
    for number in range(60):
        await make_event(now=NOW, name=f"E{number:02}" + "*" * 60, starts_in=(number + 1) * HOUR)
    await make_event(now=NOW, guild_id=OTHER_GUILD, name="theirs")
    await make_event(now=NOW, name="gone", state=EventState.CANCELLED)

    text = await list_events(guild_id=GUILD, now=NOW)

    lines = text.splitlines()[1:]
    shown = len(lines) - 1
    assert length(text) <= CONTENT
    assert [line[4:7] for line in lines[:-1]] == [f"E{number:02}" for number in range(shown)]
    assert lines[-1] == f"+{60 - shown} more"
    assert "theirs" not in text
    assert "gone" not in text


async def test_a_series_is_listed_with_its_next_event(database: str) -> None:
    going = await make_series(now=NOW, name="going")
    await make_series(now=NOW, name="empty")
    await make_series(now=NOW, name="paused", is_active=False)
    await make_series(now=NOW, name="theirs", guild_id=OTHER_GUILD)
    for starts_in in (2 * DAY, DAY):
        await make_event(now=NOW, series_id=going.id, starts_in=starts_in)
    soonest = int((NOW + DAY).timestamp())

    assert (await list_series(guild_id=GUILD)).splitlines() == [
        "Series:",
        "- **empty** every week on Sunday at 19:00 in Europe/London: nothing ahead",
        f"- **going** every week on Sunday at 19:00 in Europe/London: next <t:{soonest}:F>",
        "- **paused** every week on Sunday at 19:00 in Europe/London: paused",
    ]


async def test_everything_about_one_event_names_its_series_and_what_is_still_to_come(database: str) -> None:
    await make_guild()
    series = await make_series(now=NOW, name="Raids")
    event = await make_event(now=NOW, starts_in=2 * DAY, series_id=series.id, max_players=3)
    due = int((NOW + DAY).timestamp())

    text = await show_event(str(event.id), guild_id=GUILD, now=NOW)

    assert "Part of the series **Raids**." in text
    assert "0 of 3 places taken" in text
    assert f"Still to come: announcement <t:{due}:F>." in text
    assert "Sign-up reminder: off." in text


@pytest.mark.parametrize("state", [EventState.CANCELLED, EventState.IN_PROGRESS, EventState.COMPLETED])
async def test_of_an_event_that_began_or_was_cancelled_no_reminder_is_still_to_come(
    database: str, state: EventState
) -> None:
    event = await make_event(now=NOW, starts_in=2 * DAY)
    # Its row stays where it was missed, until the clerk has recorded that.
    await Event.filter(id=event.id).update(state=state)

    assert "No reminder is still to come." in await show_event(str(event.id), guild_id=GUILD, now=NOW)


async def test_a_one_off_offers_no_sign_up_reminder_anywhere(database: str) -> None:
    event = await make_event(now=NOW)

    text = await show_event(str(event.id), guild_id=GUILD, now=NOW)

    assert "It belongs to no series." in text
    assert "Sign-up reminder" not in text


async def test_everything_about_one_series(database: str) -> None:
    series = await make_series(now=NOW, name="Raids", is_active=False, ends_at=dt.date(2026, 12, 24))
    await make_event(now=NOW, series_id=series.id, starts_in=DAY)

    text = await show_series(str(series.id), guild_id=GUILD)

    assert "**Raids** returns every week on Sunday at 19:00 in Europe/London" in text
    assert "from 4 January 2026, until 24 December 2026" in text
    assert "It is paused" in text
    assert f"Next: <t:{int((NOW + DAY).timestamp())}:F>." in text
    assert "Subscribers: 0." in text
