"""
Tell Discord the slash commands, only when they changed since they were last told.

Discord counts and delays such changes, so that a bot that tells them at every start runs into its limits. What was told
last is kept in the database as a hash, together with the application it was told for.
"""

import asyncio
import hashlib
import json
from typing import TYPE_CHECKING, Any, Final

import aiohttp
import discord
import structlog
from discord import app_commands

from bot import process_state
from bot.clock import Clock
from bot.transactions import DATABASE_ERRORS

if TYPE_CHECKING:
    from bot.client import TocsinBot

_log = structlog.get_logger(__name__)

# A database or a Discord that fails now may answer at the next connection.
_FAILURES: Final[tuple[type[Exception], ...]] = (discord.DiscordException, aiohttp.ClientError, *DATABASE_ERRORS)

KEY: Final = "command_tree"
"""What the hash is kept under."""


def tree_hash(tree: "app_commands.CommandTree[Any]", application_id: int) -> str:
    """Return a hash of everything that Discord is told of the commands, and of whose they are."""
    told = sorted(
        (command.to_dict(tree) for command in tree.get_commands()), key=lambda one: (one["type"], one["name"])
    )
    canonical = json.dumps([application_id, told], sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode()).hexdigest()


class CommandSync:
    """The syncing of one process's commands: done once, tried again at each connection until it is."""

    def __init__(self, tree: "app_commands.CommandTree[TocsinBot]", clock: Clock) -> None:
        self._tree = tree
        self._clock = clock
        self._done = False
        self._alone = asyncio.Lock()

    async def sync_if_changed(self, application_id: int) -> bool:
        """
        Tell Discord the commands if they are not those that it was told last; return whether it was told now.

        Never raises: a failure is logged, and the next call tries again. A bot without commands tells nothing.
        """
        async with self._alone:
            if self._done or not self._tree.get_commands():
                return False
            try:
                told = await self._sync(application_id)
            except _FAILURES:
                _log.warning("commands_not_synced", exc_info=True)
                return False
            self._done = True
            return told

    async def _sync(self, application_id: int) -> bool:
        wanted = tree_hash(self._tree, application_id)
        known = await process_state.recall(KEY)
        if known is not None and known.get("hash") == wanted:
            return False
        synced = await self._tree.sync()
        # Only now: what Discord did not take is told again.
        await process_state.keep(KEY, {"hash": wanted}, now=self._clock.now())
        _log.info("commands_synced", commands=len(synced))
        return True
