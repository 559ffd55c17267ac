"""
The registry's last guardrail: every entry really delivers in each of its required states, and is done then.

A registry that says "due" while its task declines would have it dispatched for ever.
"""

import pytest

from bot.clock import ManualClock
from bot.leases.reports import SendResult
from bot.reminders.markers import read
from bot.reminders.task_registry import TASKS, ReminderContext
from bot.scheduling.registry import REMINDERS, ScheduledReminder
from models.discord_message_log import DiscordMessageLog
from models.event import Event
from models.states import EventState
from tests.builders import HOUR, MINUTE, FakeDiscord, make_event, make_guild, make_series, process, stored_due
from tests.conftest import START
from tests.people import REQUIRED_FIELD, sign_up, subscribe

NOW = START
SUBSCRIBER, PLAYER = 101, 102
CASES = [
    pytest.param(entry, state, id=f"{entry.key} in {state.value}")
    for entry in REMINDERS
    for state in sorted(entry.required_states)
]


async def an_event_for(entry: ScheduledReminder, state: EventState) -> Event:
    """An event of a series, with a subscriber and a player whose profile lacks something, and one reminder on."""
    await make_guild(profile_fields=[REQUIRED_FIELD])
    series = await make_series(now=NOW, is_active=False)
    await subscribe(series.id, [SUBSCRIBER])
    wanted = {other.enabled_field: other is entry for other in REMINDERS} | {entry.hours_field: 3}
    event = await make_event(now=NOW, starts_in=3 * HOUR, state=state, series_id=series.id, **wanted)
    if state is not EventState.UPCOMING:
        await sign_up(event, [PLAYER])
    return event


@pytest.mark.parametrize(("entry", "state"), CASES)
async def test_every_entry_delivers_in_each_of_its_states_and_is_dispatched_once(
    database: str,
    clock: ManualClock,
    monkeypatch: pytest.MonkeyPatch,
    entry: ScheduledReminder,
    state: EventState,
) -> None:
    discord = FakeDiscord(clock)
    event = await an_event_for(entry, state)
    task, dispatched = TASKS[entry.task_name], []

    async def _counting(event_id: int, context: ReminderContext) -> SendResult:
        dispatched.append(event_id)
        return await task(event_id, context)

    monkeypatch.setitem(TASKS, entry.task_name, _counting)
    bot = await process(discord, clock)
    due = await stored_due()

    for minute in range(6):
        clock.set(NOW + minute * 30 * MINUTE)
        bot.services.wake_all(clock.now())
        await bot.run_until(clock.now() + 10 * MINUTE)

    kinds = [found.kind for post in discord.posts if (found := read(post.message.marker)) is not None]
    rows = await DiscordMessageLog.filter(source=entry.log_source, source_id=event.id, recipient_id=0)
    assert due == {(event.id, entry.key): NOW}
    assert kinds.count(entry.key) == 1
    assert all(post.sent_at < NOW + MINUTE for post in discord.posts)
    assert [row.success for row in rows] == [True]
    assert (dispatched, await stored_due()) == ([event.id], {})


def test_the_cases_are_all_states_of_all_four() -> None:
    assert len(CASES) == sum(len(entry.required_states) for entry in REMINDERS) == 7
