"""The channel posts beside a fan-out: posted with it, tried again while that helps, given up at its end."""

import datetime as dt

from bot.clock import LeaseClock
from bot.dm_queue.fan_out_plan import SidePost
from bot.dm_queue.running_fan_out import RunningFanOut
from bot.leases import fan_out_rows, ledger
from bot.leases.failures import ErrorClass
from bot.leases.fan_out_rows import Child
from bot.leases.keys import MessageKey
from bot.leases.reports import SendResult

LOOK_AGAIN = dt.timedelta(seconds=30)
# A post that names who could not be reached waits for all DMs, but not past this long before the end.
_NAME_BEFORE_END = dt.timedelta(minutes=15)
_NOTHING = Child(settled=True)


async def drive_post(
    running: RunningFanOut, post: SidePost, *, all_settled: bool, now: dt.datetime, lease_clock: LeaseClock
) -> dt.datetime | None:
    """
    Post what is to be posted now; return when there is more to do, None: nothing, or once the DMs are through.

    ``all_settled``: no DM of the fan-out is on its way or will be tried again.
    """
    if post.key in running.posts:
        return None
    child = await fan_out_rows.post_row(post.key) or Child()
    if child.open:
        running.is_watching = True
        return now + LOOK_AGAIN
    if not child.is_wanted(is_over=running.is_over(now)):
        running.posts[post.key] = child
    elif running.is_over(now):
        await _give_up(running, post, lease_clock)
    else:
        clock = await lease_clock.now()
        names_at = running.plan.ends_at - _NAME_BEFORE_END
        if post.names_unreached and not all_settled and now < names_at:
            return names_at
        if child.is_due(clock):
            child = await _post(running, post, all_settled=all_settled)
        return None if post.key in running.posts else _by_own_clock(child, clock, now)
    return None


async def _post(running: RunningFanOut, post: SidePost, *, all_settled: bool) -> Child:
    """Post it, unless there is nobody to name; return what the log says of it."""
    unreached = await _unreached(running) if post.names_unreached else ()
    is_needless = post.names_unreached and not unreached
    if not is_needless:
        result = await post.send(unreached)
        if result is not SendResult.WITHDRAWN:
            child = await fan_out_rows.post_row(post.key) or Child()
            running.posts |= {post.key: child} if child.sent or child.settled else {}
            return child
        if running.is_over(running.clock.now()):
            return Child()  # the start overtook it meanwhile: the next step records that
    if all_settled or not is_needless:
        running.posts[post.key] = _NOTHING
    return Child()


async def _give_up(running: RunningFanOut, post: SidePost, lease_clock: LeaseClock) -> None:
    if post.names_unreached and not await _unreached(running):
        running.posts[post.key] = _NOTHING
        return
    await record_too_late(post.key, guild_id=running.plan.guild_id, lease_clock=lease_clock)
    running.posts[post.key] = await fan_out_rows.post_row(post.key) or _NOTHING


def _by_own_clock(child: Child, clock: dt.datetime, now: dt.datetime) -> dt.datetime:
    """Return by this process's clock when a post may be tried again."""
    if child.next_attempt_at is None:
        return now + LOOK_AGAIN
    return now + max(child.next_attempt_at - clock, dt.timedelta(0))


async def _unreached(running: RunningFanOut) -> tuple[int, ...]:
    children = await fan_out_rows.children(running.plan.key)
    failed = {who for who, child in children.items() if child.error_class not in {None, ErrorClass.EVENT_STARTED}}
    return tuple(who for who in running.plan.recipients if who in failed and who not in running.withdrawn)


async def record_too_late(key: MessageKey, *, guild_id: int, lease_clock: LeaseClock) -> None:
    """Record that a message was not sent before the occasion began, unless it was, or failed for a told reason."""
    await ledger.record_unsent(
        key,
        guild_id=guild_id,
        error_class=ErrorClass.EVENT_STARTED,
        text="the event began before it was sent",
        lease_clock=lease_clock,
    )
