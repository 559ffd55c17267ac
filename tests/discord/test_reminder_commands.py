"""``/reminders`` as an admin uses it: what is to come, why something came or did not, and what failed tried again."""

import datetime as dt

import pytest

from bot.command_tree import NotAllowedError
from bot.message.limits import CONTENT, length
from bot.scheduling.bodies import CHECK_EVENT_REMINDERS
from models.audit_log import AuditLog
from models.event import Event
from models.guild_settings import GuildSettings
from models.states import EventState
from tests.builders import DAY, HOUR, OTHER_GUILD, log_rows, make_event, make_series
from tests.discord.acting import Stage, elsewhere
from tests.people import sign_up

NASTY = "@everyone <@&1> **b** `c` ||s||"


def full(moment: dt.datetime) -> str:
    return f"<t:{int(moment.timestamp())}:F>"


async def an_event(stage: Stage, **fields: object) -> Event:
    return await make_event(now=stage.now(), guild_id=stage.guild_id, **fields)  # type: ignore[arg-type]


async def fired(stage: Stage) -> None:
    """Let the bot send what is due."""
    services = stage.bot.services
    await services.agenda.run(services.body(CHECK_EVENT_REMINDERS), stage.now())
    await services.settle()


async def test_the_forecast_lists_by_day_what_comes_and_what_does_not(stage_everywhere: Stage) -> None:
    stage = stage_everywhere
    first = await an_event(stage, starts_in=30 * HOUR)
    asks = {"discord_announcement": False, "discord_confirm_attendance": True, "state": EventState.SIGNUPS_OPEN}
    await an_event(stage, name="Walk", starts_in=4 * DAY, **asks)

    says = await stage.says(stage.admin, "reminders forecast")

    at = first.scheduled_at - 24 * HOUR
    assert says.startswith(f"What I send in the next 7 days, as of {full(stage.now())}, if nobody changes anything:")
    assert f"**<t:{int(at.timestamp())}:D>**\n- <t:{int(at.timestamp())}:t> announcement of Raid night" in says
    assert f"in <#{stage.discord_.place.announcements_id}>" in says
    assert says.count("not sent: there is nobody to tell") == 2
    assert await stage.says(stage.admin, "reminders forecast", days=1) != says


async def test_with_nothing_ahead_the_forecast_says_so(stage: Stage) -> None:
    assert await stage.says(stage.admin, "reminders forecast", days=1) == "Nothing is to be sent in the next 24 hours."


async def test_a_long_forecast_is_cut_between_lines_and_whole_in_a_file(stage: Stage) -> None:
    series = {"frequency": "daily", "day_of_week": None, "name": "_" * 100, "starts_at": dt.date(2026, 1, 1)}
    await make_series(now=stage.now(), guild_id=stage.guild_id, **series)

    answer = await stage.run(stage.admin, "reminders forecast", days=60)

    (attached,) = answer.attachments
    table = (stage.discord_.backend.cdn.get(attached.url) or b"").decode("utf-8-sig").splitlines()
    shown = answer.content.count("announcement of")
    assert length(answer.content) <= CONTENT
    assert answer.content.endswith(f"\n+{61 - shown} more")
    assert shown > 3
    assert attached.filename == "forecast.csv"
    assert len(table) == 62
    channel = stage.discord_.place.announcements_id
    assert table[2] == f"2026-03-01 19:00:00,announcement,{'_' * 100},2026-03-02 19:00:00,#{channel},0,"


async def test_the_forecast_knows_where_the_bot_may_not_post(stage: Stage) -> None:
    await an_event(stage, starts_in=30 * HOUR)
    stage.discord_.deny(send_messages=True)

    assert "not sent: I may not post in its channel" in await stage.says(stage.admin, "reminders forecast")


async def test_a_forecast_for_fewer_days_than_one_or_too_many_is_not_offered(stage: Stage) -> None:
    root = stage.discord_.backend.find_command("reminders", None, type=1)
    (command,) = [one for one in root["options"] if one["name"] == "forecast"]

    assert [(one["min_value"], one["max_value"]) for one in command["options"]] == [(1, 60)]


