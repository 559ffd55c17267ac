"""What the bot sends is held against Discord's own description, and a request that does not fit it is noticed."""

import contextlib
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp
import discord
import pytest

from tests.official import checks
from tests.official.checks import apart, faults
from tests.official.description import description
from tests.wire.discord_stub import CHANNEL, running_stub

if TYPE_CHECKING:
    from tests.discord.simulated import SimulatedDiscord

pytestmark = pytest.mark.skipif(
    description() is None, reason="Discord's description of its API is not beside the repository"
)

ROOT = Path(__file__).resolve().parents[2]
MESSAGES = "/channels/1/messages"
ANSWER = "/interactions/1/token/callback"
BUTTON = {"type": 2, "style": 1, "label": "Sign up", "custom_id": "t1:signup:7"}
EMBED = {"title": "Raid", "description": "x" * 4_000, "footer": {"text": "#7"}}


def row(*components: dict[str, Any]) -> dict[str, Any]:
    return {"type": 1, "components": list(components)}


def form(*inputs: dict[str, Any], title: str = "Your profile") -> dict[str, Any]:
    return {
        "type": 9,
        "data": {"custom_id": "t1:profile:1", "title": title, "components": [row(one) for one in inputs]},
    }


INPUT = {"type": 4, "custom_id": "a", "label": "A", "style": 1, "max_length": 5}
GOOD: dict[str, Any] = {
    "content": "Come.",
    "embeds": [EMBED],
    "components": [row(BUTTON)],
    "nonce": "n" * 25,
    "enforce_nonce": True,
    "allowed_mentions": {"parse": [], "roles": [7]},
    "tts": False,
}


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", MESSAGES, GOOD),
        ("POST", MESSAGES, GOOD | {"content": "x" * 2_000}),
        ("POST", ANSWER, {"type": 5, "data": {"flags": 64}}),
        ("POST", ANSWER, form(INPUT)),
        ("PATCH", "/webhooks/1/token/messages/@original", {"content": "Saved.", "embeds": [], "components": []}),
        ("POST", "/users/@me/channels", {"recipient_id": 7}),
        ("GET", "/users/@me", None),
    ],
)
def test_what_discord_takes_passes(method: str, path: str, body: object) -> None:
    assert list(faults(method, path, {}, body)) == []


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"contents": "x"}, "an unknown key body.contents"),
        ({"embeds": [{"title": "Raid", "colour": 1}]}, "an unknown key body.embeds[0].colour"),
        ({"components": [row(BUTTON | {"options": []})]}, "an unknown key body.components[0].components[0].options"),
        ({"content": "x" * 2_001}, "content is 2001 long, over 2000"),
        ({"content": "\N{BELL}" * 1_001}, "content is 2002 long, over 2000"),
        ({"content": 7}, "content: 7 is not of types"),
        ({"content": "a\ud800"}, "body.content holds a lone surrogate"),
        ({"content": "a\0b"}, "body.content holds a NUL"),
        ({"content": " ", "embeds": [], "components": []}, "an empty message"),
        ({"embeds": [EMBED, EMBED]}, "the embeds are 8012 long in all, over 6000"),
        ({"embeds": [{"color": 1}]}, "an empty embed"),
        ({"nonce": "n" * 26}, "nonce is over 25 characters"),
        ({"nonce": None}, "enforce_nonce without a nonce"),
        ({"components": [row(BUTTON), row(BUTTON)]}, "the custom id 't1:signup:7' twice"),
        ({"components": [row(BUTTON | {"custom_id": ""})]}, "a custom id of 0 characters"),
        ({"components": [row(BUTTON | {"label": " "})]}, "a button without a label"),
        ({"components": [row(BUTTON | {"label": "\N{BELL}" * 41})]}, "a label of 82 characters, over 80"),
        ({"components": [row(BUTTON | {"custom_id": str(n)}) for n in range(6)]}, "6 rows of components, over 5"),
        ({"components": [BUTTON]}, "is not valid under any of the schemas"),
        ({"allowed_mentions": {"parse": ["roles"], "roles": [7]}}, "allowed_mentions parses roles and names some"),
        ({"tts": True, "components": [], "sticker": 1}, "an unknown key body.sticker"),
    ],
)
def test_what_discord_would_refuse_is_told(change: dict[str, object], told: str) -> None:
    assert any(told in one for one in faults("POST", MESSAGES, {}, GOOD | change))


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (form(), "a form of 0 inputs"),
        (form(INPUT, title="x" * 46), "a form's title of 46 characters"),
        (form(INPUT | {"label": "x" * 46}), "an input's label of 46 characters"),
        (form(INPUT | {"value": "123456"}), "an input's value over its own limit"),
        (form(INPUT, INPUT), "the custom id 'a' twice"),
    ],
)
def test_a_form_that_discord_would_refuse_is_told(body: dict[str, object], told: str) -> None:
    assert told in list(faults("POST", ANSWER, {}, body))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({}, ""),
        ({"name": "\N{BELL}" * 51}, "name is 102 long, not 1 to 100"),
        ({"description": "\N{BELL}" * 501}, "description is 1002 long, not 1 to 1000"),
        ({"entity_metadata": {"location": " "}}, "location is 0 long, not 1 to 100"),
        ({"scheduled_end_time": None}, "an event outside of Discord without a location or an end"),
        ({"scheduled_end_time": "2030-01-02T19:00:00+00:00"}, "an event that ends before it begins"),
    ],
)
def test_a_scheduled_event_that_discord_would_refuse_is_told(change: dict[str, object], told: str) -> None:
    native = {
        "name": "Raid",
        "description": "#7",
        "entity_metadata": {"location": "Discord"},
        "scheduled_start_time": "2030-01-02T19:00:00+00:00",
        "scheduled_end_time": "2030-01-02T20:00:00+00:00",
        "privacy_level": 2,
        "entity_type": 3,
    }

    assert list(faults("POST", "/guilds/1/scheduled-events", {}, native | change)) == ([told] if told else [])


