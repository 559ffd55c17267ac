"""A one-off cannot ask the subscribers of a series that it does not have: the row itself refuses."""

import pytest

from bot.clock import ManualClock
from models.event import Event, SignupReminderNeedsSeriesError
from tests.builders import event_row, make_event, make_guild, make_series


async def test_a_one_off_with_a_signup_reminder_is_not_stored(database: str, clock: ManualClock) -> None:
    await make_guild()

    with pytest.raises(SignupReminderNeedsSeriesError, match="cannot have a sign-up reminder"):
        await event_row(now=clock.now(), discord_signup_reminder=True).save(force_create=True)

    assert await Event.all().count() == 0


async def test_an_event_of_a_series_may_have_one(database: str, clock: ManualClock) -> None:
    await make_guild()
    series = await make_series(now=clock.now())

    event = await make_event(now=clock.now(), series_id=series.id, discord_signup_reminder=True)

    assert (await Event.get(id=event.id)).discord_signup_reminder


async def test_switching_it_on_for_a_one_off_is_refused(database: str, clock: ManualClock) -> None:
    await make_guild()
    event = await make_event(now=clock.now())
    event.discord_signup_reminder = True

    with pytest.raises(SignupReminderNeedsSeriesError):
        await event.save(update_fields=["discord_signup_reminder"])

    assert not (await Event.get(id=event.id)).discord_signup_reminder


async def test_an_unrelated_edit_of_an_event_whose_series_is_gone_passes(database: str, clock: ManualClock) -> None:
    await make_guild()
    series = await make_series(now=clock.now())
    event = await make_event(now=clock.now(), series_id=series.id, discord_signup_reminder=True)
    await series.delete()
    orphan = await Event.get(id=event.id)
    assert orphan.series_id is None

    orphan.name = "Raid night, renamed"
    await orphan.save()

    assert (await Event.get(id=event.id)).name == "Raid night, renamed"
