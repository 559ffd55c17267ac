"""Every admin's command, by everybody: who may, who may not, and that nothing of another server is ever touched."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from simcord.results import ResponseMessage

from bot.command_tree import Access, declared_needs
from bot.drafts import GONE
from models.audit_log import AuditLog
from models.event import Event
from models.event_repeater import EventRepeater
from models.guild_settings import GuildSettings
from models.states import EventState
from tests.builders import DAY, make_event, make_series
from tests.discord.acting import (
    SLASH,
    Stage,
    again,
    answered,
    custom_ids,
    elsewhere,
    labels,
    post_buttons,
    press,
    restart,
)

Options = dict[str, Any]


@dataclass(frozen=True)
class Rows:
    """One series and one event of the stage's server."""

    series: EventRepeater
    event: Event


@dataclass(frozen=True)
class Case:
    """One command: the state its event must be in, its options, and what its answer begins with for whoever may."""

    command: str
    options: Callable[[Rows], Options]
    says: str
    state: EventState = EventState.UPCOMING
    active: bool = True
    names_row: bool = True
    button: str = ""


def of_event(rows: Rows) -> Options:
    return {"event": str(rows.event.id)}


def of_series(rows: Rows) -> Options:
    return {"series": str(rows.series.id)}


CASES = [
    Case(
        "event create",
        lambda _rows: {"name": "New", "when": "2026-03-10 19:30"},
        "Create **New**?",
        names_row=False,
        button="Create",
    ),
    Case("event list", lambda _rows: {}, "Events ahead", names_row=False),
    Case("event show", of_event, "**Raid night**: sign-ups are not open yet."),
    Case("event cancel", of_event, "Cancel **Raid night**", button="Cancel the event"),
    Case("event open-signups", of_event, "Sign-ups for **Raid night** are open now."),
    Case("event roll-call", of_event, "The roll call for **Raid night** is on", EventState.SIGNUPS_OPEN),
    Case("event reopen", of_event, "Sign-ups for **Raid night** are open again.", EventState.ROLL_CALL),
    Case("event start", of_event, "**Raid night** has begun", EventState.SIGNUPS_OPEN),
    Case(
        "series create",
        lambda _rows: {"name": "New", "frequency": "weekly", "time": "19:30"},
        "Create **New**, every week",
        names_row=False,
        button="Create",
    ),
    Case("series list", lambda _rows: {}, "Series:", names_row=False),
    Case("series show", of_series, "**London Sunday** returns every week on Sunday"),
    Case("series pause", of_series, "**London Sunday** is paused"),
    Case(
        "series resume",
        of_series,
        "Resume the series **London Sunday**?",  # its event is none of its own occurrences
        active=False,
        button="Resume the series",
    ),
    Case("settings show", lambda _rows: {}, "Time zone: UTC", names_row=False),
    Case("settings set", lambda _rows: {"timezone": "Europe/Berlin"}, "Saved.", names_row=False),
]
by_command = pytest.mark.parametrize("case", CASES, ids=[case.command for case in CASES])
NAMING_A_ROW = [case for case in CASES if case.names_row]
by_row = pytest.mark.parametrize("case", NAMING_A_ROW, ids=[case.command for case in NAMING_A_ROW])
ASKING = [case for case in CASES if case.button]
by_button = pytest.mark.parametrize("case", ASKING, ids=[case.command for case in ASKING])


async def rows_for(stage: Stage, case: Case) -> Rows:
    series = await make_series(now=stage.now(), guild_id=stage.guild_id, is_active=case.active)
    event = await make_event(
        now=stage.now(), guild_id=stage.guild_id, series_id=series.id, starts_in=DAY, state=case.state
    )
    return Rows(series, event)


async def everything() -> list[Any]:
    """Return every row that an admin's command could change."""
    tables = (Event, EventRepeater, GuildSettings, AuditLog)
    return [sorted((dict(row) for row in await table.all().values()), key=str) for table in tables]


def test_every_command_for_admins_is_tried_here(stage: Stage) -> None:
    known = {
        command.qualified_name
        for command in stage.bot.tree.walk_commands()
        if (declared := declared_needs(command)) is not None and declared.access is Access.ADMIN
    }

    others = [path.read_text() for path in Path(__file__).parent.glob("test_*.py") if path != Path(__file__)]
    tried_elsewhere = {name for name in known if any(f'"{name}"' in page for page in others)}
    assert known - {case.command for case in CASES} <= tried_elsewhere


