"""The first tables: guilds, series, events, what is due, what was sent, audit, processes, notes to admins."""

import functools
from json import dumps, loads

from tortoise import fields, migrations
from tortoise.fields.base import OnDelete
from tortoise.indexes import Index
from tortoise.migrations import operations as ops

from models.fields import UtcDatetimeField
from models.states import EventState, ExceptionKind, Frequency, MonthEnd


class Migration(migrations.Migration):
    initial = True

    operations = [
        ops.CreateModel(
            name="AuditLog",
            fields=[
                ("id", fields.BigIntField(generated=True, primary_key=True, unique=True, db_index=True)),
                ("guild_id", fields.BigIntField(null=True)),
                ("actor_user_id", fields.BigIntField(null=True)),
                ("instance", fields.CharField(null=True, max_length=32)),
                ("action", fields.CharField(max_length=64)),
                ("subject_id", fields.BigIntField(null=True)),
                (
                    "before",
                    fields.JSONField(null=True, encoder=functools.partial(dumps, separators=(",", ":")), decoder=loads),
                ),
                (
                    "after",
                    fields.JSONField(null=True, encoder=functools.partial(dumps, separators=(",", ":")), decoder=loads),
                ),
                ("created_at", UtcDatetimeField(auto_now=False, auto_now_add=False)),
            ],
            options={
                "table": "audit_log",
                "app": "models",
                "indexes": [Index(fields=["guild_id", "created_at"])],
                "pk_attr": "id",
                "table_description": "audit_log",
            },
            bases=["Model"],
        ),
        ops.CreateModel(
            name="DiscordMessageLog",
            fields=[
                ("id", fields.BigIntField(generated=True, primary_key=True, unique=True, db_index=True)),
                ("guild_id", fields.BigIntField(null=True)),
                ("source", fields.CharField(max_length=64)),
                ("source_id", fields.BigIntField()),
                ("recipient_id", fields.BigIntField(default=0)),
                ("part", fields.IntField(default=0)),
                ("channel_id", fields.BigIntField(null=True)),
                (
                    "embed_data",
                    fields.JSONField(null=True, encoder=functools.partial(dumps, separators=(",", ":")), decoder=loads),
                ),
                ("success", fields.BooleanField(null=True)),
                ("claimed_at", UtcDatetimeField(auto_now=False, auto_now_add=False)),
                ("renewed_at", UtcDatetimeField(null=True, auto_now=False, auto_now_add=False)),
                ("history_after", fields.BigIntField(default=0)),
                ("lease_token", fields.CharField(null=True, max_length=32)),
                ("instance", fields.CharField(null=True, max_length=32)),
                ("attempts", fields.IntField(default=1)),
                ("next_attempt_at", UtcDatetimeField(null=True, auto_now=False, auto_now_add=False)),
                ("discord_message_id", fields.BigIntField(null=True)),
                ("status_code", fields.IntField(null=True)),
                ("error", fields.CharField(null=True, max_length=500)),
                ("error_class", fields.CharField(null=True, max_length=32)),
                ("created_at", UtcDatetimeField(auto_now=False, auto_now_add=False)),
                ("finished_at", UtcDatetimeField(null=True, auto_now=False, auto_now_add=False)),
            ],
            options={
                "table": "discord_message_log",
                "app": "models",
                "pk_attr": "id",
                "table_description": "discord_message_log",
            },
            bases=["Model"],
        ),
        ops.CreateModel(
            name="EventRepeater",
            fields=[
                ("discord_announcement", fields.BooleanField(default=False)),
                ("discord_announcement_hours", fields.IntField(null=True, default=24)),
                ("discord_announcement_channel_id", fields.BigIntField(null=True)),
                (
                    "discord_announcement_role_ids",
                    fields.JSONField(
                        default=list, encoder=functools.partial(dumps, separators=(",", ":")), decoder=loads
                    ),
                ),
                ("discord_signup_reminder", fields.BooleanField(default=False)),
                ("discord_signup_reminder_hours", fields.IntField(null=True, default=24)),
                ("discord_confirm_attendance", fields.BooleanField(default=False)),
                ("discord_confirm_attendance_hours", fields.IntField(null=True, default=2)),
                ("discord_confirm_attendance_dm", fields.BooleanField(default=True)),
                ("discord_profile_reminder", fields.BooleanField(default=False)),
                ("discord_profile_reminder_hours", fields.IntField(null=True, default=24)),
                ("discord_create_event", fields.BooleanField(default=False)),
                ("signup_opens_hours", fields.IntField(null=True, default=168)),
                ("max_players", fields.IntField(null=True)),
                ("duration_minutes", fields.IntField(default=120)),
                ("required_role_id", fields.BigIntField(null=True)),
                ("attendee_role_id", fields.BigIntField(null=True)),
                ("id", fields.BigIntField(generated=True, primary_key=True, unique=True, db_index=True)),
                ("guild_id", fields.BigIntField()),
                ("name", fields.CharField(max_length=100)),
                ("description", fields.CharField(default="", max_length=1000)),
                ("frequency", fields.CharEnumField(description="", enum_type=Frequency, max_length=16)),
                ("interval", fields.IntField(default=1)),
                ("day_of_week", fields.CharField(null=True, max_length=64)),
                ("time_of_day", fields.CharField(max_length=5)),
                ("timezone", fields.CharField(max_length=64)),
                ("starts_at", fields.DateField()),
                ("ends_at", fields.DateField(null=True)),
                (
                    "month_end",
                    fields.CharEnumField(default=MonthEnd.LAST_DAY, description="", enum_type=MonthEnd, max_length=16),
                ),
                ("generate_days_ahead", fields.IntField(default=14)),
                ("is_active", fields.BooleanField(default=True)),
                ("created_by", fields.BigIntField(null=True)),
                ("created_at", UtcDatetimeField(auto_now=False, auto_now_add=False)),
            ],
            options={
                "table": "event_repeater",
                "app": "models",
                "unique_together": (("guild_id", "name"),),
                "pk_attr": "id",
                "table_description": "event_repeater",
            },
            bases=["DiscordEventConfigMixin"],
        ),
        ops.CreateModel(
            name="Event",
            fields=[
                ("discord_announcement", fields.BooleanField(default=False)),
                ("discord_announcement_hours", fields.IntField(null=True, default=24)),
                ("discord_announcement_channel_id", fields.BigIntField(null=True)),
                (
                    "discord_announcement_role_ids",
                    fields.JSONField(
                        default=list, encoder=functools.partial(dumps, separators=(",", ":")), decoder=loads
                    ),
                ),
                ("discord_signup_reminder", fields.BooleanField(default=False)),
                ("discord_signup_reminder_hours", fields.IntField(null=True, default=24)),
                ("discord_confirm_attendance", fields.BooleanField(default=False)),
                ("discord_confirm_attendance_hours", fields.IntField(null=True, default=2)),
                ("discord_confirm_attendance_dm", fields.BooleanField(default=True)),
                ("discord_profile_reminder", fields.BooleanField(default=False)),
                ("discord_profile_reminder_hours", fields.IntField(null=True, default=24)),
                ("discord_create_event", fields.BooleanField(default=False)),
                ("signup_opens_hours", fields.IntField(null=True, default=168)),
                ("max_players", fields.IntField(null=True)),
                ("duration_minutes", fields.IntField(default=120)),
                ("required_role_id", fields.BigIntField(null=True)),
                ("attendee_role_id", fields.BigIntField(null=True)),
                ("id", fields.BigIntField(generated=True, primary_key=True, unique=True, db_index=True)),
                ("guild_id", fields.BigIntField()),
                (
                    "series",
                    fields.ForeignKeyField(
                        "models.EventRepeater",
                        source_field="series_id",
                        null=True,
                        db_constraint=True,
                        to_field="id",
                        related_name="events",
                        on_delete=OnDelete.SET_NULL,
                    ),
                ),
                ("slot", fields.CharField(null=True, max_length=96)),
                ("scheduled_at", UtcDatetimeField(auto_now=False, auto_now_add=False)),
                ("signups_open_at", UtcDatetimeField(null=True, auto_now=False, auto_now_add=False)),
                ("name", fields.CharField(max_length=100)),
                ("description", fields.CharField(default="", max_length=1000)),
                (
                    "state",
                    fields.CharEnumField(
                        default=EventState.UPCOMING, description="", enum_type=EventState, max_length=16
                    ),
                ),
                ("created_at", UtcDatetimeField(auto_now=False, auto_now_add=False)),
                ("state_since", UtcDatetimeField(auto_now=False, auto_now_add=False)),
                ("is_off_schedule", fields.BooleanField(default=False)),
                (
                    "overridden_fields",
                    fields.JSONField(
                        default=list, encoder=functools.partial(dumps, separators=(",", ":")), decoder=loads
                    ),
                ),
                ("discord_scheduled_event_id", fields.BigIntField(null=True)),
                ("announcement_channel_id", fields.BigIntField(null=True)),
                ("announcement_message_id", fields.BigIntField(null=True)),
                ("reposts", fields.IntField(default=0)),
                ("post_due_at", UtcDatetimeField(null=True, auto_now=False, auto_now_add=False)),
                ("post_version", fields.IntField(default=0)),
                ("created_by", fields.BigIntField(null=True)),
            ],
            options={
                "table": "event",
                "app": "models",
                "unique_together": (("series", "slot"),),
                "indexes": [
                    Index(fields=["state", "scheduled_at"]),
                    Index(fields=["state", "signups_open_at"]),
                    Index(fields=["post_due_at"]),
                ],
                "pk_attr": "id",
                "table_description": "event",
            },
            bases=["DiscordEventConfigMixin"],
        ),
        ops.CreateModel(
            name="GuildSettings",
            fields=[
                ("guild_id", fields.BigIntField(generated=False, primary_key=True, unique=True, db_index=True)),
                ("timezone", fields.CharField(default="UTC", max_length=64)),
                ("announcement_channel_id", fields.BigIntField(null=True)),
                ("ops_channel_id", fields.BigIntField(null=True)),
                ("manager_role_id", fields.BigIntField(null=True)),
                ("approved_role_id", fields.BigIntField(null=True)),
                (
                    "profile_fields",
                    fields.JSONField(
                        default=list, encoder=functools.partial(dumps, separators=(",", ":")), decoder=loads
                    ),
                ),
                ("locale", fields.CharField(default="en", max_length=16)),
            ],
            options={
                "table": "guild_settings",
                "app": "models",
                "pk_attr": "guild_id",
                "table_description": "guild_settings",
            },
            bases=["Model"],
        ),
        ops.CreateModel(
            name="Instance",
            fields=[
                ("id", fields.CharField(primary_key=True, unique=True, db_index=True, max_length=32)),
                ("name", fields.CharField(max_length=100)),
                ("started_at", UtcDatetimeField(auto_now=False, auto_now_add=False)),
                ("heartbeat_at", UtcDatetimeField(auto_now=False, auto_now_add=False)),
                (
                    "shard_ids",
                    fields.JSONField(
                        default=list, encoder=functools.partial(dumps, separators=(",", ":")), decoder=loads
                    ),
                ),
            ],
            options={
                "table": "instance",
                "app": "models",
                "indexes": [Index(fields=["name"])],
                "pk_attr": "id",
                "table_description": "instance",
            },
            bases=["Model"],
        ),
        ops.CreateModel(
            name="OpsNote",
            fields=[
                ("id", fields.BigIntField(generated=True, primary_key=True, unique=True, db_index=True)),
                ("guild_id", fields.BigIntField()),
                ("fault", fields.CharField(max_length=200)),
                ("says", fields.CharField(max_length=1500)),
                ("revision", fields.IntField(default=1)),
                ("updated_at", UtcDatetimeField(auto_now=False, auto_now_add=False)),
            ],
            options={
                "table": "ops_note",
                "app": "models",
                "unique_together": (("guild_id", "fault"),),
                "pk_attr": "id",
                "table_description": "ops_note",
            },
            bases=["Model"],
        ),
        ops.CreateModel(
            name="ReminderDue",
            fields=[
                ("id", fields.BigIntField(generated=True, primary_key=True, unique=True, db_index=True)),
                (
                    "event",
                    fields.ForeignKeyField(
                        "models.Event",
                        source_field="event_id",
                        db_constraint=True,
                        to_field="id",
                        related_name="due",
                        on_delete=OnDelete.CASCADE,
                    ),
                ),
                ("key", fields.CharField(max_length=64)),
                ("due_at", UtcDatetimeField(auto_now=False, auto_now_add=False)),
            ],
            options={
                "table": "reminder_due",
                "app": "models",
                "unique_together": (("event", "key"),),
                "indexes": [Index(fields=["key", "due_at", "event_id"])],
                "pk_attr": "id",
                "table_description": "reminder_due",
            },
            bases=["Model"],
        ),
        ops.CreateModel(
            name="RepeaterException",
            fields=[
                ("id", fields.BigIntField(generated=True, primary_key=True, unique=True, db_index=True)),
                (
                    "series",
                    fields.ForeignKeyField(
                        "models.EventRepeater",
                        source_field="series_id",
                        db_constraint=True,
                        to_field="id",
                        related_name="exceptions",
                        on_delete=OnDelete.CASCADE,
                    ),
                ),
                ("local_date", fields.DateField()),
                ("kind", fields.CharEnumField(description="", enum_type=ExceptionKind, max_length=16)),
            ],
            options={
                "table": "repeater_exception",
                "app": "models",
                "unique_together": (("series", "local_date"),),
                "pk_attr": "id",
                "table_description": "repeater_exception",
            },
            bases=["Model"],
        ),
        # The library drops conditions on indexes without a word, so these are written by hand; each may run twice.
        ops.RunSQL(
            "CREATE UNIQUE INDEX IF NOT EXISTS uniq_discord_message_log_source_event_when_pending_or_success "
            "ON discord_message_log (source, source_id, recipient_id, part) WHERE success IS NULL OR success",
            "DROP INDEX IF EXISTS uniq_discord_message_log_source_event_when_pending_or_success",
        ),
        ops.RunSQL(
            "CREATE INDEX IF NOT EXISTS ix_discord_message_log_held ON discord_message_log (id) WHERE success IS NULL",
            "DROP INDEX IF EXISTS ix_discord_message_log_held",
        ),
        ops.RunSQL(
            "CREATE INDEX IF NOT EXISTS ix_discord_message_log_failed_next "
            "ON discord_message_log (next_attempt_at) WHERE NOT success AND next_attempt_at IS NOT NULL",
            "DROP INDEX IF EXISTS ix_discord_message_log_failed_next",
        ),
        ops.RunSQL(
            "CREATE INDEX IF NOT EXISTS ix_discord_message_log_failed_key "
            "ON discord_message_log (source, source_id, recipient_id, part) WHERE NOT success",
            "DROP INDEX IF EXISTS ix_discord_message_log_failed_key",
        ),
    ]
