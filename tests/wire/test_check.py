"""``tocsin check`` asks Discord what the bot may do where it posts."""

import asyncio
import sys
from pathlib import Path

import pytest

from bot.clock import SystemClock
from bot.database import opened
from bot.migrating import migrate
from bot.operations.guild_channels import GuildChannels, set_channels
from tests.wire.bot_process import environment
from tests.wire.discord_stub import BOT, CHANNEL, GUILD, OPS, DiscordStub, running_stub

_NOT_SEND = str(1 << 11)


async def check(folder: Path, stub: DiscordStub, url: str) -> tuple[int | None, str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "bot",
        "check",
        cwd=folder,
        env=environment(stub, url),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await asyncio.wait_for(process.communicate(), 60)
    return process.returncode, said.decode()


async def set_up(url: str, channels: GuildChannels, *, guild_id: int = GUILD) -> None:
    async with opened(url):
        await migrate(url)
        await set_channels(channels, guild_id=guild_id, timezone="UTC", now=SystemClock().now())


async def test_a_healthy_guild_gives_no_finding_to_mend(sqlite_url: str, tmp_path: Path) -> None:
    await set_up(sqlite_url, GuildChannels(CHANNEL, OPS))
    async with running_stub() as stub:
        code, said = await check(tmp_path, stub, sqlite_url)

    assert code == 0
    assert f"Guild {GUILD} announces in channel {CHANNEL}, where it may post." in said
    assert f"Guild {GUILD} tells its admins in channel {OPS}, where it may post." in said
    assert stub.unknown == []


async def test_a_missing_permission_is_named_and_fails_the_check(sqlite_url: str, tmp_path: Path) -> None:
    await set_up(sqlite_url, GuildChannels(CHANNEL, OPS))
    async with running_stub() as stub:
        stub.overwrites[CHANNEL] = [{"id": str(BOT), "type": 1, "allow": "0", "deny": _NOT_SEND}]
        code, said = await check(tmp_path, stub, sqlite_url)

    assert code == 1
    assert f"FAIL  Guild {GUILD} announces in channel {CHANNEL} and lacks Send Messages" in said


@pytest.mark.parametrize(
    ("channels", "guild_id", "says"),
    [
        (GuildChannels(4242, OPS), GUILD, "announces in channel 4242, which the bot cannot see there"),
        (GuildChannels(CHANNEL, None), GUILD, "tells its admins nowhere: set a channel with `tocsin guild"),
        (GuildChannels(CHANNEL, OPS), 77, "Guild 77 is set up here, but the bot is no member: invite it again."),
    ],
    ids=["unknown channel", "no channel for admins", "no member"],
)
async def test_what_is_missing_is_said(
    sqlite_url: str, tmp_path: Path, channels: GuildChannels, guild_id: int, says: str
) -> None:
    await set_up(sqlite_url, channels, guild_id=guild_id)
    async with running_stub() as stub:
        _, said = await check(tmp_path, stub, sqlite_url)

    assert says in said


async def test_a_refused_token_is_said(sqlite_url: str, tmp_path: Path) -> None:
    await set_up(sqlite_url, GuildChannels())
    async with running_stub() as stub:
        stub.refuse_token = True
        code, said = await check(tmp_path, stub, sqlite_url)

    assert code == 1
    assert "Discord refuses the token" in said
    assert "Traceback" not in said
