"""What an event looks like in its server's own list of scheduled events, and the way there."""

import datetime as dt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.events import guild_sync
from bot.message.limits import length
from bot.message.native_event import DESCRIPTION, LIVE, LOCATION, NAME, NativeChange, NativeEvent, NativeStatus
from bot.message.outgoing import MessageLimitError
from models.event import Event
from models.states import EventState
from tests.builders import CHANNEL, DAY, GUILD, HOUR, event_row, utc

NOW = utc("2026-03-01 12:00")
FAMILY = "\N{MAN}\N{ZERO WIDTH JOINER}\N{WOMAN}\N{ZERO WIDTH JOINER}\N{GIRL}"

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=1_000) | st.integers(0, 60).map(FAMILY.__mul__)


def an_event(**fields: Any) -> Event:  # noqa: ANN401 -- whatever the row takes
    return event_row(now=NOW, **{"id": 12, "discord_create_event": True} | fields)


def native(event: Event, *, channel_id: int | None = CHANNEL, marker: str = "#12") -> NativeEvent:
    return guild_sync.native_event(event, channel_id=channel_id, marker=marker)


@given(name=texts.filter(lambda text: 0 < len(text.strip()) <= NAME), description=texts, part=st.integers(0, 99_999))
def test_whatever_it_is_called_it_fits_discords_limits_and_ends_with_its_marker(
    name: str, description: str, part: int
) -> None:
    marker = guild_sync.marker_of(1 << 62, part=part)

    made = native(an_event(name=name, description=description), marker=marker)

    assert 0 < length(made.name) <= NAME
    assert 0 < length(made.description) <= DESCRIPTION
    assert 0 < length(made.location) <= LOCATION
    assert made.description.splitlines()[-1] == marker
    assert not made.name.endswith("\N{ZERO WIDTH JOINER}")


@pytest.mark.parametrize("times", [32, 33])
def test_a_cut_name_ends_where_a_picture_ends(times: int) -> None:
    # 8 UTF-16 units each: twelve and the ellipsis fit into a hundred.
    made = native(an_event(name=FAMILY * times))

    assert made.name == FAMILY * 12 + "…"


def test_its_times_are_the_events_own_and_its_place_is_where_it_is_announced() -> None:
    made = native(an_event(duration_minutes=90, scheduled_at=NOW + HOUR))

    assert (made.starts_at, made.ends_at) == (NOW + HOUR, NOW + 2.5 * HOUR)
    assert made.location == f"https://discord.com/channels/{GUILD}/{CHANNEL}"


def test_what_is_announced_nowhere_takes_place_at_discord() -> None:
    assert native(an_event(), channel_id=None).location == "Discord"


@pytest.mark.parametrize(
    ("part", "text", "limit"), [("name", "x" * 101, 100), ("description", "x" * 1_001, 1_000), ("location", "", 100)]
)
def test_a_text_that_discord_would_refuse_is_found_where_it_is_made(part: str, text: str, limit: int) -> None:
    given_texts: dict[str, Any] = {"name": "n", "description": "d", "location": "l"} | {part: text}

    with pytest.raises(MessageLimitError, match=f"{part} is {len(text)} long, over the limit of {limit}"):
        NativeEvent(marker="#1", starts_at=NOW, ends_at=NOW + HOUR, **given_texts)


@pytest.mark.parametrize(
    ("state", "fields", "where"),
    [
        (EventState.UPCOMING, {}, NativeStatus.SCHEDULED),
        (EventState.SIGNUPS_OPEN, {}, NativeStatus.SCHEDULED),
        (EventState.ROLL_CALL, {}, NativeStatus.SCHEDULED),
        (EventState.IN_PROGRESS, {}, NativeStatus.ACTIVE),
        (EventState.COMPLETED, {}, NativeStatus.COMPLETED),
        (EventState.CANCELLED, {}, NativeStatus.CANCELED),
        (EventState.CANCELLED, {"is_withdrawn": True}, None),
        (EventState.SIGNUPS_OPEN, {"discord_create_event": False}, None),
        (EventState.CANCELLED, {"discord_create_event": False}, None),
    ],
)
def test_where_it_should_stand_follows_its_state(
    state: EventState, fields: dict[str, object], where: NativeStatus | None
) -> None:
    assert guild_sync.goal(an_event(state=state, **fields)) is where


