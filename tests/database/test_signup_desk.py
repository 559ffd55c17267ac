"""What an admin does about who comes: each change once, with its audit, and never another server's."""

import asyncio
import csv
import io
from typing import Any

import pytest

from bot.errors import BotError
from bot.events.browse import NoSuchEventError
from bot.events.signups.desk import SignupDesk
from bot.events.signups.lists import COLUMNS, csv_of, list_of
from bot.events.signups.people import people_of
from bot.events.signups.rules import Press, RemovedError
from bot.events.signups.sign_up import Signups
from bot.message.limits import CONTENT, length
from bot.message.proposal import NOTHING_CHANGED, Proposal, Reply
from bot.scheduling.agenda import Agenda
from bot.scheduling.bodies import SYNC_DISCORD_EVENTS, TELL_PROMOTIONS
from models.audit_log import AuditLog
from models.event import Event
from models.event_signup import EventSignup
from models.states import EventState, SignupStatus
from tests.builders import GUILD, HOUR, OTHER_GUILD, SECOND, audit_actions, make_event, utc

NOW = utc("2026-03-01 12:00")
ADMIN, ADA, BRUNO, CLEO, DORA = 7, 11, 12, 13, 14
SIGNED_UP, CONFIRMED, TENTATIVE, WAITLISTED, DECLINED, REMOVED = SignupStatus


class Table:
    """One event, its desk, and people who press."""

    def __init__(self, event: Event) -> None:
        self.event, self.agenda = event, Agenda()
        self.desk = SignupDesk(self.agenda, debounce=3 * SECOND, instance="one")
        self.signups = Signups(self.agenda, debounce=3 * SECOND)

    async def add(self, who: int, **options: Any) -> Reply:  # noqa: ANN401
        return await self.desk.add(str(self.event.id), who, **(self._by_admin() | options))

    async def remove(self, who: int, **options: Any) -> str:  # noqa: ANN401
        return await self.desk.remove(str(self.event.id), who, **(self._by_admin() | options))

    async def no_show(self, who: int, **options: Any) -> str:  # noqa: ANN401
        return await self.desk.no_show(str(self.event.id), who, **(self._by_admin() | options))

    async def sign_up(self, *people: int, press: Press = Press.SIGN_UP) -> None:
        for who in people:
            await self.signups.press(press, self.event.id, guild_id=GUILD, user_id=who, role_ids=frozenset(), now=NOW)

    async def statuses(self) -> dict[int, SignupStatus]:
        return {row.user_id: row.status for row in await EventSignup.filter(event_id=self.event.id)}

    async def line(self) -> list[int]:
        return [person.user_id for person in (await people_of(self.event.id)).waitlisted]

    @staticmethod
    def _by_admin() -> dict[str, Any]:
        return {"guild_id": GUILD, "actor": ADMIN, "now": NOW}


async def table(**fields: object) -> Table:
    wanted = {"state": EventState.SIGNUPS_OPEN} | fields
    return Table(await make_event(now=NOW, **wanted))  # type: ignore[arg-type]


async def take(reply: Reply, label: str) -> Reply:
    assert isinstance(reply, Proposal)
    (way,) = [way for way in reply.ways if way.label == label]
    return await way.then(NOW)


# --------------------------------------------------------------------------------------------------------------- add


async def test_an_admin_signs_somebody_up_and_again_says_so(database: str) -> None:
    seats = await table(max_players=2)

    added, again = await seats.add(ADA), await seats.add(ADA)

    assert (added, again) == (
        f"<@{ADA}> is signed up for **Raid night**.",
        f"<@{ADA}> is signed up for **Raid night** already.",
    )
    assert await seats.statuses() == {ADA: SIGNED_UP}
    assert (await Event.get()).post_version == 1
    assert seats.agenda.next(SYNC_DISCORD_EVENTS) == NOW + 3 * SECOND
    (row,) = await AuditLog.all()
    assert (row.action, row.actor_user_id, row.guild_id, row.subject_id) == (
        "event.signup_add", ADMIN, GUILD, seats.event.id,
    )  # fmt: skip
    assert (row.before, row.after) == (
        {"user": ADA, "status": None, "no_show": False},
        {"user": ADA, "status": "signed_up", "no_show": False},
    )


