"""What admins are told about trouble."""

from tortoise import fields
from tortoise.models import Model

from models.fields import UtcDatetimeField


class OpsNote(Model):
    """
    One fault of a guild and what was last said about it; ``says`` is empty once it is mended.

    ``revision`` grows with every change of what is said: it is the part under which the note is sent.
    """

    id = fields.BigIntField(primary_key=True)
    guild_id = fields.BigIntField()
    fault = fields.CharField(max_length=200)
    says = fields.CharField(max_length=1500)
    revision = fields.IntField(default=1)
    updated_at = UtcDatetimeField()

    class Meta:
        table = "ops_note"
        table_description = "ops_note"
        unique_together = (("guild_id", "fault"),)
