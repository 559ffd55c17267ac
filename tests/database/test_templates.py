"""A server's templates: what new series and events have where a command leaves it out, set and cleared by admins."""

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.errors import BotError
from bot.events.event_requests import EventDesk, EventRequest
from bot.events.generate import CASCADED_FIELDS
from bot.events.requests import RequestRefusedError
from bot.events.series_requests import SeriesDesk, SeriesRequest
from bot.events.templates import TemplateKind, filled, group_of, groups, in_words, is_reminder, template_of
from bot.message.limits import CONTENT, length
from bot.message.proposal import Proposal, Reply
from bot.operations.guild_templates import TemplateChange, change_template, search_set
from bot.operations.template_values import (
    OPTIONS,
    TemplateRefusedError,
    ValueKind,
    search_options,
    search_values,
    value_kind,
)
from bot.scheduling.agenda import Agenda
from models.audit_log import AuditLog
from models.event import Event
from models.event_repeater import EventRepeater
from models.guild_settings import GuildSettings
from models.states import Frequency
from tests.builders import GUILD, OTHER_GUILD, make_guild, utc

NOW = utc("2026-03-01 12:00")
ADMIN = 42
SERIES, EVENT = TemplateKind.SERIES, TemplateKind.EVENT


async def change(kind: TemplateKind, *, guild_id: int = GUILD, **asked: str) -> str:
    return await change_template(
        kind, TemplateChange(**asked), guild_id=guild_id, actor=ADMIN, default_timezone="UTC", now=NOW
    )


async def put(kind: TemplateKind, guild_id: int = GUILD, **values: str) -> None:
    for option, value in values.items():
        await change(kind, guild_id=guild_id, option=option, value=value)


async def event_asked(**fields: Any) -> Reply:  # noqa: ANN401 -- whatever a request takes
    request = EventRequest(**({"name": "Raid night", "when": "2026-03-10 19:30"} | fields))
    return await EventDesk(Agenda(), default_timezone="UTC").propose(request, guild_id=GUILD, actor=ADMIN, now=NOW)


async def series_asked(**fields: Any) -> Reply:  # noqa: ANN401 -- as above
    least = {"name": "Raid", "frequency": Frequency.WEEKLY, "time": "19:30"}
    desk = SeriesDesk(Agenda(), default_timezone="UTC")
    return await desk.propose(SeriesRequest(**(least | fields)), guild_id=GUILD, actor=ADMIN, now=NOW)


async def take(reply: Reply, label: str = "Create") -> Reply:
    assert isinstance(reply, Proposal)
    (way,) = [way for way in reply.ways if way.label == label]
    return await way.then(NOW)


def text_of(reply: Reply) -> str:
    assert isinstance(reply, Proposal)
    return reply.text


# ---------------------------------------------------------------------------------------------------------- what is set


async def test_without_a_template_it_says_so(database: str) -> None:
    assert await change(SERIES) == (
        "New series, where /series create leaves it out, have the built-in values: nothing is set."
    )
    assert await GuildSettings.all().count() == 0


async def test_values_are_set_shown_and_cleared_one_by_one_or_all_and_each_change_is_in_the_audit(
    database: str,
) -> None:
    await put(EVENT, places="20", announce_hours="48", channel="<#7>", ping_role="8", attendance_hours="0")
    shown = await change(EVENT)
    less = await change(EVENT, clear="announce_hours")
    nothing = await change(EVENT, clear="everything")

    assert shown.splitlines() == [
        "New events, where /event create leaves it out, have:",
        r"- announce\_hours: 48",
        "- channel: <#7>",
        r"- ping\_role: <@&8>",
        r"- attendance\_hours: off",
        "- places: 20",
        "The rest has its built-in value.",
    ]
    assert less.splitlines()[0] == "Saved."
    assert "announce" not in less
    assert nothing.endswith("have the built-in values: nothing is set.")
    rows = await AuditLog.filter(action="settings.edit").order_by("id")
    assert len(rows) == 7
    assert {row.actor_user_id for row in rows} == {ADMIN}
    assert rows[1].after == {
        "event_template": {"max_players": 20, "discord_announcement": True, "discord_announcement_hours": 48}
    }
    assert rows[-1].after == {"event_template": {}}


async def test_the_same_again_changes_nothing_and_is_not_in_the_audit(database: str) -> None:
    await put(SERIES, places="20")

    assert (await change(SERIES, option="places", value="20")).startswith("Nothing changed: it is set so already.\n")
    assert (await change(SERIES, clear="days_ahead")).startswith("Nothing changed")
    assert await AuditLog.all().count() == 1


async def test_one_may_be_set_while_another_is_cleared(database: str) -> None:
    await put(SERIES, places="20")

    await change(SERIES, option="days_ahead", value="30", clear="places")

    assert await template_of(GUILD, SERIES) == {"generate_days_ahead": 30}


