"""Discord's ids, which say when they were made."""

import datetime as dt
from typing import Final

_DISCORD_EPOCH: Final = dt.datetime(2015, 1, 1, tzinfo=dt.UTC)
_BELOW_THE_MILLISECONDS: Final = 22


def snowflake_at(moment: dt.datetime) -> int:
    """Return the smallest Discord id of that moment."""
    return max(0, int((moment - _DISCORD_EPOCH).total_seconds() * 1000)) << _BELOW_THE_MILLISECONDS


def made_at(snowflake: int) -> dt.datetime:
    """Return when the thing of a Discord id was made, to the millisecond, by Discord's own clock."""
    return _DISCORD_EPOCH + dt.timedelta(milliseconds=snowflake >> _BELOW_THE_MILLISECONDS)
