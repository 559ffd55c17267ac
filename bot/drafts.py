"""
What waits for its author's word: shown first, done only on a press.

A draft lives in memory, for ten minutes at most: after a restart its buttons say that it is gone, and the command is
run again. Nothing is stored for one. Of several processes each hears every press: the one that holds the draft answers.
"""

import asyncio
import datetime as dt
import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

import structlog

from bot.clock import Clock
from bot.command_tree import Access, Interaction, answer, require_admin
from bot.errors import BotError, GoneError
from bot.message.custom_ids import CustomId, Verb, encode
from bot.message.limits import BUTTON_LABEL, cut
from bot.message.outgoing import Button, ButtonStyle, Embed
from bot.message.proposal import Proposal, Reply, Way
from bot.transactions import DATABASE_ERRORS

_log = structlog.get_logger(__name__)

LIVES: Final = dt.timedelta(minutes=10)
"""How long a draft waits. Discord lets a private answer be edited for fifteen minutes."""

MOST: Final = 1_000
"""How many drafts wait at once; the oldest goes first."""

# Within the three that Discord waits; the process that holds the draft answers at once.
_OTHERS_FIRST_SECONDS = 1.0
_MARK_LENGTH: Final = 8

GONE: Final = "This is no longer available; run the command again."


class NotYoursError(BotError):
    """Somebody pressed what another person was asked."""

    def __init__(self) -> None:
        super().__init__("Only the person who was asked can answer this.")


class UndecidedError(BotError):
    """The database failed while a choice was carried out."""

    def __init__(self) -> None:
        super().__init__(
            "The database does not answer, so I cannot tell whether this was done; look, then run the command again."
        )


@dataclass(frozen=True, slots=True)
class Choice:
    """
    One way to go on; ``apply`` does it and returns the sentence to show, None where it has answered itself.

    It may offer the next draft, and may raise like a command.
    """

    label: str
    apply: Callable[[Interaction], Awaitable[str | None]]
    style: ButtonStyle = ButtonStyle.SECONDARY


@dataclass(frozen=True, slots=True)
class _Draft:
    user_id: int
    guild_id: int | None
    access: Access
    choices: tuple[Choice, ...]
    until: dt.datetime


class Drafts:
    """The drafts that wait in this process; ``instance`` is its id, which their buttons carry the beginning of."""

    def __init__(self, clock: Clock, *, instance: str, lives: dt.timedelta = LIVES, most: int = MOST) -> None:
        self._clock = clock
        self._mark = instance[:_MARK_LENGTH]
        self._lives = lives
        self._most = most
        self._waiting: dict[str, _Draft] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    async def offer(
        self,
        interaction: Interaction,
        text: str,
        choices: Sequence[Choice],
        *,
        embed: Embed | None = None,
        access: Access = Access.ADMIN,
    ) -> None:
        """
        Show what would be done, with a button for each of up to 25 choices, and wait for the person who asked.

        ``access`` is checked again at the press.
        """
        self._make_room()
        token = f"{self._mark}{secrets.token_hex(8)}"
        self._waiting[token] = _Draft(
            user_id=interaction.user.id,
            guild_id=interaction.guild_id,
            access=access,
            choices=tuple(choices),
            until=self._clock.now() + self._lives,
        )
        buttons = [
            Button(cut(choice.label, BUTTON_LABEL), encode(Verb.DRAFT, f"{token}-{number}"), choice.style)
            for number, choice in enumerate(choices)
        ]
        await answer(interaction, text, buttons=buttons, embed=embed)

    async def show(self, interaction: Interaction, reply: Reply, *, access: Access = Access.ADMIN) -> None:
        """Show what a service answered: a sentence as it is, a proposal as a draft with a button for each way on."""
        if isinstance(reply, Proposal):
            choices = [self._choice(way, access) for way in reply.ways]
            await self.offer(interaction, reply.text, choices, access=access)
        else:
            await answer(interaction, reply)

    def _choice(self, way: Way, access: Access) -> Choice:
        async def _apply(interaction: Interaction) -> None:
            await self.show(interaction, await way.then(self._clock.now()), access=access)

        return Choice(way.label, _apply, way.style)

    async def pressed(self, interaction: Interaction, said: CustomId) -> None:
        """
        Do what was chosen, once: the first press takes the draft.

        Raises:
            GoneError: it is not there any more, or was taken.
            UndecidedError: the database failed meanwhile.
            NotYoursError: somebody else was asked.
            NotAllowedError: the person lost their access meanwhile.
        """
        token, _, number = said.subject.rpartition("-")
        draft = self._waiting.get(token)
        if draft is None or draft.until <= self._clock.now() or not _is_one_of(number, draft.choices):
            if not token.startswith(self._mark):
                await asyncio.sleep(_OTHERS_FIRST_SECONDS)
            raise GoneError(GONE)
        if (interaction.user.id, interaction.guild_id) != (draft.user_id, draft.guild_id):
            raise NotYoursError
        # Taken before anything is awaited, so that of two presses one finds it gone.
        del self._waiting[token]
        try:
            # The answer will stand where the question stood.
            await interaction.response.defer()
        except Exception:
            # Discord refused it or was not reached: nothing was done, and the next press may do it.
            self._waiting[token] = draft
            raise
        if draft.access is Access.ADMIN:
            await require_admin(interaction)
        try:
            says = await draft.choices[int(number)].apply(interaction)
        except DATABASE_ERRORS as error:
            # The buttons are taken, and nobody knows whether the last statement of the change went through.
            _log.error("draft_undecided", exc_info=error, guild=draft.guild_id, user=draft.user_id)
            raise UndecidedError from error
        if says is not None:
            await answer(interaction, says)

    def _make_room(self) -> None:
        now = self._clock.now()
        for token in [token for token, draft in self._waiting.items() if draft.until <= now]:
            del self._waiting[token]
        while len(self._waiting) >= self._most:
            del self._waiting[next(iter(self._waiting))]


def _is_one_of(number: str, choices: Sequence[Choice]) -> bool:
    return number.isascii() and number.isdigit() and int(number) < len(choices)
