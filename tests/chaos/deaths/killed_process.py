"""
One process of the kill matrix: the bot's own client and services, on a time that it moves itself, until it dies.

It is forked off a server that has imported everything already, so that a death costs no start of Python. What reaches
Discord goes over a socket; only the gateway is left out: the one server is put into the cache, and what people
do is handed to the services.
"""

import asyncio
import datetime as dt
import gc
import importlib
import logging
import os
import traceback
import zoneinfo
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NoReturn

import discord
import structlog

from bot import client
from bot.client import TocsinBot, point_to
from bot.clock import InjectedLeaseClock
from bot.database import MODEL_MODULES, opened
from tests.chaos.deaths.common_clock import CommonClock
from tests.chaos.deaths.crash_points import CrashPoints, Step
from tests.chaos.deaths.hand_driven_loops import HandDrivenLoops, Happening
from tests.chaos.deaths.kill_broken_copies import BROKEN_COPIES
from tests.chaos.deaths.kill_deeds import Deed, do
from tests.wire.discord_stub import GUILD

# Imported by the server already, which otherwise each child would do again: the ORM imports them when it is opened.
for _name in (*MODEL_MODULES, "bot.sqlite_client", "bot.asyncpg_client"):
    importlib.import_module(_name)

# No answer of the stub takes long; a machine that is busy may.
_PATIENCE = dt.timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Life:
    """
    One life of a process, up to ``until`` or the last of its ``steps``.

    ``deeds``: what people do while it lives. ``changed``: the events whose messages have names of their own among the
    places. ``rested``: how long ago its loops made their last pass, for one that has been there all along;
    ``stops_at``: it is told to stop then. ``broken``: which copy of the bot it is, None: the bot itself. ``report``:
    where it says what ended it, if it was not killed.
    """

    url: str
    clock: Path
    api: str
    name: str
    until: dt.datetime
    report: Path
    steps: tuple[Step, ...] = ()
    deeds: tuple[Deed, ...] = ()
    changed: frozenset[int] = frozenset()
    rested: Mapping[str, dt.timedelta] = field(default_factory=dict)
    stops_at: dt.datetime | None = None
    broken: str | None = None


def live(life: Life) -> NoReturn:
    """Live this life in a process of its own, and end it without a word to anybody."""
    gc.disable()  # it does not live that long
    zoneinfo.reset_tzpath(to=[])
    logging.disable(logging.CRITICAL)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    status = 0
    try:
        asyncio.run(_Living(life).live())
    except BaseException:  # noqa: BLE001 -- whatever ended it is told to whoever waits for it
        life.report.write_text(traceback.format_exc())
        status = 1
    os._exit(status)


class _Living:
    def __init__(self, life: Life) -> None:
        self._life = life
        self._clock = CommonClock(life.clock)
        self._points = CrashPoints(life.steps, changed=life.changed)

    async def live(self) -> None:
        life = self._life
        discord.VoiceClient.warn_nacl = False
        client._LEAVE_SECONDS = client._CLOSE_SECONDS = _PATIENCE.total_seconds()
        point_to(life.api, "")
        if life.broken is not None:
            BROKEN_COPIES[life.broken]()
        self._points.install()
        async with opened(life.url):
            bot = TocsinBot(
                clock=self._clock,
                lease_clock=InjectedLeaseClock(self._clock),
                instance_name=life.name,
                extensions_to_load=(),
                post_timeout=_PATIENCE,
                dm_timeout=_PATIENCE,
            )
            assert bot.http.http_trace is not None
            self._points.follow(bot.http.http_trace)
            await bot.login("planted-token.of-a.test")
            bot._connection._add_guild_from_data(await bot.http.get_guild(GUILD))
            await self._run(bot)
            if life.stops_at is not None:
                await bot.shut_down(grace=_PATIENCE)

    async def _run(self, bot: TocsinBot) -> None:
        life = self._life
        if life.rested:
            for body in bot.services.bodies:
                bot.services.agenda._moments.pop(body.name, None)
        loops = HandDrivenLoops(bot.services, self._clock, rested=life.rested)
        begun = self._clock.now()
        deeds = [Happening(begun + one.after, partial(self._do, bot, one)) for one in life.deeds]
        await loops.run_until(life.stops_at or life.until, deeds)

    async def _do(self, bot: TocsinBot, deed: Deed) -> None:
        answer = await do(deed, bot.services, now=self._clock.now())
        route = discord.http.Route(
            "POST",
            "/interactions/{interaction_id}/{interaction_token}/callback",
            interaction_id=1,
            interaction_token=deed.token,
        )
        await bot.http.request(route, json={"type": 4, "data": {"content": answer}})
