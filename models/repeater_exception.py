"""Occurrences of a series that are never generated again."""

import datetime as dt
from typing import TYPE_CHECKING

from tortoise import fields
from tortoise.models import Model

from models.states import ExceptionKind

if TYPE_CHECKING:
    from models.event_repeater import EventRepeater


class RepeaterException(Model):
    """A skipped or moved occurrence, by its local date in the series' zone."""

    id = fields.BigIntField(primary_key=True)
    series: fields.ForeignKeyRelation["EventRepeater"] = fields.ForeignKeyField(
        "models.EventRepeater", related_name="exceptions", on_delete=fields.CASCADE
    )
    local_date: fields.Field[dt.date] = fields.DateField()
    kind = fields.CharEnumField(ExceptionKind, max_length=16, description="")

    if TYPE_CHECKING:
        series_id: int

    class Meta:
        table = "repeater_exception"
        table_description = "repeater_exception"
        unique_together = (("series", "local_date"),)
