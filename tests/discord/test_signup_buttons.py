"""The buttons of events and series: by everybody, in servers and in direct messages, on posts of any age."""

import asyncio
from typing import TYPE_CHECKING

import pytest
from simcord.actors import MemberActor
from simcord.builders import UserHandle

from bot.message.custom_ids import Verb, encode
from bot.message.outgoing import Button
from bot.reminders.content import signup_buttons
from bot.scheduling.bodies import SYNC_DISCORD_EVENTS
from models.event import Event
from models.event_signup import EventSignup
from models.repeater_subscription import RepeaterSubscription
from models.states import EventState, SignupStatus
from tests.builders import HOUR, SECOND, make_event, make_series
from tests.discord.acting import Stage, answered
from tests.discord.pressing import LABELS, again, event_buttons, post, restarted, seen_again, send_dm

if TYPE_CHECKING:
    import discord

GONE = "This is no longer available."
SIGNED_UP, CONFIRMED, TENTATIVE, WAITLISTED, DECLINED, REMOVED = SignupStatus


async def open_event(stage: Stage, **fields: object) -> Event:
    wanted = {"guild_id": stage.guild_id, "state": EventState.SIGNUPS_OPEN} | fields
    return await make_event(now=stage.now(), **wanted)  # type: ignore[arg-type]


async def says(actor: MemberActor | UserHandle, message: "discord.Message", label: str) -> str:
    """Let somebody press; return what they read, and nobody else."""
    return answered(await actor.click(message, label=label)).content


async def says_of_all(actor: MemberActor | UserHandle, message: "discord.Message") -> list[str]:
    return [await says(actor, message, label) for label in LABELS.values()]


async def statuses() -> dict[int, SignupStatus]:
    return {row.user_id: row.status for row in await EventSignup.all().order_by("id")}


# -------------------------------------------------------------------------------------------------------- in a server


async def test_each_button_does_what_it_says_and_only_who_pressed_reads_it(stage_everywhere: Stage) -> None:
    stage = stage_everywhere
    event = await open_event(stage)
    message = await post(stage.bot, stage.channel, event_buttons(event.id))

    told = []
    for label in ("Sign up", "I'll be there", "Maybe", "Can't", "Sign up", "Can't make it"):
        sentence = await says(stage.member, message, label)
        told.append((sentence.partition("**Raid night**")[0], (await statuses())[stage.member.id]))

    assert told == [
        ("You are signed up for ", SIGNED_UP),
        ("You have confirmed that you come to ", CONFIRMED),
        ("You are down as maybe for ", TENTATIVE),
        ("You are down as not coming to ", DECLINED),
        ("You are signed up for ", SIGNED_UP),
        ("You are down as not coming to ", DECLINED),
    ]
    assert stage.bot.services.agenda.next(SYNC_DISCORD_EVENTS) is not None
    assert [one.content for one in stage.channel.history(viewer=stage.other_member)] == ["Buttons"]


async def test_admin_manager_and_member_sign_up_alike_and_the_last_place_goes_to_one(stage_everywhere: Stage) -> None:
    stage = stage_everywhere
    event = await open_event(stage, max_players=2)
    message = await post(stage.bot, stage.channel, event_buttons(event.id))

    told = [await says(actor, message, "Sign up") for actor in (stage.admin, stage.manager, stage.member)]
    freed = await says(stage.manager, message, "Can't")

    assert [sentence.split("**")[0] for sentence in told] == ["You are signed up for ", "You are signed up for ", ""]
    assert "You are on its wait-list as number 1" in told[2]
    assert "your place is free for others now" in freed
    assert await statuses() == {
        stage.admin.id: SIGNED_UP,
        stage.manager.id: DECLINED,
        stage.member.id: SIGNED_UP,
    }


async def test_pressing_twice_says_so_and_changes_nothing(stage_everywhere: Stage) -> None:
    stage = stage_everywhere
    event = await open_event(stage)
    message = await post(stage.bot, stage.channel, event_buttons(event.id))
    await says(stage.member, message, "Sign up")
    rows = await EventSignup.all().values()

    again_ = await says(stage.member, message, "Sign up")

    assert again_ == "You are signed up for **Raid night** already."
    assert await EventSignup.all().values() == rows
    assert (await Event.get(id=event.id)).post_version == 1