async def test_past_capacity_somebody_waits_unless_a_second_button_goes_over(database: str) -> None:
    seats = await table(max_players=1)
    await seats.sign_up(ADA, BRUNO)

    asked = await seats.add(CLEO)
    assert isinstance(asked, Proposal)
    assert asked.text == (
        f"**Raid night** is full: 1 of 1 places taken, 1 in its line. <@{CLEO}> has to wait, unless you go over the"
        " limit."
    )
    assert [way.label for way in asked.ways] == ["Put on the wait-list", "Go over the limit", "Discard"]
    assert CLEO not in await seats.statuses()

    assert await take(asked, "Discard") == NOTHING_CHANGED
    assert await take(asked, "Put on the wait-list") == f"<@{CLEO}> is on the wait-list of **Raid night** as number 2."
    assert await seats.line() == [BRUNO, CLEO]
    over = await seats.add(CLEO)
    assert isinstance(over, Proposal)
    assert [way.label for way in over.ways] == ["Go over the limit", "Discard"]
    assert over.text.endswith(f"<@{CLEO}> waits there. Given a place, they get a direct message about it.")
    assert await take(over, "Go over the limit") == (
        f"<@{CLEO}> is signed up for **Raid night**, and gets a direct message about it."
    )
    assert [row.promotions for row in await EventSignup.all().order_by("user_id")] == [0, 0, 1]
    assert seats.agenda.next(TELL_PROMOTIONS) == NOW

    assert await seats.statuses() == {ADA: SIGNED_UP, BRUNO: WAITLISTED, CLEO: SIGNED_UP}
    assert await audit_actions() == ["event.signup_add"] * 2


async def test_a_place_that_went_over_the_limit_is_nobody_elses_when_it_is_given_back(database: str) -> None:
    seats = await table(max_players=1)
    await seats.sign_up(ADA, BRUNO)
    await take(await seats.add(CLEO), "Go over the limit")

    await seats.sign_up(ADA, press=Press.CANT)

    assert await seats.statuses() == {ADA: DECLINED, BRUNO: WAITLISTED, CLEO: SIGNED_UP}


async def test_a_place_that_became_free_while_the_admin_was_asked_is_given(database: str) -> None:
    seats = await table(max_players=1)
    await seats.sign_up(ADA)
    asked = await seats.add(CLEO)
    await seats.sign_up(ADA, press=Press.CANT)

    assert await take(asked, "Put on the wait-list") == f"<@{CLEO}> is signed up for **Raid night**."


async def test_who_waits_and_is_added_once_it_has_begun_is_not_told(database: str) -> None:
    seats = await table(max_players=1)
    await seats.sign_up(ADA, BRUNO)
    await Event.filter(id=seats.event.id).update(state=EventState.IN_PROGRESS, scheduled_at=NOW - HOUR)

    asked = await seats.add(BRUNO)

    assert isinstance(asked, Proposal)
    assert asked.text.endswith(f"<@{BRUNO}> waits there.")
    assert await take(asked, "Go over the limit") == f"<@{BRUNO}> is signed up for **Raid night**."
    assert (await EventSignup.get(user_id=BRUNO)).promotions == 0


async def test_a_removed_person_comes_back_by_an_admin_alone(database: str) -> None:
    seats = await table()
    await seats.sign_up(ADA)

    removed = await seats.remove(ADA)
    again = await seats.remove(ADA)
    with pytest.raises(RemovedError):
        await seats.sign_up(ADA)
    back = await seats.add(ADA)

    assert removed == f"<@{ADA}> was taken off **Raid night**; no button brings them back, /signups add does."
    assert again == f"<@{ADA}> was taken off **Raid night** already."
    assert back == f"<@{ADA}> is signed up for **Raid night**."
    assert await audit_actions() == ["event.signup_remove", "event.signup_add"]


