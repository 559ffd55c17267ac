"""One event: a stored occurrence of a series, or a one-off."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tortoise import fields
from tortoise.backends.base.client import BaseDBAsyncClient

from models.discord_event_config import DiscordEventConfigMixin
from models.fields import UtcDatetimeField
from models.states import EventState

if TYPE_CHECKING:
    from models.event_repeater import EventRepeater


class SignupReminderNeedsSeriesError(ValueError):
    """A one-off was to ask the subscribers of a series that it does not have."""

    def __init__(self) -> None:
        super().__init__("a one-off event cannot have a sign-up reminder: it goes to the subscribers of a series")


class Event(DiscordEventConfigMixin):
    """
    One event of a guild.

    ``slot`` is the local time and zone it was generated for, ``2026-03-29T19:00[Europe/London]``; null for a one-off
    and off schedule. ``is_off_schedule``: an extra one of its series, or one that was cancelled by itself after the
    schedule had left its slot. ``announcement_*`` name the one post of the event; ``reposts`` counts how often it was
    posted again; ``post_due_at`` is set while the post lags behind the row, and ``post_version`` counts what changed.
    ``is_withdrawn``: cancelled because its series left its slot, so that it revives when the slot returns; ``moved_to``
    is then where its place went, if anywhere. ``time_changes`` counts the new times that its people were to hear of.
    ``native_due_at`` is set while the native scheduled event lags behind; ``native_told`` is what Discord was last told
    of it, ``native_interested`` how many are interested there. ``calendar_uid`` is the UID of the calendar entry it was
    imported from.
    """

    id = fields.BigIntField(primary_key=True)
    guild_id = fields.BigIntField()
    series: fields.ForeignKeyNullableRelation["EventRepeater"] = fields.ForeignKeyField(
        "models.EventRepeater", related_name="events", null=True, on_delete=fields.SET_NULL
    )
    slot = fields.CharField(max_length=96, null=True)
    scheduled_at = UtcDatetimeField()
    signups_open_at = UtcDatetimeField(null=True)
    name = fields.CharField(max_length=100)
    description = fields.CharField(max_length=1000, default="")
    state = fields.CharEnumField(EventState, max_length=16, description="", default=EventState.UPCOMING)
    created_at = UtcDatetimeField()
    state_since = UtcDatetimeField()
    is_off_schedule = fields.BooleanField(default=False)
    overridden_fields = fields.JSONField[list[str]](default=list)
    discord_scheduled_event_id = fields.BigIntField(null=True)
    announcement_channel_id = fields.BigIntField(null=True)
    announcement_message_id = fields.BigIntField(null=True)
    reposts = fields.IntField(default=0)
    post_due_at = UtcDatetimeField(null=True)
    post_version = fields.IntField(default=0)
    is_withdrawn = fields.BooleanField(default=False, db_default=False)
    moved_to = UtcDatetimeField(null=True)
    time_changes = fields.IntField(default=0, db_default=0)
    native_due_at = UtcDatetimeField(null=True)
    native_told = fields.JSONField[dict[str, object]](null=True)
    native_interested = fields.IntField(null=True)
    calendar_uid = fields.CharField(max_length=255, null=True)
    created_by = fields.BigIntField(null=True)

    if TYPE_CHECKING:
        series_id: int | None

    async def save(
        self,
        using_db: BaseDBAsyncClient | None = None,
        update_fields: Iterable[str] | None = None,
        force_create: bool = False,  # noqa: FBT001, FBT002 -- the library's signature
        force_update: bool = False,  # noqa: FBT001, FBT002
    ) -> None:
        """
        Store the row.

        Raises:
            SignupReminderNeedsSeriesError: it is new, or this very switch is being set, and it has no series. Another
                edit of an event whose series was deleted passes.
        """
        named = set(update_fields) if update_fields is not None else None
        concerns = not self._saved_in_db or "discord_signup_reminder" in (named or ())
        if concerns and self.discord_signup_reminder and self.series_id is None:
            raise SignupReminderNeedsSeriesError
        await super().save(using_db, named, force_create, force_update)

    class Meta:
        table = "event"
        table_description = "event"
        unique_together = (("series", "slot"),)
        indexes = (
            ("state", "scheduled_at"),
            ("state", "signups_open_at"),
            ("post_due_at",),
            ("native_due_at",),
            ("guild_id", "scheduled_at"),
        )