async def test_whoever_a_button_is_not_for_is_told_so_and_nothing_changes(stage_everywhere: Stage) -> None:
    stage = stage_everywhere
    event = await open_event(stage)
    message = await post(stage.bot, stage.channel, event_buttons(event.id))
    await EventSignup.create(
        event=event, user_id=stage.member.id, status=REMOVED, created_at=stage.now(), changed_at=stage.now()
    )

    removed = await says_of_all(stage.member, message)
    stranger = [await says(stage.other_member, message, label) for label in ("I'll be there", "Can't make it")]

    assert set(removed) == {"An admin took you off **Raid night**; ask them if you want to come after all."}
    assert set(stranger) == {
        "This question is for those who signed up for **Raid night** and have a place; nothing was changed."
    }
    assert await statuses() == {stage.member.id: REMOVED}


async def test_the_role_that_an_event_asks_for_is_read_off_the_press_and_named_without_a_ping(stage: Stage) -> None:
    event = await open_event(stage, required_role_id=stage.manager_role.id)
    message = await post(stage.bot, stage.channel, event_buttons(event.id))

    refused = await says(stage.member, message, "Sign up")
    let_in = await says(stage.manager, message, "Sign up")

    bodies = [
        one.json for one in stage.discord_.env.http_requests if one.method == "PATCH" and "/webhooks/" in one.path
    ]
    assert refused == f"**Raid night** is for people with the role <@&{stage.manager_role.id}>; ask an admin for it."
    assert let_in.startswith("You are signed up")
    assert [body["allowed_mentions"] for body in bodies if isinstance(body, dict)] == [{"parse": []}] * 2


async def test_the_role_that_everybody_has_keeps_nobody_out(stage: Stage) -> None:
    event = await open_event(stage, required_role_id=stage.guild_id)
    message = await post(stage.bot, stage.channel, event_buttons(event.id))

    assert (await says(stage.member, message, "Sign up")).startswith("You are signed up")


async def test_the_first_servers_ids_reach_nothing_from_another_server(stage_everywhere: Stage) -> None:
    stage = stage_everywhere
    event, series = await open_event(stage), await make_series(now=stage.now(), guild_id=stage.guild_id)
    env = stage.discord_.env
    elsewhere = env.create_guild("Elsewhere", owner=env.create_user("owner"))
    channel = elsewhere.create_text_channel("lobby")
    # A member of both servers, so that the server of the press alone decides.
    actor = elsewhere.add_member(stage.member.user)
    await env.settle()
    notify = Button("Notify me", encode(Verb.NOTIFY, series.id))
    message = await post(stage.bot, channel, event_buttons(event.id))
    second = await post(stage.bot, channel, [notify])

    told = [*await says_of_all(actor, message), await says(actor, second, "Notify me")]

    assert told == [GONE] * 6
    assert await statuses() == {}
    assert await RepeaterSubscription.all().count() == 0


async def test_a_button_of_something_deleted_says_so(stage_everywhere: Stage) -> None:
    stage = stage_everywhere
    event, series = await open_event(stage), await make_series(now=stage.now(), guild_id=stage.guild_id)
    notify = [Button("Notify me", encode(Verb.NOTIFY, series.id))]
    messages = [await post(stage.bot, stage.channel, buttons) for buttons in (event_buttons(event.id), notify)]
    dms = [await send_dm(stage.bot, stage.member.user, buttons) for buttons in (event_buttons(event.id), notify)]
    await event.delete()
    await series.delete()

    told = [*await says_of_all(stage.member, messages[0]), await says(stage.member, messages[1], "Notify me")]
    directly = [*await says_of_all(stage.member.user, dms[0]), await says(stage.member.user, dms[1], "Notify me")]

    assert told == directly == [GONE] * 6


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"state": EventState.UPCOMING}, "Sign-ups for **Raid night** are not open yet. An admin opens them."),
        ({"state": EventState.CANCELLED}, "**Raid night** was cancelled, so nothing was changed."),
        ({"state": EventState.COMPLETED}, "**Raid night** is over, so nothing was changed."),
        ({"starts_in": 0 * HOUR}, "**Raid night** has begun, so nothing was changed."),
    ],
    ids=["not open yet", "cancelled", "over", "begun"],
)
async def test_an_old_posts_buttons_answer_politely_for_ever(
    stage: Stage, fields: dict[str, object], expected: str
) -> None:
    event = await open_event(stage, **fields)
    message = await post(stage.bot, stage.channel, event_buttons(event.id))

    assert set(await says_of_all(stage.member, message)) == {expected}
    assert await statuses() == {}


