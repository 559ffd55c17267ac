"""Who changed what: append-only."""

from tortoise import fields
from tortoise.models import Model

from models.fields import UtcDatetimeField


class AuditLog(Model):
    """
    One change; written by ``bot.audit`` only, never updated or deleted.

    ``guild_id`` null: the whole process. ``actor_user_id`` null: the system. Never holds a code, an NDA, an
    announcement's text or an answer.
    """

    id = fields.BigIntField(primary_key=True)
    guild_id = fields.BigIntField(null=True)
    actor_user_id = fields.BigIntField(null=True)
    instance = fields.CharField(max_length=32, null=True)
    action = fields.CharField(max_length=64)
    subject_id = fields.BigIntField(null=True)
    before = fields.JSONField[dict[str, object]](null=True)
    after = fields.JSONField[dict[str, object]](null=True)
    created_at = UtcDatetimeField()

    class Meta:
        table = "audit_log"
        table_description = "audit_log"
        indexes = (("guild_id", "created_at"),)
