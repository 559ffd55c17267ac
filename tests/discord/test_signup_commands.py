"""``/signups`` as an admin uses it, the buttons of an offer, and the role of those with a place: the real client."""

import asyncio

import discord
import pytest

from bot.scheduling.bodies import SYNC_ATTENDEE_ROLES, TELL_PROMOTIONS
from models.audit_log import AuditLog
from models.event import Event
from models.event_signup import EventSignup
from models.ops_note import OpsNote
from models.states import EventState, SignupStatus
from tests.builders import HOUR, MINUTE, SECOND, make_event
from tests.discord.acting import Stage, answered, elsewhere, labels, press
from tests.discord.pressing import event_buttons, post, restarted

SIGNED_UP, CONFIRMED, TENTATIVE, WAITLISTED, DECLINED, REMOVED = SignupStatus
CHANGES = ("add", "remove", "no-show")


async def open_event(stage: Stage, **fields: object) -> Event:
    wanted = {"guild_id": stage.guild_id, "state": EventState.SIGNUPS_OPEN, "discord_announcement": False} | fields
    return await make_event(now=stage.now(), **wanted)  # type: ignore[arg-type]


async def statuses() -> dict[int, SignupStatus]:
    return {row.user_id: row.status for row in await EventSignup.all().order_by("id")}


async def test_an_admin_adds_lists_removes_and_exports(stage_everywhere: Stage) -> None:
    stage = stage_everywhere
    event = str((await open_event(stage, max_players=1)).id)

    added = await stage.says(stage.admin, "signups add", event=event, person=stage.member)
    twice = await stage.says(stage.manager, "signups add", event=event, person=stage.member)
    listed = await stage.says(stage.manager, "signups list", event=event)
    asked = await stage.run(stage.admin, "signups add", event=event, person=stage.other_member)
    offered = labels(asked)
    await press(stage.admin, asked, "Put on the wait-list")
    waits = asked.content
    removed = await stage.says(stage.admin, "signups remove", event=event, person=stage.member)
    file = await stage.run(stage.admin, "signups export", event=event)

    assert added == f"<@{stage.member.id}> is signed up for **Raid night**."
    assert twice == f"<@{stage.member.id}> is signed up for **Raid night** already."
    assert listed.endswith(f"Places (1 of 1): <@{stage.member.id}>")
    assert offered == ["Put on the wait-list", "Go over the limit", "Discard"]
    assert waits == f"<@{stage.other_member.id}> is on the wait-list of **Raid night** as number 1."
    assert removed.endswith(f"Next in line: <@{stage.other_member.id}>.")
    assert await statuses() == {stage.member.id: REMOVED, stage.other_member.id: SIGNED_UP}
    (attached,) = file.attachments
    assert (attached.filename, file.content) == (f"signups-{event}.csv", "**Raid night**: 2 people, times in UTC.")
    assert [row.action for row in await AuditLog.all().order_by("id")] == [
        "event.signup_add",
        "event.signup_add",
        "event.signup_remove",
    ]


async def test_over_the_limit_takes_a_second_button(stage: Stage) -> None:
    event = await open_event(stage, max_players=1)
    await stage.says(stage.admin, "signups add", event=str(event.id), person=stage.member)
    asked = await stage.run(stage.admin, "signups add", event=str(event.id), person=stage.other_member)

    await press(stage.admin, asked, "Go over the limit")

    assert set((await statuses()).values()) == {SIGNED_UP}


async def test_a_plain_member_may_use_none_of_it(stage: Stage) -> None:
    event = str((await open_event(stage)).id)

    told = [
        await stage.says(stage.member, f"signups {name}", event=event, person=stage.other_member) for name in CHANGES
    ]
    told += [await stage.says(stage.member, f"signups {name}", event=event) for name in ("list", "export")]

    assert set(told) == {"You need the Manage Server permission here, or this server's manager role."}
    assert await statuses() == {}


async def test_from_another_server_and_after_its_deletion_there_is_no_such_event(stage: Stage) -> None:
    event = await open_event(stage)
    abroad, channel = await elsewhere(stage)
    answers = [
        answered(await abroad.slash(channel, f"signups {name}", event=str(event.id))).content
        for name in ("list", "export")
    ]
    for name in CHANGES:
        given = await abroad.slash(channel, f"signups {name}", event=str(event.id), person=abroad)
        answers.append(answered(given).content)
    await event.delete()
    answers += [await stage.says(stage.admin, "signups list", event=str(event.id))]

    assert all(says.startswith("There is no event") for says in answers)
    assert await EventSignup.all().count() == 0