async def test_the_buttons_of_a_post_from_before_a_restart_work(stage_everywhere: Stage) -> None:
    stage = stage_everywhere
    event = await open_event(stage)
    message = await post(stage.bot, stage.channel, event_buttons(event.id))
    await says(stage.member, message, "Sign up")
    await restarted(stage)
    member, same = again(stage.discord_, stage.member), seen_again(stage.discord_, message)

    told = [await says(member, same, label) for label in ("Sign up", "I'll be there", "Can't make it")]

    assert told[0] == "You are signed up for **Raid night** already."
    assert told[1].startswith("You have confirmed")
    assert told[2].startswith("You are down as not coming")
    assert await statuses() == {stage.member.id: DECLINED}


async def test_the_buttons_that_the_announcement_carries_are_the_ones_that_are_heard(stage: Stage) -> None:
    series = await make_series(now=stage.now(), guild_id=stage.guild_id, discord_signup_reminder=True)
    event = await open_event(stage, series=series)
    message = await post(stage.bot, stage.channel, signup_buttons(event))

    told = [await says(stage.member, message, label) for label in ("Sign up", "Maybe", "Can't", "Notify me")]

    assert told[3] == "I will remind you of the sign-ups for **London Sunday** by DM. `/unsubscribe` ends it."
    assert await statuses() == {stage.member.id: DECLINED}
    assert [row.user_id for row in await RepeaterSubscription.all()] == [stage.member.id]


async def test_notify_me_pressed_twice_says_so(stage_everywhere: Stage) -> None:
    stage = stage_everywhere
    series = await make_series(now=stage.now(), guild_id=stage.guild_id, discord_signup_reminder=True)
    message = await post(stage.bot, stage.channel, [Button("Notify me", encode(Verb.NOTIFY, series.id))])

    await says(stage.member, message, "Notify me")
    second = await says(stage.member, message, "Notify me")

    assert second == "You are reminded of **London Sunday** already. `/unsubscribe` ends it."
    assert await RepeaterSubscription.all().count() == 1


async def test_a_crowd_on_one_post_is_recorded_and_each_is_told_their_place(stage: Stage) -> None:
    event = await open_event(stage, max_players=3)
    message = await post(stage.bot, stage.channel, event_buttons(event.id))
    guild = stage.discord_.guild
    crowd = [guild.add_member(stage.discord_.env.create_user(f"crowd-{number}")) for number in range(12)]
    await stage.discord_.env.settle()

    told = [await says(actor, message, "Sign up") for actor in crowd]

    assert sum(sentence.startswith("You are signed up") for sentence in told) == 3
    assert [sentence.partition("as number ")[2].partition(",")[0] for sentence in told[3:]] == [
        str(number) for number in range(1, 10)
    ]
    assert len(await statuses()) == 12


async def test_a_name_with_a_mention_in_it_is_shown_as_typed_and_pings_nobody(stage: Stage) -> None:
    event = await open_event(stage, name="@everyone **party** <@&1>")
    message = await post(stage.bot, stage.channel, event_buttons(event.id))

    told = await says(stage.member, message, "Sign up")

    assert r"\@everyone \*\*party\*\* \<\@&1\>" in told


async def test_the_verbs_are_let_go_of_when_the_extension_is_unloaded(stage: Stage) -> None:
    event = await open_event(stage)
    message = await post(stage.bot, stage.channel, event_buttons(event.id))
    await stage.bot.unload_extension("cogs.signup_buttons")

    unheard = await says(stage.member, message, "Sign up")
    await stage.bot.load_extension("cogs.signup_buttons")
    heard = await says(stage.member, message, "Sign up")

    assert (unheard, heard.startswith("You are signed up")) == (GONE, True)


# ------------------------------------------------------------------------------------------------ in a direct message


async def test_in_a_dm_each_button_works_for_a_member(stage_everywhere: Stage) -> None:
    stage = stage_everywhere
    event = await open_event(stage, required_role_id=stage.manager_role.id)
    series = await make_series(now=stage.now(), guild_id=stage.guild_id, discord_signup_reminder=True)
    notify = Button("Notify me", encode(Verb.NOTIFY, series.id))
    message = await send_dm(stage.bot, stage.manager.user, event_buttons(event.id))
    second = await send_dm(stage.bot, stage.manager.user, [notify])

    told = [
        (await says(stage.manager.user, message, label)).partition("**Raid night**")[0]
        for label in ("Sign up", "I'll be there", "Maybe", "Can't", "Sign up", "Can't make it")
    ]
    subscribed = await says(stage.manager.user, second, "Notify me")

    assert told == [
        "You are signed up for ",
        "You have confirmed that you come to ",
        "You are down as maybe for ",
        "You are down as not coming to ",
        "You are signed up for ",
        "You are down as not coming to ",
    ]
    assert subscribed.startswith("I will remind you")
    assert await statuses() == {stage.manager.id: DECLINED}


