"""What may become of one person at one message, in words."""

from enum import StrEnum


class Lot(StrEnum):
    """What becomes of one person at one message; the values are the second half of a sentence about them."""

    TOLD = "was told"
    UNDER_WAY = "is being told"
    WILL_BE_TOLD = "will be told"
    DMS_CLOSED = "takes no direct message from me, which was seen"
    FAILED = "could not be told"
    TOO_LATE = "was not told before the event began, which was noted"
    WITHDRAWN = "was not to be told any more when their turn came, or joined only after it went out"
    NOT_SENT = "is not told, since the reminder itself is not sent"
    KIND_OFF = "switched this kind of message off"
    SERIES_OFF = "switched off everything about this series"
    NOT_SUBSCRIBED = "did not ask to hear of this series"
    HAS_ANSWERED = "has answered already"
    NO_SIGNUP = "is not signed up"
    CONFIRMED = "has confirmed already"
    TENTATIVE = "said maybe, which takes no place"
    WAITLISTED = "is on the wait-list"
    DECLINED = "said that they cannot come"
    REMOVED = "was taken off the event by an admin"
    PROFILE_COMPLETE = "has a complete profile"
    BY_POST = "is named in the post alone, since no direct message is wanted"
    UNKNOWN = "may be among those whom it is for, which shows when it is sent"
    NOT_MEANT = "is not among those whom it is for"
