"""A person's own clock: what they type is read by it, and the answer says so where the server's is another."""

from typing import Any

import pytest

from bot.events.event_requests import EventDesk, EventRequest
from bot.events.own_zone import NoSuchZoneError, TypedClock, search_own_zones, set_own_zone, zone_for
from bot.events.profiles import save
from bot.message.proposal import Proposal, Reply
from bot.scheduling.agenda import Agenda
from models.event import Event
from models.player_profile import PlayerProfile
from tests.builders import GUILD, OTHER_GUILD, make_guild, utc

NOW = utc("2026-03-01 12:00")
ADA, BRUNO = 11, 12


async def own(typed: str, *, user_id: int = ADA, guild_id: int = GUILD) -> str:
    return await set_own_zone(typed, guild_id=guild_id, user_id=user_id, default="UTC", now=NOW)


async def clock_of(user_id: int = ADA, guild_id: int = GUILD) -> TypedClock:
    return await zone_for(guild_id, user_id, default="Asia/Tokyo")


async def asked(when: str, actor: int, **fields: Any) -> Reply:  # noqa: ANN401 -- whatever a request takes
    request = EventRequest(**({"name": "Raid night", "when": when} | fields))
    return await EventDesk(Agenda(), default_timezone="UTC").propose(request, guild_id=GUILD, actor=actor, now=NOW)


async def test_it_is_set_told_with_the_time_there_and_taken_back(database: str) -> None:
    await make_guild(timezone="Europe/London")

    said = [await own("Asia/Kathmandu"), await own("Asia/Kathmandu"), await own("server"), await own("Server ")]

    assert [sentence.partition(" there now")[0] for sentence in said] == [
        "Times that you type are read by the clock of Asia/Kathmandu from now on: it is 17:45",
        "Times that you type are read by the clock of Asia/Kathmandu already: it is 17:45",
        "Times that you type are read by the clock of this server, Europe/London from now on: it is 12:00",
        "Times that you type are read by the clock of this server, Europe/London already: it is 12:00",
    ]
    assert (await PlayerProfile.get()).timezone is None


@pytest.mark.parametrize("typed", ["m\u00fcnchen", "Europe", "@everyone", "localtime", "x" * 64, ""])
async def test_what_is_no_zone_is_refused_and_nothing_is_stored(database: str, typed: str) -> None:
    with pytest.raises(NoSuchZoneError) as told:
        await own(typed)

    assert "@everyone" not in str(told.value).replace(r"\@everyone", "")
    assert await PlayerProfile.all().count() == 0


async def test_it_is_the_persons_own_in_this_server_alone(database: str) -> None:
    await make_guild(timezone="Europe/London")
    await own("America/New_York")

    assert await clock_of() == TypedClock("America/New_York", "Europe/London")
    assert await clock_of(BRUNO) == TypedClock("Europe/London", "Europe/London")
    assert await clock_of(ADA, OTHER_GUILD) == TypedClock("Asia/Tokyo", "Asia/Tokyo")


async def test_one_that_the_database_of_zones_has_no_more_is_as_good_as_none(database: str) -> None:
    await make_guild(timezone="Europe/London")
    await PlayerProfile.create(guild_id=GUILD, user_id=ADA, timezone="Atlantic/Atlantis", updated_at=NOW)

    assert await clock_of() == TypedClock("Europe/London", "Europe/London")


async def test_a_time_that_is_typed_is_read_by_it_and_said_so(database: str) -> None:
    await make_guild(timezone="Europe/London")
    await own("America/New_York")

    mine, managers = await asked("2026-03-10 19:30", ADA), await asked("2026-03-10 19:30", BRUNO)

    assert isinstance(mine, Proposal)
    assert isinstance(managers, Proposal)
    # New York keeps summer time from 8 March on, London from 29 March on.
    assert f"<t:{int(utc('2026-03-10 23:30').timestamp())}:F>" in mine.text
    assert f"<t:{int(utc('2026-03-10 19:30').timestamp())}:F>" in managers.text
    read_by = r"Read by your own clock, America/New\_York; this server's is Europe/London."
    assert (read_by in mine.text.splitlines(), "own clock" in managers.text) == (True, False)
    await mine.ways[0].then(NOW)
    assert (await Event.get()).scheduled_at == utc("2026-03-10 23:30")


async def test_after_a_question_it_is_still_said(database: str) -> None:
    await make_guild(timezone="Europe/London")
    await own("America/New_York")

    question = await asked("03/04 19:30", ADA)
    assert isinstance(question, Proposal)
    preview = await question.ways[0].then(NOW)

    assert isinstance(preview, Proposal)
    assert "Read by your own clock" in preview.text


async def test_the_profile_form_and_the_clock_do_not_touch_each_other(database: str) -> None:
    await make_guild(profile_fields=[{"key": "ign", "label": "Name"}])
    await own("America/New_York")
    await save({"ign": "Ada"}, guild_id=GUILD, user_id=ADA, now=NOW)
    await own("Asia/Tokyo")

    row = await PlayerProfile.get()

    assert (row.timezone, row.field_values) == ("Asia/Tokyo", {"ign": "Ada"})


async def test_the_way_back_is_offered_to_who_has_a_clock_of_their_own(database: str) -> None:
    async def _first(typed: str, user_id: int) -> tuple[str, str]:
        found = await search_own_zones(typed, guild_id=GUILD, user_id=user_id, now=NOW)
        assert len(found) <= 25
        return found[0].label, found[0].value

    await own("Asia/Tokyo")

    assert await _first("", ADA) == ("This server's clock", "server")
    assert await _first("serv", ADA) == ("This server's clock", "server")
    assert await _first("berlin", ADA) == ("Europe/Berlin \u00b7 UTC+01:00", "Europe/Berlin")
    assert await _first("", BRUNO) == ("UTC \u00b7 UTC+00:00", "UTC")
