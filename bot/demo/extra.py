"""Whether the simulated Discord is there; imports nothing of it."""

import importlib.metadata

from bot.errors import BotError


class NoExtraError(BotError):
    """The simulated Discord is not installed."""

    def __init__(self) -> None:
        super().__init__("The simulated Discord is not installed: run `pip install 'tocsin[demo]'`, or `make demo`.")


def require_extra() -> None:
    """
    See to it that the simulated Discord is installed.

    Raises:
        NoExtraError: it is not.
    """
    try:
        importlib.metadata.version("simcord")
    except importlib.metadata.PackageNotFoundError as error:
        raise NoExtraError from error
