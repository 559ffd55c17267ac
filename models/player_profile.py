"""What a person told a server about themselves."""

from tortoise import fields
from tortoise.models import Model

from models.fields import UtcDatetimeField


class PlayerProfile(Model):
    """
    One person in one server; written by ``bot.events.profiles`` only.

    ``field_values`` is by the key of the server's profile field. ``reminder_opt_outs`` names the reminders, by the
    registry's keys, that the person does not want by DM; ``series_opt_outs`` the series of which they want none.
    """

    id = fields.BigIntField(primary_key=True)
    guild_id = fields.BigIntField()
    user_id = fields.BigIntField()
    field_values = fields.JSONField[dict[str, str]](default=dict)
    timezone = fields.CharField(max_length=64, null=True)
    reminder_opt_outs = fields.JSONField[list[str]](default=list)
    series_opt_outs = fields.JSONField[list[int]](default=list, db_default=[])
    updated_at = UtcDatetimeField()

    class Meta:
        table = "player_profile"
        table_description = "player_profile"
        unique_together = (("guild_id", "user_id"),)
