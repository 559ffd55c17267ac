"""Create series: the row, its audit and its first events in one transaction, all of them or none."""

import datetime as dt
from collections.abc import Awaitable, Callable, Sequence

from tortoise.exceptions import IntegrityError

from bot import audit
from bot.errors import BotError
from bot.events.generate import CASCADED_FIELDS, generate_events_for_repeater
from bot.events.series_spec import SeriesSpec
from bot.message.folding import folded
from bot.message.quoting import quoted
from bot.transactions import atomic
from models.event_repeater import EventRepeater
from models.guild_settings import GuildSettings


class NameTakenError(BotError):
    """A series of that name stands in the guild already."""

    def __init__(self, numbers: Sequence[int], names: Sequence[str]) -> None:
        super().__init__(
            "\n".join(
                f"Entry {number}: a series named {quoted(name)} exists already; rename it or leave it out."
                for number, name in zip(numbers, names, strict=True)
            )
        )
        self.names = tuple(names)


async def ensure_guild(guild_id: int, *, timezone: str) -> GuildSettings:
    """Return the guild's settings, made with defaults where there are none."""
    settings, _ = await GuildSettings.get_or_create(guild_id=guild_id, defaults={"timezone": timezone})
    return settings


async def create_series(
    specs: Sequence[SeriesSpec],
    *,
    guild_id: int,
    created_by: int | None,
    now: dt.datetime,
    prepare: Callable[[int, EventRepeater], Awaitable[None]] | None = None,
) -> list[EventRepeater]:
    """
    Store every series and generate its first events, or store nothing; part of the caller's transaction if any.

    ``prepare`` gets the place of each in ``specs`` and its row before anything is generated: it may take dates out.

    Raises:
        NameTakenError: names that stand in the guild or in an earlier entry already, with the entries' numbers from 1.
    """

    async def _unit() -> list[EventRepeater]:
        # Held, so that of two at once the second sees the first one's names: the index holds them letter by letter.
        _ = await GuildSettings.filter(guild_id=guild_id).select_for_update(no_key=True).first()
        await _refuse_taken(specs, guild_id)
        made: list[EventRepeater] = []
        for place, spec in enumerate(specs):
            series = await _create(spec, guild_id=guild_id, created_by=created_by, now=now)
            if prepare is not None:
                await prepare(place, series)
            await generate_events_for_repeater(series, now=now)
            made.append(series)
        return made

    try:
        return await atomic(_unit)
    except IntegrityError:
        # Somebody stored one of the names since they were read: the refusal is the same.
        await _refuse_taken(specs, guild_id)
        raise


async def _refuse_taken(specs: Sequence[SeriesSpec], guild_id: int) -> None:
    known = {folded(series.name) for series in await EventRepeater.filter(guild_id=guild_id)}
    taken: list[tuple[int, str]] = []
    for number, spec in enumerate(specs, 1):
        if folded(spec.name) in known:
            taken.append((number, spec.name))
        known.add(folded(spec.name))
    if taken:
        raise NameTakenError([number for number, _ in taken], [name for _, name in taken])


async def _create(spec: SeriesSpec, *, guild_id: int, created_by: int | None, now: dt.datetime) -> EventRepeater:
    config = {name: getattr(spec, name) for name in CASCADED_FIELDS}
    series = await EventRepeater.create(
        guild_id=guild_id,
        name=spec.name,
        description=spec.description,
        frequency=spec.frequency,
        interval=spec.interval,
        day_of_week=spec.day_of_week,
        time_of_day=spec.time_of_day.strftime("%H:%M"),
        timezone=spec.timezone,
        starts_at=spec.starts_at,
        ends_at=spec.ends_at,
        month_end=spec.month_end,
        generate_days_ahead=spec.generate_days_ahead,
        is_active=spec.is_active,
        created_by=created_by,
        created_at=now,
        **config,
    )
    after = {"name": spec.name, "timezone": spec.timezone, "time_of_day": series.time_of_day}
    await audit.record(
        "series.create", guild_id=guild_id, actor_user_id=created_by, subject_id=series.id, now=now, after=after
    )
    return series
