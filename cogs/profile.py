"""The profile form: opened by ``/profile`` or a button, handed in from wherever, also after a restart."""

import datetime as dt
from collections.abc import Mapping
from typing import Final

from discord import app_commands
from discord.ext import commands

from bot.client import TocsinBot
from bot.command_options import Choices, ZoneOption, as_choices
from bot.command_tree import Access, Interaction, answer, needs
from bot.delivery.membership import Membership, Presser
from bot.errors import GoneError
from bot.events.own_zone import search_own_zones, set_own_zone
from bot.events.profiles import Profile, ProfileField, profile_of, save
from bot.message.custom_ids import CustomId, Verb, encode
from bot.message.limits import cut
from bot.presses import FormInput, show_form

# A form has to be the first answer, within three seconds of the press.
_BEFORE_A_FORM: Final = dt.timedelta(seconds=1.5)


class ProfileForm(commands.Cog):
    """Shows the form and takes it."""

    def __init__(self, bot: TocsinBot) -> None:
        self._bot = bot
        self._members = Membership(bot, is_available=bot.presence.is_available)
        self._members_at_once = Membership(bot, is_available=bot.presence.is_available, timeout=_BEFORE_A_FORM)

    async def cog_load(self) -> None:
        """Take the verb."""
        self._bot.presses.on_button(Verb.PROFILE, self._pressed, answers_with_form=True)
        self._bot.presses.on_form(Verb.PROFILE, self._handed_in)

    async def cog_unload(self) -> None:
        """Let go of the verb."""
        self._bot.presses.forget(Verb.PROFILE)

    @app_commands.command(name="profile", description="What this server asks about you: fill it in, or change it.")
    @app_commands.describe(timezone="Set the clock that the times you type are read by: type a city, and no form opens")
    @app_commands.guild_only()
    @needs(Access.MEMBER, answers_with_form=True)
    async def profile(self, interaction: Interaction, timezone: ZoneOption | None = None) -> None:
        """Open the person's own form, or set their clock."""
        guild_id, user_id = interaction.guild_id or 0, interaction.user.id
        if timezone is None:
            await _show(interaction, guild_id, await profile_of(user_id, guild_id=guild_id))
            return
        await interaction.response.defer(ephemeral=True, thinking=True)
        now, default = self._bot.clock.now(), self._bot.default_timezone
        done = await set_own_zone(timezone, guild_id=guild_id, user_id=user_id, default=default, now=now)
        await answer(interaction, done)

    @profile.autocomplete("timezone")
    async def _timezones(self, interaction: Interaction, typed: str) -> Choices:
        guild_id, user_id, now = interaction.guild_id or 0, interaction.user.id, self._bot.clock.now()
        return as_choices(await search_own_zones(typed, guild_id=guild_id, user_id=user_id, now=now))

    async def _pressed(self, interaction: Interaction, said: CustomId) -> None:
        who = await _presser(self._members_at_once, interaction, said)
        await _show(interaction, who.guild_id, await profile_of(who.user_id, guild_id=who.guild_id))

    async def _handed_in(self, interaction: Interaction, said: CustomId, values: Mapping[str, str]) -> None:
        who = await _presser(self._members, interaction, said)
        done = await save(values, guild_id=who.guild_id, user_id=who.user_id, now=self._bot.clock.now())
        await answer(interaction, done)


async def _presser(members: Membership, interaction: Interaction, said: CustomId) -> Presser:
    async def _named() -> int:
        return said.row_id

    who = await members.presser(interaction, _named)
    if who.guild_id != said.row_id:
        raise GoneError
    return who


async def _show(interaction: Interaction, guild_id: int, profile: Profile) -> None:
    inputs = [_input(field, profile.values.get(field.key, "")) for field in profile.fields]
    await show_form(interaction, encode(Verb.PROFILE, guild_id), title="Your profile", inputs=inputs)


def _input(field: ProfileField, value: str) -> FormInput:
    return FormInput(
        key=field.key,
        label=field.label,
        # The limit may be shorter by now than what was stored; Discord refuses a form that breaks it.
        value=cut(value, field.max_length, ending=""),
        required=field.required,
        max_length=field.max_length,
        is_long=field.is_long,
    )


async def setup(bot: TocsinBot) -> None:
    """Load the cog; called by the library."""
    await bot.add_cog(ProfileForm(bot))
