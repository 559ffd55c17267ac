"""The tasks that the registry names: render from fresh rows, then go through the one way out."""

from bot.leases.keys import MessageKey
from bot.leases.ports import ChannelTarget
from bot.leases.send_once import SendResult, WithdrawnError
from bot.message.outgoing import OutgoingMessage
from bot.reminders import content
from bot.reminders.task_registry import ReminderContext, reminder_task
from bot.scheduling.due import due_at
from bot.scheduling.registry import REMINDERS
from models.event import Event
from models.guild_settings import GuildSettings

ANNOUNCEMENT = next(entry for entry in REMINDERS if entry.key == "announcement")


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
        return content.announcement(fresh)

    return await context.out.send_once(
        MessageKey(ANNOUNCEMENT.log_source, event_id),
        guild_id=event.guild_id,
        target=await announcement_target(event),
        render=_render,
        not_after=event.scheduled_at,
    )
