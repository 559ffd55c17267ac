"""What the options of several commands share: their bounds, channels and roles, and the choices they complete to."""

from collections.abc import Iterable
from typing import Any, TypeAlias

import discord
from discord import app_commands

from bot.command_tree import Interaction
from bot.delivery.channels import PostChannel, missing_permissions
from bot.errors import BotError
from bot.events.series_fields import HOURS_A_DAY, MAX_DAYS_AHEAD, MAX_DESCRIPTION, MAX_NAME
from bot.events.series_spec import ConfigSpec
from bot.message.choice import Found
from bot.message.folding import folded
from bot.message.limits import CHOICE_NAME, CHOICES, cut

# Discord keeps these bounds while somebody types; the specs check them again.
NameOption: TypeAlias = app_commands.Range[str, 1, MAX_NAME]
DescriptionOption: TypeAlias = app_commands.Range[str, 1, MAX_DESCRIPTION]
DateOption: TypeAlias = app_commands.Range[str, 1, 60]
TimeOption: TypeAlias = app_commands.Range[str, 3, 10]
ZoneOption: TypeAlias = app_commands.Range[str, 1, 64]
HoursOption: TypeAlias = app_commands.Range[int, 0, MAX_DAYS_AHEAD * HOURS_A_DAY]
DaysOption: TypeAlias = app_commands.Range[int, 1, MAX_DAYS_AHEAD]
MinutesOption: TypeAlias = app_commands.Range[int, 1, 10_080]
OfferOption: TypeAlias = app_commands.Range[int, 0, 10_080]
PlacesOption: TypeAlias = app_commands.Range[int, 0, 100_000]

_NATIVE_RIGHTS = (("Create Events", "create_events"), ("Manage Events", "manage_events"))

Choices: TypeAlias = list[app_commands.Choice[str]]
"""What an option completes to."""


class EveryoneError(BotError):
    """Everybody's role was chosen where a role of some people is meant."""

    def __init__(self) -> None:
        super().__init__("@everyone is no role that can be chosen here; choose one that some people have.")


class _PostChannelId(app_commands.Transformer):
    """A channel that takes messages, as its id: also one that the bot does not see, so that it can say so."""

    @property
    def type(self) -> discord.AppCommandOptionType:
        """Return how Discord asks for it."""
        return discord.AppCommandOptionType.channel

    @property
    def channel_types(self) -> list[discord.ChannelType]:
        """Return the kinds of channel that Discord offers."""
        kinds = discord.ChannelType
        threads = [kinds.public_thread, kinds.private_thread, kinds.news_thread]
        return [kinds.text, kinds.news, kinds.voice, kinds.stage_voice, *threads]

    async def transform(self, _interaction: discord.Interaction[Any], value: Any, /) -> int:  # noqa: ANN401 -- the library's
        """Return the channel's id."""
        return int(value.id)


class _SomeRoleId(app_commands.Transformer):
    """A role that some people have, as its id."""

    @property
    def type(self) -> discord.AppCommandOptionType:
        """Return how Discord asks for it."""
        return discord.AppCommandOptionType.role

    async def transform(self, interaction: discord.Interaction[Any], value: Any, /) -> int:  # noqa: ANN401 -- the library's
        """
        Return the role's id.

        Raises:
            EveryoneError: it is everybody's, which has the server's own id.
        """
        if value.id == interaction.guild_id:
            raise EveryoneError
        return int(value.id)


PostChannelOption: TypeAlias = app_commands.Transform[int, _PostChannelId]
RoleOption: TypeAlias = app_commands.Transform[int, _SomeRoleId]


def as_choices(found: Iterable[Found]) -> Choices:
    """Return what was found as an option completes to it."""
    return [app_commands.Choice(name=one.label, value=one.value) for one in found]


def channel_choices(interaction: Interaction, typed: str) -> Choices:
    """Return at most 25 channels that take messages and whose name holds what was typed, as their ids."""
    channels = interaction.guild.channels if interaction.guild is not None else ()
    return _named(((one.name, one.id) for one in channels if isinstance(one, PostChannel)), typed)


