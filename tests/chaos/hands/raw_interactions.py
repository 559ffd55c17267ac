"""
What somebody does, as the gateway tells it: any value, any custom id, twice if need be.

The simulated Discord lets its people do only what a well-behaved client lets them; here nothing is held back.
"""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import simcord
from discord import AppCommandOptionType, app_commands
from simcord.actors import MemberActor
from simcord.backend import serializers
from simcord.builders import ChannelHandle, UserHandle
from simcord.interactions import base_payload, store_interaction_attachment
from simcord.results import InteractionResult

COMMAND, COMPONENT, COMPLETION, FORM = 2, 3, 4, 5
_GROUP, _SUBCOMMAND = 2, 1
_BUTTON = 2

Person = MemberActor | UserHandle
"""Somebody in a server, or in their DM with the bot."""


@dataclass(frozen=True, slots=True)
class Call:
    """One interaction that was told to the bot, and what it answered."""

    env: simcord.Env
    payload: Mapping[str, Any]
    record: Any

    @property
    def result(self) -> InteractionResult:
        return InteractionResult(self.env, self.record)

    @property
    def text(self) -> str:
        """Everything that somebody reads of the answer: text, embeds, buttons, the form, the completion."""
        result = self.result
        shown = [one for one in (result.response, *result.followups) if one is not None]
        told = [part for one in shown for part in (one.content, [e.to_dict() for e in one.embeds], one.components)]
        return str([*told, result.modal, result.autocomplete_choices])

    async def again(self) -> None:
        """Let the gateway tell the same interaction a second time."""
        self.env.backend.emit("INTERACTION_CREATE", copy.deepcopy(dict(self.payload)))
        await self.env._settle_internal(dispatch="INTERACTION_CREATE")


async def use(
    who: Person, channel: ChannelHandle, command: app_commands.Command[Any, ..., Any], values: Mapping[str, Any]
) -> Call:
    """
    Use a command with these values, by the options' names; a channel or a role is given as its handle.

    A file is given as its name and its bytes.
    """
    resolved: dict[str, dict[str, Any]] = {}
    given = [one for one in command.parameters if one.name in values]
    options = [_option(who, channel, one, values[one.name], resolved) for one in given]
    return await _told(who, channel, COMMAND, _nested(who, channel, command, options) | {"resolved": resolved})


async def completed(
    who: Person, channel: ChannelHandle, command: app_commands.Command[Any, ..., Any], option: str, typed: str
) -> Call:
    """Type into an option."""
    focused = {"name": option, "type": AppCommandOptionType.string.value, "value": typed, "focused": True}
    return await _told(who, channel, COMPLETION, _nested(who, channel, command, [focused]))


async def complete(
    who: Person, channel: ChannelHandle, command: app_commands.Command[Any, ..., Any], option: str, typed: str
) -> list[str]:
    """Type into an option; return the values that are offered."""
    call = await completed(who, channel, command, option, typed)
    return [str(one["value"]) for one in call.result.autocomplete_choices or ()]


async def press(who: Person, channel: ChannelHandle, custom_id: str) -> Call:
    """Press a button of the bot's with this custom id, on a message that may be of any age."""
    button = {"type": _BUTTON, "style": 1, "label": "B", "custom_id": custom_id}
    message = {
        "id": str(channel.id + 1),
        "channel_id": str(channel.id),
        "author": dict(serializers.user_payload(who._env.backend.bot_user)),
        "content": "Old.",
        "timestamp": "2026-01-01T00:00:00+00:00",
        "edited_timestamp": None,
        "components": [{"type": 1, "components": [button]}],
        **{key: [] for key in ("embeds", "attachments", "mentions", "mention_roles")},
        **dict.fromkeys(("tts", "mention_everyone", "pinned"), False),
        **dict.fromkeys(("type", "flags"), 0),
    }
    return await _told(who, channel, COMPONENT, {"custom_id": custom_id, "component_type": _BUTTON}, message=message)


