"""Every message leaves by one way, and the time comes from one place: read off the source itself."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# What puts a message on somebody's screen, called on whatever object: a channel, a user, a webhook, the raw client.
SENDING = frozenset(
    {"send", "reply", "forward", "create_dm", "start_private_message", "send_message", "create_scheduled_event"}
)
SENDING_HTTP = frozenset(
    {"request", "send_files", "start_private_message", "send_message", "create_guild_scheduled_event"}
)
# The answer to an interaction goes to who pressed, once, and cannot be doubled.
ANSWERS = frozenset({"response", "followup"})
ONE_WAY_OUT = {
    ("bot/delivery/channel_poster.py", "channel.send"),
    ("bot/delivery/guild_calendar.py", "self._client.http.create_guild_scheduled_event"),
    ("bot/leases/handover.py", "self._port.send"),
    ("bot/leases/send_once.py", "self._handover.send"),
}
# What is called like a send, and puts nothing on a screen.
NO_SENDS = {
    # Simulated crashes and faults are put round the client's transport; they send nothing of their own.
    ("bot/demo/crashes.py", "http.request"),
    ("bot/demo/faulty_transport.py", "http.request"),
    # Opens the channel of a DM, which nobody sees before something is sent there.
    ("bot/delivery/channel_poster.py", "self._client.create_dm"),
    # What the plan of a fan-out says about its post: if it sent past the one way out, it would be found where it does.
    ("bot/dm_queue/side_posts.py", "post.send"),
}

WALL_CLOCK = frozenset(
    {
        "datetime.datetime.now",
        "datetime.datetime.utcnow",
        "datetime.datetime.today",
        "datetime.date.today",
        "time.time",
        "time.time_ns",
        "time.localtime",
        "time.gmtime",
        "time.ctime",
        "time.strftime",
        "time.clock_gettime",
        "discord.utils.utcnow",
        "tortoise.timezone.now",
    }
)
CLOCKS = {
    ("bot/clock.py", "datetime.datetime.now"),
    # An interval of the library's loop is counted by the library's own clock.
    ("bot/loops.py", "discord.utils.utcnow"),
}


def sources() -> list[Path]:
    return sorted(path for folder in ("bot", "cogs") for path in (ROOT / folder).rglob("*.py"))


def imported_names(tree: ast.AST) -> dict[str, str]:
    """What each imported name of a module stands for, in full."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {one.asname: one.name for one in node.names if one.asname}
        elif isinstance(node, ast.ImportFrom):
            names |= {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}
    return names


def dotted(node: ast.expr, names: dict[str, str]) -> str:
    """The chain of names that an expression is, as far as it is one."""
    if isinstance(node, ast.Name):
        return names.get(node.id, node.id)
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value, names)}.{node.attr}"
    return "()"


def uses(source: str) -> Iterator[str]:
    """Every attribute or imported function that a module takes hold of, called or not, in full."""
    tree = ast.parse(source)
    names = imported_names(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            yield dotted(node, names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and "." in names.get(node.id, ""):
            yield names[node.id]
        elif isinstance(node, ast.Call) and dotted(node.func, names) in {"getattr", "operator.methodcaller"}:
            yield from (
                f"().{one.value}" for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str)
            )


def sends(source: str) -> set[str]:
    """Every way in which a module could put a message on a screen, answers to interactions aside."""
    found = set()
    for use in uses(source):
        *owner, attribute = use.split(".")
        is_answer = bool(owner) and owner[-1] in ANSWERS
        by_hand = bool(owner) and owner[-1].lstrip("_") == "http" and attribute in SENDING_HTTP
        if by_hand or (attribute in SENDING and owner and not is_answer):
            found.add(use)
    return found


def clocks_read(source: str) -> set[str]:
    """Every wall clock that a module reads."""
    return {use for use in uses(source) if use in WALL_CLOCK}


def test_nothing_but_the_one_way_out_sends() -> None:
    found = {(path.relative_to(ROOT).as_posix(), use) for path in sources() for use in sends(path.read_text())}

    assert found == ONE_WAY_OUT | NO_SENDS


def test_nothing_but_the_clock_reads_the_wall_clock() -> None:
    found = {(path.relative_to(ROOT).as_posix(), use) for path in sources() for use in clocks_read(path.read_text())}

    assert found == CLOCKS


@pytest.mark.parametrize(
    ("planted", "found"),
    [
        ("await channel.send('hello')", "channel.send"),
        ("await self.bot.get_channel(1).send('hello')", "().send"),
        ("await interaction.channel.send('hello')", "interaction.channel.send"),
        ("await interaction.user.send('hello')", "interaction.user.send"),
        ("await member.create_dm()", "member.create_dm"),
        ("await bot.http.send_message(1, params=p)", "bot.http.send_message"),
        ("await bot.http.request(route, json={})", "bot.http.request"),
        ("await client._http.request(route)", "client._http.request"),
        ("await message.reply('hello')", "message.reply"),
        ("out = channel.send\nawait out('hello')", "channel.send"),
        ("await functools.partial(user.send, 'hello')()", "user.send"),
        ("await getattr(channel, 'send')('hello')", "().send"),
        ("await ports.discord.send(target, message)", "ports.discord.send"),
    ],
)
def test_a_planted_send_is_found(planted: str, found: str) -> None:
    assert sends(f"async def f():\n    {planted.replace(chr(10), chr(10) + '    ')}") == {found}


@pytest.mark.parametrize(
    "harmless",
    [
        "await interaction.response.send_message('done', ephemeral=True)",
        "await interaction.followup.send('done')",
        "await out.send_once(key, target=target)",
        "async def send(self): ...",
        "self.send = None",
    ],
)
def test_an_answer_to_an_interaction_is_no_send(harmless: str) -> None:
    assert sends(f"async def f():\n    {harmless}") == set()


@pytest.mark.parametrize(
    ("planted", "found"),
    [
        ("import datetime as dt\nnow = dt.datetime.now(dt.UTC)", "datetime.datetime.now"),
        ("from datetime import datetime as d\nnow = d.utcnow()", "datetime.datetime.utcnow"),
        ("import datetime\ntoday = datetime.date.today()", "datetime.date.today"),
        ("import time as t\nnow = t.time()", "time.time"),
        ("from time import time\nnow = time()", "time.time"),
        ("import discord\nnow = discord.utils.utcnow()", "discord.utils.utcnow"),
        ("from discord.utils import utcnow\nclock = utcnow", "discord.utils.utcnow"),
        ("from tortoise import timezone\nnow = timezone.now()", "tortoise.timezone.now"),
    ],
)
def test_a_planted_look_at_the_clock_is_found(planted: str, found: str) -> None:
    assert clocks_read(planted) == {found}


@pytest.mark.parametrize("harmless", ["now = self.clock.now()", "import time\nage = time.monotonic()", "x.today()"])
def test_a_clock_that_was_handed_in_is_no_wall_clock(harmless: str) -> None:
    assert clocks_read(harmless) == set()
