"""What a Discord server has set up for itself."""

from tortoise import fields
from tortoise.models import Model


class GuildSettings(Model):
    """
    One row per Discord server that uses the bot.

    ``series_template`` and ``event_template``: what new ones have where a command leaves it out, by field name.
    """

    guild_id = fields.BigIntField(primary_key=True, generated=False)
    timezone = fields.CharField(max_length=64, default="UTC")
    announcement_channel_id = fields.BigIntField(null=True)
    ops_channel_id = fields.BigIntField(null=True)
    manager_role_id = fields.BigIntField(null=True)
    approved_role_id = fields.BigIntField(null=True)
    profile_fields = fields.JSONField[list[dict[str, object]]](default=list)
    series_template = fields.JSONField[dict[str, object]](default=dict, db_default={})
    event_template = fields.JSONField[dict[str, object]](default=dict, db_default={})
    locale = fields.CharField(max_length=16, default="en")

    class Meta:
        table = "guild_settings"
        table_description = "guild_settings"
