"""Every outbound message that must not be doubled."""

from tortoise import fields
from tortoise.models import Model

from models.fields import UtcDatetimeField


class DiscordMessageLog(Model):
    """
    One attempt to send one message; written by ``bot.leases`` only.

    ``success`` null: a lease is held, the outcome is not known yet; true: sent; false: failed, and the key may be
    claimed again. ``recipient_id`` 0: not to one person. ``part`` 0: the first. A null ``lease_token`` on a held row
    means that it was handed back to its sender.
    """

    id = fields.BigIntField(primary_key=True)
    guild_id = fields.BigIntField(null=True)
    source = fields.CharField(max_length=64)
    source_id = fields.BigIntField()
    recipient_id = fields.BigIntField(default=0)
    part = fields.IntField(default=0)
    channel_id = fields.BigIntField(null=True)
    embed_data = fields.JSONField[dict[str, object]](null=True)
    success = fields.BooleanField(null=True)
    claimed_at = UtcDatetimeField()
    renewed_at = UtcDatetimeField(null=True)
    history_after = fields.BigIntField(default=0)
    lease_token = fields.CharField(max_length=32, null=True)
    instance = fields.CharField(max_length=32, null=True)
    attempts = fields.IntField(default=1)
    next_attempt_at = UtcDatetimeField(null=True)
    discord_message_id = fields.BigIntField(null=True)
    status_code = fields.IntField(null=True)
    error = fields.CharField(max_length=500, null=True)
    error_class = fields.CharField(max_length=32, null=True)
    created_at = UtcDatetimeField()
    finished_at = UtcDatetimeField(null=True)

    class Meta:
        table = "discord_message_log"
        table_description = "discord_message_log"
