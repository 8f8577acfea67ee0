"""Calls are started in order, by one thread."""

from __future__ import annotations

import threading

from hostagent.torch_backend.device.starter import Starter


def test_calls_are_started_in_order_and_drain_waits_for_all() -> None:
    starter, gate, started = Starter("test"), threading.Event(), list[int]()
    assert starter.drain(0)
    starter.put(lambda: started.append(int(gate.wait(20))))
    starter.put(lambda: started.append(2))
    assert not starter.drain(0.01)
    gate.set()
    assert starter.drain(20)
    assert started == [1, 2]
    starter.close()


def test_close_lets_what_was_put_be_started() -> None:
    starter, started = Starter("test"), list[int]()
    for number in range(100):
        starter.put(lambda number=number: started.append(number))  # type: ignore[misc]
    starter.close()
    assert started == list(range(100))
