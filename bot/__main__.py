"""
The command line of Tocsin.

Exit codes: 0 done, 1 failed, 2 wrong usage or configuration. A refusal is one clear sentence on stderr.
"""

import asyncio
import contextlib
import importlib.metadata
import io
import os
import signal
import sys
import zoneinfo
from datetime import date, timedelta
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

import structlog
from cyclopts import App, Parameter

from bot.errors import UsageError
from bot.log import configure_logging, hide_secret
from bot.operations.command_ending import INTERRUPTED, explained
from bot.operations.typed_ids import discord_id, optional_id
from bot.settings import DEFAULT_PATH, Settings, load_settings

_log = structlog.get_logger(__name__)

TERMINATED = 143

app = App(
    name="tocsin",
    help_format="plaintext",
    help="A Discord bot for event series: each message once, none lost in silence.",
    version_flags=[],
    result_action="return_value",
)

ConfigFile = Annotated[Path | None, Parameter(name="--config", help="The configuration file [default: config.toml].")]


def _settings(config: Path | None) -> Settings:
    settings = load_settings(config)
    configure_logging(settings.logging.level, settings.logging.format)
    if settings.discord_token is not None:
        hide_secret(settings.discord_token.get_secret_value())
    url = settings.database.url.get_secret_value()
    if password := urlsplit(url).password:
        hide_secret(password)
    return settings


@app.command(name="run")
async def run_command(*, config: ConfigFile = None) -> None:
    """Run the bot until SIGTERM or Ctrl-C."""
    # Until it listens itself: raised in the middle of an import, an interrupt may be swallowed there, with a trace.
    signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    # Imported here, as in the other commands: what a command does not use it does not load.
    from bot.process import run

    await run(_settings(config))


@app.command(name="check")
async def check_command(*, config: ConfigFile = None) -> int:
    """Check the configuration, the database, the zone data and, with a token, what Discord grants."""
    from bot.client import point_to
    from bot.operations.check import Verdict, findings

    settings = _settings(config)
    point_to(settings.discord.api_base, settings.discord.gateway_url)
    token = settings.discord_token.get_secret_value() if settings.discord_token is not None else None
    failed = False
    url = settings.database.url.get_secret_value()
    where = config or DEFAULT_PATH
    source = str(where.resolve()) if where.exists() else "no config.toml here: the defaults"
    async for finding in findings(url, pool_size=settings.database.pool_size, token=token, configuration=source):
        print(finding)
        failed = failed or finding.verdict is Verdict.BAD
    return int(failed)


@app.command(name="migrate")
async def migrate_command(*, config: ConfigFile = None) -> None:
    """Bring the database to this version's tables."""
    from bot.database import opened
    from bot.migrating import migrate

    settings = _settings(config)
    url = settings.database.url.get_secret_value()
    async with opened(url, pool_size=settings.database.pool_size):
        applied = await migrate(url)
    print(f"Applied {len(applied)} migration(s): {', '.join(applied)}." if applied else "Nothing to apply.")


@app.command(name="version")
def version_command() -> None:
    """Print the version."""
    print(f"tocsin {importlib.metadata.version('tocsin')}")


@app.command(name="import")
async def import_command(
    file: Path,
    *,
    guild: Annotated[int, Parameter(help="The guild's id.")],
    announce_in: Annotated[int | None, Parameter(help="The id of the channel to announce in.")] = None,
    preview: Annotated[
        bool, Parameter(negative="", help="Show what a calendar file would make, and store nothing.")
    ] = False,
    config: ConfigFile = None,
) -> None:
    """
    Import a FILE into a guild: the series of a JSON schedule, or the series and events of a calendar (ICS).

    Of a schedule all or none are taken. Of a calendar whatever has no place here is named and left out.
    """
    from bot.clock import SystemClock
    from bot.events.schedule_file import read_schedule
    from bot.operations.calendar_import import MAX_BYTES, import_calendar, is_calendar
    from bot.operations.schedule_import import import_schedule, read_bytes
    from bot.process import ready_database

    settings = _settings(config)
    guild_id, announces = discord_id(guild, "--guild"), optional_id(announce_in, "--announce-in")
    timezone, now = settings.bot.default_timezone, SystemClock().now()
    raw = read_bytes(file, most=MAX_BYTES)
    if is_calendar(raw, file):
        async with ready_database(settings):
            lines = await import_calendar(
                raw, guild_id=guild_id, announce_in=announces, timezone=timezone, now=now, preview=preview
            )
        print("\n".join(lines))
        return
    if preview:
        raise UsageError("--preview is for calendar files (ICS); of a schedule all is taken, or nothing.")
    series = read_schedule(raw)
    async with ready_database(settings):
        imported = await import_schedule(series, guild_id=guild_id, announce_in=announces, timezone=timezone, now=now)
    print(imported)


