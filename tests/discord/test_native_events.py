"""An event in its server's own list of scheduled events, as an admin asks for it and Discord then shows it."""

from typing import Any

import discord

from bot.scheduling.bodies import SYNC_DISCORD_EVENTS
from models.event import Event
from models.event_repeater import EventRepeater
from tests.builders import MINUTE
from tests.discord.acting import Stage, press

LISTED = "It is to stand in this server's list of scheduled events too."


def listed(stage: Stage) -> list[Any]:
    """Return the scheduled events of the server, oldest first."""
    return list(stage.discord_.backend.get_guild(stage.guild_id).scheduled_events.values())


async def sync(stage: Stage) -> None:
    """Let the bot bring in line what Discord shows, a minute later."""
    stage.discord_.backend.clock.advance(MINUTE.total_seconds())
    services = stage.bot.services
    await services.agenda.run(services.body(SYNC_DISCORD_EVENTS), stage.now())
    await stage.discord_.env.settle()


async def test_an_event_made_with_it_is_listed_renamed_with_nothing_doubled_and_gone_once_cancelled(
    stage_everywhere: Stage,
) -> None:
    stage = stage_everywhere
    shown = await stage.run(
        stage.admin, "event create", name="Raid", when="2026-03-10 19:30", description="Torches", native_event=True
    )
    preview = shown.content
    await press(stage.admin, shown, "Create")
    event = await Event.get()

    await sync(stage)
    made = [(one.id, one.name, one.description, one.status) for one in listed(stage)]
    fresh = await Event.get()
    says = await stage.says(stage.admin, "event show", event=str(event.id))
    await sync(stage)
    again = len(listed(stage))
    cancelled = await stage.run(stage.admin, "event cancel", event=str(event.id))
    if cancelled.components:
        await press(stage.admin, cancelled, "Cancel the event")
    await sync(stage)

    assert LISTED in preview
    assert LISTED in says
    assert f"https://discord.com/events/{stage.guild_id}/{fresh.discord_scheduled_event_id}" in says
    assert made == [(fresh.discord_scheduled_event_id, "Raid", f"Torches\n\n#{event.id}", 1)]
    assert again == 1
    assert [one.status for one in listed(stage)] == [4]
    assert (await Event.get()).discord_scheduled_event_id is None


async def test_an_event_made_without_it_is_not_listed(stage: Stage) -> None:
    shown = await stage.run(stage.admin, "event create", name="Raid", when="2026-03-10 19:30")
    await press(stage.admin, shown, "Create")

    await sync(stage)

    assert LISTED not in shown.content
    assert (listed(stage), (await Event.get()).native_due_at) == ([], None)


async def test_what_the_bot_lacks_for_it_is_said_before_it_is_made(stage: Stage) -> None:
    backend, rights = stage.discord_.backend, discord.Permissions(manage_events=True, create_events=True).value
    for role in backend.get_guild(stage.guild_id).roles.values():
        backend.edit_role(stage.guild_id, role.id, {"permissions": role.permissions & ~rights})
    await stage.discord_.env.settle()

    says = await stage.says(stage.admin, "event create", name="Raid", when="2026-03-10 19:30", native_event=True)

    assert "I lack Create Events, Manage Events for this server's list of events: grant it to me." in says


async def test_every_event_of_a_series_made_with_it_is_listed(stage: Stage) -> None:
    shown = await stage.run(
        stage.admin, "series create", name="Raid", frequency="daily", time="19:30", days_ahead=2, native_event=True
    )
    await press(stage.admin, shown, "Create")

    await sync(stage)

    series = await EventRepeater.get()
    says = await stage.says(stage.admin, "series show", series=str(series.id))
    events = await Event.filter(series_id=series.id).order_by("scheduled_at")
    assert LISTED in says
    assert [one.scheduled_start_time for one in listed(stage)] == [one.scheduled_at.isoformat() for one in events]
    assert [one.id for one in listed(stage)] == [one.discord_scheduled_event_id for one in events]


async def test_one_that_somebody_deleted_in_discord_is_made_again_and_the_old_one_missed_by_nobody(
    stage: Stage,
) -> None:
    shown = await stage.run(stage.admin, "event create", name="Raid", when="2026-03-10 19:30", native_event=True)
    await press(stage.admin, shown, "Create")
    await sync(stage)
    event = await Event.get()

    stage.discord_.backend.delete_scheduled_event(stage.guild_id, event.discord_scheduled_event_id)
    await stage.discord_.env.settle()
    await Event.filter(id=event.id).update(name="Renamed", native_due_at=stage.now())
    for _ in range(2):
        await sync(stage)

    assert [(one.name, one.description) for one in listed(stage)] == [("Renamed", f"#{event.id}.1")]
