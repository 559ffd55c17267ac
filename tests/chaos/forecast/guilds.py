"""
Forecast = history: what is foreseen for a window in which nobody changes anything is what is then sent, and no more.

``python -m tests.chaos.forecast.guilds [--seeds N] [--from N] [--database sqlite|postgres]`` tries that many random
servers and prints the figures.
"""

import argparse
import asyncio
import datetime as dt
import os
import sys
import time
import zoneinfo
from collections import Counter
from typing import NamedTuple

from bot.database import opened
from bot.leases.keys import ATTENDANCE_POST
from bot.reminders.forecast import Foreseen, Prospects, Window, forecast
from bot.scheduling.bodies import GENERATE_UPCOMING_EVENTS
from bot.scheduling.registry import REMINDERS
from bot.transactions import Dialect
from models.discord_message_log import DiscordMessageLog
from models.event import Event
from models.event_signup import EventSignup
from models.states import ATTENDING
from tests.builders import GUILD, HOUR, MINUTE
from tests.chaos.forecast.guild_story import OPTIONS, GuildStory, told
from tests.chaos.forecast.questioned import Questioned
from tests.chaos.proof import Figures, Finding, Proof, Share, none_of
from tests.chaos.shares import tried
from tests.throwaway import throw_away

_KINDS = {entry.log_source: entry.key for entry in REMINDERS} | {ATTENDANCE_POST: ATTENDANCE_POST}
_MANY = 50
_DMS = {entry.log_source for entry in REMINDERS if entry.to_people}


class Sent(NamedTuple):
    """One message, or one reminder by DM, as it is compared: to the second, and to how many."""

    at: dt.datetime
    kind: str
    event: str
    occurrence: dt.datetime
    channel_id: int | None
    recipients: int | None


def foreseen_key(one: Foreseen) -> str:
    """Return what tells an event from every other, made or not."""
    return f"{one.series_id}:{one.slot}" if one.slot is not None else f"event {one.event_id}"


async def what_is_foreseen(story: GuildStory, end: dt.datetime) -> list[Foreseen]:
    """Return the forecast of a story's window."""
    prospects = Prospects(
        generates_at=story.bot.next(GENERATE_UPCOMING_EVENTS),
        generates_every=OPTIONS.generate_every,
        is_available=GUILD not in story.discord.unavailable,
        may_post=story.may_post,
    )
    return await forecast(GUILD, Window(story.now, end), now=story.now, prospects=prospects)


async def what_was_sent(begin: dt.datetime, end: dt.datetime) -> list[Sent]:
    """Return what became visible of what was begun in a window."""
    events = {event.id: event for event in await Event.all()}
    children: Counter[tuple[str, int]] = Counter()
    for row in await DiscordMessageLog.filter(success=True).exclude(recipient_id=0):
        children[row.source, row.source_id] += 1
    found = []
    for row in await DiscordMessageLog.filter(success=True, recipient_id=0, source__in=list(_KINDS)):
        reached = children[row.source, row.source_id]
        if not begin <= row.claimed_at < end or (row.source in _DMS and not reached):
            continue
        event = events[row.source_id]
        named = f"{event.series_id}:{event.slot}" if event.slot is not None else f"event {event.id}"
        second = row.claimed_at.replace(microsecond=0)
        how_many = reached if row.source in _DMS else await _named_in(row, event)
        found.append(Sent(second, _KINDS[row.source], named, event.scheduled_at, row.channel_id, how_many))
    return found


async def _named_in(row: DiscordMessageLog, event: Event) -> int:
    if row.source != ATTENDANCE_POST:
        return 0
    return await EventSignup.filter(event_id=event.id, status__in=ATTENDING).count()


