"""Who waits for a turn gets it in order, one in each turn of the event loop, and the loop goes on between."""

from __future__ import annotations

import asyncio

import pytest

from gpupolicy.webhook.turns import Turns


async def seen_in_each_turn(turns: Turns, seen: list[str], count: int) -> list[str]:
    """What has been called after each turn of the loop."""
    told = []
    for _ in range(count):
        await asyncio.sleep(0)
        told.append("".join(seen))
    return told


def test_one_is_called_in_each_turn_in_the_order_of_their_coming():
    async def main() -> list[str]:
        turns, seen = Turns(), []
        for name in "abc":
            turns.add(lambda name=name: seen.append(name))
        return await seen_in_each_turn(turns, seen, 4)

    assert asyncio.run(main()) == ["a", "ab", "abc", "abc"]


def test_one_that_comes_again_waits_for_the_others():
    async def main() -> list[str]:
        turns, seen = Turns(), []

        def again() -> None:
            seen.append("a")
            turns.add(lambda: seen.append("A"))

        turns.add(again)
        turns.add(lambda: seen.append("b"))
        return await seen_in_each_turn(turns, seen, 3)

    assert asyncio.run(main()) == ["a", "ab", "abA"]


def test_one_that_fails_does_not_stop_the_others():
    async def main() -> tuple[list[str], list[object]]:
        turns, seen, told = Turns(), [], []
        asyncio.get_running_loop().set_exception_handler(lambda _loop, context: told.append(context["exception"]))

        def fail() -> None:
            raise error

        turns.add(fail)
        turns.add(lambda: seen.append("b"))
        return await seen_in_each_turn(turns, seen, 2), told

    error = RuntimeError()

    assert asyncio.run(main()) == (["", "b"], [error])


def test_who_waits_goes_on_after_those_before():
    async def main() -> list[str]:
        turns, seen = Turns(), []

        async def wait() -> None:
            await turns.wait()
            seen.append("b")

        turns.add(lambda: seen.append("a"))
        await asyncio.wait_for(wait(), 20)
        return seen

    assert asyncio.run(main()) == ["a", "b"]


def test_who_stops_waiting_holds_up_nobody():
    async def main() -> list[str]:
        turns, seen = Turns(), []
        turns.add(lambda: seen.append("a"))
        waiting = asyncio.create_task(turns.wait())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        turns.add(lambda: seen.append("b"))
        return await seen_in_each_turn(turns, seen, 3)

    assert asyncio.run(main())[-1] == "ab"
