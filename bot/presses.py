"""
Buttons and forms: read off their custom id alone, so that they work after any restart.

One registry by verb; one item of the library takes every custom id of the bot, whatever its version; forms are taken
from the raw event, since the library would only know those that it sent in this process.
"""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

import discord

from bot.command_tree import Interaction, refuse_elsewhere, tell_error
from bot.errors import GoneError
from bot.message.custom_ids import CustomId, Verb, decode
from bot.message.limits import cut

ButtonHandler = Callable[[Interaction, CustomId], Awaitable[None]]
FormHandler = Callable[[Interaction, CustomId, Mapping[str, str]], Awaitable[None]]

FORM_TITLE: Final = 45
FORM_LABEL: Final = 45

# Every version, past and to come: one that cannot be read any more is answered, not left without a word.
_OURS: Final = re.compile(r"t[0-9]{1,3}:.*", re.DOTALL)
# Its subject is no row's id.
_IN_MEMORY: Final = frozenset({Verb.DRAFT})


@dataclass(frozen=True, slots=True)
class FormInput:
    """One line, or with ``is_long`` several, that a form asks for; ``key`` is what its value is handed in under."""

    key: str
    label: str
    value: str = ""
    required: bool = True
    max_length: int = 300
    is_long: bool = False


async def show_form(interaction: Interaction, custom_id: str, *, title: str, inputs: Sequence[FormInput]) -> None:
    """
    Answer with a form of one to five inputs; it has to be the first answer.

    ``custom_id`` is made by :mod:`bot.message.custom_ids`; the handler of its verb gets what is handed in.
    """
    form = discord.ui.Modal(title=cut(title, FORM_TITLE), custom_id=custom_id, timeout=None)
    for one in inputs:
        form.add_item(
            discord.ui.TextInput(
                label=cut(one.label, FORM_LABEL),
                custom_id=one.key,
                default=one.value or None,
                required=one.required,
                max_length=one.max_length,
                style=discord.TextStyle.long if one.is_long else discord.TextStyle.short,
            )
        )
    # Else the library keeps it until it is handed in, for ever if it is not.
    form.stop()
    await interaction.response.send_modal(form)


@dataclass(frozen=True, slots=True)
class _Button:
    handler: ButtonHandler
    answers_with_form: bool


class Presses:
    """What is done for which verb; one per bot."""

    def __init__(self) -> None:
        self._buttons: dict[str, _Button] = {}
        self._forms: dict[str, FormHandler] = {}

    def on_button(self, verb: Verb, handler: ButtonHandler, *, answers_with_form: bool = False) -> None:
        """
        Let ``handler`` take the presses of one verb; it runs after a private deferral and answers with ``answer``.

        ``answers_with_form``: its first answer is a form, or another of its own, so nothing is deferred before it.

        Raises:
            ValueError: the verb has a handler.
        """
        _take(self._buttons, verb, _Button(handler, answers_with_form))

    def on_form(self, verb: Verb, handler: FormHandler) -> None:
        """
        Let ``handler`` take what is handed in by the forms of one verb, by the inputs' keys, after a private deferral.

        Raises:
            ValueError: the verb has a handler.
        """
        _take(self._forms, verb, handler)

    def forget(self, *verbs: Verb) -> None:
        """Let go of the handlers of these verbs, as when the extension that set them is unloaded."""
        for verb in verbs:
            self._buttons.pop(verb, None)
            self._forms.pop(verb, None)

    @property
    def verbs(self) -> frozenset[str]:
        """Every verb that has a handler, for its button or its form."""
        return frozenset(self._buttons) | frozenset(self._forms)

    async def pressed(self, interaction: Interaction, custom_id: str) -> None:
        """Answer the press of a button; never raises."""
        said = decode(custom_id)
        button = self._buttons.get(said.verb) if said is not None else None
        try:
            if button is None or not button.answers_with_form:
                await interaction.response.defer(ephemeral=True, thinking=True)
            refuse_elsewhere(interaction, server_only=False)
            if said is None or button is None:
                raise GoneError  # noqa: TRY301 -- told like whatever its handler raises
            await button.handler(interaction, _readable(said))
        except Exception as error:  # noqa: BLE001 -- told, and logged where it is a fault
            await tell_error(interaction, error)

    async def handed_in(self, interaction: Interaction) -> None:
        """Answer a form that was handed in, if it is the bot's; never raises."""
        data: Mapping[str, Any] = interaction.data or {}
        custom_id = str(data.get("custom_id", ""))
        if _OURS.fullmatch(custom_id) is None:
            return
        said = decode(custom_id)
        handler = self._forms.get(said.verb) if said is not None else None
        try:
            await interaction.response.defer(ephemeral=True, thinking=True)
            refuse_elsewhere(interaction, server_only=False)
            if said is None or handler is None:
                raise GoneError  # noqa: TRY301 -- as above
            await handler(interaction, _readable(said), _values(data.get("components", ())))
        except Exception as error:  # noqa: BLE001 -- as above
            await tell_error(interaction, error)


class PressedItem(discord.ui.DynamicItem[discord.ui.Item[Any]], template=_OURS):
    """Whatever component of the bot's was used, on a message of any age."""

    @classmethod
    async def from_custom_id(
        cls, _interaction: discord.Interaction[Any], item: discord.ui.Item[Any], _match: re.Match[str], /
    ) -> Self:
        """Wrap the component that was used; called by the library."""
        return cls(item)

    async def callback(self, interaction: discord.Interaction[Any]) -> None:
        """Hand the press to its verb's handler."""
        await interaction.client.presses.pressed(interaction, self.custom_id)


def _take(handlers: "dict[str, Any]", verb: Verb, handler: object) -> None:
    if verb in handlers:
        message = f"{verb} has a handler already"
        raise ValueError(message)
    handlers[verb] = handler


def _readable(said: CustomId) -> CustomId:
    """Return the id where its subject can be one of its verb's; a row's id that is no number names no row."""
    if said.verb not in _IN_MEMORY:
        try:
            _ = said.row_id
        except ValueError:
            raise GoneError from None
    return said


def _values(components: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the values of a form by their inputs' keys; an input lies in a row or under a label."""
    found: dict[str, str] = {}
    for one in components:
        inner = [*one.get("components", ()), *([one["component"]] if "component" in one else [])]
        found |= _values(inner)
        if "custom_id" in one and "value" in one:
            found[str(one["custom_id"])] = str(one["value"])
    return found