async def _unit(seed: int, share: Share) -> Figures:
    """Try one server."""
    figures = Figures(runs=1)
    async with share.databases.fresh(share.dialect or Dialect.SQLITE) as url, opened(url):
        story = await told(seed)
        begin, end = story.now, story.now + story.days * 24 * HOUR
        seen = await what_is_foreseen(story, end)
        asked = await Questioned.of(story, seed, end)
        await story.bot.run_until(end + MINUTE)
        sent = await what_was_sent(begin, end)
        figures.faults += [f"seed {seed}: {one}" for one in await asked.compared()]
        figures.sample("people told", asked.told)
    wanted = Counter(_as_sent(one) for one in seen if one.reason is None)
    came = Counter(sent)
    figures.attempted, figures.acknowledged = wanted.total(), came.total()
    figures.ok = (wanted & came).total()
    figures.lost, figures.unexpected = (wanted - came).total(), (came - wanted).total()
    told_twice = Counter((one.kind, foreseen_key(one)) for one in seen)
    figures.duplicated = sum(times - 1 for times in told_twice.values())
    visible = {(one.kind, one.event) for one in sent}
    belied = [one for one in seen if one.reason is not None and (one.kind, foreseen_key(one)) in visible]
    figures.sample("non-sends", sum(1 for one in seen if one.reason is not None))
    for reason in {one.reason for one in seen if one.reason is not None}:
        figures.sample(f"reason {reason.value}", 1.0)
    figures.faults += [f"seed {seed}: foreseen, not sent: {one}" for one in (wanted - came)]
    figures.faults += [f"seed {seed}: sent, not foreseen: {one}" for one in (came - wanted)]
    figures.faults += [f"seed {seed}: sent although {one.reason}: {one}" for one in belied]
    return figures


def _as_sent(one: Foreseen) -> Sent:
    second = one.at.replace(microsecond=0)
    return Sent(second, one.kind, foreseen_key(one), one.occurrence, one.channel_id, one.recipients)


def run(share: Share) -> Figures:
    """Try the servers of a share."""
    zoneinfo.reset_tzpath(to=[])
    figures = Figures()
    for seed in share.seeds:
        figures.add(asyncio.run(_unit(seed, share)))
    return figures


def judge(figures: Figures) -> list[Finding]:
    """Return what must be true of all the servers."""
    told_of = sum(figures.samples.get("non-sends", []))
    some = Finding(f"{figures.ok} sends and {told_of:.0f} non-sends foreseen", figures.ok > 0 and told_of > 0)
    people = sum(figures.samples.get("people told", []))
    # Of a few servers nobody may happen to be told.
    is_met = people > 0 or figures.runs < _MANY
    why = Finding(f"{people:.0f} people of whom it was said that they are told, and were", is_met)
    return [some, why, *none_of(figures, "lost", "duplicated", "unexpected")]


# No row of docs/promises.md is this one's.
PROOF = Proof("none", "Forecast = history in windows without edits", run, judge, seeds=1_000)


def main() -> int:
    """Try as many as are asked for, and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.forecast.guilds", description=__doc__)
    parser.add_argument("--seeds", type=int, default=PROOF.seeds)
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("--database", type=Dialect, choices=list(Dialect), default=Dialect.SQLITE)
    parser.add_argument("--cores", type=int, default=os.cpu_count() or 1)
    asked = parser.parse_args()
    began = time.monotonic()
    with throw_away() as databases:
        seeds = range(asked.first, asked.first + asked.seeds)
        figures = tried(PROOF, seeds, asked.database, databases, at_once=asked.cores)
    found = judge(figures)
    for fault in figures.faults[:20]:
        print(f"BROKEN {fault}")
    reasons = {name.removeprefix("reason "): len(many) for name, many in figures.samples.items() if "reason" in name}
    print(f"{figures.runs} servers on {asked.database.value}: {'; '.join(one.words for one in found)}")
    print(f"servers with a non-send, by reason: {reasons} [{time.monotonic() - began:.0f} s]")
    return int(bool(figures.faults) or not all(one.is_met for one in found))


if __name__ == "__main__":
    sys.exit(main())
