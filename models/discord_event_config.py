"""The Discord switches that a series and an event share."""

from tortoise import fields
from tortoise.models import Model


class DiscordEventConfigMixin(Model):
    """
    What is announced and asked, and when; abstract, on ``EventRepeater`` and ``Event``.

    ``*_hours`` are whole hours before the start; null or <= 0 means that the reminder is off. ``signup_offer_minutes``
    is how long a freed place is held for the next in line; null: they have it at once. Whatever is added here cascades
    from a series to its events by itself.
    """

    discord_announcement = fields.BooleanField(default=False)
    discord_announcement_hours = fields.IntField(null=True, default=24)
    discord_announcement_channel_id = fields.BigIntField(null=True)
    discord_announcement_role_ids = fields.JSONField[list[int]](default=list)
    discord_signup_reminder = fields.BooleanField(default=False)
    discord_signup_reminder_hours = fields.IntField(null=True, default=24)
    discord_confirm_attendance = fields.BooleanField(default=False)
    discord_confirm_attendance_hours = fields.IntField(null=True, default=2)
    discord_confirm_attendance_dm = fields.BooleanField(default=True)
    discord_profile_reminder = fields.BooleanField(default=False)
    discord_profile_reminder_hours = fields.IntField(null=True, default=24)
    discord_create_event = fields.BooleanField(default=False)
    signup_opens_hours = fields.IntField(null=True, default=168)
    signup_offer_minutes = fields.IntField(null=True)
    max_players = fields.IntField(null=True)
    duration_minutes = fields.IntField(default=120)
    required_role_id = fields.BigIntField(null=True)
    attendee_role_id = fields.BigIntField(null=True)

    class Meta:
        abstract = True
