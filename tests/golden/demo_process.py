"""``tocsin demo`` as a process of its own, with a visitor at its terminal and another at its page."""

import contextlib
import http.client
import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

from tests.golden.test_command_line import environment

PATIENCE_SECONDS = 60
_ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/#\S+")

State = dict[str, Any]


class DemoProcess:
    """The running demo; its page speaks as a browser does, over HTTP."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        self.errors = ""
        self.address = next(found[0] for line in self._output() if (found := _ADDRESS.search(line)))
        self._context: str | None = None
        self._sequence = 0

    def _output(self) -> Iterator[str]:
        assert self.process.stdout is not None
        return iter(self.process.stdout)

    def reads_until(self, text: str) -> str:
        """Read the terminal up to a line that holds ``text``, and return that line."""
        return next(line for line in self._output() if text in line)

    def types(self, line: str) -> None:
        """Type one line into the terminal."""
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def index(self) -> tuple[int, str]:
        """Return the status and the text of the page's document."""
        status, body = self._request("GET", "/", None)
        return status, body.decode()

    def status(self) -> int:
        """Return with what the page that was opened last is answered now."""
        return self._request("GET", "/api/state", None)[0]

    def opens_page(self) -> State:
        """Open the page anew, as a reload does."""
        self._context, self._sequence = None, 0
        state = self._ask("POST", "/api/pages", {})
        self._context = state["context"]["id"]
        return state

    def state(self) -> State:
        """Return what the page shows now."""
        return self._ask("GET", "/api/state", None)

    def commands(self) -> State:
        """Return the slash commands that the page offers."""
        return self._ask("GET", "/api/commands", None)

    def sees(self, condition: Callable[[State], bool]) -> State:
        """Look at the page, as a browser does by itself every half second, until it shows what is waited for."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not condition(state := self.state()):
            assert time.monotonic() < deadline, json.dumps(state)[:5_000]
            time.sleep(0.1)
        return state

    def presses(self, label: str) -> State:
        """Press a button of the message that is shown last, and return what came of it."""
        state = self.state()
        message, key = next(
            (message, button["control_key"])
            for message in reversed(list(state["messages"].values()))
            for button in _buttons(message)
            if button["label"] == label
        )
        self._sequence += 1
        action = {
            "protocol_version": 3,
            "sequence": self._sequence,
            "request_id": f"press-{self._sequence}",
            "generation": state["context"]["generation"],
            "bot_generation": state["botGeneration"],
            "published_revision": state["publishedRevision"],
            "kind": "click",
            "target_id": message["id"],
            "control_key": key,
        }
        return self._ask("POST", "/api/action", action)

    def _ask(self, method: str, path: str, body: object) -> State:
        status, answer = self._request(method, path, body)
        assert status == HTTPStatus.OK, answer
        found: State = json.loads(answer)
        return found

    def _request(self, method: str, path: str, body: object) -> tuple[int, bytes]:
        place, _, capability = self.address.removeprefix("http://").partition("/#")
        headers = {"X-Simcord-Capability": capability, "Content-Type": "application/json"}
        if self._context is not None:
            headers["X-Simcord-Context"] = self._context
        with contextlib.closing(http.client.HTTPConnection(place, timeout=PATIENCE_SECONDS)) as connection:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            with contextlib.closing(connection.getresponse()) as answer:
                return answer.status, answer.read()

    def ends(self, how: int = signal.SIGINT) -> int:
        """End the demo by a signal and return its exit code."""
        self.process.send_signal(how)
        _, self.errors = self.process.communicate(timeout=PATIENCE_SECONDS)
        return self.process.returncode


def _buttons(message: State) -> list[State]:
    return [button for row in message["components"] for button in row.get("components", [])]


def texts(state: State) -> str:
    """Return everything that the messages on the page say."""
    return json.dumps([state["messages"][key] for key in state["messages"]])


@contextlib.contextmanager
def demo(folder: Path, *, stdin: int = subprocess.PIPE) -> Iterator[DemoProcess]:
    """Run the demo in a folder, its temporary files in ``scratch`` there, and end it on every way out."""
    scratch = folder / "scratch"
    scratch.mkdir()
    with subprocess.Popen(
        [sys.executable, "-m", "bot", "demo"],
        cwd=folder,
        env=environment(TMPDIR=str(scratch)),
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield DemoProcess(process)
        finally:
            if process.poll() is None:
                process.kill()
