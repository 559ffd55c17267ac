"""The players' commands: what is ahead and where one stands, and being reminded of a series or not."""

from typing import TYPE_CHECKING

import pytest

from bot.message.limits import EMBED_DESCRIPTION, length
from models.event import Event
from models.event_signup import EventSignup
from models.repeater_subscription import RepeaterSubscription
from models.states import EventState, SignupStatus
from tests.builders import DAY, HOUR, make_event, make_guild, make_series
from tests.discord.acting import Stage, answered, show_commands
from tests.discord.pressing import again, restarted

if TYPE_CHECKING:
    from simcord.actors import MemberActor

ELSEWHERE = 4_711


async def an_event(stage: Stage, name: str, **fields: object) -> Event:
    wanted = {"guild_id": stage.guild_id, "name": name, "state": EventState.SIGNUPS_OPEN} | fields
    return await make_event(now=stage.now(), **wanted)  # type: ignore[arg-type]


async def ahead(stage: Stage, actor: "MemberActor") -> str:
    """Return what somebody reads of the events ahead."""
    shown = await stage.run(actor, "events")
    assert shown.content == ""
    (embed,) = shown.embeds
    assert embed.title == "What is ahead"
    return embed.description or ""


async def stand(event: Event, user_id: int, status: SignupStatus, position: int | None = None) -> None:
    await EventSignup.create(
        event=event,
        user_id=user_id,
        status=status,
        position=position,
        created_at=event.created_at,
        changed_at=event.created_at,
    )


async def test_events_shows_what_is_ahead_in_this_server_and_where_one_stands(stage_everywhere: Stage) -> None:
    stage = stage_everywhere
    raid = await an_event(stage, "Raid *@here*", starts_in=2 * HOUR, max_players=2)
    await an_event(stage, "Later", starts_in=2 * DAY, state=EventState.UPCOMING)
    await an_event(stage, "Begun", starts_in=0 * HOUR)
    await an_event(stage, "Off", state=EventState.CANCELLED)
    await an_event(stage, "Elsewhere", guild_id=ELSEWHERE)
    for user_id in (1, 2):
        await stand(raid, user_id, SignupStatus.SIGNED_UP)
    for position, user_id in enumerate((3, stage.member.id), 5):
        await stand(raid, user_id, SignupStatus.WAITLISTED, position)

    mine, managers = await ahead(stage, stage.member), await ahead(stage, stage.manager)

    times = [int((stage.now() + delay).timestamp()) for delay in (2 * HOUR, 2 * DAY)]
    assert mine.splitlines() == [
        rf"**Raid \*\@here\*** <t:{times[0]}:F> (<t:{times[0]}:R>)",
        "2 of 2 places taken · sign-ups open · **you are number 2 on the wait-list**",
        f"**Later** <t:{times[1]}:F> (<t:{times[1]}:R>)",
        "0 coming · sign-ups not open yet",
    ]
    assert managers.splitlines()[1] == "2 of 2 places taken · sign-ups open"


async def test_an_event_leads_to_its_post(stage: Stage) -> None:
    await an_event(stage, "Raid [x]", announcement_channel_id=5, announcement_message_id=6)

    assert rf"**[Raid \[x\]](https://discord.com/channels/{stage.guild_id}/5/6)**" in await ahead(stage, stage.member)


async def test_with_nothing_ahead_events_says_so_to_everybody(stage: Stage) -> None:
    await an_event(stage, "Elsewhere", guild_id=ELSEWHERE)

    for actor in (stage.admin, stage.manager, stage.member):
        assert await stage.says(actor, "events") == "Nothing is ahead in this server for now."


async def test_more_events_than_fit_are_counted(stage_everywhere: Stage) -> None:
    stage = stage_everywhere
    for number in range(70):
        await an_event(stage, f"{number:02} {'*' * 90}", starts_in=(number + 1) * HOUR)

    text = await ahead(stage, stage.member)

    shown = text.count("coming")
    assert length(text) <= EMBED_DESCRIPTION
    assert 0 < shown < 60
    assert text.splitlines()[-1] == f"+{70 - shown} more"


# -------------------------------------------------------------------------------------------------------- subscriptions


