"""The points of the kill matrix at which something is changed: by an admin, by a person, by the end of an offer."""

import datetime as dt

from tests.chaos.deaths.kill_point import Point
from tests.chaos.deaths.kill_series_stories import (
    Delete,
    Extra,
    ExtraRemoved,
    Realign,
    Return,
    Skip,
    Split,
)
from tests.chaos.deaths.kill_stories import Accept, Line, NewTime, NoThanks, Offer, Roles, TwoNewTimes

_WHILE_OPEN = dt.timedelta(seconds=10)
"""A successor that comes so soon changes what a lease of the dead process is still open for."""

CHANGE_POINTS: tuple[Point, ...] = (
    Point("realign: after any of its statements", "statement: realign", most=8, story=Realign),
    Point("realign: the old events gone, no new one made", "withdrawn", story=Realign),
    Point("realign: before its commit", "commit: realign", story=Realign),
    Point("realign: committed, not answered", "changed: realign", story=Realign),
    Point("realign: an old post's edit not sent", "request: old edit", most=2, story=Realign),
    Point("realign: an old post's edit accepted, the answer not read", "accepted: old edit", most=2, story=Realign),
    Point("realign: an old native's removal accepted, the answer not read", "accepted: removal", story=Realign),
    Point(
        "realign: while an old post's lease is open", "changed: realign", "claimed: old post", _WHILE_OPEN,
        story=Realign,
    ),
    Point(
        "realign: an old post found, not recorded", "found: old post", "accepted: old post", _WHILE_OPEN, story=Realign,
    ),
    Point(
        "realign: an old post not found, not released", "not found: old post", "request: old post", _WHILE_OPEN,
        story=Realign,
    ),
    Point(
        "realign: an old native found, not recorded", "found: old native", "accepted: old native", _WHILE_OPEN,
        story=Realign,
    ),
    Point(
        "realign: while an old native's lease is open", "changed: realign", "claimed: old native", _WHILE_OPEN,
        story=Realign,
    ),
    Point("realign: hung with an old post's claim, awake too late", "claimed: old post", hangs=True, story=Realign),
    Point("split: after any of its statements", "statement: split", most=10, story=Split),
    Point("split: the later events taken over, not realigned", "taken over", story=Split),
    Point("split: committed, not answered", "changed: split", story=Split),
    Point(
        "split: while an old post's outcome is open", "changed: split", "accepted: old post", _WHILE_OPEN, story=Split,
    ),
    Point("skip: after any of its statements", "statement: skip", most=6, story=Skip),
    Point("skip: committed, not answered", "changed: skip", story=Skip),
    Point("skip: while the old post's lease is open", "changed: skip", "claimed: old post", _WHILE_OPEN, story=Skip),
    Point("return: after any of its statements", "statement: return", most=6, story=Return),
    Point("return: committed, not answered", "changed: return", story=Return),
    Point("return: an edit of its post accepted, the answer not read", "accepted: old edit", most=2, story=Return),
    Point("promotion: moved up, not committed", "moving up", most=2, story=Line),
    Point("promotion: committed, not answered", "pressed", most=2, story=Line),
    Point("promotion: before its claim", "claim: promotion", most=2, story=Line),
    Point("promotion: after its claim", "claimed: promotion", most=2, story=Line),
    Point("promotion: accepted, the answer not read", "accepted: promotion", most=2, story=Line),
    Point("promotion: answered, not recorded", "answered: promotion", most=2, story=Line),
    Point("promotion: in the recording transaction", "recording: promotion", most=2, story=Line),
    Point("promotion: found, not recorded", "found: promotion", after="accepted: promotion", story=Line),
    Point("promotion: hung after its claim, awake too late", "claimed: promotion", hangs=True, story=Line),
    Point("offer: ended, the next not asked", "offers ended", story=Offer),
    Point("offer: the next asked, not committed", "next asked", story=Offer),
    Point("offer: committed, nobody told", "committed: offers", story=Offer),
    Point("offer: accepted by Discord, the answer not read", "accepted: promotion", story=Offer),
    Point("new time: after any of its statements", "statement: move", most=5, story=NewTime),
    Point("new time: committed, not answered", "changed: move", story=NewTime),
    Point("new time: after the claim of its fan-out", "claimed: new time", story=NewTime),
    Point("new time: a DM claimed", "claimed: new time DM", most=3, story=NewTime),
    Point("new time: a DM accepted, the answer not read", "accepted: new time DM", most=3, story=NewTime),
    Point("new time: a DM answered, not recorded", "answered: new time DM", most=3, story=NewTime),
    Point("new time: before its fan-out is finished", "finish: new time", story=NewTime),
    Point("new time: in the transaction that finishes it", "finishing: new time", story=NewTime),
    Point("new time: its fan-out let go by a sweep", "released: new time", after="claimed: new time", story=NewTime),
    Point("another new time: while people are told of one", "changed: move", most=2, story=TwoNewTimes),
    Point("another new time: a DM accepted, the answer not read", "accepted: new time DM", most=3, story=TwoNewTimes),
    Point("role: before its request", "request: role", most=2, story=Roles),
    Point("role: accepted, the answer not read", "accepted: role", most=2, story=Roles),
    Point("role: given, not noted", "answered: role", most=2, story=Roles),
    Point("role: taken, not noted", "answered: role taken", story=Roles),
    Point("accept: after any of its statements", "statement: answer", most=6, story=Accept),
    Point("accept: before its commit", "commit: answer", story=Accept),
    Point("accept: committed, not answered", "offer answered", story=Accept),
    Point("accept: what was asked is accepted by Discord, the answer not read", "accepted: promotion", story=Accept),
    Point(
        "accept: while the outcome of what was asked is open", "offer answered", "accepted: promotion", _WHILE_OPEN,
        story=Accept,
    ),
    Point("no thanks: after any of its statements", "statement: answer", most=8, story=NoThanks),
    Point("no thanks: stored, the next not asked", "stored: answer", story=NoThanks),
    Point("no thanks: the next asked, not committed", "moving up", story=NoThanks),
    Point("no thanks: committed, not answered", "offer answered", story=NoThanks),
    Point("no thanks: a DM accepted, the answer not read", "accepted: promotion", most=2, story=NoThanks),
    Point(
        "no thanks: while the outcome of what was asked is open", "offer answered", "claimed: promotion", _WHILE_OPEN,
        story=NoThanks,
    ),
    Point("deletion: after any of its statements", "statement: deletion", most=10, story=Delete),
    Point("deletion: its events taken back, the series still there", "torn down", story=Delete),
    Point("deletion: the series gone, not in the audit", "series gone", story=Delete),
    Point("deletion: committed, not answered", "changed: deletion", story=Delete),
    Point("deletion: an old post's edit not sent", "request: old edit", story=Delete),
    Point("deletion: an old native's removal accepted, the answer not read", "accepted: removal", story=Delete),
    Point(
        "deletion: while an old post's lease is open", "changed: deletion", "claimed: old post", _WHILE_OPEN,
        story=Delete,
    ),
    Point(
        "deletion: while an old native's outcome is open", "changed: deletion", "accepted: old native", _WHILE_OPEN,
        story=Delete,
    ),
    Point("extra: after any of its statements", "statement: extra", most=6, story=Extra),
    Point("extra: stored, not in the audit", "due again: extra", story=Extra),
    Point("extra: committed, not answered", "changed: extra", story=Extra),
    Point("extra removed: after any of its statements", "statement: cancel", most=5, story=ExtraRemoved),
    Point("extra removed: cancelled, not in the audit", "moving", story=ExtraRemoved),
    Point("extra removed: committed, not answered", "changed: cancel", story=ExtraRemoved),
    Point("extra removed: its post's edit accepted, the answer not read", "accepted: old edit", story=ExtraRemoved),
    Point(
        "extra removed: while its post's outcome is open", "changed: cancel", "accepted: old post", _WHILE_OPEN,
        story=ExtraRemoved,
    ),
    Point(
        "extra removed: while its native's lease is open", "changed: cancel", "claimed: old native", _WHILE_OPEN,
        story=ExtraRemoved,
    ),
)  # fmt: skip

# Where the successor of one of these may die beside the places of all; one that it does not pass leaves it alive.
SECOND_DEATHS = (
    "withdrawn", "changed: realign", "changed: split", "changed: skip", "changed: return", "accepted: old edit",
    "accepted: removal", "found: old post", "claimed: promotion", "accepted: promotion", "found: promotion",
    "next asked", "claimed: new time", "claimed: new time DM", "accepted: new time DM", "finish: new time",
    "accepted: role", "answered: role taken", "offer answered", "moving up", "torn down", "changed: deletion",
    "changed: extra", "changed: cancel",
)  # fmt: skip
