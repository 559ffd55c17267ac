"""The points at which the kill matrix kills, and where a successor may die once more."""

import datetime as dt

from tests.chaos.deaths import kill_change_points
from tests.chaos.deaths.kill_change_points import CHANGE_POINTS
from tests.chaos.deaths.kill_point import Point

_PAST_ITS_BEGIN = dt.timedelta(minutes=4)
"""After this the event that begins in the midst of it all has begun."""

POINTS: tuple[Point, ...] = (
    Point("post: before its claim", "claim: post"),
    Point("post: after its claim", "claimed: post"),
    Point("post: before the request", "request: post"),
    Point("post: the request half written", "leaving: post"),
    Point("post: accepted, the answer not read", "accepted: post"),
    Point("post: answered, not recorded", "answered: post"),
    Point("post: in the recording transaction", "recording: post"),
    Point("post: recorded", "recorded: post"),
    Point("post: hung after its claim, awake too late", "claimed: post", hangs=True),
    Point("post: hung with its answer, awake too late", "answered: post", hangs=True),
    Point("repost: after its claim", "claimed: repost"),
    Point("repost: accepted, the answer not read", "accepted: repost"),
    Point("repost: in the recording transaction", "recording: repost"),
    Point("native: before its claim", "claim: native"),
    Point("native: after its claim", "claimed: native"),
    Point("native: before the request", "request: native"),
    Point("native: the request half written", "leaving: native"),
    Point("native: accepted, the answer not read", "accepted: native"),
    Point("native: answered, not recorded", "answered: native"),
    Point("native: in the recording transaction", "recording: native"),
    Point("native: recorded", "recorded: native"),
    Point("native: hung after its claim, awake too late", "claimed: native", hangs=True),
    Point("native: hung with its answer, awake too late", "answered: native", hangs=True),
    Point("note: after its claim", "claimed: note"),
    Point("note: accepted, the answer not read", "accepted: note"),
    Point("note: recorded", "recorded: note"),
    Point("DM: before its claim", "claim: child", most=3),
    Point("DM: after its claim", "claimed: child", most=3),
    Point("DM: before the request", "request: child", most=3),
    Point("DM: the request half written", "leaving: child", most=3),
    Point("DM: accepted, the answer not read", "accepted: child", most=3),
    Point("DM: answered, not recorded", "answered: child", most=2),
    Point("DM: in the recording transaction", "recording: child", most=2),
    Point("DM: recorded", "recorded: child", most=2),
    Point("DM: hung after its claim, awake too late", "claimed: child", hangs=True),
    Point("DM: refused, not recorded", "refused: child"),
    Point("DM: in the transaction that records a refusal", "recording refusal: child"),
    Point("opening: before the request", "request: opening", most=2),
    Point("opening: accepted, the answer not read", "accepted: opening", most=2),
    Point("opening: opened, not stored", "opened", most=2),
    Point("opening: stored", "channel kept", most=2),
    Point("fan-out: after its claim", "claimed: parent"),
    Point("fan-out: between two DMs", "reported: child", most=3),
    Point("fan-out: its post accepted, the answer not read", "accepted: side post"),
    Point("fan-out: before it is finished", "finish: parent"),
    Point("fan-out: in the transaction that finishes it", "finishing: parent"),
    Point("fan-out: finished", "finished: parent"),
    Point("sweep: fenced", "fenced: post", after="accepted: post"),
    Point("sweep: found, not recorded", "found: post", after="accepted: post"),
    Point("sweep: found and recorded", "recorded: post", after="accepted: post"),
    Point("sweep: a DM found, not recorded", "found: child", after="accepted: child"),
    Point("sweep: a native found, not recorded", "found: native", after="accepted: native"),
    Point("sweep: a native not found, not released", "not found: native", after="request: native"),
    Point("sweep: not found, not released", "not found: post", after="request: post"),
    Point("sweep: a DM not found, not released", "not found: child", after="claimed: child"),
    Point("sweep: released", "released: post", after="claimed: post"),
    Point("sweep: a note not found, not handed back", "not found: note", after="request: note"),
    Point("sweep: a repost handed back", "released: repost", after="claimed: repost"),
    Point("sweep: handed back, claimed again", "accepted: repost", after="claimed: repost"),
    Point("sweep: hung with a row in its hand", "fenced: post", after="request: post", hangs=True),
    Point("sweep: a fan-out let go", "released: parent", after="claimed: parent"),
    Point("missed: in the recording transaction", "missing", after="claim: post", pause=_PAST_ITS_BEGIN),
    Point("missed: recorded", "missed", after="claim: post", pause=_PAST_ITS_BEGIN),
    Point("event: begun, not committed", "moving"),
    Point("start: entered, not swept", "entered", after="accepted: child"),
    Point("start: before the sweep", "sweep", after="accepted: post"),
    Point("start: after the sweep", "swept", after="accepted: post"),
    Point("generation: events without due rows", "events made"),
    Point("generation: not committed", "due rows made"),
    Point("generation: committed", "generated"),
    Point("press: not committed", "pressing"),
    Point("press: committed, not answered", "pressed"),
    Point("press: the edit accepted, the answer not read", "accepted: edit"),
    Point("stop: the queue still full", "stopping", stops=True),
    Point("stop: the queue emptied", "queue emptied", stops=True),
    Point("stop: before the fan-out is let go", "drop: parent", stops=True),
    Point("stop: the fan-out let go", "dropped: parent", stops=True),
    Point("stop: about to leave", "leave", stops=True),
    Point("stop: left", "left", stops=True),
    Point("any: after a statement", "statement", most=200),
    Point("any: after another statement", "statement", most=200),
    Point("any: after a statement of the successor", "statement", after="accepted: child", most=120),
    Point("any: before a commit", "commit", most=12),
    Point("any: after a commit", "committed", most=12),
    Point("any: before a commit of the successor", "commit", after="claimed: post", most=10),
    *CHANGE_POINTS,
)

# Where a successor may die once more; a place that it does not pass leaves it alive.
SECOND_DEATHS = (
    "entered", "swept", "fenced: post", "fenced: child", "found: post", "not found: child", "released: child",
    "released: post", "claimed: parent", "claimed: child", "accepted: child", "accepted: side post", "recorded: child",
    "finish: parent", "pressed", "accepted: repost", "accepted: note",
)  # fmt: skip


def second_deaths(point: Point) -> tuple[str, ...]:
    """Return where the successor of a process that died at this point may die."""
    return SECOND_DEATHS if point.story is None else (*SECOND_DEATHS, *kill_change_points.SECOND_DEATHS)
