import functools
from json import dumps, loads

from tortoise import fields, migrations
from tortoise.indexes import Index
from tortoise.migrations import operations as ops

from models.fields import UtcDatetimeField


class Migration(migrations.Migration):
    dependencies = [("models", "0003_leader_lease")]

    initial = False

    operations = [
        ops.AddField(
            model_name="Event",
            name="calendar_uid",
            field=fields.CharField(null=True, max_length=255),
        ),
        ops.AddField(
            model_name="Event",
            name="is_withdrawn",
            field=fields.BooleanField(default=False, db_default=False),
        ),
        ops.AddField(
            model_name="Event",
            name="moved_to",
            field=UtcDatetimeField(null=True, auto_now=False, auto_now_add=False),
        ),
        ops.AddField(
            model_name="Event",
            name="native_due_at",
            field=UtcDatetimeField(null=True, auto_now=False, auto_now_add=False),
        ),
        ops.AddField(
            model_name="Event",
            name="native_interested",
            field=fields.IntField(null=True),
        ),
        ops.AddField(
            model_name="Event",
            name="native_told",
            field=fields.JSONField(null=True, encoder=functools.partial(dumps, separators=(",", ":")), decoder=loads),
        ),
        ops.AddField(
            model_name="Event",
            name="signup_offer_minutes",
            field=fields.IntField(null=True),
        ),
        ops.AddField(
            model_name="Event",
            name="time_changes",
            field=fields.IntField(default=0, db_default=0),
        ),
        ops.AddIndex(
            model_name="Event",
            index=Index(fields=["native_due_at"]),
        ),
        ops.AddField(
            model_name="EventRepeater",
            name="calendar_uid",
            field=fields.CharField(null=True, max_length=255),
        ),
        ops.AddField(
            model_name="EventRepeater",
            name="signup_offer_minutes",
            field=fields.IntField(null=True),
        ),
        ops.AddField(
            model_name="EventSignup",
            name="has_role",
            field=fields.BooleanField(default=False, db_default=False),
        ),
        ops.AddField(
            model_name="EventSignup",
            name="is_no_show",
            field=fields.BooleanField(default=False, db_default=False),
        ),
        ops.AddField(
            model_name="EventSignup",
            name="offered_until",
            field=UtcDatetimeField(null=True, auto_now=False, auto_now_add=False),
        ),
        ops.AddField(
            model_name="EventSignup",
            name="promotions",
            field=fields.IntField(default=0, db_default=0),
        ),
        ops.AddIndex(
            model_name="EventSignup",
            index=Index(fields=["offered_until"]),
        ),
        ops.AddField(
            model_name="GuildSettings",
            name="event_template",
            field=fields.JSONField(
                default=dict, db_default={}, encoder=functools.partial(dumps, separators=(",", ":")), decoder=loads
            ),
        ),
        ops.AddField(
            model_name="GuildSettings",
            name="series_template",
            field=fields.JSONField(
                default=dict, db_default={}, encoder=functools.partial(dumps, separators=(",", ":")), decoder=loads
            ),
        ),
        ops.AddField(
            model_name="PlayerProfile",
            name="series_opt_outs",
            field=fields.JSONField(
                default=list, db_default=[], encoder=functools.partial(dumps, separators=(",", ":")), decoder=loads
            ),
        ),
    ]