@by_command
async def test_an_admin_and_a_manager_may(stage: Stage, case: Case) -> None:
    for actor in (stage.admin, stage.manager):
        rows = await rows_for(stage, case)

        assert (await stage.says(actor, case.command, **case.options(rows))).startswith(case.says)

        for table in (Event, EventRepeater):
            await table.all().delete()
        await GuildSettings.filter(guild_id=stage.guild_id).update(timezone="UTC")


@by_command
async def test_a_plain_member_reads_one_sentence_and_nothing_changes(stage: Stage, case: Case) -> None:
    rows = await rows_for(stage, case)
    before = await everything()

    says = await stage.says(stage.member, case.command, **case.options(rows))

    assert says == "You need the Manage Server permission here, or this server's manager role."
    assert await everything() == before


@by_row
async def test_in_another_server_the_ids_of_this_one_are_not_there(stage: Stage, case: Case) -> None:
    rows = await rows_for(stage, case)
    actor, channel = await elsewhere(stage)
    before = await everything()

    says = answered(await actor.slash(channel, case.command, **case.options(rows))).content

    what = "event" if "event" in case.options(rows) else "series"
    assert says.startswith(f"There is no {what} '{getattr(rows, what).id}' here")
    assert await everything() == before


@by_command
async def test_outside_a_server_one_sentence_says_so_and_nothing_changes(stage: Stage, case: Case) -> None:
    rows = await rows_for(stage, case)
    # Discord does not offer these there; that the code refuses is what is tried.
    root = stage.discord_.backend.find_command(case.command.split()[0], None, type=SLASH)
    root["contexts"], root["dm_permission"] = [0, 1], True
    await stage.admin.user.send_dm("hello")
    before = await everything()

    shown = answered(await stage.admin.user.slash(case.command, **case.options(rows)))

    assert shown.content == "This works in a server only, not in direct messages."
    assert await everything() == before


@by_row
async def test_after_its_row_was_deleted_a_command_says_that_it_is_not_there(stage: Stage, case: Case) -> None:
    rows = await rows_for(stage, case)
    await rows.event.delete()
    await rows.series.delete()
    before = await everything()

    says = await stage.says(stage.admin, case.command, **case.options(rows))

    assert says.startswith("There is no ")
    assert await everything() == before


@by_row
async def test_the_same_command_again_is_an_answer(stage: Stage, case: Case) -> None:
    rows = await rows_for(stage, case)
    await stage.says(stage.admin, case.command, **case.options(rows))
    before = await everything()

    says = await stage.says(stage.admin, case.command, **case.options(rows))

    assert "fault of mine" not in says
    assert await everything() == before


# ------------------------------------------------------------------------------------------------------- confirmations


async def asked(stage: Stage, case: Case) -> ResponseMessage:
    rows = await rows_for(stage, case)
    return await stage.run(stage.admin, case.command, **case.options(rows))


@by_button
async def test_nothing_changes_until_its_button_is_pressed_and_then_once(stage: Stage, case: Case) -> None:
    rows = await rows_for(stage, case)
    before = await everything()
    shown = await stage.run(stage.admin, case.command, **case.options(rows))
    assert await everything() == before
    copy = await post_buttons(stage, *custom_ids(shown))

    await press(stage.admin, shown, case.button)
    after = await everything()
    assert after != before
    assert labels(shown) == []

    second = answered(await stage.admin.click(copy, label="B0"))
    assert second.content == GONE
    assert await everything() == after


@by_button
async def test_whoever_was_not_asked_cannot_press_it(stage: Stage, case: Case) -> None:
    shown = await asked(stage, case)
    before = await everything()
    copy = await post_buttons(stage, *custom_ids(shown))

    for actor in (stage.manager, stage.member):
        refused = answered(await actor.click(copy, label="B0"))
        assert refused.content == "Only the person who was asked can answer this."

    assert await everything() == before


@by_button
async def test_who_lost_their_rights_meanwhile_cannot_press_it(stage: Stage, case: Case) -> None:
    rows = await rows_for(stage, case)
    shown = await stage.run(stage.manager, case.command, **case.options(rows))
    await GuildSettings.filter(guild_id=stage.guild_id).update(manager_role_id=None)
    before = await everything()

    await press(stage.manager, shown, case.button)

    assert "Manage Server" in shown.content
    assert await everything() == before


@by_button
async def test_after_a_restart_its_button_says_to_run_the_command_again(
    stage: Stage, case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.drafts._OTHERS_FIRST_SECONDS", 0.0)
    shown = await asked(stage, case)
    before = await everything()
    copy = await post_buttons(stage, *custom_ids(shown))
    await restart(stage)
    admin, message = again(stage, stage.admin, copy)

    pressed = answered(await admin.click(message, label="B0"))

    assert pressed.content == GONE
    assert await everything() == before
