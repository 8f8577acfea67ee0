"""The transport loop's turns, taken by its thread and by callers at once: nothing is lost, nobody waits for ever."""

from __future__ import annotations

import os
import random
import threading

import numpy as np
import pytest

from hostagent.protocol.operation import Operation, OperationKind, Span
from hostagent.transport import process
from hostagent.transport.loop.turns import take_turn
from hostagent.transport.process import Transport
from tests.labs.transport_network import Network, network

PATIENCE_S = 60.0


def sum_of(array: np.ndarray[tuple[int], np.dtype[np.int32]]) -> Operation:
    whole = Span(array.ctypes.data, 0, array.size)
    return Operation("all_reduce", OperationKind.SUM, "int32", 4, array.size, whole, whole)


def borrowed(net: Network, rank: int) -> int:
    engine = net.transports[rank].engine
    assert engine is not None
    return int(engine.record["borrowed"][0])


def run_on_every_rank(net: Network, work: object) -> None:
    threads = [threading.Thread(target=work, args=(rank,)) for rank in range(net.size)]  # type: ignore[arg-type]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert not any(thread.is_alive() for thread in threads)


def test_callers_take_the_turns_of_small_operations() -> None:
    sums = {0: 0, 1: 0}

    def work(rank: int) -> None:
        for number in range(200):
            array = np.full(4, number + rank, np.int32)
            assert net.channels[rank].wait(net.channels[rank].submit(sum_of(array)), PATIENCE_S)
            sums[rank] += int(array[0])

    with network(2) as net:
        run_on_every_rank(net, work)
        assert sums[0] == sums[1] == sum(2 * number + 1 for number in range(200))
        assert borrowed(net, 0) > 100
        assert borrowed(net, 1) > 100


def test_several_threads_wait_for_operations_of_all_sizes() -> None:
    """Whoever takes the turns finishes the others' operations as well, and gives the turns back after its own."""
    count = 300
    sizes = [random.Random(7).choice([1, 40, 3_000, 60_000]) for _ in range(count)]
    arrays = [[np.full(size, rank + 1, np.int32) for size in sizes] for rank in range(2)]

    def work(rank: int) -> None:
        channel, rng = net.channels[rank], random.Random(rank)
        submitted = threading.Semaphore(0)

        def wait(seed: int) -> None:
            order = random.Random(seed)
            for first in range(0, count, 30):
                for _ in range(30):
                    submitted.acquire()
                assert channel.wait(order.randrange(first, first + 30), PATIENCE_S)
                waited.append(first)

        waited: list[int] = []
        threads = [threading.Thread(target=wait, args=(seed,)) for seed in range(3)]
        for thread in threads:
            thread.start()
        for array in arrays[rank]:
            number = channel.submit(sum_of(array))
            submitted.release(3)
            if rng.random() < 0.3:
                assert channel.wait(number, PATIENCE_S)
        for thread in threads:
            thread.join(PATIENCE_S)
        assert len(waited) == 3 * count // 30
        assert channel.wait(count - 1, PATIENCE_S)

    with network(2) as net:
        run_on_every_rank(net, work)
        assert all((array == 3).all() for mine in arrays for array in mine)


def test_a_forked_child_takes_no_turns_of_its_parents_port(monkeypatch: pytest.MonkeyPatch) -> None:
    transport = Transport.__new__(Transport)
    with network(2) as net:
        engine = net.transports[0].engine_for(net.lease(0))
        transport._engine = engine
        monkeypatch.setattr(process, "_transports", {"controller": transport})
        child = os.fork()
        if child == 0:
            os._exit(int(any(take_turn(engine.address) for _ in range(100))))
        assert os.waitpid(child, 0)[1] == 0