async def test_each_kind_of_person_subscribes_and_unsubscribes_once(stage_everywhere: Stage) -> None:
    stage = stage_everywhere
    series = await make_series(now=stage.now(), guild_id=stage.guild_id, discord_signup_reminder=True)
    key = str(series.id)

    for actor in (stage.admin, stage.manager, stage.member):
        told = [await stage.says(actor, "subscribe", series=key) for _ in range(2)]
        assert told == [
            "I will remind you of the sign-ups for **London Sunday** by DM. `/unsubscribe` ends it.",
            "You are reminded of **London Sunday** already. `/unsubscribe` ends it.",
        ]
    told = [await stage.says(stage.member, "unsubscribe", series=key) for _ in range(2)]

    assert told == [
        "I will no longer remind you of **London Sunday**.",
        "You were not reminded of **London Sunday**, so nothing changes.",
    ]
    assert {row.user_id for row in await RepeaterSubscription.all()} == {stage.admin.id, stage.manager.id}


@pytest.mark.parametrize("command", ["subscribe", "unsubscribe"])
async def test_a_series_of_another_server_deleted_or_never_there_is_refused(
    stage_everywhere: Stage, command: str
) -> None:
    stage = stage_everywhere
    others = await make_series(now=stage.now(), guild_id=ELSEWHERE)
    deleted = await make_series(now=stage.now(), guild_id=stage.guild_id)
    await deleted.delete()

    told = [
        await stage.says(stage.member, command, series=typed)
        for typed in (str(others.id), str(deleted.id), "London Sunday", "@everyone", "9" * 30)
    ]

    assert all(sentence.startswith("There is no series ") for sentence in told)
    assert "@everyone" not in told[3].replace(r"\@everyone", "")
    assert await RepeaterSubscription.all().count() == 0


async def test_another_servers_member_subscribes_to_nothing_of_the_first(stage: Stage) -> None:
    env = stage.discord_.env
    series = await make_series(now=stage.now(), guild_id=stage.guild_id)
    elsewhere = env.create_guild("Elsewhere", owner=env.create_user("owner"))
    channel, actor = elsewhere.create_text_channel("lobby"), elsewhere.add_member(stage.member.user)
    await env.settle()
    show_commands(stage.discord_, elsewhere)
    await make_guild(elsewhere.id)

    told = answered(await actor.slash(channel, "subscribe", series=str(series.id))).content
    offered = await actor.autocomplete(channel, "subscribe", "series", "")

    assert told.startswith("There is no series ")
    assert offered == []


async def test_only_active_series_of_the_server_are_offered_and_only_ones_own_to_unsubscribe(
    stage_everywhere: Stage,
) -> None:
    stage = stage_everywhere
    first = await make_series(now=stage.now(), guild_id=stage.guild_id, name="Raid")
    await make_series(now=stage.now(), guild_id=stage.guild_id, name="Raid, paused", is_active=False)
    await make_series(now=stage.now(), guild_id=stage.guild_id, name="Arena")
    await make_series(now=stage.now(), guild_id=ELSEWHERE, name="Raid elsewhere")
    await stage.says(stage.member, "subscribe", series=str(first.id))

    offered = await stage.member.autocomplete(stage.channel, "subscribe", "series", "rai")
    mine = await stage.member.autocomplete(stage.channel, "unsubscribe", "series", "")
    others = await stage.other_member.autocomplete(stage.channel, "unsubscribe", "series", "")

    assert [(one["name"], one["value"]) for one in offered] == [("Raid", str(first.id))]
    assert [(one["name"], one["value"]) for one in mine] == [("Raid", str(first.id))]
    assert others == []


async def test_the_commands_work_after_a_restart(stage: Stage) -> None:
    series = await make_series(now=stage.now(), guild_id=stage.guild_id, discord_signup_reminder=True)
    await stage.says(stage.member, "subscribe", series=str(series.id))
    await restarted(stage)
    member = again(stage.discord_, stage.member)
    channel = stage.discord_.world.channel_handle(stage.discord_.place, stage.channel.id)

    told = [answered(await member.slash(channel, "subscribe", series=str(series.id))).content]
    told.append(answered(await member.slash(channel, "events")).content)

    assert told == [
        "You are reminded of **London Sunday** already. `/unsubscribe` ends it.",
        "Nothing is ahead in this server for now.",
    ]


async def test_the_players_commands_are_offered_to_everybody_in_a_server_and_nowhere_else(stage: Stage) -> None:
    await stage.member.user.send_dm("hello")
    theirs = {"events", "subscribe", "unsubscribe", "profile", "notifications"}

    assert theirs <= set(stage.member.available_commands(stage.channel))
    assert theirs.isdisjoint(stage.member.user.available_commands())
