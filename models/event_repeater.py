"""A series: the rule by which events are made."""

import datetime as dt

from tortoise import fields

from models.discord_event_config import DiscordEventConfigMixin
from models.fields import UtcDatetimeField
from models.states import Frequency, MonthEnd


class EventRepeater(DiscordEventConfigMixin):
    """
    One series of a guild.

    ``day_of_week`` is written as RFC 5545 writes BYDAY; ``time_of_day`` is ``HH:MM`` on the series' own wall clock;
    ``ends_at`` is inclusive. ``calendar_uid`` is the UID of the calendar entry it was imported from.
    """

    id = fields.BigIntField(primary_key=True)
    guild_id = fields.BigIntField()
    name = fields.CharField(max_length=100)
    description = fields.CharField(max_length=1000, default="")
    frequency = fields.CharEnumField(Frequency, max_length=16, description="")
    interval = fields.IntField(default=1)
    day_of_week = fields.CharField(max_length=64, null=True)
    time_of_day = fields.CharField(max_length=5)
    timezone = fields.CharField(max_length=64)
    starts_at: fields.Field[dt.date] = fields.DateField()
    ends_at: fields.Field[dt.date | None] = fields.DateField(null=True)
    month_end = fields.CharEnumField(MonthEnd, max_length=16, description="", default=MonthEnd.LAST_DAY)
    generate_days_ahead = fields.IntField(default=14)
    is_active = fields.BooleanField(default=True)
    created_by = fields.BigIntField(null=True)
    created_at = UtcDatetimeField()
    calendar_uid = fields.CharField(max_length=255, null=True)

    class Meta:
        table = "event_repeater"
        table_description = "event_repeater"
        unique_together = (("guild_id", "name"),)
