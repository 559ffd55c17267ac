"""What waits for its author's word: shown first, done once, and by nobody else."""

import asyncio
import datetime as dt
from typing import TYPE_CHECKING, Any

import aiohttp
import discord
import pytest
from tortoise.exceptions import OperationalError

from bot.command_tree import (
    Access,
    Interaction,
)
from bot.drafts import GONE, Choice, Drafts
from bot.errors import GoneError
from bot.message.custom_ids import CustomId
from bot.message.outgoing import ButtonStyle
from bot.message.proposal import NOTHING_CHANGED
from models.guild_settings import GuildSettings
from tests.discord.acting import (
    Stage,
    again,
    answered,
    custom_ids,
    labels,
    post_buttons,
    press,
    restart,
)
from tests.discord.probe import Probe, RefusedError, raising

if TYPE_CHECKING:
    from structlog.typing import EventDict

MINUTE = dt.timedelta(minutes=1)


async def _change_nothing(_interaction: Interaction) -> str:
    return NOTHING_CHANGED


BACK = Choice("Back", _change_nothing)


class Ledger:
    """What drafts did."""

    def __init__(self, drafts: Drafts) -> None:
        self.done: list[str] = []
        self._drafts = drafts

    def choice(self, label: str) -> Choice:
        async def _apply(_interaction: Interaction) -> str:
            self.done.append(label)
            return f"{label}: done."

        return Choice(label, _apply, ButtonStyle.SUCCESS)

    async def ask(self, interaction: Interaction) -> None:
        await self._drafts.offer(interaction, "Shall I?", [self.choice("Do it"), BACK])


@pytest.fixture(autouse=True)
def _no_waiting_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a press of another process's draft be answered without any real time."""
    monkeypatch.setattr("bot.drafts._OTHERS_FIRST_SECONDS", 0.0)


@pytest.fixture
def ledger(stage: Stage, probe: Probe) -> Ledger:
    found = Ledger(stage.bot.drafts)
    probe.do = found.ask
    return found


async def test_a_draft_does_nothing_until_its_button_is_pressed_and_then_once(stage: Stage, ledger: Ledger) -> None:
    shown = await stage.run(stage.admin, "steer")
    assert (shown.content, labels(shown), ledger.done) == ("Shall I?", ["Do it", "Back"], [])

    pressed = await press(stage.admin, shown, "Do it")

    # The answer stands where the question stood, and its buttons are gone.
    assert pressed.response is None or pressed.response.id == shown.id
    assert (shown.content, labels(shown), ledger.done) == ("Do it: done.", [], ["Do it"])
    assert len(stage.bot.drafts) == 0


async def test_discarding_changes_nothing(stage: Stage, ledger: Ledger) -> None:
    shown = await stage.run(stage.admin, "steer")

    await press(stage.admin, shown, "Back")

    assert (shown.content, labels(shown), ledger.done) == (NOTHING_CHANGED, [], [])


async def test_pressing_twice_applies_once_and_says_so_without_touching_the_first_answer(
    stage: Stage, ledger: Ledger
) -> None:
    shown = await stage.run(stage.admin, "steer")
    # As two presses at once arrive: both on the message as it was.
    copy = await post_buttons(stage, custom_ids(shown)[0])
    first = await press(stage.admin, shown, "Do it")
    second = answered(await stage.admin.click(copy, label="B0"))

    assert first.acknowledged
    assert shown.content == "Do it: done."
    assert second.content == GONE
    assert ledger.done == ["Do it"]


async def test_of_two_presses_at_once_one_applies(stage: Stage, probe: Probe) -> None:
    gate, done = asyncio.Event(), []

    async def _apply(_interaction: Interaction) -> str:
        done.append(1)
        await gate.wait()
        return "Done."

    async def _ask(interaction: Interaction) -> None:
        choices = [Choice("Do it", _apply)]
        await stage.bot.drafts.offer(interaction, "Shall I?", choices, access=Access.MEMBER)

    probe.do = _ask
    shown = await stage.run(stage.admin, "steer")
    said = CustomId("draft", custom_ids(shown)[0].rpartition(":")[2])
    one, two = FakePress(stage), FakePress(stage)
    gate.set()
    outcomes = await asyncio.gather(
        stage.bot.drafts.pressed(one, said),  # type: ignore[arg-type]
        stage.bot.drafts.pressed(two, said),  # type: ignore[arg-type]
        return_exceptions=True,
    )

    assert done == [1]
    assert sorted(type(one).__name__ for one in outcomes) == ["GoneError", "NoneType"]