@pytest.mark.parametrize(
    ("state", "says"),
    [
        (EventState.UPCOMING, "sign-ups are not open yet. Open them first, with /event open-signups."),
        (EventState.COMPLETED, "it is over. Who did not come is noted with /signups no-show."),
        (EventState.CANCELLED, "it was cancelled."),
    ],
)
async def test_nobody_is_added_or_removed_where_that_cannot_be(database: str, state: EventState, says: str) -> None:
    seats = await table(state=state)

    for change in (seats.add, seats.remove):
        with pytest.raises(BotError) as refused:
            await change(ADA)
        assert str(refused.value) == f"Nobody can be added to or taken off **Raid night**: {says}"

    assert (await seats.statuses(), await audit_actions()) == ({}, [])


# ------------------------------------------------------------------------------------------------------------ remove


@pytest.mark.parametrize("offers", [None, 30])
async def test_removing_frees_the_place_for_the_next_who_is_to_be_told(database: str, offers: int | None) -> None:
    seats = await table(max_players=1, signup_offer_minutes=offers)
    await seats.sign_up(ADA, BRUNO, CLEO)

    says = await seats.remove(ADA)

    assert says.endswith(f"Next in line: <@{BRUNO}>.")
    row = await EventSignup.get(user_id=BRUNO)
    assert (row.promotions, row.status) == (1, WAITLISTED if offers else SIGNED_UP)
    assert seats.agenda.next(TELL_PROMOTIONS) == NOW


async def test_removing_who_holds_an_offer_passes_it_on(database: str) -> None:
    seats = await table(max_players=1, signup_offer_minutes=30)
    await seats.sign_up(ADA, BRUNO, CLEO)
    await seats.sign_up(ADA, press=Press.CANT)

    says = await seats.remove(BRUNO)

    assert says.endswith(f"Next in line: <@{CLEO}>.")
    assert (await EventSignup.get(user_id=BRUNO)).offered_until is None


async def test_somebody_who_said_nothing_is_not_removed(database: str) -> None:
    seats = await table()

    assert await seats.remove(ADA) == f"<@{ADA}> has said nothing about **Raid night**, so nothing was changed."
    assert (await seats.statuses(), await audit_actions()) == ({}, [])


async def test_a_running_event_gives_its_freed_place_to_nobody(database: str) -> None:
    seats = await table(max_players=1)
    await seats.sign_up(ADA, BRUNO)
    await Event.filter(id=seats.event.id).update(state=EventState.IN_PROGRESS, scheduled_at=NOW - HOUR)

    await seats.remove(ADA)

    assert await seats.statuses() == {ADA: REMOVED, BRUNO: WAITLISTED}


# ----------------------------------------------------------------------------------------------------------- no-show


async def test_a_no_show_is_noted_once_the_event_has_begun_and_taken_back(database: str) -> None:
    seats = await table()
    await seats.sign_up(ADA)
    with pytest.raises(BotError) as early:
        await seats.no_show(ADA)
    await Event.filter(id=seats.event.id).update(state=EventState.IN_PROGRESS, scheduled_at=NOW - HOUR)

    noted, taken_back = await seats.no_show(ADA), await seats.no_show(ADA)
    with pytest.raises(BotError) as nobody:
        await seats.no_show(BRUNO)

    assert str(early.value) == "**Raid night** has not begun: who did not show up can be noted from its start on."
    assert noted == f"It is noted that <@{ADA}> did not come to **Raid night**."
    assert taken_back == f"It is noted that <@{ADA}> came to **Raid night**."
    assert str(nobody.value) == f"<@{BRUNO}> has no place in **Raid night**, so nothing was changed."
    assert [(row.action, row.after and row.after["no_show"]) for row in await AuditLog.all().order_by("id")] == [
        ("event.no_show", True),
        ("event.no_show", False),
    ]


# ------------------------------------------------------------------------------------------------------ list, export


async def everybody() -> Table:
    seats = await table(max_players=2)
    await seats.sign_up(ADA, BRUNO, CLEO, DORA)
    await seats.sign_up(ADA, press=Press.CONFIRM)
    await seats.sign_up(21, press=Press.MAYBE)
    await seats.sign_up(22, press=Press.CANT)
    await seats.sign_up(23, press=Press.MAYBE)
    await seats.remove(23)
    return seats


