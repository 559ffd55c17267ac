"""
Edit one event, this one only: shown first, then made exactly as shown or refused.

What an admin edits on one event of a series is noted in its row, so that a later edit of the series keeps it.
"""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import structlog

from bot.changes.already_sent import sent_lines
from bot.changes.edit_wording import changed_lines
from bot.changes.edited_event import Editor, follow_edit
from bot.changes.stale import NotAheadError, StaleError, held_event, refuse_unless_ahead
from bot.errors import BotError
from bot.events import browse
from bot.events.admin_wording import named
from bot.events.config_options import ConfigOptions, config_given
from bot.events.event_requests import OPTIONS
from bot.events.generate import CASCADED_FIELDS, signups_open_at
from bot.events.lifecycle import wake_after_change
from bot.events.one_off import EventSpec
from bot.events.requests import RequestRefusedError, checked, given, hours_fields
from bot.events.signups.waiting_line import is_asked_first, promote, wake_after_promotion
from bot.message.proposal import Proposal, Reply, Way, leave
from bot.scheduling.agenda import Agenda
from bot.transactions import atomic
from models.event import Event
from models.event_repeater import EventRepeater
from models.states import ATTENDING, EventState

_log = structlog.get_logger(__name__)

_REMINDER: Final = "discord_signup_reminder"
_OPTIONS: Final = {**OPTIONS, f"{_REMINDER}_hours": "signup_reminder_hours"}
_EDITED: Final = ("name", "description", *CASCADED_FIELDS)
_CLEARED: Final[Mapping[str, Mapping[str, object]]] = {
    "description": {"description": ""},
    "channel": {"discord_announcement_channel_id": None},
    "ping_role": {"discord_announcement_role_ids": []},
    "required_role": {"required_role_id": None},
}
CLEARABLE: Final = tuple(_CLEARED)
"""The options whose value can be taken away again."""


class NothingToEditError(BotError):
    """What was given is what the event is already, or nothing was given."""

    def __init__(self, event: Event) -> None:
        super().__init__(f"{named(event)} is like that already; give what is to be another.")
        self.event_id = event.id


@dataclass(frozen=True, slots=True)
class EventChanges(ConfigOptions):
    """
    What a command's options say of an event; None where an option was left out, which leaves it as it is.

    ``clear`` names one of :data:`CLEARABLE`. ``notes`` are sentences that its author should read before it is stored.
    """

    name: str | None = None
    description: str | None = None
    signup_reminder_hours: int | None = None
    required_role_id: int | None = None
    clear: str | None = None
    notes: Sequence[str] = field(default=())


@dataclass(frozen=True, slots=True)
class _Edit:
    """One edit as it is shown and then made; two are equal where they do the same."""

    event: Event = field(compare=False)
    changes: Mapping[str, object]
    overridden: tuple[str, ...]
    stood: tuple[object, ...]
    notes: tuple[str, ...]
    text: str = field(compare=False)


class EventEdits:
    """Edits events one by one; ``debounce`` after an edit the event's post is edited, ``instance`` signs the audit."""

    def __init__(self, agenda: Agenda, *, debounce: dt.timedelta, instance: str | None = None) -> None:
        self._agenda = agenda
        self._debounce = debounce
        self._instance = instance

    async def propose(self, typed: str, changes: EventChanges, *, guild_id: int, actor: int, now: dt.datetime) -> Reply:
        """
        Return what would change; nothing is stored.

        Raises:
            NoSuchEventError, NotAheadError, RequestRefusedError, NothingToEditError: it cannot be.
        """
        event = await browse.find_event(typed, guild_id=guild_id)
        shown = await _planned(event, changes, now=now)
        apply = partial(self._apply, shown, changes, actor)
        return Proposal(shown.text, (Way("Change it", apply), leave("Back")))

    async def _apply(self, shown: _Edit, changes: EventChanges, actor: int, now: dt.datetime) -> Reply:
        async def _unit() -> str:
            event = await held_event(shown.event)
            try:
                fresh = await _planned(event, changes, now=now)
            except NotAheadError:
                raise
            except BotError:
                raise StaleError(event) from None  # it could be when it was shown
            if fresh != shown:
                raise StaleError(event)
            return _moved_up(event, len(await self._make(event, fresh, actor=actor, now=now)))

        moved_up = await atomic(_unit)
        event = shown.event
        _log.info("event_edited", guild=event.guild_id, event_id=event.id, actor=actor, fields=sorted(shown.changes))
        wake_after_change(self._agenda, now=now, debounce=self._debounce)
        wake_after_promotion(self._agenda, now=now)
        return f"{named(event)} was changed.{moved_up}"

    async def _make(self, event: Event, edit: _Edit, *, actor: int, now: dt.datetime) -> tuple[int, ...]:
        before, had = {name: getattr(event, name) for name in edit.changes}, event.max_players
        for name, value in edit.changes.items():
            setattr(event, name, value)
        event.overridden_fields = list(edit.overridden)
        if "signup_opens_hours" in edit.changes:
            # Without hours it is the moment of creation, as for a new event.
            event.signups_open_at = signups_open_at(event, scheduled_at=event.scheduled_at, now=event.created_at)
        await event.save(update_fields=[*edit.changes, "overridden_fields", "signups_open_at"])
        promoted = await promote(event.id, was=had, now=now) if "max_players" in edit.changes else ()
        await follow_edit(
            event,
            by=Editor(actor, self._instance),
            before=_auditable(before),
            after=_auditable(edit.changes),
            now=now,
            debounce=self._debounce,
        )
        return promoted


