"""Which process does what only one may do."""

from tortoise import fields, migrations
from tortoise.migrations import operations as ops

from models.fields import UtcDatetimeField


class Migration(migrations.Migration):
    dependencies = [("models", "0002_people")]

    initial = False

    operations = [
        ops.CreateModel(
            name="LeaderLease",
            fields=[
                ("name", fields.CharField(primary_key=True, unique=True, db_index=True, max_length=64)),
                ("holder", fields.CharField(max_length=32)),
                ("expires_at", UtcDatetimeField(auto_now=False, auto_now_add=False)),
            ],
            options={"table": "leader_lease", "app": "models", "pk_attr": "name", "table_description": "leader_lease"},
            bases=["Model"],
        ),
    ]
