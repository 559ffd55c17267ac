"""The Discord of the kill matrix: the small one of the wire tests, with the roles of its members."""

from dataclasses import dataclass, field

from aiohttp import web

from tests.wire.discord_stub import DiscordStub

_ROLE = "/api/v10/guilds/{guild}/members/{member}/roles/{role}"


@dataclass
class KillStub(DiscordStub):
    """``roles``: who has which, as (member, role)."""

    roles: set[tuple[int, int]] = field(default_factory=set)

    async def give_role(self, request: web.Request) -> web.Response:
        """Give a role; who has it keeps it."""
        self.roles.add(_named(request))
        return web.Response(status=204)

    async def take_role(self, request: web.Request) -> web.Response:
        """Take a role; who lacks it goes on lacking it."""
        self.roles.discard(_named(request))
        return web.Response(status=204)

    def routes(self) -> list[web.RouteDef]:
        """Return the routes; the last of them takes whatever no other did."""
        return [web.put(_ROLE, self.give_role), web.delete(_ROLE, self.take_role), *super().routes()]


def _named(request: web.Request) -> tuple[int, int]:
    return int(request.match_info["member"]), int(request.match_info["role"])
