"""Every refusal that a person may read: the root of them all."""


class BotError(Exception):
    """
    A refusal whose ``str()`` is the one sentence an admin or operator reads.

    Subclasses carry their data as attributes. Nothing in the sentence is a secret: no token, code, SQL or path of a
    library.
    """


class UsageError(BotError):
    """A refusal of how the program was called or configured: the command line exits with 2."""
