"""
Who may use which command, and what people read where something is refused or fails.

Discord's own default permissions are only a first filter, since a server can override them: every command's access is
checked here, in the code. Whatever a command, button or form raises ends in :func:`tell_error`, as one private
sentence; nothing that is nobody's business, such as a traceback or SQL, leaves the log.
"""

import io
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

import aiohttp
import discord
import structlog
from discord import app_commands

from bot.delivery.channel_poster import discord_embeds, discord_view
from bot.errors import BotError
from bot.message.escaping import escape
from bot.message.limits import CONTENT, cut
from bot.message.outgoing import Button, Embed
from bot.transactions import DATABASE_ERRORS
from models.guild_settings import GuildSettings

if TYPE_CHECKING:
    from bot.client import TocsinBot

Interaction: TypeAlias = "discord.Interaction[TocsinBot]"
"""What a person did, as every command, button and form of the bot gets it."""

Decorated = TypeVar("Decorated")

_log = structlog.get_logger(__name__)

_NEEDS: Final = "tocsin_needs"
_NOBODY: Final = discord.AllowedMentions.none()
_MOST_QUOTED: Final = 60
# Discord's codes for a press that came too late to be answered, or was answered already: by another process, say.
_NOT_ANSWERABLE: Final = frozenset({10_062, 40_060})


class Access(StrEnum):
    """Who may use a command: whoever manages the server, or every member of it."""

    ADMIN = "admin"
    MEMBER = "member"


@dataclass(frozen=True, slots=True)
class Needs:
    """What a command declares: who may use it, and whether a form is its first answer, which nothing may precede."""

    access: Access
    answers_with_form: bool = False


class NotAllowedError(BotError):
    """The person may not do this here."""

    def __init__(self) -> None:
        super().__init__("You need the Manage Server permission here, or this server's manager role.")


class ServerOnlyError(BotError):
    """It was tried outside a server."""

    def __init__(self) -> None:
        super().__init__("This works in a server only, not in direct messages.")


class NotServedError(BotError):
    """The server is not one that this bot is set up for."""

    def __init__(self) -> None:
        super().__init__("This bot is not set up to serve this server; ask whoever runs it.")


class ServerUnavailableError(BotError):
    """Discord does not show the server to the bot now."""

    def __init__(self) -> None:
        super().__init__(
            "Discord does not show me this server now; try again in a few minutes, or invite me again if I left it."
        )


def needs(access: Access, *, answers_with_form: bool = False) -> Callable[[Decorated], Decorated]:
    """
    Declare who may use a command; stands above or below ``app_commands.command``.

    ``answers_with_form``: its first answer is a form, so it is not deferred before it runs.
    """
    declared = Needs(access, answers_with_form)

    def _declare(subject: Decorated) -> Decorated:
        if isinstance(subject, app_commands.Command):
            subject.extras[_NEEDS] = declared
        else:
            setattr(subject, _NEEDS, declared)
        return subject

    return _declare


def declared_needs(command: object) -> Needs | None:
    """Return what a command declares, None where it declares nothing or is none."""
    if not isinstance(command, app_commands.Command):
        return None
    found = command.extras.get(_NEEDS) or getattr(command.callback, _NEEDS, None)
    return found if isinstance(found, Needs) else None


class TocsinTree(app_commands.CommandTree["TocsinBot"]):
    """The slash commands: each is deferred and its access checked before it runs, and its errors are told."""

    async def interaction_check(self, interaction: Interaction, /) -> bool:
        """Return whether the command may run; if not, it has been answered."""
        # One that is not there any more is the library's to refuse; one that declares nothing is for admins.
        known = interaction.command is not None
        needed = declared_needs(interaction.command) or Needs(Access.ADMIN if known else Access.MEMBER)
        completes = interaction.type is discord.InteractionType.autocomplete
        try:
            if not (completes or needed.answers_with_form):
                # Within three seconds, whatever the database does then.
                await interaction.response.defer(ephemeral=True, thinking=True)
            refuse_elsewhere(interaction, server_only=True)
            if needed.access is Access.ADMIN:
                await require_admin(interaction)
        except Exception as error:  # noqa: BLE001 -- here the library lets it fall silently
            await (_offer_nothing(interaction) if completes else tell_error(interaction, error))
            return False
        return True

    async def on_error(self, interaction: Interaction, error: app_commands.AppCommandError, /) -> None:
        """Tell what a command raised; a completion has no words to tell it in."""
        completes = interaction.type is discord.InteractionType.autocomplete
        await (_offer_nothing(interaction) if completes else tell_error(interaction, error))


def refuse_elsewhere(interaction: Interaction, *, server_only: bool) -> None:
    """
    Refuse what comes from a server that the bot does not serve, and with ``server_only`` what comes from none.

    Raises:
        ServerOnlyError, NotServedError, ServerUnavailableError: so it is.
    """
    if interaction.guild_id is None:
        if server_only:
            raise ServerOnlyError
        return
    presence = interaction.client.presence
    if not presence.is_allowed(interaction.guild_id):
        raise NotServedError
    if not presence.is_available(interaction.guild_id):
        raise ServerUnavailableError


