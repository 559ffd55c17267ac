"""Who wants to hear of a series."""

from typing import TYPE_CHECKING

from tortoise import fields
from tortoise.models import Model

from models.fields import UtcDatetimeField

if TYPE_CHECKING:
    from models.event_repeater import EventRepeater


class RepeaterSubscription(Model):
    """One person who is reminded of the sign-ups of one series; written by ``bot.events.subscriptions`` only."""

    id = fields.BigIntField(primary_key=True)
    series: fields.ForeignKeyRelation["EventRepeater"] = fields.ForeignKeyField(
        "models.EventRepeater", related_name="subscriptions", on_delete=fields.CASCADE
    )
    user_id = fields.BigIntField()
    created_at = UtcDatetimeField()

    if TYPE_CHECKING:
        series_id: int

    class Meta:
        table = "repeater_subscription"
        table_description = "repeater_subscription"
        unique_together = (("series", "user_id"),)
        indexes = (("user_id",),)
