"""Which process does what only one may do."""

from tortoise import fields
from tortoise.models import Model

from models.fields import UtcDatetimeField


class LeaderLease(Model):
    """One task that one process at a time has: the instance ``holder``, until ``expires_at`` by the lease clock."""

    name = fields.CharField(max_length=64, primary_key=True)
    holder = fields.CharField(max_length=32)
    expires_at = UtcDatetimeField()

    class Meta:
        table = "leader_lease"
        table_description = "leader_lease"
