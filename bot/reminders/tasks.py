"""The tasks that the registry names: render from fresh rows, then go through the one way out."""

from collections.abc import Awaitable, Callable
from functools import partial

from bot.dm_queue.fan_out_plan import SidePost
from bot.events import profiles
from bot.events.signups.people import people_of, places_taken
from bot.leases.keys import ATTENDANCE_POST, PROFILE_UNREACHABLE, MessageKey
from bot.leases.ports import ChannelTarget
from bot.leases.reports import SendResult, WithdrawnError
from bot.message.outgoing import OutgoingMessage
from bot.reminders import content, recipients, wording
from bot.reminders.fan_out_reminder import FanOutReminder
from bot.reminders.task_registry import ReminderContext, reminder_task
from bot.scheduling.due import due_at
from bot.scheduling.registry import entry_of
from models.event import Event
from models.guild_settings import GuildSettings

ANNOUNCEMENT = entry_of("announcement")


async def announcement_target(event: Event) -> ChannelTarget | None:
    """Return where the event is announced: its own channel, else the guild's, None where neither is set."""
    channel_id = event.discord_announcement_channel_id
    if channel_id is None:
        settings = await GuildSettings.get_or_none(guild_id=event.guild_id)
        channel_id = settings.announcement_channel_id if settings is not None else None
    return ChannelTarget(event.guild_id, channel_id) if channel_id is not None else None


@reminder_task("send_event_announcement")
async def send_event_announcement(event_id: int, context: ReminderContext) -> SendResult:
    """Post the announcement of an event, once."""
    event = await Event.get_or_none(id=event_id)
    if event is None:
        return SendResult.WITHDRAWN

    async def _render() -> OutgoingMessage:
        fresh = await Event.get_or_none(id=event_id)
        now = context.clock.now()
        due = due_at(fresh, ANNOUNCEMENT) if fresh is not None else None
        if fresh is None or due is None or due > now or fresh.scheduled_at <= now:
            raise WithdrawnError
        return content.announcement(fresh, await people_of(event_id))

    return await context.out.send_once(
        MessageKey(ANNOUNCEMENT.log_source, event_id),
        guild_id=event.guild_id,
        target=await announcement_target(event),
        render=_render,
        not_after=event.scheduled_at,
    )


async def _signup_body(event: Event, _recipient: int) -> OutgoingMessage:
    return wording.signup_reminder(event, taken=await places_taken(event.id))


async def _attendance_body(event: Event, _recipient: int) -> OutgoingMessage:
    return wording.attendance_dm(event)


async def _profile_body(event: Event, recipient: int) -> OutgoingMessage:
    profile = await profiles.profile_of(recipient, guild_id=event.guild_id)
    lacking = [field.label for field in profile.fields if field.required and not profile.values.get(field.key)]
    return wording.profile_dm(event, lacking)


async def _nobody(_event: Event, _among: object = None) -> tuple[int, ...]:
    return ()


SIGNUP = FanOutReminder(entry_of("signup_reminder"), recipients.to_sign_up, _signup_body)
ATTENDANCE = FanOutReminder(entry_of("attendance_reminder"), recipients.to_confirm, _attendance_body)
ATTENDANCE_BY_POST = FanOutReminder(ATTENDANCE.entry, _nobody, _attendance_body)
PROFILE = FanOutReminder(entry_of("profile_reminder"), recipients.to_fill_in, _profile_body)


@reminder_task("send_signup_reminder")
async def send_signup_reminder(event_id: int, context: ReminderContext) -> SendResult:
    """Ask the subscribers of the series by DM to sign up, each once."""
    event = await Event.get_or_none(id=event_id)
    return await SIGNUP.begin(event, context) if event is not None else SendResult.WITHDRAWN


@reminder_task("send_attendance_reminder")
async def send_attendance_reminder(event_id: int, context: ReminderContext) -> SendResult:
    """Ask those with a place whether they will be there: by one post, and by DM where that is wanted."""
    event = await Event.get_or_none(id=event_id)
    if event is None:
        return SendResult.WITHDRAWN
    key = MessageKey(ATTENDANCE_POST, event_id)
    reminder = ATTENDANCE if event.discord_confirm_attendance_dm else ATTENDANCE_BY_POST

    async def _render() -> OutgoingMessage:
        fresh = await ATTENDANCE.fresh(event_id, context)
        signed_up = await recipients.signed_up(fresh)
        if not signed_up:
            raise WithdrawnError
        return wording.attendance_post(fresh, signed_up)

    post = SidePost(key, lambda _: _post(key, event, context, _render))
    return await reminder.begin(event, context, [post])


@reminder_task("send_profile_reminder")
async def send_profile_reminder(event_id: int, context: ReminderContext) -> SendResult:
    """Ask those with a place by DM for what their profile lacks; name in one post whom no DM reaches."""
    event = await Event.get_or_none(id=event_id)
    if event is None:
        return SendResult.WITHDRAWN
    key = MessageKey(PROFILE_UNREACHABLE, event_id)

    async def _render(unreached: tuple[int, ...]) -> OutgoingMessage:
        fresh = await PROFILE.fresh(event_id, context)
        still = await recipients.to_fill_in(fresh, unreached)
        if not still:
            raise WithdrawnError
        return wording.profile_unreachable_post(fresh, still)

    post = SidePost(
        key, lambda unreached: _post(key, event, context, partial(_render, unreached)), names_unreached=True
    )
    return await PROFILE.begin(event, context, [post])


async def _post(
    key: MessageKey, event: Event, context: ReminderContext, render: Callable[[], Awaitable[OutgoingMessage]]
) -> SendResult:
    # As it stands now: an hour may lie between two attempts, in which an admin has set another channel.
    fresh = await Event.get_or_none(id=event.id) or event
    return await context.out.send_once(
        key,
        guild_id=fresh.guild_id,
        target=await announcement_target(fresh),
        render=render,
        not_after=fresh.scheduled_at,
    )
