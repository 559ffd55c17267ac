"""The DM channels that were opened, so that a restart does not open them again."""

from tortoise import fields
from tortoise.models import Model

from models.fields import UtcDatetimeField


class DmChannel(Model):
    """The bot's DM channel with one person; written by ``bot.dm_queue`` only."""

    user_id = fields.BigIntField(primary_key=True, generated=False)
    channel_id = fields.BigIntField()
    opened_at = UtcDatetimeField()

    class Meta:
        table = "dm_channel"
        table_description = "dm_channel"