def role_choices(interaction: Interaction, typed: str) -> Choices:
    """Return at most 25 roles of some people likewise."""
    roles = interaction.guild.roles if interaction.guild is not None else ()
    return _named(((one.name, one.id) for one in roles if not one.is_default()), typed)


def _named(found: Iterable[tuple[str, int]], typed: str) -> Choices:
    named = [(name, str(key)) for name, key in found if folded(typed) in folded(name)]
    return [app_commands.Choice(name=cut(name, CHOICE_NAME), value=key) for name, key in named[:CHOICES]]


def channel_notes(interaction: Interaction, *channel_ids: int | None) -> tuple[str, ...]:
    """Return a sentence for each of the channels in which the bot could not post as it stands."""
    return tuple(note for channel_id in channel_ids if channel_id and (note := _channel_note(interaction, channel_id)))


def ping_notes(interaction: Interaction, role_id: int | None) -> tuple[str, ...]:
    """Return a sentence where a role would be shown and not pinged."""
    guild = interaction.guild
    role = guild.get_role(role_id) if guild is not None and role_id is not None else None
    if guild is None or role is None or role.mentionable or guild.me.guild_permissions.mention_everyone:
        return ()
    mend = "let everybody mention that role, or grant me Mention @everyone, @here and All Roles."
    return (f"<@&{role_id}> would be shown and not pinged: {mend}",)


def spec_notes(interaction: Interaction, spec: ConfigSpec) -> tuple[str, ...]:
    """Return a sentence for each channel and role of what would be made that would not do as it stands."""
    roles = [spec.required_role_id, spec.attendee_role_id, *spec.discord_announcement_role_ids]
    return (
        *channel_notes(interaction, spec.discord_announcement_channel_id),
        *(note for role_id in spec.discord_announcement_role_ids for note in ping_notes(interaction, role_id)),
        *(note for role_id in dict.fromkeys(roles) for note in _gone_notes(interaction, role_id)),
        *_native_notes(interaction, spec),
        *_giving_notes(interaction, spec.attendee_role_id),
    )


def _giving_notes(interaction: Interaction, role_id: int | None) -> tuple[str, ...]:
    """Return a sentence where the bot could not give a role; no permission lifts the order of the roles."""
    guild = interaction.guild
    role = guild.get_role(role_id) if guild is not None and role_id is not None else None
    if guild is None or role is None:
        return ()
    if role.managed:
        return (f"Discord lets nobody give <@&{role_id}>, which belongs to an integration: choose another.",)
    lacks = [] if guild.me.guild_permissions.manage_roles else ["grant me Manage Roles"]
    if role >= guild.me.top_role:
        lacks.append(f"drag my role <@&{guild.me.top_role.id}> above it in the list of roles")
    return (f"I may not give <@&{role_id}> as it stands: {' and '.join(lacks)}.",) if lacks else ()


def _native_notes(interaction: Interaction, spec: ConfigSpec) -> tuple[str, ...]:
    guild = interaction.guild
    if guild is None or not spec.discord_create_event:
        return ()
    granted = guild.me.guild_permissions
    lacks = [word for word, has in _NATIVE_RIGHTS if not getattr(granted, has)]
    return (f"I lack {', '.join(lacks)} for this server's list of events: grant it to me.",) if lacks else ()


def _gone_notes(interaction: Interaction, role_id: int | None) -> tuple[str, ...]:
    guild = interaction.guild
    if guild is None or role_id is None or guild.get_role(role_id) is not None:
        return ()
    return (f"The role <@&{role_id}> is gone from this server: choose another.",)


def may_post(interaction: Interaction, channel_id: int) -> bool:
    """Return whether the bot may post in a channel of the server, as far as it knows."""
    return _channel_note(interaction, channel_id) is None


def _channel_note(interaction: Interaction, channel_id: int) -> str | None:
    guild = interaction.guild
    channel = guild.get_channel_or_thread(channel_id) if guild is not None else None
    if guild is None or not isinstance(channel, PostChannel):
        return f"I do not see <#{channel_id}>: grant me View Channel there, or choose another if it is gone."
    lacks = missing_permissions(channel, guild.me)
    return f"I lack {', '.join(lacks)} in <#{channel_id}>: grant it to me there." if lacks else None