async def test_a_bot_and_somebody_who_left_cannot_be_added_and_who_left_can_be_removed(stage: Stage) -> None:
    event = str((await open_event(stage)).id)
    await stage.says(stage.admin, "signups add", event=event, person=stage.member)
    robot = stage.discord_.guild.add_member(stage.discord_.env.create_user("robot", bot=True))
    stage.discord_.guild.remove_member(stage.member)
    await stage.discord_.env.settle()

    told = [
        await stage.says(stage.admin, "signups add", event=event, person=robot),
        await stage.says(stage.admin, "signups add", event=event, person=stage.member.user),
        await stage.says(stage.admin, "signups remove", event=event, person=stage.member.user),
    ]

    assert told[:2] == [
        f"<@{robot.id}> is a bot, so nothing was changed.",
        f"<@{stage.member.id}> is not in this server, so nothing was changed.",
    ]
    assert told[2].startswith(f"<@{stage.member.id}> was taken off **Raid night**")
    assert await statuses() == {stage.member.id: REMOVED}


async def test_a_no_show_is_noted_after_the_start_alone(stage: Stage) -> None:
    event = await open_event(stage)
    await stage.says(stage.admin, "signups add", event=str(event.id), person=stage.member)

    early = await stage.says(stage.admin, "signups no-show", event=str(event.id), person=stage.member)
    await Event.filter(id=event.id).update(state=EventState.IN_PROGRESS)
    noted = await stage.says(stage.admin, "signups no-show", event=str(event.id), person=stage.member)

    assert early == "**Raid night** has not begun: who did not show up can be noted from its start on."
    assert noted == f"It is noted that <@{stage.member.id}> did not come to **Raid night**."


# ------------------------------------------------------------------------------------------------- offers by message


async def offered(stage: Stage, **fields: object) -> Event:
    """Return an event whose one place is held for the member, and the other member next in line."""
    event = await open_event(stage, max_players=1, signup_offer_minutes=30, **fields)
    message = await post(stage.bot, stage.channel, event_buttons(event.id))
    for actor in (stage.manager, stage.member, stage.other_member):
        await actor.click(message, label="Sign up")
    await stage.manager.click(message, label="Can't")
    await told(stage)
    return event


async def told(stage: Stage) -> None:
    """Let the direct messages that are due go out."""
    services = stage.bot.services
    services.agenda.wake(TELL_PROMOTIONS, stage.now())
    for _ in range(8):
        for body in services.bodies:
            at = services.agenda.next(body.name)
            if at is not None and at <= stage.now():
                await services.agenda.run(body, stage.now())
        await services.settle()
        await asyncio.sleep(0)
        stage.discord_.world.advance_to(stage.now() + SECOND)


@pytest.mark.parametrize("is_restarted", [False, True])
async def test_the_offer_is_accepted_in_the_dm_also_after_a_restart(stage: Stage, is_restarted: bool) -> None:
    await offered(stage)
    user = stage.member.user
    if is_restarted:
        await restarted(stage)
        user = stage.discord_.world.member_handle(stage.discord_.place, stage.member.id).user
    (message,) = user.dm_channel.history()

    accepted = answered(await user.click(message, label="Accept")).content
    again = answered(await user.click(message, label="Accept")).content

    assert message.content.startswith("A place became free, and it is held for you until <t:")
    assert accepted.startswith("You are signed up for **Raid night**: ")
    assert again == "You are signed up for **Raid night** already."
    assert (await statuses())[stage.member.id] is SIGNED_UP


async def test_no_thanks_passes_the_place_on_and_a_late_press_is_answered_in_words(stage: Stage) -> None:
    await offered(stage)
    (message,) = stage.member.user.dm_channel.history()

    declined = answered(await stage.member.user.click(message, label="No thanks")).content
    await told(stage)
    (second,) = stage.other_member.user.dm_channel.history()
    stage.discord_.world.advance_to(stage.now() + 31 * MINUTE)
    late = answered(await stage.other_member.user.click(second, label="Accept")).content

    assert declined == "You are down as not coming to **Raid night**; you left its wait-list."
    assert late.startswith("No place in **Raid night** is held for you any more.")