async def test_why_tells_what_was_sent_and_of_a_person_what_they_are_told(stage_everywhere: Stage) -> None:
    stage = stage_everywhere
    event = await an_event(stage, state=EventState.SIGNUPS_OPEN, discord_confirm_attendance=True)
    await sign_up(event, [stage.member.id])
    await fired(stage)

    says = await stage.says(stage.admin, "reminders why", event=str(event.id), person=stage.member)
    other = await stage.says(stage.admin, "reminders why", event=str(event.id), person=stage.other_member)

    assert f"- **announcement**: sent {full(stage.now())} https://discord.com/channels/{stage.guild_id}/" in says
    assert f"<@{stage.member.id}> will be told {full(event.scheduled_at - 2 * HOUR)}." in says
    assert f"<@{stage.other_member.id}> is not signed up." in other


async def test_what_failed_is_tried_again_once_it_is_mended(stage_everywhere: Stage) -> None:
    stage = stage_everywhere
    event = await an_event(stage)
    await GuildSettings.filter(guild_id=stage.guild_id).update(announcement_channel_id=None)
    await fired(stage)
    await GuildSettings.filter(guild_id=stage.guild_id).update(
        announcement_channel_id=stage.discord_.place.announcements_id
    )

    assert "no channel was set" in await stage.says(stage.admin, "reminders why", event=str(event.id))
    says = await stage.says(stage.admin, "reminders retry", event=str(event.id))
    await fired(stage)

    assert says.startswith("Tried again now for **Raid night**: announcement.")
    assert [row.success for row in await log_rows()] == [False, True]
    assert len(stage.discord_.messages()) == 1
    assert await AuditLog.filter(action="reminder.retry", actor_user_id=stage.admin.id).count() == 1
    assert (await stage.says(stage.admin, "reminders retry", event=str(event.id))).startswith("Nothing of")


@pytest.mark.parametrize("command", ["forecast", "why", "retry"])
async def test_a_manager_may_and_a_plain_member_may_not(stage: Stage, command: str) -> None:
    event = await an_event(stage)
    options = {} if command == "forecast" else {"event": str(event.id)}

    assert await stage.says(stage.member, f"reminders {command}", **options) == str(NotAllowedError())
    assert "Raid night" in await stage.says(stage.manager, f"reminders {command}", **options)


@pytest.mark.parametrize("command", ["why", "retry"])
async def test_an_event_that_is_gone_or_another_servers_is_not_there(stage: Stage, command: str) -> None:
    event, theirs = await an_event(stage), await make_event(now=stage.now(), guild_id=OTHER_GUILD)
    await event.delete()

    for typed in (str(event.id), str(theirs.id), "Raid night", NASTY):
        says = await stage.says(stage.admin, f"reminders {command}", event=typed)
        assert says.startswith("There is no event ")


async def test_from_another_server_nothing_of_this_one_is_seen(stage: Stage) -> None:
    event = await an_event(stage)
    actor, channel = await elsewhere(stage)

    seen = await actor.slash(channel, "reminders forecast")
    why = await actor.slash(channel, "reminders why", event=str(event.id))

    assert seen.response is not None
    assert seen.response.content == "Nothing is to be sent in the next 7 days."
    assert why.response is not None
    assert why.response.content.startswith("There is no event ")


async def test_a_name_pings_nobody_and_is_no_markup(stage: Stage) -> None:
    event = await an_event(stage, name=NASTY)

    for command, options in (("forecast", {}), ("why", {"event": str(event.id)}), ("retry", {"event": str(event.id)})):
        says = await stage.says(stage.admin, f"reminders {command}", **options)
        assert "\\@everyone" in says
        assert "@everyone" not in says.replace("\\@everyone", "")
    bodies = [one.json for one in stage.discord_.env.http_requests if "/webhooks/" in one.path]
    assert [body["allowed_mentions"] for body in bodies if isinstance(body, dict)] == [{"parse": []}] * len(bodies)


async def test_completion_offers_every_event_to_ask_about_and_those_ahead_to_try_again(stage: Stage) -> None:
    for state in EventState:
        await an_event(stage, name=f"E {state.value}", state=state)

    async def offered(command: str) -> int:
        return len(await stage.admin.autocomplete(stage.channel, f"reminders {command}", "event", "e "))

    assert (await offered("why"), await offered("retry")) == (6, 3)
    assert await stage.member.autocomplete(stage.channel, "reminders why", "event", "") == []
