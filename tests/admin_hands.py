"""An admin at work on services that propose before they do: what is shown, and what is taken."""

import datetime as dt

from tortoise.models import Model

from bot.message.proposal import Proposal, Reply

ADMIN = 42


def shown(reply: Reply) -> str:
    """Return what an admin is asked."""
    assert isinstance(reply, Proposal)
    return reply.text


async def take(reply: Reply, *, now: dt.datetime, label: str | None = None) -> str:
    """Take the first way of a proposal, or the one of a label; return the sentence that it ends with."""
    assert isinstance(reply, Proposal)
    way = next(one for one in reply.ways if label in {None, one.label})
    says = await way.then(now)
    assert isinstance(says, str)
    return says


def columns(row: Model) -> dict[str, object]:
    """Return everything that a row holds, by its columns."""
    return {name: getattr(row, name) for name in row._meta.db_fields}
