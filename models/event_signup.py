"""Who comes to an event, and who does not."""

from typing import TYPE_CHECKING

from tortoise import fields
from tortoise.models import Model

from models.fields import UtcDatetimeField
from models.states import SignupStatus

if TYPE_CHECKING:
    from models.event import Event


class EventSignup(Model):
    """
    What one person said about one event; written by ``bot.events.signups.sign_up`` only.

    A change of mind keeps the row. ``position`` orders the wait-list, lowest first; it has gaps and is null off it.
    ``offered_until``: a place is held for this person, who waits, until then. ``promotions`` counts how often they were
    moved up or offered a place, each of which they are told once. ``has_role``: the bot gave them the attendee role.
    """

    id = fields.BigIntField(primary_key=True)
    event: fields.ForeignKeyRelation["Event"] = fields.ForeignKeyField(
        "models.Event", related_name="signups", on_delete=fields.CASCADE
    )
    user_id = fields.BigIntField()
    status = fields.CharEnumField(SignupStatus, max_length=16, description="")
    position = fields.IntField(null=True)
    created_at = UtcDatetimeField()
    changed_at = UtcDatetimeField()
    confirmed_at = UtcDatetimeField(null=True)
    offered_until = UtcDatetimeField(null=True)
    promotions = fields.IntField(default=0, db_default=0)
    has_role = fields.BooleanField(default=False, db_default=False)
    is_no_show = fields.BooleanField(default=False, db_default=False)

    if TYPE_CHECKING:
        event_id: int

    class Meta:
        table = "event_signup"
        table_description = "event_signup"
        unique_together = (("event", "user_id"),)
        indexes = (("event_id", "status", "position"), ("user_id",), ("offered_until",))