async def test_in_a_dm_the_role_is_asked_of_discord(stage: Stage) -> None:
    event = await open_event(stage, required_role_id=stage.manager_role.id)
    message = await send_dm(stage.bot, stage.member.user, event_buttons(event.id))

    refused = await says(stage.member.user, message, "Sign up")

    assert refused == f"**Raid night** is for people with the role <@&{stage.manager_role.id}>; ask an admin for it."
    assert await statuses() == {}


async def test_who_left_the_server_is_told_so_in_the_dm_and_nothing_changes(stage_everywhere: Stage) -> None:
    stage = stage_everywhere
    event, series = await open_event(stage), await make_series(now=stage.now(), guild_id=stage.guild_id)
    user = stage.member.user
    message = await send_dm(stage.bot, user, event_buttons(event.id))
    second = await send_dm(stage.bot, user, [Button("Notify me", encode(Verb.NOTIFY, series.id))])
    await says(user, message, "Sign up")
    rows = await EventSignup.all().values()
    stage.discord_.guild.remove_member(stage.member)
    await stage.discord_.env.settle()

    told = [*await says_of_all(user, message), await says(user, second, "Notify me")]

    assert told == ["You are not in that server any more, so nothing was changed."] * 6
    assert await EventSignup.all().values() == rows
    assert await RepeaterSubscription.all().count() == 0


async def test_where_discord_does_not_say_who_is_a_member_the_press_is_to_be_tried_again(stage: Stage) -> None:
    event = await open_event(stage)
    message = await send_dm(stage.bot, stage.member.user, event_buttons(event.id))
    stage.discord_.env.inject_error("GET", "/guilds/*/members/*", status=503)

    unknown = await says(stage.member.user, message, "Sign up")
    nobody = await statuses()
    tried_again = await says(stage.member.user, message, "Sign up")

    assert unknown == (
        "Discord did not say whether you are still in that server, so nothing was changed: try again in a minute."
    )
    assert nobody == {}
    assert tried_again.startswith("You are signed up")


async def test_a_dm_about_a_server_that_the_bot_is_not_in_any_more_changes_nothing(stage: Stage) -> None:
    event = await open_event(stage)
    message = await send_dm(stage.bot, stage.member.user, event_buttons(event.id))
    stage.discord_.backend.remove_guild(stage.guild_id)
    await stage.discord_.env.settle()

    told = await says(stage.member.user, message, "Sign up")

    assert told.startswith("Discord did not say whether you are still in that server")
    assert await statuses() == {}


async def test_the_buttons_of_a_dm_from_before_a_restart_work(stage: Stage) -> None:
    event = await open_event(stage)
    message = await send_dm(stage.bot, stage.member.user, event_buttons(event.id))
    await restarted(stage)
    user = again(stage.discord_, stage.member).user
    (same,) = [one for one in user.dm_channel.history() if one.id == message.id]

    assert (await says(user, same, "Sign up")).startswith("You are signed up")


# ------------------------------------------------------------------------------------------------------- the one post


async def test_what_people_press_shows_in_the_post_within_the_debounce(stage_everywhere: Stage) -> None:
    stage = stage_everywhere
    event = await open_event(stage, discord_announcement_hours=24)
    await run_due(stage)
    (message,) = stage.discord_.messages()

    await says(stage.member, message, "Sign up")
    await says(stage.other_member, message, "Maybe")
    stage.discord_.world.advance_to(stage.now() + 3 * SECOND)
    await run_due(stage)

    (shown,) = stage.discord_.messages()
    fields = {field.name: field.value for field in shown.embeds[0].fields}
    assert fields["Coming (1)"] == f"<@{stage.member.id}>"
    assert fields["Maybe (1)"] == f"<@{stage.other_member.id}>"
    edits = [one for one in stage.discord_.env.http_requests if one.method == "PATCH" and "/messages/" in one.path]
    assert len([one for one in edits if f"/messages/{message.id}" in one.path]) == 1
    assert (await Event.get(id=event.id)).post_due_at is None


async def run_due(stage: Stage) -> None:
    """Run every body that is due now."""
    services = stage.bot.services
    for _ in range(20):
        due = [body for body in services.bodies if (at := services.agenda.next(body.name)) and at <= stage.now()]
        if not due:
            return
        for body in due:
            await services.agenda.run(body, stage.now())
        await services.settle()
        await asyncio.sleep(0)
