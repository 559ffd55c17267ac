"""The buttons of events and series, in posts and in direct messages: who comes, and who wants to hear of it."""

from functools import partial
from typing import Final

from discord.ext import commands

from bot.client import TocsinBot
from bot.command_tree import Interaction, answer
from bot.delivery.membership import Membership
from bot.events.signups.rules import Press
from bot.events.signups.sign_up import guild_of_event
from bot.events.subscriptions import guild_of_series, subscribe
from bot.message.custom_ids import CustomId, Verb

_PRESSES: Final = {
    Verb.SIGN_UP: Press.SIGN_UP,
    Verb.MAYBE: Press.MAYBE,
    Verb.CANT: Press.CANT,
    Verb.CONFIRM: Press.CONFIRM,
    Verb.DECLINE: Press.CANT_MAKE_IT,
}


class SignupButtons(commands.Cog):
    """Takes the presses by their verbs; they work for the life of the event, whatever process posted them."""

    def __init__(self, bot: TocsinBot) -> None:
        self._bot = bot
        self._members = Membership(bot, is_available=bot.presence.is_available)

    async def cog_load(self) -> None:
        """Take the verbs."""
        for verb, press in _PRESSES.items():
            self._bot.presses.on_button(verb, partial(self._answer_event, press))
        self._bot.presses.on_button(Verb.ACCEPT, partial(self._answer_offer, accepts=True))
        self._bot.presses.on_button(Verb.NO_THANKS, partial(self._answer_offer, accepts=False))
        self._bot.presses.on_button(Verb.NOTIFY, self._notify)

    async def cog_unload(self) -> None:
        """Let go of the verbs."""
        self._bot.presses.forget(*_PRESSES, Verb.ACCEPT, Verb.NO_THANKS, Verb.NOTIFY)

    async def _answer_event(self, press: Press, interaction: Interaction, said: CustomId) -> None:
        who = await self._members.presser(interaction, lambda: guild_of_event(said.row_id))
        done = await self._bot.services.signups.press(
            press,
            said.row_id,
            guild_id=who.guild_id,
            user_id=who.user_id,
            role_ids=who.role_ids,
            now=self._bot.clock.now(),
        )
        await answer(interaction, done.sentence)

    async def _answer_offer(self, interaction: Interaction, said: CustomId, *, accepts: bool) -> None:
        who = await self._members.presser(interaction, lambda: guild_of_event(said.row_id))
        done = await self._bot.services.signups.answer_offer(
            said.row_id,
            accepts=accepts,
            guild_id=who.guild_id,
            user_id=who.user_id,
            role_ids=who.role_ids,
            now=self._bot.clock.now(),
        )
        await answer(interaction, done.sentence)

    async def _notify(self, interaction: Interaction, said: CustomId) -> None:
        who = await self._members.presser(interaction, lambda: guild_of_series(said.row_id))
        done = await subscribe(said.row_id, guild_id=who.guild_id, user_id=who.user_id, now=self._bot.clock.now())
        await answer(interaction, done.sentence)


async def setup(bot: TocsinBot) -> None:
    """Load the cog; called by the library."""
    await bot.add_cog(SignupButtons(bot))
