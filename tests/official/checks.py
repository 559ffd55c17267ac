"""
Every request that the bot sends in the tests is held against Discord's own description of its API.

In the simulated Discord each request passes one function, and the stubs on loopback have a middleware: both note the
request here. A bad one fails the test in which it was sent; how many were checked stands in the summary of the run.
"""

import contextlib
import json
from collections import Counter
from collections.abc import Generator, Iterator, Mapping
from typing import Any

import pytest
import simcord.http.router
from aiohttp import web
from aiohttp.typedefs import Handler

from tests.official import by_hand
from tests.official.description import description

_BASE = "/api/v10"
# Ids that the library writes as numbers; Discord takes them, though its description asks for text.
_WRITTEN_AS_NUMBERS = frozenset({"recipient_id", "roles", "users"})


class Checks:
    """What was sent since the start of the run, by operation, and what is wrong with it."""

    def __init__(self) -> None:
        self.checked: Counter[str] = Counter()
        self.unchecked = 0
        self.faults: list[str] = []
        self.wrong = 0

    def note(self, method: str, path: str, query: Mapping[str, Any], body: object) -> None:
        """Check one request; what is wrong with it waits in ``faults``."""
        found = list(faults(method, path, {key: str(value) for key, value in query.items()}, body))
        known = description()
        operation = known.operation(method, path) if known is not None else None
        self.checked[operation.name if operation is not None else f"{method} {path}"] += known is not None
        self.unchecked += known is None
        self.wrong += bool(found)
        self.faults += [f"{method} {path} is not as Discord describes it: {one}" for one in found]

    def taken(self) -> list[str]:
        """Return the faults since the last call."""
        found, self.faults = self.faults, []
        return found

    def summary(self) -> str:
        """Return one line for the end of a run."""
        if self.unchecked:
            return f"{self.unchecked} requests were not checked: Discord's description of its API is not here"
        each = ", ".join(f"{count} {name}" for name, count in sorted(self.checked.items()))
        return f"{self.checked.total()} requests were checked against Discord's description: {each or 'none'}"


CHECKS = Checks()
"""The one of this process."""


def faults(method: str, path: str, query: Mapping[str, str], body: object) -> Iterator[str]:
    """Yield what is wrong with one request; without Discord's description, what is known without it."""
    known = description()
    if known is None:
        yield from by_hand.faults(f"{method} {path}", body)
        return
    operation = known.operation(method, path)
    if operation is None:
        yield "an unknown route"
        return
    found = list(known.faults(operation, query, _with_ids_as_text(body)))
    yield from found
    # What is of the wrong shape cannot be counted; the description has told it then.
    with contextlib.suppress(*((AttributeError, TypeError) if found else ())):
        yield from by_hand.faults(operation.name, body)


def _with_ids_as_text(value: object, key: str = "") -> object:
    match value:
        case dict():
            # The place of a file among those that are sent along is called its id.
            ids = _WRITTEN_AS_NUMBERS | ({"id"} if key == "attachments" else set())
            return {inner: _with_ids_as_text(one, "users" if inner in ids else inner) for inner, one in value.items()}
        case list():
            return [_with_ids_as_text(one, key) for one in value]
        case int() if key in _WRITTEN_AS_NUMBERS and not isinstance(value, bool):
            return str(value)
        case _:
            return value


@contextlib.contextmanager
def apart() -> Iterator[Checks]:
    """Let what is sent meanwhile count for the caller alone, who expects it to be wrong."""
    kept = dict(vars(CHECKS))
    CHECKS.__init__()  # type: ignore[misc]  # the one object is what everybody holds
    try:
        yield CHECKS
    finally:
        vars(CHECKS).update(kept)


@web.middleware
async def checked_by_openapi(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Note a request that a stub on loopback got, before it is answered or lost."""
    if request.path.startswith(f"{_BASE}/"):
        text = await request.text()
        body = json.loads(text) if text and "json" in request.content_type else None
        CHECKS.note(request.method, request.path.removeprefix(_BASE), dict(request.query), body)
    return await handler(request)


def watch_simulated() -> None:
    """Note every request of a bot in a simulated Discord; once a process."""
    before = simcord.http.router.dispatch

    def _dispatch(backend: Any, method: str, path: str, **sent: Any) -> Any:  # noqa: ANN401 -- the library's
        CHECKS.note(method, path, sent.get("params") or {}, sent.get("json"))
        return before(backend, method, path, **sent)

    if before.__name__ != _dispatch.__name__:
        simcord.http.router.dispatch = _dispatch


class Plugin:
    """The part of pytest in it."""

    _KEY = "official_api"

    def pytest_configure(self) -> None:
        """Begin to watch."""
        watch_simulated()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Generator[None, None, None]:
        """Fail a test that sent a bad request."""
        yield
        _tell()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self) -> Generator[None, None, None]:
        """Fail a test whose fixtures did, at their end at the latest."""
        yield
        _tell()

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Hand what one of several processes checked to the one that tells it."""
        if (output := getattr(session.config, "workeroutput", None)) is not None:
            output[self._KEY] = {"checked": dict(CHECKS.checked), "unchecked": CHECKS.unchecked, "wrong": CHECKS.wrong}

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:  # noqa: ANN401 -- of a plugin that may be missing
        """Add what another process checked."""
        found = getattr(node, "workeroutput", {}).get(self._KEY, {})
        CHECKS.checked.update(found.get("checked", {}))
        CHECKS.unchecked += found.get("unchecked", 0)
        CHECKS.wrong += found.get("wrong", 0)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say how many were checked."""
        if CHECKS.checked or CHECKS.unchecked:
            terminalreporter.write_line(CHECKS.summary())


def _tell() -> None:
    if found := CHECKS.taken():
        pytest.fail("\n".join(dict.fromkeys(found)), pytrace=False)
