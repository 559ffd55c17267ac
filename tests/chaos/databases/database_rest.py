"""
What the world of a broken database came to, in a form that does not depend on ids and times; and what is wrong with it.

A run is compared with one in which nothing broke: the same messages, each once, the same rows, the same audit.
"""

import datetime as dt
import re
from collections import Counter
from dataclasses import dataclass

from bot.transactions import fetch
from models.audit_log import AuditLog
from models.event import Event
from models.event_signup import EventSignup
from models.ops_note import OpsNote
from tests.builders import derived_due, stored_due
from tests.chaos.databases.database_world import World
from tests.chaos.proof import Figures

_ID = re.compile(r"#(\d+)")
_DATABASE_FAULT = "database"
"""The note that tells of the broken database itself: the one thing that may differ."""


@dataclass(frozen=True, slots=True)
class Rest:
    """Where a world came to rest; ``visible`` is when each message, by channel and marker, came first."""

    visible: dict[tuple[int, str], dt.datetime]
    doubled: tuple[str, ...]
    rows: dict[str, Counter[str]]
    stuck: tuple[str, ...]

    def count(self, figures: Figures, seed: int, found: list[str]) -> None:
        """Add this run, and what is wrong with it, to the figures."""
        figures.runs += 1
        figures.ok += len(self.visible)
        figures.lost += sum(one.startswith("lost") for one in found)
        figures.duplicated += sum(one.startswith("doubled") for one in found)
        figures.unexpected += sum(one.startswith("unexpected") for one in found)
        figures.unknown += sum("is open" in one for one in found)
        if found:
            figures.faults.append(f"seed {seed}: {'; '.join(found)}")


async def rest_of(world: World) -> Rest:
    """Read where the world is."""
    names = {event.id: f"{event.name} {event.scheduled_at:%d %H:%M}" for event in await Event.all()}
    notes = {note.id: note.fault for note in await OpsNote.all()}
    shown = [post for post in world.discord.posts if not post.deleted]
    posts = [((post.channel_id, _named(post.message.marker, names, notes)), post.sent_at) for post in shown]
    posts = [(key, at) for key, at in posts if _DATABASE_FAULT not in key[1]]
    counted = Counter(key for key, _ in posts)
    first = {key: min(at for other, at in posts if other == key) for key in counted}
    return Rest(
        visible=first,
        doubled=tuple(f"{marker} in {channel}" for (channel, marker), times in counted.items() if times > 1),
        rows=await _rows(names, notes),
        stuck=tuple(await _stuck(world, names)),
    )


def _named(marker: str, names: dict[int, str], notes: dict[int, str]) -> str:
    if marker.startswith("note #"):
        note, _, revision = marker.removeprefix("note #").partition(".")
        return f"note {notes.get(int(note), note)} {revision}"
    return _ID.sub(lambda found: names.get(int(found[1]), found[1]), marker)


async def _rows(names: dict[int, str], notes: dict[int, str]) -> dict[str, Counter[str]]:
    log = await fetch("SELECT source, source_id, recipient_id, success, error_class FROM discord_message_log")
    ends: set[str] = set()
    for row in log:
        of = notes if row["source"] == "ops_note" else names
        subject = of.get(int(str(row["source_id"])), "?")
        end = "open" if row["success"] is None else "sent" if row["success"] else str(row["error_class"])
        if subject != _DATABASE_FAULT:
            ends.add(f"{row['source']} {subject} {row['recipient_id']}: {end}")
    events = await Event.all()
    return {
        "log": Counter(ends),
        "events": Counter(
            f"{names[event.id]}: {event.state.value} {event.announcement_message_id is not None} {event.reposts}"
            for event in events
        ),
        "signups": Counter(
            f"{names[row.event_id]} {row.user_id}: {row.status.value}" for row in await EventSignup.all()
        ),
        "audit": Counter(
            f"{row.action} {names.get(row.subject_id or 0, '')} {row.after}" for row in await AuditLog.all()
        ),
        "notes": Counter(note.fault for note in await OpsNote.all() if note.fault != _DATABASE_FAULT and note.says),
    }


async def _stuck(world: World, names: dict[int, str]) -> list[str]:
    log = await fetch("SELECT source, source_id, recipient_id FROM discord_message_log WHERE success IS NULL")
    found = [f"{row['source']}/{row['source_id']}/{row['recipient_id']} is open" for row in log]
    if await stored_due() != await derived_due():
        found.append("the due rows are not what the other rows say")
    behind = await Event.filter(post_due_at__lte=world.clock.now())
    found += [f"the post of {names[event.id]} lags behind" for event in behind]
    out, services = world.bot.services.out, world.bot.services
    # What must be empty at rest, and nobody but a proof asks for.
    kept = {
        "attempts": out.under_way._running,
        "leases": out.under_way._held,
        "asked rows": out.under_way._asked,
        "unrecorded outcomes": out.recorder._kept,
        "waiting DMs": len(services.dms.queue),
    }
    return found + [f"left in memory: {what} {value}" for what, value in kept.items() if value]


def faults(rest: Rest, good: Rest, *, most_late: dt.timedelta) -> list[str]:
    """Return what is wrong with a world at rest, beside the good one."""
    found = [f"doubled: {one}" for one in rest.doubled]
    found += [f"lost: {marker} in {channel}" for channel, marker in good.visible.keys() - rest.visible.keys()]
    found += [f"unexpected: {marker} in {channel}" for channel, marker in rest.visible.keys() - good.visible.keys()]
    found += [f"stuck: {one}" for one in rest.stuck]
    for name, rows in good.rows.items():
        gone, added = rows - rest.rows[name], rest.rows[name] - rows
        found += [f"{name}: lacks {one}" for one in gone] + [f"{name}: has {one} too much" for one in added]
    for key in good.visible.keys() & rest.visible.keys():
        if (late := rest.visible[key] - good.visible[key]) > most_late:
            found.append(f"late by {late}: {key[1]} in {key[0]}")
    return found
