"""By which port a key leaves: a message to a channel or person, a scheduled event to its server's list."""

from collections.abc import Awaitable, Callable

from bot.leases.failures import ErrorClass, SendError
from bot.leases.keys import MessageKey, nonce
from bot.leases.ports import (
    AnyTarget,
    Delivered,
    HistoryUnreadableError,
    MessagePort,
    NativePort,
    NativeTarget,
    Sendable,
)
from bot.message.native_event import NativeEvent


class Handover:
    """Hands what is claimed to its port, and looks up there what became of it; ``natives`` None: there is no list."""

    def __init__(self, port: MessagePort, natives: NativePort | None) -> None:
        self._port = port
        self._natives = natives

    async def send(
        self, key: MessageKey, target: AnyTarget, message: Sendable, *, before_request: Callable[[], Awaitable[None]]
    ) -> Delivered:
        """
        Let it leave; Discord itself tells a second copy of a message by its nonce.

        Raises:
            SendError: it did not end in an acknowledged message.
            LeaseLostError: ``before_request`` raised it.
        """
        if isinstance(target, NativeTarget) and isinstance(message, NativeEvent) and self._natives is not None:
            return await self._natives.create(target.guild_id, message, before_request=before_request)
        if isinstance(target, NativeTarget) or isinstance(message, NativeEvent):
            raise SendError(ErrorClass.INVALID, "a scheduled event goes to its server's list, and nothing else does")
        told_by = nonce(key, target_id=target.channel_id)
        return await self._port.send(target, message, nonce=told_by, before_request=before_request)

    async def find(self, target: AnyTarget, *, marker: str, after: int) -> Delivered | None:
        """
        Look a message up in the history of its channel or DM, a scheduled event in its server's list.

        Raises:
            HistoryUnreadableError: the channel, or the list, could not be read to that point.
        """
        if not isinstance(target, NativeTarget):
            return await self._port.find(target, marker=marker, after=after)
        if self._natives is None:
            reason = "there is no list of scheduled events here"
            raise HistoryUnreadableError(reason)
        return await self._natives.find_native(target.guild_id, marker=marker, after=after)
