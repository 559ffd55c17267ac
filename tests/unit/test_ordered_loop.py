"""An event loop that takes answers from outside when it is idle, one by one, in the order in which they came."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor

from bot.demo.ordered_loop import OrderedLoop


def on_it(work: Callable[[], Awaitable[list[str]]]) -> list[str]:
    async def _work() -> list[str]:
        return await work()

    with asyncio.Runner(loop_factory=OrderedLoop) as runner:
        return runner.run(_work())


def test_an_answer_waits_until_nothing_else_is_left_to_do() -> None:
    async def work() -> list[str]:
        done: list[str] = []
        loop = asyncio.get_running_loop()

        async def busy() -> None:
            for _ in range(20):
                time.sleep(0.001)  # noqa: ASYNC251 -- the answer is there long before this is over
                await asyncio.sleep(0)
            done.append("busy")

        async def asks(pool: ThreadPoolExecutor) -> None:
            await loop.run_in_executor(pool, lambda: None)
            done.append("answered")

        with ThreadPoolExecutor(1) as pool:
            await asyncio.gather(asks(pool), busy())
        return done

    assert on_it(work) == ["busy", "answered"]


def test_whoever_looks_again_and_again_gets_the_answer_all_the_same() -> None:
    async def work() -> list[str]:
        with ThreadPoolExecutor(1) as pool:
            answer = asyncio.get_running_loop().run_in_executor(pool, lambda: "here")
            while not answer.done():  # noqa: ASYNC110 -- whoever drives others does so
                await asyncio.sleep(0)
            return [await answer]

    assert on_it(work) == ["here"]


def test_answers_are_taken_one_by_one_in_their_order() -> None:
    async def work() -> list[str]:
        done: list[str] = []
        loop = asyncio.get_running_loop()

        async def steps(name: str) -> None:
            for number in range(3):
                done.append(f"{name}{number}")
                await asyncio.sleep(0)

        def answer(name: str) -> None:
            loop.call_soon_threadsafe(lambda: tasks.append(asyncio.ensure_future(steps(name))))

        tasks: list[asyncio.Future[None]] = []
        with ThreadPoolExecutor(1) as pool:
            for name in "ab":
                pool.submit(answer, name).result()
            while len(tasks) < 2:  # noqa: ASYNC110 -- both answers have to be looked at
                await asyncio.sleep(0.001)
            await asyncio.gather(*tasks)
        return done

    # What the first one sets going is through before the second is looked at.
    assert on_it(work) == ["a0", "a1", "a2", "b0", "b1", "b2"]


def test_timers_and_sleeps_go_on() -> None:
    async def work() -> list[str]:
        await asyncio.sleep(0.01)
        async with asyncio.timeout(5):
            await asyncio.sleep(0.001)
        return ["slept"]

    assert on_it(work) == ["slept"]
