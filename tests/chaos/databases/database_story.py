"""What the story of :mod:`tests.chaos.databases.database_world` must come to where nothing breaks, written by hand."""

from tests.builders import CHANNEL, OPS_CHANNEL, OTHER_CHANNEL, dm_channel
from tests.chaos.databases.database_rest import Rest

_IN_CHANNEL = (
    "Weekly 01 19:00",
    "Post 0 02 12:01",
    "Post 1 02 12:01",
    "Post 2 02 12:02",
    "Post 3 02 12:02",
    "Lost answer 02 12:02",
    "Lost request 02 12:03",
    "Attendance 01 14:06 roll call",
    "Profile 01 15:08 profiles",
    "Pressed 03 12:00.1",  # its first post was deleted
)
_FOR_ADMINS = ((OPS_CHANNEL, f"note post:{CHANNEL + 50} 1"), (OTHER_CHANNEL + 1, "note missed 1"))
# 103 takes no DMs, and 101 signed up for nothing that asks.
_DMS = {
    "Signup 02 12:02 sign-up": (101, 102, 104),
    "Attendance 01 14:06 attendance": (102, 104),
    "Profile 01 15:08 profile": (102, 104),
}


def must_be_visible(*, loaded: bool) -> set[tuple[int, str]]:
    """Return each message of the story by channel and marker; ``loaded``: with much to do at a time."""
    dms = dict(_DMS)
    posts = list(_IN_CHANNEL)
    if loaded:
        posts += [f"Load {place} 02 12:{1 + place // 5:02}" for place in range(40)]
        dms["Crowd 02 12:01 sign-up"] = tuple(range(1001, 1041))
    found = {(CHANNEL, marker) for marker in posts} | set(_FOR_ADMINS)
    return found | {(dm_channel(who), marker) for marker, people in dms.items() for who in people}


def good_run_faults(rest: Rest, *, loaded: bool) -> list[str]:
    """Return what is wrong with the run that all others are held against."""
    wanted = must_be_visible(loaded=loaded)
    found = [f"the good run lacks {marker} in {channel}" for channel, marker in wanted - rest.visible.keys()]
    found += [f"the good run has {marker} in {channel}" for channel, marker in rest.visible.keys() - wanted]
    found += [f"the good run doubled {one}" for one in rest.doubled]
    found += [f"the good run is stuck: {one}" for one in rest.stuck]
    return found
