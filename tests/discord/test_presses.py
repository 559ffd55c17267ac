"""Buttons and forms are read off their custom id alone, on a message of any age and after any restart."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pytest
from simcord.results import InteractionResult

from bot.command_tree import (
    Interaction,
    answer,
)
from bot.errors import GoneError
from bot.message.custom_ids import CustomId, Verb, encode
from bot.presses import FormInput, Presses, show_form
from tests.discord.acting import (
    Stage,
    again,
    answered,
    post_buttons,
    restart,
)
from tests.discord.probe import Probe, RefusedError

if TYPE_CHECKING:
    from structlog.typing import EventDict


# ------------------------------------------------------------------------------------------------------------- buttons


async def test_a_press_is_deferred_privately_and_reaches_the_handler_of_its_verb(stage: Stage) -> None:
    seen: list[tuple[CustomId, bool]] = []

    async def _handler(interaction: Interaction, said: CustomId) -> None:
        seen.append((said, interaction.response.is_done()))
        await answer(interaction, "Noted.")

    stage.bot.presses.forget(Verb.NOTIFY)
    stage.bot.presses.on_button(Verb.NOTIFY, _handler)
    message = await post_buttons(stage, encode(Verb.NOTIFY, 7))

    shown = answered(await stage.member.click(message, label="B0"))

    assert shown.content == "Noted."
    assert seen == [(CustomId("notify", "7"), True)]


@pytest.mark.parametrize(
    "custom_id",
    ["t1:teleport:7", "t9:signup:7", "t1:signup", "t1:", "t1:notify:abc", f"t1:notify:{2**63}", "t1:notify:7:8"],
)
async def test_a_button_that_nobody_can_read_any_more_says_so(stage: Stage, custom_id: str) -> None:
    async def _never(_interaction: Interaction, _said: CustomId) -> None:
        raise AssertionError

    stage.bot.presses.forget(Verb.NOTIFY)
    stage.bot.presses.on_button(Verb.NOTIFY, _never)
    message = await post_buttons(stage, custom_id)

    shown = answered(await stage.member.click(message, label="B0"))

    assert shown.content == "This is no longer available."


async def test_a_button_of_somebody_elses_is_left_alone(stage: Stage) -> None:
    message = await post_buttons(stage, "another bot's", "tea:1")

    for label in ("B0", "B1"):
        result = await stage.member.click(message, label=label)
        assert not result.acknowledged


async def test_what_a_handler_raises_is_told_privately(stage: Stage, told: "list[EventDict]") -> None:
    errors: list[Exception] = [RefusedError("Full."), GoneError(), KeyError("x")]

    async def _handler(_interaction: Interaction, _said: CustomId) -> None:
        raise errors.pop(0)

    stage.bot.presses.forget(Verb.NOTIFY)
    stage.bot.presses.on_button(Verb.NOTIFY, _handler)
    message = await post_buttons(stage, encode(Verb.NOTIFY, 7))

    read = [answered(await stage.member.click(message, label="B0")).content for _ in range(3)]

    assert read[:2] == ["Full.", "This is no longer available."]
    assert read[2].startswith("That failed because of a fault of mine.")
    assert [one["event"] for one in told if one["log_level"] == "error"] == ["interaction_failed"]


async def test_a_press_works_after_a_restart(stage: Stage) -> None:
    seen: list[str] = []

    async def _handler(interaction: Interaction, said: CustomId) -> None:
        seen.append(said.subject)
        await answer(interaction, "Noted.")

    message = await post_buttons(stage, encode(Verb.NOTIFY, 7))
    bot = await restart(stage, extensions=())
    bot.presses.on_button(Verb.NOTIFY, _handler)
    member, message = again(stage, stage.member, message)

    assert answered(await member.click(message, label="B0")).content == "Noted."
    assert seen == ["7"]


async def test_a_press_in_a_server_that_is_not_on_the_list_is_refused(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    message = await post_buttons(stage, encode(Verb.NOTIFY, 7))
    monkeypatch.setattr(stage.bot.presence, "_allow_list", frozenset({1}))

    shown = answered(await stage.member.click(message, label="B0"))

    assert "not set up to serve this server" in shown.content


def test_a_verb_has_one_handler() -> None:
    presses = Presses()

    async def _button(_interaction: Interaction, _said: CustomId) -> None: ...

    async def _form(_interaction: Interaction, _said: CustomId, _values: Mapping[str, str]) -> None: ...

    presses.on_button(Verb.PROFILE, _button)
    presses.on_form(Verb.PROFILE, _form)

    with pytest.raises(ValueError, match="has a handler already"):
        presses.on_button(Verb.PROFILE, _button)
    with pytest.raises(ValueError, match="has a handler already"):
        presses.on_form(Verb.PROFILE, _form)
    assert presses.verbs == {"profile"}


# --------------------------------------------------------------------------------------------------------------- forms


async def open_form(stage: Stage, probe: Probe, subject: int = 7) -> InteractionResult:
    async def _form(interaction: Interaction) -> None:
        inputs = [FormInput("a", "A" * 46, value="old", required=False), FormInput("b", "B", is_long=True)]
        await show_form(interaction, encode(Verb.PROFILE, subject), title="T" * 46, inputs=inputs)

    probe.do = _form
    return await stage.admin.slash(stage.channel, "fill")


async def test_a_form_that_is_handed_in_reaches_its_handler_with_its_values(stage: Stage, probe: Probe) -> None:
    seen: list[tuple[str, Mapping[str, str]]] = []

    async def _handler(interaction: Interaction, said: CustomId, values: Mapping[str, str]) -> None:
        seen.append((said.subject, dict(values)))
        await answer(interaction, "Kept.")

    stage.bot.presses.forget(Verb.PROFILE)
    stage.bot.presses.on_form(Verb.PROFILE, _handler)
    shown = await open_form(stage, probe)
    # Nothing of it is in memory: it is taken by any process, after any restart.
    kept_by_the_library = dict(stage.bot._connection._view_store._modals)
    handed = await stage.admin.submit_modal(shown, {"a": "one", "b": "two\nlines"})

    assert kept_by_the_library == {}
    assert answered(handed).content == "Kept."
    assert seen == [("7", {"a": "one", "b": "two\nlines"})]


async def test_a_form_that_nobody_takes_any_more_says_so(stage: Stage, probe: Probe) -> None:
    stage.bot.presses.forget(Verb.PROFILE)
    shown = await open_form(stage, probe)

    handed = await stage.admin.submit_modal(shown, {"a": "one", "b": "two"})

    assert answered(handed).content == "This is no longer available."


async def test_what_a_forms_handler_raises_is_told(stage: Stage, probe: Probe) -> None:
    async def _handler(_interaction: Interaction, _said: CustomId, _values: Mapping[str, str]) -> None:
        raise RefusedError("Too long.")

    stage.bot.presses.forget(Verb.PROFILE)
    stage.bot.presses.on_form(Verb.PROFILE, _handler)
    shown = await open_form(stage, probe)

    assert answered(await stage.admin.submit_modal(shown, {"a": "one", "b": "two"})).content == "Too long."
