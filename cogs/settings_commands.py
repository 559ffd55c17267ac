"""What an admin sets up for their server."""

from typing import TypeAlias

from discord import app_commands
from discord.ext import commands

from bot.client import TocsinBot
from bot.command_options import (
    Choices,
    PostChannelOption,
    RoleOption,
    ZoneOption,
    as_choices,
    channel_choices,
    channel_notes,
    role_choices,
)
from bot.command_tree import Access, Interaction, answer, needs
from bot.events.templates import TemplateKind
from bot.message.escaping import escape
from bot.operations.guild_settings import (
    MAX_ANSWER,
    MAX_LABEL,
    Clearable,
    FieldChange,
    SettingsChange,
    change_settings,
    confirmation,
    described,
    search_fields,
    settings_of,
)
from bot.operations.guild_templates import TemplateChange, change_template, search_set
from bot.operations.template_values import ValueKind, search_options, search_values, value_kind
from bot.scheduling.bodies import SYNC_DISCORD_EVENTS
from bot.times.timezones import search_timezones

WordOption: TypeAlias = app_commands.Range[str, 1, 100]


@app_commands.guild_only()
@app_commands.default_permissions(manage_guild=True)
class SettingsCommands(commands.GroupCog, group_name="settings", group_description="What this server has set up."):
    """The admins' ``/settings``."""

    def __init__(self, bot: TocsinBot) -> None:
        self._bot = bot

    @app_commands.command(name="show", description="What is set up for this server.")
    @needs(Access.ADMIN)
    async def show(self, interaction: Interaction) -> None:
        """Show the settings, and what the bot lacks for them."""
        view = await settings_of(interaction.guild_id or 0, default_timezone=self._bot.default_timezone)
        notes = channel_notes(interaction, view.announcement_channel_id, view.ops_channel_id)
        await answer(interaction, "\n".join([described(view), *notes]))

    @app_commands.command(name="set", description="Set up this server: name what is to change, the rest stays.")
    @app_commands.describe(
        timezone="The clock that times are typed by",
        announcement_channel="Where events are announced",
        ops_channel="Where admins are told about trouble",
        manager_role="A role whose holders are admins of this bot, without Manage Server",
        profile_field="The label of something to ask people, to add it or to change it",
        profile_required="Whether everybody must answer it; left out: as it is, no if it is new",
        profile_max_length="How long an answer may be; left out: as it is, 100 characters if it is new",
        remove_profile_field="Something to ask people no longer",
        clear="A setting to take back",
    )
    @app_commands.choices(
        clear=[
            app_commands.Choice(name="announcement channel", value=Clearable.ANNOUNCEMENT_CHANNEL.value),
            app_commands.Choice(name="ops channel", value=Clearable.OPS_CHANNEL.value),
            app_commands.Choice(name="manager role", value=Clearable.MANAGER_ROLE.value),
        ]
    )
    @needs(Access.ADMIN)
    async def set_up(  # noqa: PLR0913, PLR0917 -- Discord's options are its parameters
        self,
        interaction: Interaction,
        timezone: ZoneOption | None = None,
        announcement_channel: PostChannelOption | None = None,
        ops_channel: PostChannelOption | None = None,
        manager_role: RoleOption | None = None,
        profile_field: app_commands.Range[str, 1, MAX_LABEL] | None = None,
        profile_required: bool | None = None,  # noqa: FBT001 -- as above
        profile_max_length: app_commands.Range[int, 1, MAX_ANSWER] | None = None,
        remove_profile_field: app_commands.Range[str, 1, MAX_LABEL] | None = None,
        clear: str | None = None,
    ) -> None:
        """Change the settings that are named."""
        asked = FieldChange(profile_field or "", profile_required, profile_max_length)
        change = SettingsChange(
            timezone=timezone,
            announcement_channel_id=announcement_channel,
            ops_channel_id=ops_channel,
            manager_role_id=manager_role,
            profile_field=asked if asked != FieldChange("") else None,
            remove_field=remove_profile_field,
            clear=Clearable(clear) if clear else None,
        )
        before, after = await change_settings(
            change,
            guild_id=interaction.guild_id or 0,
            actor=interaction.user.id,
            default_timezone=self._bot.default_timezone,
            now=self._bot.clock.now(),
        )
        if before.announcement_channel_id != after.announcement_channel_id:
            self._bot.services.agenda.wake(SYNC_DISCORD_EVENTS, self._bot.clock.now())
        notes = [*channel_notes(interaction, announcement_channel, ops_channel), *self._role_notes(manager_role)]
        await answer(interaction, "\n".join([confirmation(before, after), *notes]))

    def _role_notes(self, manager_role: int | None) -> list[str]:
        if manager_role is None:
            return []
        name = escape(self._bot.user.name) if self._bot.user is not None else "this bot"
        where = f"Server Settings > Integrations > {name}"
        return [
            f"Discord shows the admins' commands only to Manage Server: let <@&{manager_role}> see them in {where}."
        ]

    @app_commands.command(name="templates", description="What new series and events have where you leave it out.")
    @app_commands.describe(
        for_new="What the template is for",
        option="What is to have a value: choose from the list; with nothing more, you see what is set",
        value="The value that it is to have",
        clear="What is to have its built-in value again",
    )
    @app_commands.choices(
        for_new=[
            app_commands.Choice(name="series", value=TemplateKind.SERIES.value),
            app_commands.Choice(name="events", value=TemplateKind.EVENT.value),
        ]
    )
    @needs(Access.ADMIN)
    async def templates(
        self,
        interaction: Interaction,
        for_new: str,
        option: WordOption | None = None,
        value: WordOption | None = None,
        clear: WordOption | None = None,
    ) -> None:
        """Show a template, or change it."""
        done = await change_template(
            TemplateKind(for_new),
            TemplateChange(option, value, clear),
            guild_id=interaction.guild_id or 0,
            actor=interaction.user.id,
            default_timezone=self._bot.default_timezone,
            now=self._bot.clock.now(),
        )
        await answer(interaction, done)

    @set_up.autocomplete("timezone")
    async def _timezones(self, _interaction: Interaction, typed: str) -> Choices:
        return as_choices(search_timezones(typed, now=self._bot.clock.now()))

    @set_up.autocomplete("remove_profile_field")
    async def _fields(self, interaction: Interaction, typed: str) -> Choices:
        found = await search_fields(typed, guild_id=interaction.guild_id or 0)
        return [app_commands.Choice(name=label, value=key) for key, label in found]

    @templates.autocomplete("option")
    async def _options(self, interaction: Interaction, typed: str) -> Choices:
        return as_choices(search_options(typed, _kind(interaction)))

    @templates.autocomplete("value")
    async def _values(self, interaction: Interaction, typed: str) -> Choices:
        kind, option = _kind(interaction), str(interaction.namespace.option or "")
        match value_kind(kind, option):
            case ValueKind.CHANNEL:
                return channel_choices(interaction, typed)
            case ValueKind.ROLE:
                return role_choices(interaction, typed)
            case _:
                return as_choices(search_values(typed, kind, option))

    @templates.autocomplete("clear")
    async def _set(self, interaction: Interaction, typed: str) -> Choices:
        return as_choices(await search_set(typed, _kind(interaction), guild_id=interaction.guild_id or 0))


def _kind(interaction: Interaction) -> TemplateKind:
    """Return which template is meant while somebody types; Discord may not have sent it yet."""
    given = interaction.namespace.for_new
    return TemplateKind(given) if given in set(TemplateKind) else TemplateKind.SERIES


async def setup(bot: TocsinBot) -> None:
    """Load the cog; called by the library."""
    await bot.add_cog(SettingsCommands(bot))