@pytest.mark.parametrize(
    ("method", "path", "query", "told"),
    [
        ("GET", "/channels/1/letters", {}, "an unknown route"),
        ("PUT", "/users/@me", {}, "an unknown route"),
        ("GET", MESSAGES, {"page": "2"}, "an unknown query 'page'"),
        ("GET", MESSAGES, {"limit": "101"}, "query limit: 101 is greater than the maximum of 100"),
    ],
)
def test_a_route_or_a_query_that_discord_does_not_know_is_told(
    method: str, path: str, query: dict[str, str], told: str
) -> None:
    assert list(faults(method, path, query, None)) == [told]


@pytest.mark.parametrize("broken", [{"colour": 1}, {"content": "x" * 2_001}, {"content": 7}], ids=str)
async def test_a_bad_request_in_the_simulated_discord_is_noticed(
    simcord_world: "SimulatedDiscord", broken: dict[str, object]
) -> None:
    route = discord.http.Route("POST", "/channels/{channel_id}/messages", channel_id=simcord_world.place.ops_id)

    with apart() as seen:
        with contextlib.suppress(Exception):  # whether the simulation takes it does not matter
            await simcord_world.bot.http.request(route, json={"content": "Come.", **broken})
        found = seen.taken()

    assert len(found) >= 1


@pytest.mark.parametrize("broken", [{"colour": 1}, {"content": "x" * 2_001}, {"content": 7}], ids=str)
async def test_a_bad_request_to_a_stub_is_noticed(broken: dict[str, object]) -> None:
    with apart() as seen:
        async with running_stub() as stub, aiohttp.ClientSession() as session:
            address = f"{stub.base}/api/v10/channels/{CHANNEL}/messages"
            async with session.post(address, json={"content": "Come.", "nonce": "1", **broken}) as answer:
                await answer.read()
        checked, wrong = seen.checked.total(), seen.wrong

    assert (checked, wrong) == (1, 1)


def test_without_the_description_a_run_says_so_and_still_looks_at_the_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "description", lambda: None)

    with apart() as seen:
        seen.note("POST", MESSAGES, {}, {"content": "Come.", "colour": 1})
        seen.note("POST", MESSAGES, {}, {"content": "a\ud800"})
        found, said = seen.taken(), seen.summary()
        checked, wrong = seen.checked.total(), seen.wrong

    assert found == ["POST /channels/1/messages is not as Discord describes it: body.content holds a lone surrogate"]
    assert said == "2 requests were not checked: Discord's description of its API is not here"
    assert (checked, wrong) == (0, 1)


PLUGIN = """
from tests.official.checks import Plugin

def pytest_configure(config):
    config.pluginmanager.register(Plugin(), "official_api")
"""
TWO_TESTS = """
from tests.official.checks import CHECKS

def test_good():
    CHECKS.note("POST", "/channels/1/messages", {}, {"content": "Come."})

def test_bad():
    CHECKS.note("POST", "/channels/1/messages", {}, {"content": "Come.", "colour": 1})
"""


def test_a_test_that_sends_a_bad_request_fails_and_the_run_says_how_many_were_checked(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(PLUGIN)
    (tmp_path / "test_two.py").write_text(TWO_TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", str(tmp_path)]

    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert "1 failed, 1 passed" in ran.stdout
    assert "an unknown key body.colour" in ran.stdout
    assert "2 requests were checked against Discord's description: 2 POST /channels/" in ran.stdout
