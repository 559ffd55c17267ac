"""A headless Chromium that is told what to do over its own debugging protocol; nothing but aiohttp is needed for it."""

import asyncio
import base64
import contextlib
import os
import re
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator
from typing import Any

import aiohttp

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_PATIENCE_SECONDS = 60
_LISTENING = re.compile(r"DevTools listening on ws://([^/]+)/")


def chromium() -> str | None:
    """Return where Chromium is on this machine, None: it is not installed."""
    return next((found for name in _NAMES if (found := shutil.which(name))), None)


class Tab:
    """One page in the browser."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._sent = 0

    async def ask(self, method: str, **params: object) -> dict[str, Any]:
        """Send one command and return its answer."""
        self._sent += 1
        await self._socket.send_json({"id": self._sent, "method": method, "params": params})
        while True:
            answer = await self._socket.receive_json()
            if answer.get("id") == self._sent:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result

    async def run(self, script: str) -> Any:  # noqa: ANN401 -- whatever the script gives
        """Return what a JavaScript expression gives on the page."""
        answer = await self.ask("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    async def until(self, condition: str) -> None:
        """Wait until a JavaScript expression is true on the page."""
        async with asyncio.timeout(_PATIENCE_SECONDS):
            while not await self.run(f"Boolean({condition})"):  # noqa: ASYNC110 -- nothing tells of a change there
                await asyncio.sleep(0.1)

    async def picture(self) -> bytes:
        """Return what the page shows, as PNG."""
        answer = await self.ask("Page.captureScreenshot", format="png")
        return base64.b64decode(answer["data"])


@contextlib.asynccontextmanager
async def opened(program: str, address: str, *, width: int, height: int) -> AsyncIterator[Tab]:
    """Open an address in a browser of its own, and close that on every way out."""
    with tempfile.TemporaryDirectory(prefix="tocsin-browser-", ignore_cleanup_errors=True) as folder:
        arguments = [
            "--headless=new",
            "--disable-gpu",
            "--hide-scrollbars",
            "--no-first-run",
            "--remote-debugging-port=0",
            f"--user-data-dir={folder}",
            f"--window-size={width},{height}",
            # A browser of root has no sandbox to be had.
            *(["--no-sandbox"] if os.geteuid() == 0 else []),
            address,
        ]
        process = await asyncio.create_subprocess_exec(
            program, *arguments, stderr=asyncio.subprocess.PIPE, start_new_session=True
        )
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                host = await _host(process)
            async with aiohttp.ClientSession() as session, session.ws_connect(await _tab(session, host)) as socket:
                yield Tab(socket)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()


async def _host(process: asyncio.subprocess.Process) -> str:
    assert process.stderr is not None
    async for line in process.stderr:
        if found := _LISTENING.search(line.decode(errors="replace")):
            return found[1]
    raise RuntimeError("Chromium ended before it could be talked to")


async def _tab(session: aiohttp.ClientSession, host: str) -> str:
    async with asyncio.timeout(_PATIENCE_SECONDS):
        while True:
            async with session.get(f"http://{host}/json/list") as answer:
                tabs = [tab for tab in await answer.json() if tab["type"] == "page"]
            if tabs:
                address: str = tabs[0]["webSocketDebuggerUrl"]
                return address
            await asyncio.sleep(0.1)
