"""Values that nobody means well with, for any option of any command and any line of a form, made from what it is."""

from collections.abc import Mapping
from typing import Any

from discord import AppCommandOptionType as Kind
from discord import app_commands
from hypothesis import strategies as st

MENTIONS = ("@everyone", "@here", "<@&1>", "<@1>", "<@!1>", "<#1>", "</event create:1>")
"""Each pings, or is shown as something else than what was typed, where it stands unescaped."""

TURNS = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
"""Marks that turn the direction of whatever follows."""

PIECES = (
    *MENTIONS,
    *(f"x{turn}y" for turn in TURNS),
    "\u200b\u200d\u2060\ufeff",
    "\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627",
    "\N{BELL}\N{FAMILY}\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "\U0010ffff",
    "e" + "\u0301" * 60,
    "\0",
    "\ud800",
    "\udfff tail",
    "line\nline",
    "\r\n\t\v\f\x1b[31m\x85\u2028\u2029",
    "**b** __u__ ~~s~~ `c` ```js\nx``` ||s|| > q",
    "# h\n- l\n1. l",
    "[x](https://example.com) https://example.com/a_b_c",
    "<t:0:F> <:a:1> <a:b:2>",
    "'; DROP TABLE event; --",
    '{"a": 1} \\ %s %d {0} ${x}',
    " ",
    "\u3164\u2800\u115f",
)

ALWAYS = (
    "a\0b",
    "a\ud800b",
    " ".join(MENTIONS),
    f"x{TURNS}y",
    "\N{BELL}" * 100,
    "\u3164",
)
"""What every free text is tried with by every seed."""

Upload = tuple[str, bytes]
"""A file that somebody attaches: its name, which says nothing of its bytes, and those."""

_TEN_MEGABYTES = 10_000_000


def calendar(number: int = 0) -> Upload:
    """Return a calendar file that nothing is wrong with, of an event that each number gives a name of its own."""
    lines = (
        *(
            "BEGIN:VCALENDAR",
            "VERSION:2.0",
            "BEGIN:VEVENT",
            f"UID:{number}@tests",
            f"SUMMARY:Lantern walk by file {number}",
        ),
        *("DTSTART;TZID=Europe/London:20260406T193000", "RRULE:FREQ=WEEKLY", "END:VEVENT", "END:VCALENDAR", ""),
    )
    return "calendar.ics", "\r\n".join(lines).encode()


CALENDAR: Upload = calendar()

FILES: tuple[Upload, ...] = (
    ("empty.ics", b""),
    ("large.ics", b"BEGIN:VCALENDAR\r\n" + b"X" * _TEN_MEGABYTES),
    ("just-too-large.csv", b"BEGIN:VCALENDAR\r\n" + b"\r\n" * 500_000),
    ("nothing-but-nul.ics", b"\0" * 4_000),
    ("nul-inside.ics", CALENDAR[1].replace(b"walk", b"wa\0lk")),
    ("picture.ics", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\xff\xfe"),
    ("calendar.png", CALENDAR[1]),
    ("utf-16.ics", CALENDAR[1].decode().encode("utf-16")),
    ("page.ics", b"<!doctype html><title>503</title>"),
    ("formula.csv", b"=cmd|'/c calc'!A1,@everyone\r\n"),
    ("cut.ics", CALENDAR[1][:-40]),
    ("many.ics", CALENDAR[1].replace(b"FREQ=WEEKLY", b"FREQ=SECONDLY")),
)
"""What anybody may attach, whatever a command takes."""


def files() -> st.SearchStrategy[Upload]:
    """Return files of every nasty kind, and calendars with any text where a name or a value stands."""
    names = st.sampled_from(["calendar.ics", "table.csv", "@everyone.ics", "a" * 200, "x.\u202escii"])
    nasty = texts(0, 2_000).map(lambda text: text.encode(errors="surrogatepass"))
    holes = st.sampled_from([b"0@tests", b"Lantern walk by file 0", b"20260406T193000", b"WEEKLY", b"Europe/London"])
    filled = st.builds(CALENDAR[1].replace, holes, nasty)
    return st.sampled_from(FILES) | st.tuples(names, st.binary(max_size=400) | nasty | filled)


_ABSURD_TIMES = (
    *("0000-00-00 00:00", "9999-12-31 23:59", "2026-02-30 10:00", "2026-03-29 01:30", "03/04 19:30", "1e9", "tomorrow"),
    *(
        "-1",
        "24:00",
        "2026-13-01",
        "2999-12-31",
        "1970-01-01 00:00",
        "2026-12-24T19:30+14:00",
        "\u0662\u0660\u0662\u0666",
    ),
)
# Character by character: a text drawn whole may be any word of the bot's own source, which answers may not show.
_RANDOM = st.lists(st.characters(codec=None), max_size=60).map("".join)
_LONGEST = 6_000
"""What Discord takes of an option's text where the bot names no limit."""


def is_free_text(option: app_commands.Parameter) -> bool:
    """Return whether anything can be typed into an option."""
    return option.type is Kind.string and not option.choices


def texts(least: int, most: int) -> st.SearchStrategy[str]:
    """Return texts of every nasty kind, many of them at the limits and past them."""
    made = st.lists(st.sampled_from(PIECES) | _RANDOM, min_size=1, max_size=4).map("".join)
    sizes = st.sampled_from(sorted({max(least - 1, 0), least, most - 1, most, most + 1, 2 * most}))
    filled = st.builds(lambda piece, size: (piece * size)[:size], st.sampled_from((*PIECES, "x", "\N{BELL}")), sizes)
    return made | filled | st.sampled_from(["", " ", "\t\n", "0", *_ABSURD_TIMES])


def numbers(least: float | None, most: float | None) -> st.SearchStrategy[int]:
    """Return whole numbers, at the bounds and far past them: the largest that Discord carries, too."""
    bounds = [int(one) for one in (least, most) if one is not None]
    near = {near for one in bounds for near in (one - 1, one, one + 1)}
    return st.sampled_from(sorted({*near, 0, 1, -1, 2**31, -(2**31), 2**53 - 1, -(2**53) + 1}))


def values(option: app_commands.Parameter, handles: Mapping[Kind, tuple[Any, ...]]) -> st.SearchStrategy[Any]:
    """
    Return what somebody may give for an option; ``handles`` are the channels and roles that there are.

    Discord itself takes none but the choices of an option that has some.
    """
    if option.choices:
        return st.sampled_from([one.value for one in option.choices])
    match option.type:
        case Kind.string:
            most = int(option.max_value) if option.max_value is not None else _LONGEST
            return texts(int(option.min_value or 0), most)
        case Kind.integer:
            return numbers(option.min_value, option.max_value)
        case Kind.boolean | Kind.attachment:
            return files() if option.type is Kind.attachment else st.booleans()
        case _:
            return st.sampled_from(handles[option.type])
