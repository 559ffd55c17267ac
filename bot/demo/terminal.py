"""What a visitor of the demo types: each line is one command, or one sentence on why it is none. Pure."""

import datetime as dt
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from bot.errors import BotError
from bot.message.quoting import did_you_mean, quoted


@dataclass(frozen=True, slots=True)
class Travel:
    """Let so much time pass at once."""

    span: dt.timedelta


@dataclass(frozen=True, slots=True)
class Next:
    """Let time pass up to the next reminder that is due."""


@dataclass(frozen=True, slots=True)
class CloseDms:
    """Let a player take no direct messages."""

    player: str


@dataclass(frozen=True, slots=True)
class OpenDms:
    """Let a player take direct messages again."""

    player: str


@dataclass(frozen=True, slots=True)
class Down:
    """Let Discord be down for a minute: from now on, or from the next reminder on."""

    at_next: bool = False


@dataclass(frozen=True, slots=True)
class Restart:
    """Kill the bot and start it again."""


@dataclass(frozen=True, slots=True)
class View:
    """Show a channel, or a player's direct messages with the bot, on the page."""

    name: str


@dataclass(frozen=True, slots=True)
class Help:
    """Tell the commands."""


@dataclass(frozen=True, slots=True)
class Quit:
    """End the demo."""


Command = Travel | Next | CloseDms | OpenDms | Down | Restart | View | Help | Quit

HELP: Final = """\
  +1h  +1d       let time pass: minutes (m), hours (h) or days (d); what is sent meanwhile is told
  next           let time pass up to the next reminder
  close NAME     a player takes no direct messages; open NAME: again
  down           Discord is down for a minute; down next: from the next reminder on
  restart        kill the bot and start it again
  view NAME      show another channel, or a player's direct messages, on the page
  help  quit"""


class WrongCommandError(BotError):
    """What was typed is no command."""


_SPAN: Final = re.compile(r"\+\s*([0-9]{1,9})\s*(m|h|d)")
_UNITS: Final = {"m": dt.timedelta(minutes=1), "h": dt.timedelta(hours=1), "d": dt.timedelta(days=1)}
_FARTHEST: Final = dt.timedelta(days=30)
_ALONE: Final[dict[str, Callable[[], Command]]] = {
    "next": Next,
    "restart": Restart,
    "help": Help,
    "?": Help,
    "quit": Quit,
    "exit": Quit,
}
_WITH_A_NAME: Final[dict[str, Callable[[str], Command]]] = {"close": CloseDms, "open": OpenDms, "view": View}


def parse(line: str, *, players: Sequence[str], channels: Sequence[str]) -> Command | None:
    """
    Return what a line asks for, None where it is blank; letter case does not matter.

    Raises:
        WrongCommandError: it asks for nothing that there is.
    """
    words = line.lower().split()
    if not words:
        return None
    if words[0].startswith("+"):
        return _travel(line, "".join(words))
    first, rest = words[0], words[1:]
    if first == "down":
        return _down(rest)
    if first in _ALONE:
        if rest:
            raise WrongCommandError(f"`{first}` stands alone; nothing comes after it.")
        return _ALONE[first]()
    if first in _WITH_A_NAME:
        known = [*players, *channels] if first == "view" else list(players)
        return _WITH_A_NAME[first](_named(first, rest, known))
    near = did_you_mean(first, [*_ALONE, *_WITH_A_NAME, "down"])
    raise WrongCommandError(f"{quoted(words[0])} is no command{near} `help` tells them all.")


def _travel(line: str, text: str) -> Travel:
    found = _SPAN.fullmatch(text)
    if found is None:
        raise WrongCommandError(f"{quoted(line.strip())} is no span of time; type for example +30m, +1h or +1d.")
    span = (
        int(found[1]) * _UNITS[found[2]] if int(found[1]) <= _FARTHEST / dt.timedelta(minutes=1) else dt.timedelta.max
    )
    if not dt.timedelta(0) < span <= _FARTHEST:
        raise WrongCommandError(f"{quoted(line.strip())} is not possible; at a time from +1m to +{_FARTHEST.days}d.")
    return Travel(span)


def _down(rest: Sequence[str]) -> Down:
    if list(rest) not in ([], ["next"]):
        raise WrongCommandError("`down` stands alone, or `next` comes after it: `down next`.")
    return Down(at_next=bool(rest))


def _named(command: str, words: Sequence[str], known: Sequence[str]) -> str:
    everybody = f"{', '.join(known[:-1])} or {known[-1]}"
    if len(words) != 1:
        raise WrongCommandError(f"`{command}` takes one name: {everybody}.")
    name = words[0].lstrip("#@")
    if name not in known:
        raise WrongCommandError(f"{quoted(words[0])} is not here; there are {everybody}.")
    return name