@pytest.mark.parametrize(
    ("fields", "may"),
    [
        pytest.param({}, True, id="ahead"),
        pytest.param({"scheduled_at": NOW + dt.timedelta(microseconds=1)}, True, id="just ahead"),
        pytest.param({"scheduled_at": NOW}, False, id="begins now"),
        pytest.param({"state": EventState.IN_PROGRESS}, False, id="started early"),
        pytest.param({"state": EventState.CANCELLED}, False, id="cancelled"),
        pytest.param({"discord_create_event": False}, False, id="not wanted"),
        pytest.param({"native_told": {"lost": 1}}, True, id="deleted once"),
        pytest.param({"native_told": {"lost": 2}}, False, id="deleted twice"),
    ],
)
def test_one_may_be_made_only_ahead_of_its_time_and_once_again_at_most(fields: dict[str, object], may: bool) -> None:
    assert guild_sync.may_be_made(an_event(**fields), now=NOW) is may


@pytest.mark.parametrize("have", NativeStatus)
@pytest.mark.parametrize("want", NativeStatus)
def test_every_way_takes_only_steps_that_discord_allows_and_arrives(have: NativeStatus, want: NativeStatus) -> None:
    allowed = {
        (NativeStatus.SCHEDULED, NativeStatus.ACTIVE),
        (NativeStatus.SCHEDULED, NativeStatus.CANCELED),
        (NativeStatus.ACTIVE, NativeStatus.COMPLETED),
    }

    stands = have
    for step in guild_sync.way(have, want):
        if step is not None:
            assert (stands, step) in allowed
            stands = step

    if have not in LIVE:
        assert stands is have
    elif want not in LIVE:
        assert stands not in LIVE
    elif want is NativeStatus.ACTIVE:
        assert stands is NativeStatus.ACTIVE


def test_what_discord_was_told_is_not_told_again() -> None:
    told = native(an_event()).as_data()

    assert not guild_sync.lags(told, native(an_event()), NativeStatus.SCHEDULED)
    assert guild_sync.lags(told, native(an_event()), NativeStatus.ACTIVE)
    assert guild_sync.lags(told, native(an_event(name="Another")), NativeStatus.SCHEDULED)
    assert guild_sync.lags({"lost": 1}, native(an_event()), NativeStatus.SCHEDULED)


def test_only_what_differs_is_told() -> None:
    told = native(an_event()).as_data()

    renamed = guild_sync.change(told, native(an_event(name="Another")), None, runs=False, now=NOW)
    moved = guild_sync.change(told, native(an_event(scheduled_at=NOW + DAY)), None, runs=False, now=NOW)

    assert renamed == NativeChange(name="Another")
    assert moved == NativeChange(starts_at=NOW + DAY, ends_at=NOW + DAY + 2 * HOUR)


def test_the_start_of_what_runs_or_has_passed_is_left_alone() -> None:
    told = native(an_event()).as_data()
    longer = native(an_event(scheduled_at=NOW + HOUR, duration_minutes=600))

    assert guild_sync.change(told, longer, None, runs=True, now=NOW) == NativeChange(ends_at=NOW + 11 * HOUR)
    assert guild_sync.change(told, longer, None, runs=False, now=NOW + 2 * HOUR).starts_at is None
    assert guild_sync.change(told, longer, None, runs=True, now=NOW + 11 * HOUR).is_empty


def test_a_start_tells_the_status_and_no_time() -> None:
    told = native(an_event()).as_data()

    assert guild_sync.change(told, native(an_event()), NativeStatus.ACTIVE, runs=False, now=NOW) == NativeChange(
        status=NativeStatus.ACTIVE
    )


@pytest.mark.parametrize(
    ("told", "starts_at", "was"),
    [
        ({}, NOW + DAY, False),
        ({"starts_at": (NOW + HOUR).isoformat()}, NOW + DAY, True),
        ({"starts_at": (NOW + DAY).isoformat()}, NOW + DAY, False),
        ({"starts_at": (NOW - HOUR).isoformat()}, NOW, False),
    ],
)
def test_it_was_put_off_where_discord_was_told_another_start_and_the_new_one_lies_ahead(
    told: dict[str, object], starts_at: dt.datetime, was: bool
) -> None:
    assert guild_sync.was_put_off(told, native(an_event(scheduled_at=starts_at)), now=NOW) is was