async def test_who_left_the_server_after_the_offer_cannot_accept_and_before_it_is_not_asked(stage: Stage) -> None:
    event = await offered(stage)
    (message,) = stage.member.user.dm_channel.history()
    for actor in (stage.member, stage.other_member):
        stage.discord_.guild.remove_member(actor)
    await stage.discord_.env.settle()

    refused = answered(await stage.member.user.click(message, label="Accept")).content
    await stage.says(stage.admin, "signups remove", event=str(event.id), person=stage.member.user)
    await told(stage)

    assert refused == "You are not in that server any more, so nothing was changed."
    assert (await statuses())[stage.other_member.id] is DECLINED
    assert stage.other_member.user.dm_channel.history() == []


# ----------------------------------------------------------------------------------------------------------- the role


async def synced(stage: Stage) -> None:
    await stage.bot.services.agenda.run(stage.bot.services.body(SYNC_ATTENDEE_ROLES), stage.now())


def has_role(stage: Stage, role_id: int) -> bool:
    return role_id in stage.discord_.backend.get_member(stage.guild_id, stage.member.id).role_ids


async def test_the_role_is_given_and_taken_by_the_real_client(stage_everywhere: Stage) -> None:
    stage = stage_everywhere
    role = stage.discord_.guild.create_role("Raiders")
    event = await open_event(stage, attendee_role_id=role.id)
    message = await post(stage.bot, stage.channel, event_buttons(event.id))

    await stage.member.click(message, label="Sign up")
    await synced(stage)
    given = has_role(stage, role.id)
    await stage.member.click(message, label="Can't")
    await synced(stage)

    assert (given, has_role(stage, role.id)) == (True, False)


async def test_a_role_that_the_bot_may_not_give_is_noted_and_the_sign_up_stands(stage: Stage) -> None:
    owners = stage.discord_.guild.create_role("Owners")
    event = await open_event(stage, attendee_role_id=owners.id)
    stage.discord_.env.inject_error("PUT", "/guilds/*/members/*/roles/*", status=403, code=50013)
    await stage.says(stage.admin, "signups add", event=str(event.id), person=stage.member)

    await synced(stage)

    note = await OpsNote.get(fault=f"role:{owners.id}")
    assert note.says.startswith(f"I may not give or take the role <@&{owners.id}>")
    assert await statuses() == {stage.member.id: SIGNED_UP}
    stage.discord_.world.advance_to(stage.now() + HOUR)
    await synced(stage)
    assert has_role(stage, owners.id)


@pytest.mark.parametrize("command", ["event", "series"])
async def test_the_offer_and_the_role_are_options_that_are_shown(stage: Stage, command: str) -> None:
    role = stage.discord_.guild.create_role("Raiders")
    when = {"when": "2026-03-10 19:30"} if command == "event" else {"frequency": "weekly", "time": "19:30"}

    shown = await stage.run(stage.admin, f"{command} create", name="Raid", attendee_role=role, offer_minutes=45, **when)
    previewed = shown.content
    await press(stage.admin, shown, "Create")

    assert f"Who has a place has the role <@&{role.id}> until it is over." in previewed
    assert "A freed place is held 45 min for the next in line, who is asked." in previewed
    for event in await Event.all():
        assert (event.attendee_role_id, event.signup_offer_minutes) == (role.id, 45)
    assert await Event.all().count()


async def test_a_role_that_the_bot_cannot_give_is_said_before_it_is_stored(stage: Stage) -> None:
    role = stage.discord_.guild.create_role("Raiders")
    await stage.discord_.env.settle()
    guild = stage.bot.get_guild(stage.guild_id)
    assert guild is not None
    own, theirs = guild.me.top_role, guild.get_role(role.id)
    assert theirs is not None
    theirs.position = own.position + 1
    for one in guild.me.roles:
        one._permissions = discord.Permissions(view_channel=True, send_messages=True).value

    shown = await stage.run(stage.admin, "event create", name="Raid", when="2026-03-10 19:30", attendee_role=role)

    mend = f"grant me Manage Roles and drag my role <@&{own.id}> above it in the list of roles."
    assert f"I may not give <@&{role.id}> as it stands: {mend}" in shown.content
    assert labels(shown) == ["Create", "Discard"]
