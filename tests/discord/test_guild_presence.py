"""A guild that is away only pauses: Discord's outage is no removal."""

from typing import TYPE_CHECKING

import pytest
from simcord.backend import serializers

from bot.delivery.guild_presence import GuildPresence
from bot.scheduling.bodies import CHECK_EVENT_REMINDERS
from bot.transactions import fetch
from models.event import Event
from tests.builders import HOUR, make_event, make_guild

if TYPE_CHECKING:
    from tests.discord.simulated import SimulatedDiscord

TABLES = ("guild_settings", "event_repeater", "event", "reminder_due", "discord_message_log", "ops_note", "audit_log")


async def rows() -> dict[str, object]:
    """Return everything that is stored of guilds."""
    return {table: await fetch(f"SELECT * FROM {table}") for table in TABLES}  # noqa: S608 -- names written above


async def outage(discord_: "SimulatedDiscord") -> None:
    discord_.backend.emit("GUILD_DELETE", {"id": str(discord_.place.guild_id), "unavailable": True})
    await discord_.env.settle()


async def back(discord_: "SimulatedDiscord") -> None:
    guild = discord_.backend.get_guild(discord_.place.guild_id)
    discord_.backend.emit("GUILD_CREATE", serializers.guild_create_payload(discord_.backend, guild))
    await discord_.env.settle()


async def due_event(discord_: "SimulatedDiscord") -> Event:
    await make_guild(
        discord_.place.guild_id,
        announcement_channel_id=discord_.place.announcements_id,
        ops_channel_id=discord_.place.ops_id,
    )
    return await make_event(now=discord_.world.now(), starts_in=6 * HOUR, guild_id=discord_.place.guild_id)


async def poll(discord_: "SimulatedDiscord") -> None:
    body = discord_.bot.services.body(CHECK_EVENT_REMINDERS)
    await discord_.bot.services.agenda.run(body, discord_.world.now())
    await discord_.bot.services.dispatcher.drain()


async def test_an_outage_pauses_the_guild_and_its_end_resumes_it(simcord_world: "SimulatedDiscord") -> None:
    presence = simcord_world.bot.presence
    assert presence.is_available(simcord_world.place.guild_id)

    await outage(simcord_world)
    assert not presence.is_available(simcord_world.place.guild_id)

    await back(simcord_world)
    assert presence.is_available(simcord_world.place.guild_id)


async def test_an_outage_changes_nothing_that_is_stored(simcord_world_everywhere: "SimulatedDiscord") -> None:
    await due_event(simcord_world_everywhere)
    before = await rows()

    await outage(simcord_world_everywhere)
    await poll(simcord_world_everywhere)
    during = await rows()
    await back(simcord_world_everywhere)

    assert during == before
    assert await rows() == before
    assert simcord_world_everywhere.messages() == []


async def test_what_became_due_during_an_outage_is_sent_once_after_it(
    simcord_world_everywhere: "SimulatedDiscord",
) -> None:
    await due_event(simcord_world_everywhere)
    await outage(simcord_world_everywhere)
    await poll(simcord_world_everywhere)

    await back(simcord_world_everywhere)
    await poll(simcord_world_everywhere)
    await poll(simcord_world_everywhere)

    # No welcome, no note, nothing twice.
    assert [message.embeds[0].title for message in simcord_world_everywhere.messages()] == ["Raid night"]
    assert simcord_world_everywhere.messages(simcord_world_everywhere.place.ops_id) == []


async def test_the_end_of_an_outage_wakes_every_body(simcord_world: "SimulatedDiscord") -> None:
    services = simcord_world.bot.services
    await outage(simcord_world)
    for body in services.bodies:
        services.agenda._moments.pop(body.name, None)

    await back(simcord_world)

    now = simcord_world.world.now()
    assert {services.agenda.next(body.name) for body in services.bodies} == {now}


async def test_a_removed_guild_is_not_sent_to_and_keeps_its_rows(simcord_world: "SimulatedDiscord") -> None:
    await due_event(simcord_world)
    before = await rows()

    simcord_world.backend.remove_guild(simcord_world.place.guild_id)
    await simcord_world.env.settle()
    await poll(simcord_world)

    assert not simcord_world.bot.presence.is_available(simcord_world.place.guild_id)
    assert await rows() == before


async def test_a_guild_that_was_never_seen_is_away(simcord_world: "SimulatedDiscord") -> None:
    assert not simcord_world.bot.presence.is_available(4711)


@pytest.mark.parametrize(
    ("others_only", "expected"), [(False, True), (True, False)], ids=["on the list", "not on the list"]
)
async def test_an_allow_list_lets_only_its_own_through(
    simcord_world: "SimulatedDiscord", others_only: bool, expected: bool
) -> None:
    guild_id = simcord_world.place.guild_id
    presence = GuildPresence(simcord_world.bot, allow_list=[4711] if others_only else [guild_id, 4711])

    assert presence.is_available(guild_id) is expected


async def test_an_allow_list_does_not_make_an_absent_guild_present(simcord_world: "SimulatedDiscord") -> None:
    presence = GuildPresence(simcord_world.bot, allow_list=[4711])

    assert not presence.is_available(4711)