@pytest.mark.parametrize(
    ("kind", "asked", "says"),
    [
        (SERIES, {"option": "places"}, "Give an option together with the value"),
        (SERIES, {"value": "3"}, "Give an option together with the value"),
        (SERIES, {"option": "name", "value": "x"}, "There is no option 'name' in a template"),
        (EVENT, {"option": "days_ahead", "value": "3"}, "There is no option 'days\\_ahead' in a template"),
        (EVENT, {"option": "signup_reminder_hours", "value": "3"}, "There is no option"),
        (SERIES, {"clear": "@everyone"}, "There is no option"),
        (SERIES, {"option": "places", "value": "many"}, "places must be a whole number, not 'many'."),
        (SERIES, {"option": "places", "value": "-3"}, "places must be a whole number"),
        (SERIES, {"option": "places", "value": "99999999999"}, "places 99999999999 is not allowed"),
        (SERIES, {"option": "duration_minutes", "value": "0"}, "duration\\_minutes 0 is not allowed"),
        (SERIES, {"option": "announce_hours", "value": "337"}, "the hours of days\\_ahead \\(14 days\\)"),
        (EVENT, {"option": "announce_hours", "value": "8785"}, "announce\\_hours 8785 is more than 8784"),
        (SERIES, {"option": "confirm_attendance_dm", "value": "maybe"}, "must be yes or no, not 'maybe'."),
        (SERIES, {"option": "channel", "value": "#general"}, "channel must be a channel of this server"),
        (SERIES, {"option": "ping_role", "value": str(GUILD)}, "cannot be @everyone"),
        (SERIES, {"option": "channel", "value": "0"}, "channel 0 is not allowed"),
    ],
)
async def test_what_cannot_be_is_refused_in_words_and_nothing_is_stored(
    database: str, kind: TemplateKind, asked: dict[str, str], says: str
) -> None:
    with pytest.raises(BotError) as told:
        await change(kind, guild_id=GUILD, **asked)

    assert says in str(told.value)
    assert "discord_" not in str(told.value)
    assert [(row.series_template, row.event_template) for row in await GuildSettings.all()] in ([], [({}, {})])
    assert await AuditLog.all().count() == 0


async def test_of_two_admins_who_change_it_at_once_neither_is_lost(database: str) -> None:
    await make_guild()

    await asyncio.gather(
        change(SERIES, option="places", value="20"),
        change(SERIES, option="days_ahead", value="30"),
        change(EVENT, option="places", value="5"),
    )

    assert await template_of(GUILD, SERIES) == {"max_players": 20, "generate_days_ahead": 30}
    assert await template_of(GUILD, EVENT) == {"max_players": 5}
    assert await AuditLog.all().count() == 3


# ------------------------------------------------------------------------------------------------------ what is offered


def test_every_field_of_the_mixin_can_stand_in_a_template_under_a_name_of_its_own() -> None:
    for kind in TemplateKind:
        known, less = {group_of(field) for field in CASCADED_FIELDS}, {"discord_signup_reminder"}
        names = [one.value for one in search_options("", kind)]

        assert set(groups(kind)) - {"generate_days_ahead"} == (known if kind is SERIES else known - less)
        assert len(names) == len(set(names)) == len(groups(kind)) <= 25
        assert not any(name.startswith("discord_") for name in names)


async def test_every_option_takes_what_is_offered_for_it(database: str) -> None:
    for kind in TemplateKind:
        for option in (one.value for one in search_options("", kind)):
            by_hand = {ValueKind.CHANNEL: ["7"], ValueKind.ROLE: ["<@&8>"]}.get(value_kind(kind, option))
            for value in by_hand or [one.value for one in search_values("", kind, option)]:
                assert (await change(kind, option=option, value=value)).startswith("Saved."), (option, value)
                assert await search_set(option, kind, guild_id=GUILD)
                await change(kind, clear=option)
    assert [one.value for one in search_values("36", SERIES, "announce_hours")] == ["36"]
    assert [one.value for one in search_values("y", SERIES, "confirm_attendance_dm")] == ["yes"]


# ----------------------------------------------------------------------------------------------------- what comes of it


async def test_an_event_has_from_the_template_what_the_command_leaves_out_and_says_so(database: str) -> None:
    await make_guild()
    await put(EVENT, places="20", announce_hours="48", attendance_hours="3", duration_minutes="90", ping_role="8")

    asked = await event_asked(places=5, announce_hours=0)
    await take(asked)

    event = await Event.get()
    assert (
        r"From this server's template (`/settings templates`): ping\_role <@&8>, attendance\_hours 3,"
        r" duration\_minutes 90."
    ) in text_of(asked).splitlines()
    assert (event.max_players, event.discord_announcement, event.duration_minutes) == (5, False, 90)
    assert (event.discord_confirm_attendance, event.discord_confirm_attendance_hours) == (True, 3)
    assert (event.discord_announcement_role_ids, event.discord_profile_reminder) == ([8], False)


async def test_a_series_has_from_its_own_template_what_the_command_leaves_out(database: str) -> None:
    await make_guild()
    await put(SERIES, places="20", days_ahead="30", signup_reminder_hours="12", signups_open_hours="0")
    await put(EVENT, places="3")

    asked = await series_asked(days_ahead=7)
    await take(asked)

    series = await EventRepeater.get()
    assert (
        r"template (`/settings templates`): signup\_reminder\_hours 12, signups\_open\_hours at once, places 20."
        in text_of(asked)
    )
    assert (series.max_players, series.generate_days_ahead, series.signup_opens_hours) == (20, 7, None)
    assert (series.discord_signup_reminder, series.discord_signup_reminder_hours) == (True, 12)
    assert {event.max_players for event in await Event.all()} == {20}


