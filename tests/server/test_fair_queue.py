"""Slots at a table: so many at once, analysts in turn, and a limit on each and on all who wait."""

import asyncio

import pytest

from soundsum.server.fair_queue import FairQueue
from soundsum.server.wire import Reply


async def let_others_go():
    for _ in range(5):
        await asyncio.sleep(0)


def test_analysts_take_turns_however_much_one_asks():
    async def ask():
        queue, order, go = FairQueue(1, 100, 50), [], asyncio.Event()

        async def question(who):
            async with queue.take_turn(who):
                order.append(who)
                await go.wait()

        first = [asyncio.create_task(question("greedy")) for _ in range(20)]
        await let_others_go()
        rest = [asyncio.create_task(question(who)) for who in ("a", "b", "a")]
        await let_others_go()
        assert order == ["greedy"]
        go.set()
        await asyncio.gather(*first, *rest)
        return order

    order = asyncio.run(ask())
    assert order[:6] == ["greedy", "greedy", "a", "b", "greedy", "a"]
    assert len(order) == 23


@pytest.mark.parametrize("most_waiting, most_each, taken", [(100, 3, 3), (2, 100, 3), (0, 100, 1)])
def test_an_analyst_and_a_queue_have_limits_and_get_their_places_back(most_waiting, most_each, taken):
    async def ask():
        queue, go = FairQueue(1, most_waiting, most_each), asyncio.Event()

        async def question():
            async with queue.take_turn("a"):
                await go.wait()

        tasks = []
        for _ in range(taken):
            tasks.append(asyncio.create_task(question()))
            await let_others_go()
        with pytest.raises(Reply) as caught:
            async with queue.take_turn("a"):
                pass
        assert caught.value.status == 429
        go.set()
        await asyncio.gather(*tasks)
        async with queue.take_turn("a"):
            pass

    asyncio.run(ask())


def test_who_gives_up_waiting_gives_the_slot_to_the_next():
    async def ask():
        queue, go, done = FairQueue(1, 10, 10), asyncio.Event(), []

        async def question(who):
            async with queue.take_turn(who):
                await go.wait()
                done.append(who)

        tasks = [asyncio.create_task(question(who)) for who in ("a", "b", "c")]
        await let_others_go()
        tasks[1].cancel()
        go.set()
        await asyncio.gather(*tasks, return_exceptions=True)
        return done

    assert asyncio.run(ask()) == ["a", "c"]
