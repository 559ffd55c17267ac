"""What is typed is read line by line, whatever it is, and its end ends nothing."""

import asyncio
import contextlib
import os
import threading
from collections.abc import Iterator

import pytest

from bot.demo.typed_lines import TypedLines

_PATIENCE_SECONDS = 10


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """Return both ends of a pipe: what is read, what is typed."""
    read, typed = os.pipe()
    yield read, typed
    with contextlib.suppress(OSError):
        os.close(typed)  # unless the test closed it
    # The number of a pipe that is closed while somebody reads it would be the next test's.
    for thread in threading.enumerate():
        if thread.name == "typed-lines":
            thread.join(_PATIENCE_SECONDS)
    os.close(read)


async def lines_of(typed: bytes, pipe: tuple[int, int], count: int) -> list[str | None]:
    lines = TypedLines(pipe[0])
    lines.start()
    await asyncio.to_thread(os.write, pipe[1], typed)
    os.close(pipe[1])
    return [await lines.next(within=_PATIENCE_SECONDS) for _ in range(count)]


async def test_lines_come_one_by_one_and_the_last_needs_no_end(pipe: tuple[int, int]) -> None:
    assert await lines_of(b"next\n\n+1h", pipe, 3) == ["next", "", "+1h"]


async def test_what_is_no_text_is_a_line_too(pipe: tuple[int, int]) -> None:
    assert await lines_of(b"\xff\xfe\nnext\n", pipe, 2) == ["\ufffd\ufffd", "next"]


async def test_a_character_cut_by_a_read_is_whole(pipe: tuple[int, int]) -> None:
    lines = TypedLines(pipe[0])
    lines.start()
    typed = "view \u591c\n".encode()
    os.write(pipe[1], typed[:6])
    assert await lines.next(within=0.05) is None

    os.write(pipe[1], typed[6:])

    assert await lines.next(within=_PATIENCE_SECONDS) == "view \u591c"


async def test_a_line_without_end_is_cut(pipe: tuple[int, int]) -> None:
    (line, after) = await lines_of(b"x" * 50_000 + b"\nnext\n", pipe, 2)

    assert line == "x" * 1_000
    assert after == "next"


async def test_once_the_input_has_ended_nothing_comes_any_more(pipe: tuple[int, int]) -> None:
    lines = TypedLines(pipe[0])
    lines.start()
    os.close(pipe[1])

    assert await lines.next(within=0.05) is None


async def test_an_input_that_cannot_be_read_is_an_ended_one() -> None:
    lines = TypedLines(-1)
    lines.start()

    assert await lines.next(within=0.05) is None


async def test_who_types_far_ahead_waits_until_it_is_taken(pipe: tuple[int, int]) -> None:
    lines = TypedLines(pipe[0])
    lines.start()
    (reader,) = (thread for thread in threading.enumerate() if thread.name == "typed-lines")
    os.write(pipe[1], b"y\n" * 1_000)
    os.close(pipe[1])

    await asyncio.to_thread(reader.join, 1)
    still_reads = reader.is_alive()
    taken = [await lines.next(within=_PATIENCE_SECONDS) for _ in range(1_000)]
    await asyncio.to_thread(reader.join, _PATIENCE_SECONDS)

    assert still_reads
    assert taken == ["y"] * 1_000
    assert not reader.is_alive()
