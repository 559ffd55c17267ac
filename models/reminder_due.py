"""What is still to be sent, and from when on."""

from typing import TYPE_CHECKING

from tortoise import fields
from tortoise.models import Model

from models.fields import UtcDatetimeField

if TYPE_CHECKING:
    from models.event import Event


class ReminderDue(Model):
    """One reminder of one event that waits; ``key`` is the registry's. Written by ``bot.scheduling`` only."""

    id = fields.BigIntField(primary_key=True)
    event: fields.ForeignKeyRelation["Event"] = fields.ForeignKeyField(
        "models.Event", related_name="due", on_delete=fields.CASCADE
    )
    key = fields.CharField(max_length=64)
    due_at = UtcDatetimeField()

    if TYPE_CHECKING:
        event_id: int

    class Meta:
        table = "reminder_due"
        table_description = "reminder_due"
        unique_together = (("event", "key"),)
        indexes = (("key", "due_at", "event_id"),)
