"""What is asked right before each request of a message: not too late, still the holder of its lease, still wanted."""

import datetime as dt

from bot.clock import Clock, LeaseClock
from bot.leases import ledger
from bot.leases.event_rows import still_stands
from bot.leases.failures import ErrorClass, SendError
from bot.leases.ledger import Lease
from bot.leases.ports import LeaseLostError
from bot.leases.reports import WithdrawnError
from bot.leases.under_way import UnderWay

# Past this the lease is asked for once more before the request: a throttle or a suspended host came between.
_TRUSTED_AGE = dt.timedelta(seconds=5)


class RequestGuard:
    """
    Stands before the requests of one lease.

    ``trusted``: when the lease was known to be held, by this process's clock; ``not_after``: from then on no request is
    written, None: there is no such moment.
    """

    def __init__(
        self,
        lease: Lease,
        *,
        trusted: dt.datetime,
        not_after: dt.datetime | None,
        clock: Clock,
        lease_clock: LeaseClock,
        under_way: UnderWay,
    ) -> None:
        self._lease = lease
        self._trusted = trusted
        self._not_after = not_after
        self._clock = clock
        self._lease_clock = lease_clock
        self._under_way = under_way

    async def before_request(self) -> None:
        """
        Let a request leave from now on.

        Raises:
            SendError: class ``event_started``, it is too late.
            LeaseLostError: the lease was taken away.
            WithdrawnError: the event was removed or cancelled meanwhile, or the message is no longer for its recipient.
        """
        self._refuse_too_late()
        while abs(self._clock.now() - self._trusted) > _TRUSTED_AGE:
            asked_at = self._clock.now()
            # Renewed, not only read: nobody takes the lease over while this request is on its way.
            if not await ledger.renew(self._lease, lease_clock=self._lease_clock):
                raise LeaseLostError
            # Whoever removed the event meanwhile saw the claim, and could not know that nothing had left.
            if not await still_stands(self._lease.key):
                raise WithdrawnError
            self._trusted = asked_at
            # The host may have stood still while the database answered.
            self._refuse_too_late()
        self._under_way.note_request(self._lease.id)

    def _refuse_too_late(self) -> None:
        if self._not_after is not None and self._clock.now() >= self._not_after:
            text = "the event began before the message could leave"
            may_have_arrived = self._under_way.may_have_left(self._lease)
            raise SendError(ErrorClass.EVENT_STARTED, text, may_have_arrived=may_have_arrived)
