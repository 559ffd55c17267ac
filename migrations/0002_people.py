"""People: sign-ups, subscriptions, profiles, opened DM channels, and what a process leaves for the next one."""

import functools
from json import dumps, loads

from tortoise import fields, migrations
from tortoise.fields.base import OnDelete
from tortoise.indexes import Index
from tortoise.migrations import operations as ops

from models.fields import UtcDatetimeField
from models.states import SignupStatus


class Migration(migrations.Migration):
    dependencies = [("models", "0001_initial")]

    initial = False

    operations = [
        ops.CreateModel(
            name="DmChannel",
            fields=[
                ("user_id", fields.BigIntField(generated=False, primary_key=True, unique=True, db_index=True)),
                ("channel_id", fields.BigIntField()),
                ("opened_at", UtcDatetimeField(auto_now=False, auto_now_add=False)),
            ],
            options={"table": "dm_channel", "app": "models", "pk_attr": "user_id", "table_description": "dm_channel"},
            bases=["Model"],
        ),
        ops.CreateModel(
            name="EventSignup",
            fields=[
                ("id", fields.BigIntField(generated=True, primary_key=True, unique=True, db_index=True)),
                (
                    "event",
                    fields.ForeignKeyField(
                        "models.Event",
                        source_field="event_id",
                        db_constraint=True,
                        to_field="id",
                        related_name="signups",
                        on_delete=OnDelete.CASCADE,
                    ),
                ),
                ("user_id", fields.BigIntField()),
                ("status", fields.CharEnumField(description="", enum_type=SignupStatus, max_length=16)),
                ("position", fields.IntField(null=True)),
                ("created_at", UtcDatetimeField(auto_now=False, auto_now_add=False)),
                ("changed_at", UtcDatetimeField(auto_now=False, auto_now_add=False)),
                ("confirmed_at", UtcDatetimeField(null=True, auto_now=False, auto_now_add=False)),
            ],
            options={
                "table": "event_signup",
                "app": "models",
                "unique_together": (("event", "user_id"),),
                "indexes": [Index(fields=["event_id", "status", "position"]), Index(fields=["user_id"])],
                "pk_attr": "id",
                "table_description": "event_signup",
            },
            bases=["Model"],
        ),
        ops.CreateModel(
            name="PlayerProfile",
            fields=[
                ("id", fields.BigIntField(generated=True, primary_key=True, unique=True, db_index=True)),
                ("guild_id", fields.BigIntField()),
                ("user_id", fields.BigIntField()),
                (
                    "field_values",
                    fields.JSONField(
                        default=dict,
                        encoder=functools.partial(dumps, separators=(",", ":")),
                        decoder=loads,
                    ),
                ),
                ("timezone", fields.CharField(null=True, max_length=64)),
                (
                    "reminder_opt_outs",
                    fields.JSONField(
                        default=list, encoder=functools.partial(dumps, separators=(",", ":")), decoder=loads
                    ),
                ),
                ("updated_at", UtcDatetimeField(auto_now=False, auto_now_add=False)),
            ],
            options={
                "table": "player_profile",
                "app": "models",
                "unique_together": (("guild_id", "user_id"),),
                "pk_attr": "id",
                "table_description": "player_profile",
            },
            bases=["Model"],
        ),
        ops.CreateModel(
            name="ProcessState",
            fields=[
                ("key", fields.CharField(primary_key=True, unique=True, db_index=True, max_length=100)),
                ("value", fields.JSONField(encoder=functools.partial(dumps, separators=(",", ":")), decoder=loads)),
                ("updated_at", UtcDatetimeField(auto_now=False, auto_now_add=False)),
            ],
            options={"table": "process_state", "app": "models", "pk_attr": "key", "table_description": "process_state"},
            bases=["Model"],
        ),
        ops.CreateModel(
            name="RepeaterSubscription",
            fields=[
                ("id", fields.BigIntField(generated=True, primary_key=True, unique=True, db_index=True)),
                (
                    "series",
                    fields.ForeignKeyField(
                        "models.EventRepeater",
                        source_field="series_id",
                        db_constraint=True,
                        to_field="id",
                        related_name="subscriptions",
                        on_delete=OnDelete.CASCADE,
                    ),
                ),
                ("user_id", fields.BigIntField()),
                ("created_at", UtcDatetimeField(auto_now=False, auto_now_add=False)),
            ],
            options={
                "table": "repeater_subscription",
                "app": "models",
                "unique_together": (("series", "user_id"),),
                "indexes": [Index(fields=["user_id"])],
                "pk_attr": "id",
                "table_description": "repeater_subscription",
            },
            bases=["Model"],
        ),
        ops.AddIndex(model_name="Event", index=Index(fields=["guild_id", "scheduled_at"])),
    ]
