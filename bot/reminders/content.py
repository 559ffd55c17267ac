"""What the one post of an event says: a pure function of fresh rows."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bot.message import timestamps
from bot.message.custom_ids import Verb, encode
from bot.message.escaping import escape
from bot.message.limits import CONTENT, EMBED_DESCRIPTION, EMBED_FIELD_VALUE, EMBED_TITLE, cut
from bot.message.lists import listed
from bot.message.outgoing import Button, ButtonStyle, Embed, EmbedField, OutgoingMessage
from bot.reminders import markers
from models.states import EventState, SignupStatus

if TYPE_CHECKING:
    import datetime as dt

    from bot.events.signups.people import People, Person
    from models.event import Event

_COLORS = {
    EventState.UPCOMING: 0x5865F2,
    EventState.SIGNUPS_OPEN: 0x2E9E5B,
    EventState.ROLL_CALL: 0xE0A030,
    EventState.IN_PROGRESS: 0x2E9E5B,
    EventState.COMPLETED: 0x80848E,
    EventState.CANCELLED: 0xC03C3C,
}


_SIGNUPS = {
    EventState.UPCOMING: "Not open yet",
    EventState.SIGNUPS_OPEN: "Open",
    EventState.ROLL_CALL: "Closed for the roll call",
    EventState.IN_PROGRESS: "Closed: it is running",
    EventState.COMPLETED: "Closed: it is over",
    EventState.CANCELLED: "Closed: it was cancelled",
}


def announcement(event: "Event", people: "People") -> OutgoingMessage:
    """Return the one post of an event as its rows stand; only the series' own roles ping."""
    marker = markers.mark_post(event.id, reposts=event.reposts)
    title = escape(event.name)
    if event.state is EventState.CANCELLED:
        title = f"Cancelled: {title}" if _new_time(event) is None else f"Moved: {title}"
    roles, pings = role_pings(event.discord_announcement_role_ids)
    return OutgoingMessage(
        marker=marker,
        content=pings,
        embed=Embed(
            title=cut(title, EMBED_TITLE),
            description=cut(event.description, EMBED_DESCRIPTION),
            fields=(*_fields(event, people), *_lists(people)),
            footer=marker,
            color=_COLORS[event.state],
        ),
        buttons=signup_buttons(event),
        mention_role_ids=roles,
        version=event.post_version,
    )


def role_pings(role_ids: Sequence[int]) -> tuple[tuple[int, ...], str]:
    """Return the roles that fit into one message, each once, and the text that pings them; the rest is counted."""
    roles = tuple(dict.fromkeys(role_ids))
    text = listed([f"<@&{role}>" for role in roles], CONTENT, between=" ")
    return roles[: text.count("<@&")], text


def signup_buttons(event: "Event") -> tuple[Button, ...]:
    """Return the buttons of a post or DM that asks people to sign up; they can be pressed while sign-ups are open."""
    shut = event.state is not EventState.SIGNUPS_OPEN
    answers = (
        Button("Sign up", encode(Verb.SIGN_UP, event.id), ButtonStyle.SUCCESS, disabled=shut),
        Button("Maybe", encode(Verb.MAYBE, event.id), disabled=shut),
        Button("Can't", encode(Verb.CANT, event.id), disabled=shut),
    )
    if event.series_id is None:
        return answers
    return (*answers, Button("Notify me", encode(Verb.NOTIFY, event.series_id), ButtonStyle.PRIMARY))


def _lists(people: "People") -> tuple[EmbedField, ...]:
    """Return who comes, may come, waits and does not come; the last as a number alone."""
    lists = [
        ("Coming", people.attending, EMBED_FIELD_VALUE),
        ("Maybe", people.tentative, EMBED_FIELD_VALUE // 2),
        ("Wait-list", people.waitlisted, EMBED_FIELD_VALUE // 2),
    ]
    found = [EmbedField(f"{name} ({len(who)})", _names(who, most)) for name, who, most in lists if who]
    if people.declined:
        found.append(EmbedField("Can't", str(len(people.declined)), inline=True))
    return tuple(found)


def _names(people: Sequence["Person"], most: int) -> str:
    return listed([f"<@{person.user_id}>{_note(person)}" for person in people], most, between=", ")


def _note(person: "Person") -> str:
    if person.offered_until is not None:
        return f" (offered a place; that ends {timestamps.relative(person.offered_until)})"
    return " ✓" if person.status is SignupStatus.CONFIRMED else ""


def _fields(event: "Event", people: "People") -> list[EmbedField]:
    new_time = _new_time(event)
    found = [
        *([EmbedField("Moved to", timestamps.full_and_relative(new_time))] if new_time is not None else []),
        EmbedField("When" if new_time is None else "Was to be", timestamps.full_and_relative(event.scheduled_at)),
        EmbedField("Lasts", duration(event.duration_minutes), inline=True),
        EmbedField("Places", places(event, len(people.attending)), inline=True),
    ]
    if event.created_by is not None:
        found.append(EmbedField("Host", f"<@{event.created_by}>", inline=True))
    if event.native_interested is not None:
        found.append(EmbedField("Interested", str(event.native_interested), inline=True))
    return [*found, EmbedField("Sign-ups", signups(event))]


def _new_time(event: "Event") -> "dt.datetime | None":
    """Return where the place of an event went that its series left; None: nowhere, or it still stands."""
    return event.moved_to if event.state is EventState.CANCELLED and event.is_withdrawn else None


def places(event: "Event", taken: int) -> str:
    """Return how many places there are, and how many of them are taken."""
    if event.max_players is None:
        return "No limit"
    return f"{taken} of {event.max_players} taken" if taken else str(event.max_players)


def signups(event: "Event") -> str:
    """Return one line on whether people can sign up."""
    if event.state is EventState.UPCOMING and event.signups_open_at is not None:
        return f"Open {timestamps.full_and_relative(event.signups_open_at)}"
    return "Closed: it was moved" if _new_time(event) is not None else _SIGNUPS[event.state]


def duration(minutes: int) -> str:
    """Return a span in words, never empty: ``2 h``, ``1 h 30 min``, ``45 min``."""
    hours, rest = divmod(minutes, 60)
    parts = [f"{hours} h"] if hours else []
    return " ".join([*parts, f"{rest} min"] if rest or not hours else parts)