async def test_the_list_names_everybody_by_what_they_said(database: str) -> None:
    seats = await everybody()
    await EventSignup.filter(user_id=BRUNO).update(is_no_show=True)

    assert (await seats.desk.listing(str(seats.event.id), guild_id=GUILD)).split("\n")[1:] == [
        f"Places (2 of 2): <@{ADA}> ✓, <@{BRUNO}>",
        f"Wait-list (2): 1. <@{CLEO}>, 2. <@{DORA}>",
        "Maybe (1): <@21>",
        "Can't (1): <@22>",
        "Removed (1): <@23>",
        f"No-shows (1): <@{BRUNO}>",
    ]


async def test_a_list_that_does_not_fit_is_counted(database: str) -> None:
    seats = await table(max_players=100, name="*" * 100)
    for status in SignupStatus:
        await EventSignup.bulk_create(
            EventSignup(
                event=seats.event,
                user_id=10**18 + list(SignupStatus).index(status) * 1_000 + number,
                status=status,
                position=number if status is WAITLISTED else None,
                created_at=NOW,
                changed_at=NOW,
                is_no_show=True,
            )
            for number in range(1, 120)
        )

    text = await seats.desk.listing(str(seats.event.id), guild_id=GUILD)

    assert length(text) <= CONTENT
    assert text.count("more") == 6
    assert list_of(seats.event, []).endswith("Nobody has said anything about it yet.")


async def test_the_file_holds_everybody_and_no_formula(database: str) -> None:
    seats = await everybody()
    names = {ADA: '=HYPERLINK("x")', BRUNO: " @all", CLEO: 'Çelik, "C"\n', DORA: "-1+1"}

    says, (name, data) = await seats.desk.export(str(seats.event.id), guild_id=GUILD, name_of=names.get)

    rows = list(csv.reader(io.StringIO(data.decode("utf-8-sig"))))
    assert (says, name) == ("**Raid night**: 7 people, times in UTC.", f"signups-{seats.event.id}.csv")
    assert tuple(rows[0]) == COLUMNS
    by_id = {int(row[0]): row[1:] for row in rows[1:]}
    assert by_id[ADA] == ['\'=HYPERLINK("x")', "confirmed", "", NOW.isoformat(), NOW.isoformat(), "no"]
    assert by_id[BRUNO][0] == "' @all"
    assert by_id[CLEO][:3] == ['Çelik, "C"\n', "waitlisted", "1"]
    assert by_id[DORA][:3] == ["'-1+1", "waitlisted", "2"]
    assert by_id[23][:2] == ["", "removed"]
    assert csv_of([]).decode("utf-8-sig") == ",".join(COLUMNS) + "\r\n"


async def test_another_servers_event_is_none_for_every_command(database: str) -> None:
    seats = await everybody()
    before, said = await seats.statuses(), await audit_actions()

    for change in (seats.add, seats.remove, seats.no_show):
        with pytest.raises(NoSuchEventError):
            await change(ADA, guild_id=OTHER_GUILD)
    with pytest.raises(NoSuchEventError):
        await seats.desk.listing(str(seats.event.id), guild_id=OTHER_GUILD)
    with pytest.raises(NoSuchEventError):
        await seats.desk.export(str(seats.event.id), guild_id=OTHER_GUILD, name_of=lambda _: None)

    assert (await seats.statuses(), await audit_actions()) == (before, said)


async def test_an_admin_and_a_press_that_want_the_last_place_at_once_share_it_out(database: str) -> None:
    rounds = [await table(max_players=1) for _ in range(8)]

    for seats in rounds:
        await asyncio.gather(seats.add(ADA), seats.sign_up(BRUNO), seats.add(ADA))

        found = await seats.statuses()
        assert list(found.values()).count(SIGNED_UP) == 1
        assert found.get(BRUNO) in {SIGNED_UP, WAITLISTED}


async def test_a_removal_whose_audit_fails_did_not_happen(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seats = await everybody()

    async def _fails(*_: object, **__: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("bot.events.signups.desk.audit.record", _fails)
    before = await EventSignup.all().order_by("id").values()

    with pytest.raises(OSError, match="disk full"):
        await seats.remove(ADA)

    assert await EventSignup.all().order_by("id").values() == before
