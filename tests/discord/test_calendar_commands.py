"""Calendar files through the real client: attached, shown, confirmed; handed out to whom they are for."""

from typing import TYPE_CHECKING
from unittest.mock import patch

import aiohttp
import discord
import pytest

from bot.command_tree import NotAllowedError
from models.event import Event
from models.event_repeater import EventRepeater
from models.event_signup import EventSignup
from models.states import EventState, SignupStatus
from tests.builders import OTHER_GUILD, make_event, make_series
from tests.calendars import vcalendar
from tests.discord.acting import Stage, labels, press

if TYPE_CHECKING:
    from simcord.results import ResponseMessage

WEEKLY = vcalendar("DTSTART;TZID=Europe/London:20260303T190000", "RRULE:FREQ=WEEKLY", "DURATION:PT1H")


def file_of(stage: Stage, shown: "ResponseMessage") -> tuple[str, bytes]:
    """Return the name and the bytes of the one file that an answer holds."""
    (attached,) = shown.attachments
    content = stage.discord_.backend.cdn.get(attached.url)
    assert content is not None
    return attached.filename, content


async def test_a_calendar_file_is_shown_imported_and_known_the_second_time(stage_everywhere: Stage) -> None:
    stage = stage_everywhere
    attached = ("raid.ics", WEEKLY)
    shown = await stage.run(stage.admin, "series import", file=attached)
    assert labels(shown) == ["Import", "Discard"]
    assert "Import 1 series and 0 single events?" in shown.content
    assert "**Raid night**, every week on Tuesday" in shown.content
    assert await EventRepeater.all().count() == 0

    await press(stage.admin, shown, "Import")
    series = await EventRepeater.get()
    assert shown.content == "Imported 1 series and 0 single events; 2 events are planned."
    assert (series.guild_id, series.created_by, series.calendar_uid) == (stage.guild_id, stage.admin.id, "one@tests")

    again = await stage.run(stage.manager, "series import", file=attached)
    assert labels(again) == []
    assert "Here already, and left as it is: 1." in again.content
    assert await EventRepeater.all().count() == 1


async def test_a_member_imports_and_exports_nothing(stage: Stage) -> None:
    assert await stage.says(stage.member, "series import", file=("raid.ics", WEEKLY)) == str(NotAllowedError())
    assert await stage.says(stage.member, "export", format="ICS") == str(NotAllowedError())


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("raid.ics", b"", "The file is empty."),
        ("raid.ics", b"\x89PNG\r\n\x1a\n\0\0", "The file is no calendar (ICS)"),
        ("raid.ics", b"BEGIN:VCALENDAR\r\n\0", "it was cut off"),
        ("raid.ics", b"x" * 1_000_001, "The file has 1,000,001 bytes; at most 1,000,000 are read."),
        ("@everyone.ics", vcalendar("DTSTART;VALUE=DATE:20260301", "SUMMARY:@everyone"), "Refused: 1 entry."),
    ],
)
async def test_a_file_that_cannot_be_taken_is_refused_in_words(
    stage: Stage, name: str, content: bytes, words: str
) -> None:
    shown = await stage.run(stage.admin, "series import", file=(name, content))

    assert words in shown.content.replace("\\", "")
    assert labels(shown) == []
    assert await EventRepeater.all().count() == 0


@pytest.mark.parametrize("error", [aiohttp.ClientConnectionError("cut"), TimeoutError(), OSError("gone")])
async def test_a_file_that_discord_does_not_hand_out_is_told_so(stage: Stage, error: Exception) -> None:
    with patch.object(discord.Attachment, "read", side_effect=error):
        says = await stage.says(stage.admin, "series import", file=("raid.ics", WEEKLY))

    assert says == "Discord does not hand the file out now; attach it again, or try later."


async def test_an_export_is_a_file_of_this_server_alone(stage: Stage) -> None:
    here = await make_series(now=stage.now(), guild_id=stage.guild_id, name="Here")
    await make_series(now=stage.now(), guild_id=stage.guild_id, name="Beside")
    elsewhere = await make_series(now=stage.now(), guild_id=OTHER_GUILD, name="Elsewhere")

    shown = await stage.run(stage.manager, "export", format="ICS")
    name, content = file_of(stage, shown)
    assert (name, shown.content) == (
        f"tocsin-{stage.guild_id}.ics",
        """\
2 series and 0 single events, as a calendar.
Not in the file: how many places a single occurrence has where that is not as in its series, and a pause.""",
    )
    assert b"SUMMARY:Here" in content
    assert b"Elsewhere" not in content

    name, content = file_of(stage, await stage.run(stage.admin, "export", format="ICS", series=str(here.id)))
    assert (name, b"Beside" in content) == (f"tocsin-series-{here.id}.ics", False)
    name, content = file_of(stage, await stage.run(stage.admin, "export", format="CSV"))
    assert (name, content.startswith(b"\xef\xbb\xbfevent_id,")) == (f"tocsin-{stage.guild_id}.csv", True)

    says = await stage.says(stage.admin, "export", format="ICS", series=str(elsewhere.id))
    assert says.startswith("There is no series")


async def test_a_member_gets_their_own_events_and_nobody_elses(stage: Stage) -> None:
    event = await make_event(now=stage.now(), guild_id=stage.guild_id, name="Mine", state=EventState.SIGNUPS_OPEN)
    await EventSignup.create(
        event=event,
        user_id=stage.member.id,
        status=SignupStatus.SIGNED_UP,
        created_at=stage.now(),
        changed_at=stage.now(),
    )

    shown = await stage.run(stage.member, "calendar")
    assert file_of(stage, shown)[0] == "my-events.ics"
    assert b"SUMMARY:Mine" in file_of(stage, shown)[1]

    other = await stage.run(stage.other_member, "calendar")
    assert other.content == "You have signed up for nothing that is ahead here; /events shows what there is."
    assert other.attachments == []
    await Event.all().delete()
    assert (await stage.run(stage.member, "calendar")).attachments == []