async def is_admin(interaction: Interaction) -> bool:
    """Return whether the person manages the server: by Discord's permission, or by the server's manager role."""
    member = interaction.user
    if interaction.guild_id is None or not isinstance(member, discord.Member):
        return False
    granted = interaction.permissions
    if granted.administrator or granted.manage_guild:
        return True
    settings = await GuildSettings.get_or_none(guild_id=interaction.guild_id)
    role_id = settings.manager_role_id if settings is not None else None
    # The role that has the server's own id is everybody's; a member's roles leave it out.
    return role_id is not None and member.get_role(role_id) is not None


async def require_admin(interaction: Interaction) -> None:
    """
    Refuse whoever does not manage the server.

    Raises:
        NotAllowedError: they do not.
    """
    if not await is_admin(interaction):
        raise NotAllowedError


async def answer(
    interaction: Interaction,
    text: str,
    *,
    buttons: Sequence[Button] = (),
    embed: Embed | None = None,
    file: tuple[str, bytes] | None = None,
) -> None:
    """
    Show a private answer to a command, press or form, whether it was deferred or not; a second one replaces the first.

    It pings nobody, and is cut to what Discord takes. ``file`` is the name and the bytes of one that goes with it.
    """
    content, embeds, view = cut(text, CONTENT), discord_embeds(embed), discord_view(buttons)
    files = [discord.File(io.BytesIO(file[1]), file[0])] if file is not None else []
    if interaction.response.is_done():
        attached = files or discord.utils.MISSING
        await interaction.edit_original_response(
            content=content, embeds=embeds, view=view, attachments=attached, allowed_mentions=_NOBODY
        )
    else:
        await interaction.response.send_message(
            content, embeds=embeds, view=view, files=files, ephemeral=True, allowed_mentions=_NOBODY
        )


async def tell_error(interaction: Interaction, error: BaseException) -> None:
    """
    Answer what went wrong in one private sentence; what is not a refusal is logged under the reference that it names.

    Never raises: where the answer cannot be shown, that is logged, and what was stored stays stored.
    """
    cause = error.original if isinstance(error, app_commands.CommandInvokeError) else error
    facts = _facts(interaction)
    if isinstance(cause, discord.HTTPException) and cause.code in _NOT_ANSWERABLE:
        _log.info("interaction_not_answerable", code=cause.code, **facts)
        return
    says = _refusal(cause)
    if says is None:
        reference = secrets.token_hex(4)
        _log.error("interaction_failed", reference=reference, exc_info=cause, **facts)
        says = _failure(cause, reference)
    try:
        await answer(interaction, says)
    except Exception as unshown:  # noqa: BLE001 -- there is nobody left to tell
        _log.warning("answer_not_shown", error=type(unshown).__name__, code=getattr(unshown, "code", None), **facts)


def _facts(interaction: Interaction) -> dict[str, object]:
    command = interaction.command
    return {
        "command": command.qualified_name if command is not None else None,
        "interaction": interaction.type.name,
        "guild": interaction.guild_id,
        "user": interaction.user.id,
    }


def _refusal(cause: BaseException) -> str | None:
    """Return the sentence of a refusal; None: it is a fault."""
    says: str | None = None
    match cause:
        case BotError():
            says = str(cause)
        case app_commands.TransformerError() if isinstance(cause.__cause__, BotError):
            says = str(cause.__cause__)
        case app_commands.TransformerError():
            value = escape(cut(str(cause.value), _MOST_QUOTED))
            says = f"{value} cannot be read here: choose it from the list, or type it again."
        case app_commands.NoPrivateMessage():
            says = str(ServerOnlyError())
        case app_commands.CheckFailure():
            says = str(NotAllowedError())
        case app_commands.CommandNotFound() | app_commands.CommandSignatureMismatch():
            says = "Discord still shows an older form of this command: reload Discord, then try again in a minute."
        case _:
            pass
    return says


def _failure(cause: BaseException, reference: str) -> str:
    from_discord = isinstance(cause, discord.DiscordException | aiohttp.ClientError)
    if isinstance(cause, DATABASE_ERRORS) and not from_discord:
        return (
            "The database does not answer. Nothing was changed unless I said so; try again in a minute"
            f" (reference {reference})."
        )
    return (
        "That failed because of a fault of mine. Whoever runs the bot finds it in the log under the reference"
        f" {reference}."
    )


async def _offer_nothing(interaction: Any) -> None:  # noqa: ANN401 -- the library types autocompletion by its choices
    try:
        await interaction.response.autocomplete([])
    except (discord.DiscordException, aiohttp.ClientError, OSError) as error:
        _log.info("completion_not_shown", error=type(error).__name__)