class FakePress:
    """A press of the admin's that answers into the void; the real one cannot be made twice at once."""

    def __init__(self, stage: Stage) -> None:
        self.guild_id = stage.guild_id
        self.user = discord.Object(stage.admin.id)
        self.response = self
        self.read: list[str] = []

    def is_done(self) -> bool:
        return True

    async def defer(self, **_kwargs: object) -> None:
        await asyncio.sleep(0)

    async def edit_original_response(self, *, content: str, **_kwargs: object) -> None:
        self.read.append(content)


@pytest.mark.parametrize("error", [aiohttp.ClientOSError(), ConnectionResetError()])
async def test_a_press_that_discord_did_not_take_does_nothing_and_the_next_one_does_it(
    stage: Stage, ledger: Ledger, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    shown = await stage.run(stage.admin, "steer")

    async def _fails(*_args: object, **_kwargs: object) -> None:
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(discord.InteractionResponse, "defer", _fails)
        await stage.admin.click(shown, label="Do it")
    assert ledger.done == []

    await press(stage.admin, shown, "Do it")
    assert (ledger.done, shown.content) == (["Do it"], "Do it: done.")


async def test_somebody_else_cannot_press_it_and_its_author_still_can(stage: Stage, ledger: Ledger) -> None:
    shown = await stage.run(stage.admin, "steer")
    copy = await post_buttons(stage, custom_ids(shown)[0])

    refused = answered(await stage.manager.click(copy, label="B0"))
    await press(stage.admin, shown, "Do it")

    assert refused.content == "Only the person who was asked can answer this."
    assert ledger.done == ["Do it"]


async def test_access_is_checked_again_at_the_press(stage: Stage, ledger: Ledger) -> None:
    shown = await stage.run(stage.manager, "steer")
    await GuildSettings.filter(guild_id=stage.guild_id).update(manager_role_id=None)

    await press(stage.manager, shown, "Do it")

    assert "Manage Server" in shown.content
    assert ledger.done == []


async def test_a_members_draft_needs_no_rights(stage: Stage, probe: Probe) -> None:
    ledger = Ledger(stage.bot.drafts)

    async def _ask(interaction: Interaction) -> None:
        choices = [ledger.choice("Do it")]
        await stage.bot.drafts.offer(interaction, "Shall I?", choices, access=Access.MEMBER)

    probe.do = _ask
    shown = await stage.run(stage.member, "look")
    await press(stage.member, shown, "Do it")

    assert ledger.done == ["Do it"]


@pytest.mark.parametrize(
    ("waited", "applied"),
    [(10 * MINUTE - dt.timedelta(seconds=1), True), (10 * MINUTE, False)],
    ids=["just before ten minutes", "exactly ten minutes"],
)
async def test_a_draft_waits_ten_minutes(stage: Stage, ledger: Ledger, waited: dt.timedelta, applied: bool) -> None:
    shown = await stage.run(stage.admin, "steer")
    stage.discord_.world.advance_to(stage.now() + waited)

    await press(stage.admin, shown, "Do it")

    assert bool(ledger.done) is applied


async def test_after_a_restart_a_draft_is_gone_and_says_what_to_do(stage: Stage, ledger: Ledger) -> None:
    shown = await stage.run(stage.admin, "steer")
    copy = await post_buttons(stage, custom_ids(shown)[0])
    await restart(stage)
    admin, copy = again(stage, stage.admin, copy)

    pressed = answered(await admin.click(copy, label="B0"))

    assert pressed.content == GONE
    assert ledger.done == []


@pytest.mark.parametrize("subject", ["nothing-0", "nothing", "-", "x-99999999999999999999999"])
async def test_a_draft_that_never_was_is_gone(stage: Stage, probe: Probe, subject: str) -> None:
    message = await post_buttons(stage, f"t1:draft:{subject}")

    assert answered(await stage.admin.click(message, label="B0")).content == GONE


async def test_of_two_processes_that_hear_a_press_the_one_that_holds_the_draft_answers(
    stage: Stage, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []

    async def _wait(_seconds: float) -> None:
        order.append("the other waits")

    shown = await stage.run(stage.admin, "steer")
    said = CustomId("draft", custom_ids(shown)[0].rpartition(":")[2])
    other: Any = Drafts(stage.bot.clock, instance="f" * 32)
    monkeypatch.setattr("bot.drafts.asyncio.sleep", _wait)
    with pytest.raises(GoneError):
        await other.pressed(FakePress(stage), said)
    monkeypatch.undo()
    with pytest.raises(GoneError):
        # Its own that is gone it answers at once.
        await stage.bot.drafts.pressed(FakePress(stage), CustomId("draft", said.subject[:12] + "-0"))  # type: ignore[arg-type]

    assert order == ["the other waits"]
    await press(stage.admin, shown, "Do it")
    assert ledger.done == ["Do it"]


async def test_a_choice_that_is_not_there_is_gone_and_the_draft_stays(stage: Stage, ledger: Ledger) -> None:
    shown = await stage.run(stage.admin, "steer")
    message = await post_buttons(stage, custom_ids(shown)[0].replace("-0", "-2"))

    assert answered(await stage.admin.click(message, label="B0")).content == GONE
    assert len(stage.bot.drafts) == 1


async def test_a_choice_may_ask_the_next_question_in_the_place_of_the_first(stage: Stage, probe: Probe) -> None:
    ledger = Ledger(stage.bot.drafts)

    async def _next(interaction: Interaction) -> None:
        await stage.bot.drafts.offer(interaction, "Really?", [ledger.choice("Yes"), BACK])

    async def _ask(interaction: Interaction) -> None:
        await stage.bot.drafts.offer(interaction, "Shall I?", [Choice("Go on", _next)])

    probe.do = _ask
    shown = await stage.run(stage.admin, "steer")
    await press(stage.admin, shown, "Go on")
    assert (shown.content, labels(shown)) == ("Really?", ["Yes", "Back"])

    await press(stage.admin, shown, "Yes")
    assert (shown.content, ledger.done) == ("Yes: done.", ["Yes"])


async def test_what_a_choice_raises_is_told_where_the_question_stood(stage: Stage, probe: Probe) -> None:
    async def _ask(interaction: Interaction) -> None:
        await stage.bot.drafts.offer(interaction, "Shall I?", [Choice("Do it", raising(RefusedError("No.")))])

    probe.do = _ask
    shown = await stage.run(stage.admin, "steer")
    await press(stage.admin, shown, "Do it")

    assert (shown.content, labels(shown)) == ("No.", [])


async def test_a_database_that_fails_in_the_middle_of_a_choice_says_to_look_first(stage: Stage, probe: Probe) -> None:
    async def _ask(interaction: Interaction) -> None:
        broken = Choice("Do it", raising(OperationalError("SELECT secret FROM somewhere")))
        await stage.bot.drafts.offer(interaction, "Shall I?", [broken])

    probe.do = _ask
    shown = await stage.run(stage.admin, "steer")
    await press(stage.admin, shown, "Do it")

    assert shown.content == (
        "The database does not answer, so I cannot tell whether this was done; look, then run the command again."
    )
    assert labels(shown) == []


async def test_a_press_that_expired_before_it_was_answered_leaves_the_draft(
    stage: Stage, ledger: Ledger, told: "list[EventDict]"
) -> None:
    shown = await stage.run(stage.admin, "steer")
    stage.discord_.env.inject_error("POST", "/interactions/*/*/callback", status=404, code=10_062)

    await press(stage.admin, shown, "Do it")
    assert ledger.done == []

    await press(stage.admin, shown, "Do it")
    assert ledger.done == ["Do it"]


async def test_the_oldest_of_too_many_drafts_goes(stage: Stage, probe: Probe) -> None:
    drafts = Drafts(stage.bot.clock, instance="one", most=2)
    ledger = Ledger(drafts)
    probe.do = ledger.ask
    for _ in range(3):
        await stage.run(stage.admin, "steer")

    assert len(drafts) == 2


async def test_drafts_that_nobody_answered_are_let_go(stage: Stage, ledger: Ledger) -> None:
    await stage.run(stage.admin, "steer")
    stage.discord_.world.advance_to(stage.now() + 10 * MINUTE)
    await stage.run(stage.admin, "steer")

    assert len(stage.bot.drafts) == 1
