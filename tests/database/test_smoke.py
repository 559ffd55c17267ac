from bot.transactions import fetch
from models.guild_settings import GuildSettings


async def test_rows_come_back(database: str) -> None:
    await GuildSettings.create(guild_id=7)
    assert (await GuildSettings.get(guild_id=7)).timezone == "UTC"
    assert await fetch("SELECT 1 AS one") == [{"one": 1}]
