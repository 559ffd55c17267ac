"""What a process leaves for the next one."""

from tortoise import fields
from tortoise.models import Model

from models.fields import UtcDatetimeField


class ProcessState(Model):
    """One value by its key: the hash of the synced commands, the state of a circuit breaker."""

    key = fields.CharField(max_length=100, primary_key=True)
    value = fields.JSONField[dict[str, object]]()
    updated_at = UtcDatetimeField()

    class Meta:
        table = "process_state"
        table_description = "process_state"