async def test_what_the_command_says_to_be_none_is_none_whatever_the_template_says(database: str) -> None:
    await make_guild()
    await put(EVENT, places="20", announce_hours="48", signups_open_hours="24")

    await take(await event_asked(places=0, announce_hours=0, signups_open_hours=0))

    event = await Event.get()
    assert (event.max_players, event.discord_announcement, event.signup_opens_hours) == (None, False, None)


async def test_on_a_press_it_is_made_without_the_template(database: str) -> None:
    await make_guild()
    await put(EVENT, places="20")
    await put(SERIES, places="20")

    for asked in (await event_asked(), await series_asked()):
        plain = await take(asked, "Without the template")
        assert "template" not in text_of(plain)
        assert [way.label for way in plain.ways] == ["Create", "Discard"]  # type: ignore[union-attr]
        await take(plain)

    assert {row.max_players for row in [*await Event.all(), *await EventRepeater.all()]} == {None}


async def test_without_a_template_nothing_is_said_of_one_and_another_servers_is_never_used(database: str) -> None:
    await make_guild()
    await put(EVENT, OTHER_GUILD, places="20")

    asked = await event_asked()

    assert "template" not in text_of(asked)
    assert "Places: without limit." in text_of(asked)


async def test_what_the_template_cannot_give_beside_the_command_is_refused_and_told_where_it_is_from(
    database: str,
) -> None:
    await make_guild()
    await put(SERIES, announce_hours="300")

    with pytest.raises(RequestRefusedError) as told:
        await series_asked(days_ahead=3)

    assert told.value.faults[0].startswith(r"announce\_hours 300 is more than 72, the hours of days\_ahead \(3 days\)")
    assert told.value.faults[1].startswith("What the command leaves out comes from this server's template")
    assert isinstance(await series_asked(days_ahead=3, announce_hours=24), Proposal)


async def test_what_this_version_knows_nothing_of_is_left_out_and_goes_with_the_next_change(database: str) -> None:
    await make_guild(event_template={"max_players": 20, "lantern_colour": "red"})

    await take(await event_asked())
    await change(EVENT, option="duration_minutes", value="60")

    assert (await Event.get()).max_players == 20
    assert (await GuildSettings.get()).event_template == {"max_players": 20, "duration_minutes": 60}


async def test_what_is_looked_at_is_what_comes_of_it_the_template_included(database: str) -> None:
    await make_guild()
    await put(EVENT, channel="7")

    asked = await event_asked(look=lambda spec: [f"I do not see <#{spec.discord_announcement_channel_id}>."])

    assert "I do not see <#7>." in text_of(asked).splitlines()


async def test_a_template_of_everything_fits_into_the_preview_with_the_longest_texts(database: str) -> None:
    most = {
        ValueKind.NUMBER: "336",
        ValueKind.SWITCH: "yes",
        ValueKind.CHANNEL: str(2**63 - 1),
        ValueKind.ROLE: str(2**63 - 1),
    }
    await make_guild()
    for kind in TemplateKind:
        for option in (one.value for one in search_options("", kind)):
            await change(kind, option=option, value=most[value_kind(kind, option)])
    notes = ["I lack View Channel, Send Messages, Embed Links, Read Message History in <#7>: grant it to me there."]

    asked = [await event_asked(name="*" * 100, description="_" * 1_000, notes=notes)]
    asked.append(await series_asked(name="*" * 100, description="_" * 1_000, notes=notes))

    assert [length(text_of(one)) <= CONTENT for one in asked] == [True, True]


VALUES = st.fixed_dictionaries(
    {},
    optional={
        "max_players": st.none() | st.integers(1, 99),
        "duration_minutes": st.integers(1, 999),
        "discord_announcement": st.booleans(),
        "discord_announcement_hours": st.integers(1, 300),
        "generate_days_ahead": st.integers(14, 30),
    },
)


@settings(max_examples=60)
@given(given_=VALUES, template=VALUES)
def test_what_is_given_wins_what_is_not_is_filled_and_a_reminder_is_one_thing(
    given_: dict[str, object], template: dict[str, object]
) -> None:
    found = filled(given_, template)

    said = {group_of(field) for field in given_}
    assert {field: found.values[field] for field in given_} == given_
    assert dict(found.added) == {field: one for field, one in template.items() if group_of(field) not in said}
    assert found.values == {**found.added, **given_}
    assert bool(found.notes(OPTIONS[SERIES])) is bool(found.added)
    assert in_words(template, OPTIONS[SERIES]).count(",") == max(len({group_of(one) for one in template}) - 1, 0)
    assert is_reminder("discord_announcement")


async def test_a_refusal_is_a_sentence_of_the_bots_own(database: str) -> None:
    with pytest.raises(TemplateRefusedError, match="choose one from the list"):
        await change(SERIES, option="@everyone", value="1")
