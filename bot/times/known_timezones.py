"""The time zones that may be named."""

import functools
import zoneinfo

# Named by one machine's settings or by no place: the same key elsewhere means something else, or nothing.
_NO_PLACE = frozenset({"Factory", "localtime", "posixrules"})


@functools.cache
def known_timezones() -> frozenset[str]:
    """Return every IANA key that may be named here; read once a process, since the zone files are many."""
    return frozenset(zoneinfo.available_timezones() - _NO_PLACE)
