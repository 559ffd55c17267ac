"""Every refusal that a person may read: the root of them all."""


class BotError(Exception):
    """
    A refusal whose ``str()`` is the one sentence an admin or operator reads.

    Subclasses carry their data as attributes. Nothing in the sentence is a secret: no token, code, SQL or path of a
    library.
    """


class GoneError(BotError):
    """What was asked for, or pressed, belongs to something that is not there any more, or is another server's."""

    def __init__(self, says: str = "This is no longer available.") -> None:
        super().__init__(says)


class UsageError(BotError):
    """A refusal of how the program was called or configured: the command line exits with 2."""
