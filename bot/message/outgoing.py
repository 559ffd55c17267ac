"""What is to be sent, before any of Discord's own types: plain values that can be compared, kept and checked."""

from dataclasses import asdict, dataclass
from enum import StrEnum

from bot.message import limits


@dataclass(frozen=True, slots=True)
class EmbedField:
    """One name and value of an embed."""

    name: str
    value: str
    inline: bool = False


@dataclass(frozen=True, slots=True)
class Embed:
    """
    The framed part of a message.

    ``footer`` doubles as the marker by which the message is found again, see :class:`OutgoingMessage`.
    """

    title: str = ""
    description: str = ""
    fields: tuple[EmbedField, ...] = ()
    footer: str = ""
    color: int | None = None


class ButtonStyle(StrEnum):
    """How a button looks, in Discord's own words."""

    PRIMARY = "primary"
    SECONDARY = "secondary"
    SUCCESS = "success"
    DANGER = "danger"


@dataclass(frozen=True, slots=True)
class Button:
    """One button; ``custom_id`` is made by :mod:`bot.message.custom_ids`."""

    label: str
    custom_id: str
    style: ButtonStyle = ButtonStyle.SECONDARY
    disabled: bool = False


class MessageLimitError(ValueError):
    """A rendered message breaks a limit of Discord: a bug of its renderer."""

    def __init__(self, part: str, found: int, limit: int) -> None:
        super().__init__(f"{part} is {found} long, over the limit of {limit}")
        self.part = part


@dataclass(frozen=True, slots=True)
class OutgoingMessage:
    """
    One message, whole.

    ``marker`` tells its key apart from every other message of the bot, and stands in the message itself: Discord's
    nonce cannot be read back, so this is what the history is searched for. Nothing pings but ``mention_role_ids`` and
    ``mention_user_ids``. ``version`` counts the changes of the row that it was rendered from.

    Raises:
        MessageLimitError: a part is longer than Discord takes, or there is nothing in it.
    """

    marker: str
    content: str = ""
    embed: Embed | None = None
    buttons: tuple[Button, ...] = ()
    mention_role_ids: tuple[int, ...] = ()
    mention_user_ids: tuple[int, ...] = ()
    version: int = 0

    def __post_init__(self) -> None:
        """Check every limit once, where the message is made."""
        _within("content", self.content, limits.CONTENT)
        _check_buttons(self.buttons)
        if self.embed is not None:
            _check_embed(self.embed)
        elif not self.content.strip():
            part = "content"
            raise MessageLimitError(part, 0, limits.CONTENT)

    def as_data(self) -> dict[str, object]:
        """Return what was meant to be sent, as JSON values for the message log."""
        return {
            "marker": self.marker,
            "version": self.version,
            "content": self.content,
            "embed": asdict(self.embed) if self.embed is not None else None,
            "buttons": [button.custom_id for button in self.buttons],
        }


def _within(part: str, text: str, limit: int) -> None:
    if (found := limits.length(text)) > limit:
        raise MessageLimitError(part, found, limit)


def _check_buttons(buttons: tuple[Button, ...]) -> None:
    if len(buttons) > limits.BUTTONS:
        part = "buttons"
        raise MessageLimitError(part, len(buttons), limits.BUTTONS)
    for button in buttons:
        _within(f"button label {button.label[:20]!r}", button.label, limits.BUTTON_LABEL)
        _within(f"custom id {button.custom_id[:20]!r}", button.custom_id, limits.CUSTOM_ID)


def _check_embed(embed: Embed) -> None:
    _within("embed title", embed.title, limits.EMBED_TITLE)
    _within("embed description", embed.description, limits.EMBED_DESCRIPTION)
    _within("embed footer", embed.footer, limits.EMBED_FOOTER)
    if len(embed.fields) > limits.EMBED_FIELDS:
        part = "embed fields"
        raise MessageLimitError(part, len(embed.fields), limits.EMBED_FIELDS)
    for one in embed.fields:
        _within(f"embed field name {one.name[:20]!r}", one.name, limits.EMBED_FIELD_NAME)
        _within(f"embed field {one.name[:20]!r}", one.value, limits.EMBED_FIELD_VALUE)
    texts = [embed.title, embed.description, embed.footer, *(t for f in embed.fields for t in (f.name, f.value))]
    _within("embed", "".join(texts), limits.EMBED_TOTAL)
