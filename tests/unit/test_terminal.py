"""What a visitor of the demo may type, and the one sentence for everything else."""

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.demo import terminal
from bot.demo.terminal import (
    CloseDms,
    Command,
    Down,
    Help,
    Next,
    OpenDms,
    Quit,
    Restart,
    Travel,
    View,
    WrongCommandError,
)

PLAYERS = ("ada", "brook")
CHANNELS = ("announcements", "bot-ops")


def parse(line: str) -> Command | None:
    return terminal.parse(line, players=PLAYERS, channels=CHANNELS)


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("+1h", Travel(dt.timedelta(hours=1))),
        ("+1d", Travel(dt.timedelta(days=1))),
        ("+30m", Travel(dt.timedelta(minutes=30))),
        ("  + 2 H ", Travel(dt.timedelta(hours=2))),
        ("+30d", Travel(dt.timedelta(days=30))),
        ("+720h", Travel(dt.timedelta(days=30))),
        ("next", Next()),
        ("NEXT", Next()),
        ("close ada", CloseDms("ada")),
        ("open Brook", OpenDms("brook")),
        ("close @ada", CloseDms("ada")),
        ("down", Down()),
        ("down next", Down(at_next=True)),
        ("restart", Restart()),
        ("view ada", View("ada")),
        ("view #bot-ops", View("bot-ops")),
        ("help", Help()),
        ("?", Help()),
        ("quit", Quit()),
        ("exit", Quit()),
        ("", None),
        (" \t ", None),
    ],
)
def test_each_command_is_read(line: str, command: Command | None) -> None:
    assert parse(line) == command


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("nxt", "'nxt' is no command; did you mean next? `help` tells them all."),
        ("dance", "'dance' is no command. `help` tells them all."),
        ("next week", "`next` stands alone; nothing comes after it."),
        ("down now", "`down` stands alone, or `next` comes after it: `down next`."),
        ("+h", "'+h' is no span of time; type for example +30m, +1h or +1d."),
        ("+1.5h", "'+1.5h' is no span of time; type for example +30m, +1h or +1d."),
        ("+1h now", "'+1h now' is no span of time; type for example +30m, +1h or +1d."),
        ("+-1h", "'+-1h' is no span of time; type for example +30m, +1h or +1d."),
        ("+0h", "'+0h' is not possible; at a time from +1m to +30d."),
        ("+31d", "'+31d' is not possible; at a time from +1m to +30d."),
        ("+721h", "'+721h' is not possible; at a time from +1m to +30d."),
        ("+999999999d", "'+999999999d' is not possible; at a time from +1m to +30d."),
        ("close", "`close` takes one name: ada or brook."),
        ("open ada brook", "`open` takes one name: ada or brook."),
        ("close zoe", "'zoe' is not here; there are ada or brook."),
        ("close bot-ops", "'bot-ops' is not here; there are ada or brook."),
        ("view warden", "'warden' is not here; there are ada, brook, announcements or bot-ops."),
    ],
)
def test_anything_else_is_one_sentence(line: str, says: str) -> None:
    with pytest.raises(WrongCommandError) as refused:
        parse(line)

    assert str(refused.value) == says


def said(line: str) -> str:
    try:
        parse(line)
    except WrongCommandError as refused:
        return str(refused)
    return ""


@given(st.text())
def test_no_text_is_more_than_a_short_printable_sentence(line: str) -> None:
    sentence = said(line)

    assert len(sentence) < 250
    assert sentence.isprintable()


def test_the_help_names_every_command() -> None:
    words = (
        "+1h",
        "+1d",
        "next",
        "close NAME",
        "open NAME",
        "down",
        "down next",
        "restart",
        "view NAME",
        "help",
        "quit",
    )

    assert [word for word in words if word not in terminal.HELP] == []
