"""Several databases open at once, so that the contenders of a figure can take turns in the same rounds."""

import asyncio
import contextlib
import contextvars
from collections.abc import AsyncIterator, Awaitable, Callable
from urllib.parse import parse_qs, urlsplit

from tortoise.context import TortoiseContext

from bot.database import opened, tortoise_config
from tests.bench.measure import Run

Bind = Callable[[Run], Run]


@contextlib.asynccontextmanager
async def on(url: str) -> AsyncIterator[Bind]:
    """
    Open a database with one connection; give a wrapper whose work runs on it, whatever else is open.

    So two databases of one dialect can take turns in the same rounds.
    """
    async with opened(url, pool_size=1):
        yield _binder(contextvars.copy_context())


@contextlib.asynccontextmanager
async def on_as_the_library_would(url: str) -> AsyncIterator[Bind]:
    """Do as :func:`on`, through the library's own client instead of the bot's."""
    config = tortoise_config(url, pool_size=1)
    (settings,) = config["connections"].values()
    settings["credentials"].pop("journal_size_limit", None)
    settings["engine"] = settings["engine"].replace("bot.", "tortoise.backends.").removesuffix("_client")
    if (dsn := settings["credentials"].pop("dsn", None)) is not None:
        parts = urlsplit(dsn)
        socket = parse_qs(parts.query)["host"][0]
        settings["credentials"] |= {"host": socket, "user": parts.username, "database": parts.path.removeprefix("/")}
    async with TortoiseContext() as context:
        await context.init(config=config)
        yield _binder(contextvars.copy_context())


def _binder(context: contextvars.Context) -> Bind:
    def bound(work: Run) -> Run:
        async def _unit() -> object:
            return await work()

        def run() -> Awaitable[object]:
            return asyncio.create_task(_unit(), context=context.copy())

        return run

    return bound
