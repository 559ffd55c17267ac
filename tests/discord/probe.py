"""Commands that do as a test tells them."""

from collections.abc import Awaitable, Callable

from discord import app_commands
from discord.ext import commands

from bot.command_tree import Access, Interaction, answer, needs
from bot.errors import BotError


class RefusedError(BotError):
    """A refusal."""


class Probe(commands.Cog):
    """Commands that do as a test tells them."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.do: Callable[[Interaction], Awaitable[None]] | None = None

    async def _run(self, interaction: Interaction, name: str) -> None:
        self.calls.append(name)
        if self.do is not None:
            await self.do(interaction)
        else:
            await answer(interaction, f"{name} ran")

    @app_commands.command(name="steer", description="For admins.")
    @app_commands.default_permissions(manage_guild=True)
    @needs(Access.ADMIN)
    async def steer(self, interaction: Interaction) -> None:
        await self._run(interaction, "steer")

    @needs(Access.MEMBER)
    @app_commands.command(name="look", description="For everybody.")
    async def look(self, interaction: Interaction) -> None:
        await self._run(interaction, "look")

    @app_commands.command(name="fill", description="A form first.")
    @needs(Access.ADMIN, answers_with_form=True)
    async def fill(self, interaction: Interaction) -> None:
        await self._run(interaction, "fill")

    @app_commands.command(name="silent", description="Declares nothing.")
    async def silent(self, interaction: Interaction) -> None:
        await self._run(interaction, "silent")

    @app_commands.command(name="pick", description="With choices for admins.")
    @needs(Access.ADMIN)
    async def pick(self, interaction: Interaction, what: str) -> None:
        await answer(interaction, what)

    @pick.autocomplete("what")
    async def _what(self, _interaction: Interaction, current: str) -> list[app_commands.Choice[str]]:
        return [app_commands.Choice(name=f"{current}!", value="1")]


def raising(error: BaseException) -> Callable[[Interaction], Awaitable[None]]:
    async def _raise(_interaction: Interaction) -> None:
        raise error

    return _raise