@app.command(name="guild")
async def guild_command(
    *,
    guild: Annotated[int, Parameter(help="The guild's id.")],
    announce_in: Annotated[int | None, Parameter(help="The id of the channel to announce in.")] = None,
    tell_in: Annotated[int | None, Parameter(help="The id of the channel to tell admins about trouble in.")] = None,
    config: ConfigFile = None,
) -> None:
    """Show a guild's channels; set those that are given."""
    from bot.clock import SystemClock
    from bot.operations.guild_channels import GuildChannels, set_channels
    from bot.process import ready_database

    settings = _settings(config)
    wanted = GuildChannels(
        optional_id(announce_in, "--announce-in"),
        optional_id(tell_in, "--tell-in"),
    )
    async with ready_database(settings):
        channels = await set_channels(
            wanted,
            guild_id=discord_id(guild, "--guild"),
            timezone=settings.bot.default_timezone,
            now=SystemClock().now(),
        )
    print(channels)


@app.command(name="forecast")
async def forecast_command(
    *,
    days: Annotated[int, Parameter(help="How many days from now, 1 to 366.")],
    guild: Annotated[int | None, Parameter(help="The guild's id; needed only where there are several.")] = None,
    format: Annotated[Literal["json", "text"], Parameter(help="One JSON object a line, or words.")] = "text",  # noqa: A002
    config: ConfigFile = None,
) -> None:
    """Show what will be sent in a guild and what will not and why, from the database alone; it changes nothing."""
    from bot.clock import SystemClock
    from bot.database import opened
    from bot.migrating import require_migrated
    from bot.operations.forecast_command import check_days, chosen_guild, lines, require_file
    from bot.reminders.forecast import Prospects, Window, forecast

    span = timedelta(days=check_days(days))
    settings = _settings(config)
    url = settings.database.url.get_secret_value()
    require_file(url)
    async with opened(url, pool_size=settings.database.pool_size):
        await require_migrated()
        guild_id = await chosen_guild(optional_id(guild, "--guild"))
        now = SystemClock().now()
        every = timedelta(seconds=settings.reminders.generate_seconds)
        seen = await forecast(guild_id, Window(now, now + span), now=now, prospects=Prospects(generates_every=every))
    for line in lines(seen, format):
        print(line)


@app.command(name="simulate")
def simulate_command(  # noqa: PLR0913 -- one for each option
    file: Path,
    *,
    start: Annotated[date, Parameter(help="The first day; its midnight UTC is the first moment.")],
    days: Annotated[int, Parameter(help="How many days, 1 to 366.")],
    members: Annotated[int, Parameter(help="How many people there are, 0 to 100; the odd-numbered sign up.")] = 5,
    all_reminders: Annotated[bool, Parameter(negative="", help="All four reminders, whatever the file says.")] = False,
    seed: Annotated[int, Parameter(help="What chance is made of.")] = 0,
    crashes: Annotated[int, Parameter(help="How often the process dies, 0 to 1000.")] = 0,
    faults: Annotated[
        bool,
        Parameter(
            negative="", help="Discord, database, clock and process fail by chance of the seed, ten times a day."
        ),
    ] = False,
    database: Annotated[str | None, Parameter(help="An empty database [default: a temporary SQLite file].")] = None,
    format: Annotated[Literal["json"], Parameter(help="One JSON object a line.")] = "json",  # noqa: A002
) -> int:
    """Show what a schedule FILE would send, by the real code in a simulated Discord, in virtual time."""
    del format
    from bot.demo.extra import require_extra

    require_extra()
    from bot.demo.ordered_loop import OrderedLoop
    from bot.demo.simulate_command import simulate_file

    # Each failure that was asked for would be an error in the log.
    configure_logging("critical" if faults else "error", "console")
    # The same seed gives the same run, whatever the machine is doing beside it.
    with asyncio.Runner(loop_factory=OrderedLoop) as runner:
        return runner.run(
            simulate_file(
                file,
                start=start,
                days=days,
                members=members,
                all_reminders=all_reminders,
                seed=seed,
                crashes=crashes,
                faults=faults,
                database=database,
            )
        )


@app.command(name="demo")
async def demo_command(
    *, story: Annotated[bool, Parameter(negative="", help="Tell the story alone: no page, then exit.")] = False
) -> None:
    """Show Tocsin at work in a simulated Discord: no account needed."""
    from bot.demo.extra import require_extra

    require_extra()
    from bot.demo.live import visit
    from bot.demo.story import tell_story

    configure_logging("error", "console")
    await (tell_story() if story else visit())


def _discard_output() -> None:
    """Keep the interpreter from flushing, at its end, into what cannot be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _prepare() -> None:
    # The packaged zone data, whatever the machine brings: every installation resolves a time alike.
    zoneinfo.reset_tzpath(to=[])
    configure_logging("error", "console")
    # Names of every language go out, whatever the terminal's own encoding.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def main() -> None:
    """Run one command and exit with its code; the entry point of ``tocsin``."""
    # What it does by itself, except in the first process of a container, which would not hear of it.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(TERMINATED))
    try:
        _prepare()
        code = app(sys.argv[1:], exit_on_error=False, print_error=False)
        sys.stdout.flush()
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 -- the last place that can say something in words
        code, sentence = explained(error)
        if sentence:
            print(sentence, file=sys.stderr)
        with contextlib.suppress(OSError):
            sys.stdout.flush()
        if isinstance(error, OSError):
            _discard_output()
    sys.exit(code if isinstance(code, int) else 0)


if __name__ == "__main__":
    main()
