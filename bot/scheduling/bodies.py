"""The names of the background bodies, as the loops, the agenda and the logs spell them."""

CHECK_EVENT_REMINDERS = "check_event_reminders"
SWEEP_STALE_DISCORD_LEASES = "sweep_stale_discord_leases"
SYNC_DISCORD_EVENTS = "sync_discord_events"
OPEN_SCHEDULED_SIGNUPS = "open_scheduled_signups"
GENERATE_UPCOMING_EVENTS = "generate_upcoming_events"
CLEANUP_STALE_EVENTS = "cleanup_stale_events"
INSTANCE_HEARTBEAT = "instance_heartbeat"
TELL_OPS_NOTES = "tell_ops_notes"
DRAIN_DM_QUEUE = "drain_dm_queue"
DRIVE_FAN_OUTS = "drive_fan_outs"
TELL_PROMOTIONS = "tell_promotions"
TELL_TIME_CHANGES = "tell_time_changes"
SYNC_ATTENDEE_ROLES = "sync_attendee_roles"

SENDERS = (
    CHECK_EVENT_REMINDERS,
    DRIVE_FAN_OUTS,
    SYNC_DISCORD_EVENTS,
    TELL_OPS_NOTES,
    TELL_PROMOTIONS,
    TELL_TIME_CHANGES,
)
"""Those that send, and send again what was released."""
