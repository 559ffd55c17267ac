"""``tocsin run`` as a process of its own, pointed at a stub and a database by its environment alone."""

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.wire.discord_stub import DiscordStub

ROOT = Path(__file__).resolve().parents[2]
RUN = ("-m", "bot", "run")
PATIENCE_SECONDS = 120
"""How long a busy machine may take for what takes a second; nothing is concluded from how long it took."""
_GLANCE_SECONDS = 0.02


@dataclass(slots=True)
class BotProcess:
    """One process; what it says on stderr is kept in a file, so that no full pipe holds it up."""

    process: asyncio.subprocess.Process
    said_in: Path
    told_at: float | None = None

    @property
    def pid(self) -> int:
        """Return its id."""
        return self.process.pid

    @property
    def code(self) -> int | None:
        """Return its exit code, None while it runs."""
        return self.process.returncode

    def said(self) -> str:
        """Return what it has said so far."""
        return self.said_in.read_text(errors="replace")

    def tell(self, number: signal.Signals) -> None:
        """Send a signal, unless it has ended."""
        if self.told_at is None:
            self.told_at = time.monotonic()
        if self.code is None:
            with contextlib.suppress(ProcessLookupError):
                self.process.send_signal(number)

    async def stop(self) -> float:
        """Tell it to stop and wait for its end; return how many seconds that took."""
        self.tell(signal.SIGTERM)
        return await self.ended()

    async def kill(self) -> None:
        """Kill it and wait for its end."""
        self.process.kill()
        await self.process.wait()

    async def has_said(self, words: str) -> None:
        """Wait until it has said something."""
        await until(lambda: words in self.said())

    async def ended(self, *, within: float = PATIENCE_SECONDS) -> float:
        """
        Wait for its end; return how long after the first signal it came, without one how long this took.

        Raises:
            TimeoutError: it goes on.
        """
        began = time.monotonic() if self.told_at is None else self.told_at
        async with asyncio.timeout(within):
            await self.process.wait()
        return time.monotonic() - began


async def until(met: Callable[[], bool], *, within: float = PATIENCE_SECONDS) -> None:
    """
    Wait for something that another process does.

    Raises:
        TimeoutError: it does not.
    """
    async with asyncio.timeout(within):
        while not met():  # noqa: ASYNC110 -- another process cannot set an event of ours
            await asyncio.sleep(_GLANCE_SECONDS)


def open_files(pid: int) -> list[str]:
    """Return what a process has open, by its descriptors."""
    found = []
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):  # closed meanwhile
            found.append(str(descriptor.readlink()))
    return found


def environment(stub: DiscordStub, url: str, **extra: str) -> dict[str, str]:
    """Return the environment that points a bot at a stub and a database."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("TOCSIN__", "DISCORD_", "DATABASE_"))
    }
    return {
        **kept,
        "PYTHONPATH": str(ROOT),
        "DISCORD_TOKEN": "planted-token.of-a-test.run",
        "DATABASE_URL": url,
        "TOCSIN__DISCORD__API_BASE": f"{stub.base}/api/v10",
        "TOCSIN__DISCORD__GATEWAY_URL": f"{stub.base.replace('http', 'ws')}/gw/",
        "TOCSIN__LOGGING__FORMAT": "json",
        **extra,
    }


@contextlib.asynccontextmanager
async def bot_process(
    folder: Path, stub: DiscordStub, url: str, *, arguments: Sequence[str] = RUN, **extra: str
) -> AsyncIterator[BotProcess]:
    """Run the bot for the length of the context at most."""
    # A shell that runs the tests in the background lets them ignore interrupts, and whatever they start with them.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    said_in = folder / f"said-{time.monotonic_ns()}"
    with said_in.open("wb") as stderr:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *arguments,
            cwd=folder,
            env=environment(stub, url, **extra),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=stderr,
        )
    try:
        yield BotProcess(process, said_in)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