async def press_shown(who: Person, channel: ChannelHandle, shown: Call, custom_id: str) -> Call:
    """Press a button of an answer that was just given."""
    answer = shown.result.response
    assert answer is not None
    stored = who._env.backend.get_message(answer.channel_id, answer.id)
    message = dict(serializers.message_payload(who._env.backend, stored))
    data = {"custom_id": custom_id, "component_type": _BUTTON}
    return await _told(who, channel, COMPONENT, data, message=message, source=stored.id)


async def hand_in(who: Person, channel: ChannelHandle, custom_id: str, values: Mapping[str, str]) -> Call:
    """Hand a form in."""
    rows = [{"type": 1, "components": [{"type": 4, "custom_id": key, "value": one}]} for key, one in values.items()]
    return await _told(who, channel, FORM, {"custom_id": custom_id, "components": rows})


def custom_ids(call: Call) -> list[str]:
    """Return the custom ids of an answer's buttons, in order."""
    answer = call.result.response
    return [str(one["custom_id"]) for row in (answer.components if answer else ()) for one in row["components"]]


async def _told(
    who: Person, channel: ChannelHandle, kind: int, data: dict[str, Any], *, source: int | None = None, **extra: object
) -> Call:
    env = who._env
    guild_id = who.guild.id if isinstance(who, MemberActor) else None
    record, payload = base_payload(
        env.backend, type=kind, channel_id=channel.id, guild_id=guild_id, user_id=who.id, data=data
    )
    payload.update(extra)
    record.source_message_id = source
    env.backend.emit("INTERACTION_CREATE", payload)
    await env._settle_internal(dispatch="INTERACTION_CREATE")
    return Call(env, payload, record)


def _nested(
    who: Person, channel: ChannelHandle, command: app_commands.Command[Any, ..., Any], options: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    root, *words = command.qualified_name.split()
    for depth, word in enumerate(reversed(words)):
        options = [{"name": word, "type": _GROUP if depth else _SUBCOMMAND, "options": list(options)}]
    known = who._env.backend.find_command(root, channel.id, type=1) or {"id": "1"}
    return {"id": known["id"], "name": root, "type": 1, "options": list(options)}


def _option(
    who: Person,
    channel: ChannelHandle,
    option: app_commands.Parameter,
    value: Any,  # noqa: ANN401 -- what an option takes
    resolved: dict[str, dict[str, Any]],
) -> dict[str, Any]:
    backend = who._env.backend
    if option.type is AppCommandOptionType.channel:
        found = backend.get_channel(value.id)
        assert found.guild_id is not None
        is_member = isinstance(who, MemberActor)
        rights = str(backend.compute_permissions(found.guild_id, who.id, found.id)) if is_member else "0"
        shown = dict(serializers.channel_payload(backend, found)) | {"permissions": rights}
        resolved.setdefault("channels", {})[str(value.id)] = shown
        value = str(value.id)
    elif option.type is AppCommandOptionType.role:
        resolved.setdefault("roles", {})[str(value.id)] = dict(serializers.role_payload(value._role))
        value = str(value.id)
    elif option.type is AppCommandOptionType.user:
        # Whoever is in the server in which it is used comes with what they are there.
        resolved.setdefault("users", {})[str(value.id)] = dict(serializers.user_payload(backend.get_user(value.id)))
        guild = backend.guilds.get(backend.get_channel(channel.id).guild_id or 0)
        if guild is not None and value.id in guild.members:
            member = serializers.member_payload(backend, guild, guild.members[value.id], with_user=False)
            resolved.setdefault("members", {})[str(value.id)] = dict(member) | {"permissions": "0"}
        value = str(value.id)
    elif option.type is AppCommandOptionType.attachment:
        name, content = value
        value = store_interaction_attachment(backend, channel.id, name, content, resolved)
    return {"name": option.name, "type": option.type.value, "value": value}
