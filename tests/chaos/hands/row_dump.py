"""Everything that is stored, to be compared before and after: every row of every table, by walking the models."""

from collections.abc import Iterator, Mapping

from tortoise import Tortoise, fields
from tortoise.models import Model

Rows = Mapping[object, Mapping[str, object]]
Dump = Mapping[str, Rows]
"""Rows by table and key."""

MAY_CHANGE: Mapping[str, str] = {
    "instance.heartbeat_at": "the process says that it lives, whoever calls it",
}
"""Columns that a refused call may change, and why."""

PEOPLES_TEXT: Mapping[str, str] = {
    "event.description": "an announcement's text",
    "event.native_told": "an announcement's text",
    "event_repeater.description": "an announcement's text",
    "player_profile.field_values": "answers",
}
"""Columns that hold what nobody but its reader may see: in no log, no audit row, no error."""

NO_SECRET: Mapping[str, str] = {
    "audit_log.instance": "made by the bot",
    "audit_log.action": "made by the bot",
    "audit_log.before": "searched for what must not stand in it",
    "audit_log.after": "searched for what must not stand in it",
    "discord_message_log.source": "made by the bot",
    "discord_message_log.embed_data": "what was meant to be sent; read by nobody but the sweeper",
    "discord_message_log.lease_token": "no token of anybody's: tells two holders apart",
    "discord_message_log.instance": "made by the bot",
    "discord_message_log.error": "searched for what must not stand in it",
    "discord_message_log.error_class": "made by the bot",
    "event.slot": "made by the bot",
    "event.name": "shown in the audit, so that an admin knows what was made; in no log",
    "event.state": "made by the bot",
    "event.overridden_fields": "names of columns",
    "event.discord_announcement_role_ids": "ids",
    "event_repeater.name": "as an event's",
    "event_repeater.frequency": "a choice",
    "event_repeater.day_of_week": "a rule",
    "event_repeater.time_of_day": "a rule",
    "event_repeater.timezone": "a choice",
    "event_repeater.month_end": "a choice",
    "event_repeater.discord_announcement_role_ids": "ids",
    "event.calendar_uid": "what a calendar calls it, shown in every export",
    "event_repeater.calendar_uid": "what a calendar calls it, shown in every export",
    "event_signup.status": "a choice",
    "guild_settings.timezone": "a choice",
    "guild_settings.profile_fields": "labels that an admin gave, shown in the audit of their change",
    "guild_settings.series_template": "numbers, switches and ids",
    "guild_settings.event_template": "numbers, switches and ids",
    "guild_settings.locale": "a choice",
    "instance.id": "made by the bot",
    "instance.name": "the operator's",
    "instance.shard_ids": "numbers",
    "leader_lease.name": "made by the bot",
    "leader_lease.holder": "made by the bot",
    "ops_note.fault": "searched for what must not stand in it",
    "ops_note.says": "searched for what must not stand in it",
    "player_profile.timezone": "a choice",
    "player_profile.reminder_opt_outs": "names of reminders",
    "player_profile.series_opt_outs": "ids",
    "process_state.key": "made by the bot",
    "process_state.value": "made by the bot",
    "reminder_due.key": "made by the bot",
    "repeater_exception.kind": "a choice",
}
"""The other columns that hold text, and why it is none that must stay hidden."""


async def dumped() -> Dump:
    """Return every row that is stored."""
    tables: dict[str, Rows] = {}
    for model in _models():
        rows = await model.all().values()
        tables[_table(model)] = {row[model._meta.pk_attr]: row for row in rows}
    return tables


def differences(before: Dump, after: Dump) -> list[str]:
    """Return what changed, one line for each row, but for what may."""
    found: list[str] = []
    for table, rows in after.items():
        old = before.get(table, {})
        found += [f"{table} {key} is new" for key in rows.keys() - old.keys()]
        found += [f"{table} {key} is gone" for key in old.keys() - rows.keys()]
        for key in rows.keys() & old.keys():
            changed = [name for name in rows[key] if rows[key][name] != old[key][name]]
            named = [name for name in changed if f"{table}.{name}" not in MAY_CHANGE]
            found += [f"{table} {key} changed in {', '.join(named)}"] if named else []
    return sorted(found)


def of_guild(dump: Dump, guild_id: int) -> Dump:
    """Return the rows of one server: those that name it, and those of its events and series."""
    named = {
        table: {key: row for key, row in rows.items() if row.get("guild_id") == guild_id}
        for table, rows in dump.items()
    }
    for table, rows in dump.items():
        for column, parent in (("event_id", "event"), ("series_id", "event_repeater")):
            kept = {key: row for key, row in rows.items() if column in row and row[column] in named[parent]}
            named[table] = {**named[table], **kept}
    return named


def unsorted_columns() -> list[str]:
    """Return the columns of text that nobody has said of whether they are a secret."""
    known, there = PEOPLES_TEXT.keys() | NO_SECRET.keys(), set(text_columns())
    say = "holds text: say in tests/chaos/hands/row_dump.py whether it is PEOPLES_TEXT or NO_SECRET, and why"
    new = [f"{name} {say}" for name in sorted(there - known)]
    return new + [f"{name} is no column any more: take it out of row_dump.py" for name in sorted(known - there)]


def text_columns() -> list[str]:
    """Return every column that can hold text, as ``table.column``."""
    kinds = (fields.CharField, fields.TextField, fields.JSONField)
    return [
        f"{_table(model)}.{name}"
        for model in _models()
        for name, field in model._meta.fields_map.items()
        if isinstance(field, kinds)
    ]


def _models() -> Iterator[type[Model]]:
    assert Tortoise.apps is not None
    yield from (model for models in Tortoise.apps.values() for model in models.values())


def _table(model: type[Model]) -> str:
    return str(model._meta.db_table)
