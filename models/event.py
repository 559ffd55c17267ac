"""One event: a stored occurrence of a series, or a one-off."""

from typing import TYPE_CHECKING

from tortoise import fields

from models.discord_event_config import DiscordEventConfigMixin
from models.fields import UtcDatetimeField
from models.states import EventState

if TYPE_CHECKING:
    from models.event_repeater import EventRepeater


class Event(DiscordEventConfigMixin):
    """
    One event of a guild.

    ``slot`` is the local time and zone it was generated for, ``2026-03-29T19:00[Europe/London]``; null for a one-off
    and off schedule. ``announcement_*`` name the one post of the event; ``reposts`` counts how often it was posted
    again; ``post_due_at`` is set while the post lags behind the row, and ``post_version`` counts what changed.
    """

    id = fields.BigIntField(primary_key=True)
    guild_id = fields.BigIntField()
    series: fields.ForeignKeyNullableRelation["EventRepeater"] = fields.ForeignKeyField(
        "models.EventRepeater", related_name="events", null=True, on_delete=fields.SET_NULL
    )
    slot = fields.CharField(max_length=96, null=True)
    scheduled_at = UtcDatetimeField()
    signups_open_at = UtcDatetimeField(null=True)
    name = fields.CharField(max_length=100)
    description = fields.CharField(max_length=1000, default="")
    state = fields.CharEnumField(EventState, max_length=16, description="", default=EventState.UPCOMING)
    created_at = UtcDatetimeField()
    state_since = UtcDatetimeField()
    is_off_schedule = fields.BooleanField(default=False)
    overridden_fields = fields.JSONField[list[str]](default=list)
    discord_scheduled_event_id = fields.BigIntField(null=True)
    announcement_channel_id = fields.BigIntField(null=True)
    announcement_message_id = fields.BigIntField(null=True)
    reposts = fields.IntField(default=0)
    post_due_at = UtcDatetimeField(null=True)
    post_version = fields.IntField(default=0)
    created_by = fields.BigIntField(null=True)

    if TYPE_CHECKING:
        series_id: int | None

    class Meta:
        table = "event"
        table_description = "event"
        unique_together = (("series", "slot"),)
        indexes = (("state", "scheduled_at"), ("state", "signups_open_at"), ("post_due_at",))