def _moved_up(event: Event, count: int) -> str:
    """Return what became of ``count`` people in line, given the event as it is now."""
    if not count:
        return ""
    if is_asked_first(event.max_players, event.signup_offer_minutes):
        return f" From the wait-list {count} {'is' if count == 1 else 'are'} asked whether they want a place."
    return f" From the wait-list {count} moved up."


def _wanted(event: Event, given_: EventChanges) -> dict[str, object]:
    """
    Return the fields that the options name, checked.

    Raises:
        RequestRefusedError: with every fault.
    """
    asks = bool(given_.signup_reminder_hours)
    if asks and event.series_id is None:
        raise RequestRefusedError(
            f"{named(event)} belongs to no series, so there are no subscribers whom signup_reminder_hours could remind."
        )
    values = {
        **_CLEARED.get(given_.clear or "", {}),
        **given(
            name=given_.name,
            description=given_.description,
            required_role_id=given_.required_role_id,
        ),
        **config_given(given_),
        **hours_fields(_REMINDER, given_.signup_reminder_hours),
    }
    # Only what is given is checked: an event whose series was deleted may be edited in all else.
    rest = {"name": event.name, "scheduled_at": event.scheduled_at}
    spec = checked(EventSpec, {**rest, **values, _REMINDER: False}, options=_OPTIONS)
    return {name: asks if name == _REMINDER else getattr(spec, name) for name in values}


async def _planned(event: Event, given_: EventChanges, *, now: dt.datetime) -> _Edit:
    """Return what the edit does as things stand, or raise why it cannot be."""
    refuse_unless_ahead(event, now=now, cannot="edited")
    before = {name: getattr(event, name) for name in _EDITED}
    changes = {name: value for name, value in _wanted(event, given_).items() if value != before[name]}
    if not changes:
        raise NothingToEditError(event)
    sent = await sent_lines(event.id)
    effects = (*await _on_people(event, changes), *_on_the_post(event, changes), *sent)
    lines = [
        f"Change {named(event)}?",
        *changed_lines(before, changes),
        *_only_this(event),
        *effects,
        *given_.notes,
    ]
    stood = (*(before[name] for name in changes), event.state, event.scheduled_at, event.signups_open_at)
    overridden = await _overridden(event, changes)
    return _Edit(event, changes, overridden, stood, effects, "\n".join(lines))


async def _overridden(event: Event, changes: Mapping[str, object]) -> tuple[str, ...]:
    """Return the fields that a series edit keeps from now on: one that is as the series has it follows it again."""
    if event.series_id is None:
        return tuple(event.overridden_fields)
    series = await EventRepeater.get_or_none(id=event.series_id, guild_id=event.guild_id)
    own = {name for name, value in changes.items() if series is None or getattr(series, name) != value}
    kept = [name for name in event.overridden_fields if name not in changes or name in own]
    return (*kept, *sorted(own - set(kept)))


async def _on_people(event: Event, changes: Mapping[str, object]) -> list[str]:
    """Return what a change of the places, or of who may come, means for those who signed up."""
    lines = []
    if "required_role_id" in changes and event.state is not EventState.UPCOMING:
        lines.append("Who signed up already stays.")
    places = changes.get("max_players", event.max_players)
    counts = (await browse.answer_counts([event.id]))[event.id]
    coming = sum(counts[status] for status in ATTENDING)
    if "max_players" in changes and isinstance(places, int) and coming > places:
        lines.append(
            f"{coming} people have a place already: nobody is thrown out, and nobody new gets a place until fewer"
            f" than {places} have one."
        )
    elif "max_players" in changes and coming and event.state is not EventState.UPCOMING:
        asks = places is not None and changes.get("signup_offer_minutes", event.signup_offer_minutes) is not None
        moves = "is asked whether they want a place" if asks else "moves up"
        lines.append(f"Who waits in line {moves} where there is one.")
    return lines


def _on_the_post(event: Event, changes: Mapping[str, object]) -> list[str]:
    if event.announcement_message_id is None:
        return []
    if "discord_announcement_channel_id" in changes:
        return ["Its post stays where it is and is edited there; nobody is pinged again."]
    return ["Its post is edited; nobody is pinged again."]


def _only_this(event: Event) -> list[str]:
    return ["Only this event changes; later edits of its series keep that."] if event.series_id is not None else []


def _auditable(values: Mapping[str, object]) -> dict[str, object]:
    """Return values as the audit may keep them: the text of an announcement is in no audit."""
    return {name: "(a text)" if name == "description" and value else value for name, value in values.items()}
