"""The running processes."""

from tortoise import fields
from tortoise.models import Model

from models.fields import UtcDatetimeField


class Instance(Model):
    """
    One running process: a new id at every start, under the name it holds for its life.

    A row whose ``heartbeat_at`` is old, or that is gone, means that its holder is dead.
    """

    id = fields.CharField(max_length=32, primary_key=True)
    name = fields.CharField(max_length=100)
    started_at = UtcDatetimeField()
    heartbeat_at = UtcDatetimeField()
    shard_ids = fields.JSONField[list[int]](default=list)

    class Meta:
        table = "instance"
        table_description = "instance"
        indexes = (("name",),)
