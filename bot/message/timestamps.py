"""Times as Discord shows them: in the reader's own zone and language."""

import datetime as dt


def full(moment: dt.datetime) -> str:
    """Return a timestamp that shows the weekday, the date and the time."""
    return f"<t:{int(moment.timestamp())}:F>"


def relative(moment: dt.datetime) -> str:
    """Return a timestamp that shows how far off the moment is."""
    return f"<t:{int(moment.timestamp())}:R>"


def full_and_relative(moment: dt.datetime) -> str:
    """Return the moment in full, with how far off it is behind it."""
    return f"{full(moment)} ({relative(moment)})"


def day(moment: dt.datetime) -> str:
    """Return a timestamp that shows the date alone."""
    return f"<t:{int(moment.timestamp())}:D>"


def time_of_day(moment: dt.datetime) -> str:
    """Return a timestamp that shows the time alone."""
    return f"<t:{int(moment.timestamp())}:t>"


def short(moment: dt.datetime) -> str:
    """Return a timestamp that shows the date and the time, without the weekday."""
    return f"<t:{int(moment.timestamp())}:f>"
