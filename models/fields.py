"""Column types with a rule of their own, used by the tables and their migrations."""

import datetime as dt
from typing import TYPE_CHECKING, Any, Literal, overload

from tortoise.fields import DatetimeField
from tortoise.fields.data import T_DATETIME
from tortoise.models import Model


class NaiveDatetimeError(ValueError):
    """A datetime without a zone reached the database's border."""

    def __init__(self, value: dt.datetime) -> None:
        super().__init__(f"{value!r} has no zone; every stored time is aware UTC")


class UtcDatetimeField(DatetimeField[T_DATETIME]):
    """
    A moment, stored and read as aware UTC.

    The library takes naive datetimes without a word and, on SQLite, compares what it stored as text: another zone
    would sort wrongly. So a naive value is refused and any other zone is turned to UTC, in rows and in filters alike.

    Raises:
        NaiveDatetimeError: on writing or filtering with a datetime that has no zone.
    """

    if TYPE_CHECKING:

        @overload
        def __init__(
            self: "UtcDatetimeField[dt.datetime]",
            *,
            null: Literal[False] = False,
            auto_now: bool = False,
            auto_now_add: bool = False,
        ) -> None: ...
        @overload
        def __init__(
            self: "UtcDatetimeField[dt.datetime | None]",
            *,
            null: Literal[True],
            auto_now: bool = False,
            auto_now_add: bool = False,
        ) -> None: ...
        def __init__(self, *, null: bool = False, auto_now: bool = False, auto_now_add: bool = False) -> None: ...

    def to_db_value(self, value: Any, instance: type[Model] | Model) -> Any:  # noqa: ANN401 -- the library's signature
        """Return ``value`` in UTC as the database driver takes it."""
        if isinstance(value, dt.datetime):
            if value.tzinfo is None:
                raise NaiveDatetimeError(value)
            value = value.astimezone(dt.UTC)
        return super().to_db_value(value, instance)

    def to_python_value(self, value: Any) -> dt.datetime | None:  # noqa: ANN401 -- the library's signature
        """Return the stored moment as aware UTC."""
        if isinstance(value, dt.datetime):
            if value.tzinfo is None:
                raise NaiveDatetimeError(value)
            return value.astimezone(dt.UTC)
        moment = super().to_python_value(value)
        return moment.astimezone(dt.UTC) if moment is not None else None
