"""Several cores put answers into the same ring: none is lost or twice there, whoever took whose cells."""

from __future__ import annotations

import numpy as np
import pytest

from emulator.native.jit import njit
from emulator.native.memory import load_i64, store_i64
from emulator.native.pages import address_of
from emulator.ports.batch import FrameBatch
from emulator.ports.cable.memory import MemoryPort
from emulator.ports.cable.rings import DOWN_HEAD, DOWN_TAIL
from emulator.ports.port import port_refresh
from emulator.ports.spec import parse_port
from hostagent.rackserver.core import RackServer
from hostagent.rackserver.frames.tx_slots import RUN_CELLS, close_runs, take_tx_slot
from hostagent.rackserver.records import server_at

LENGTH, CORES, PORTS = 80, 3, 2
START = (1 << 32) - 1000


@njit
def put_word(address: int, value: int) -> None:
    store_i64(address, value)


@njit
def take_all(address: int, takers: int, count: int) -> int:
    """A cell for each (core, port, number), which is written into it; how many there were."""
    server, taken = server_at(address), 0
    for place in range(takers, takers + 24 * count, 24):
        cell = take_tx_slot(server, load_i64(place), load_i64(place + 8), LENGTH)
        if cell != 0:
            store_i64(cell, load_i64(place + 16))
            taken += 1
    close_runs(address)
    return taken


class Rings:
    """The ports of a server, and their hosts."""

    def __init__(self) -> None:
        self.server = RackServer(16, cores=CORES)
        self.ports = [MemoryPort(parse_port(f"{port}=memory:cells"), self.server.ports) for port in range(PORTS)]
        self.room = int(self.ports[0].wire_ring["mask"]) + 1
        for port in self.ports:  # as after so many answers: soon they don't fit into 32 bits
            cable = int(port.state["cable"])
            put_word(cable + DOWN_TAIL, START)
            put_word(cable + DOWN_HEAD, START)
            port.wire_ring["tail"] = port.state["out_published"] = START
            port.host.state["in_next"] = port.host.state["in_released"] = START
        self._batch = FrameBatch(self.room)

    def play(self, takers: list[tuple[int, int, int]]) -> list[list[int]]:
        """A batch of answers, each by a core, to a port, with a number; the numbers that come out, by port."""
        plan = np.array(takers, np.int64)
        for port in self.ports:
            port_refresh(port.address)
        taken = take_all(self.server.address, address_of(plan), len(plan))
        numbers = []
        for port in self.ports:
            port.flush()
            self._batch.clear()
            port.host.receive_into(self._batch)
            numbers.append([int.from_bytes(frame[:8], "little") for _, frame in self._batch.frames()])
            assert {len(frame) for _, frame in self._batch.frames()} <= {LENGTH}
        assert taken == sum(map(len, numbers))
        return numbers

    def release(self) -> None:
        for port in self.ports:
            port.host.release()


@pytest.mark.parametrize("seed", range(4))
def test_what_is_put_in_comes_out_once_and_without_gaps(seed: int) -> None:
    rng, rings, number, counted = np.random.default_rng(seed), Rings(), 0, [0] * PORTS
    for _ in range(30):
        takers = []
        for port in range(PORTS):
            # the whole ring at times: then one core needs what another has taken and not used
            count = rings.room if rng.integers(3) == 0 else int(rng.integers(rings.room))
            shares = rng.dirichlet([0.5] * CORES)
            takers += [(int(rng.choice(CORES, p=shares)), port, number + place) for place in range(count)]
            number += count
        rng.shuffle(takers)
        numbers = rings.play(takers)
        for port in range(PORTS):
            assert sorted(numbers[port]) == sorted(index for _, at, index in takers if at == port)
            counted[port] += len(numbers[port])
            statistics = rings.ports[port].statistics()
            assert (statistics.frames_out, statistics.bytes_out) == (counted[port], LENGTH * counted[port])
        rings.release()


def test_only_what_a_full_ring_has_no_cell_for_is_dropped_and_counted() -> None:
    rings = Rings()
    few = RUN_CELLS - 1
    # core 0 leaves one cell of its run, which the others need at last
    takers = [(0, 0, 0)] * few + [(1, 0, 1)] * (rings.room - few) + [(2, 0, 2)] * 5
    numbers = rings.play(takers)[0]
    assert len(numbers) == rings.room
    assert numbers.count(2) == 0
    assert rings.ports[0].wire_ring["dropped_full"] == 5
    assert rings.play([(2, 0, 3)])[0] == []  # nobody has read the ring
    rings.release()
    assert rings.play([(2, 0, 4)])[0] == [4]
