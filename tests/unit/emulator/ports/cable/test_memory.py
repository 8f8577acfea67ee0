"""Batches, transmit rings and the cable, over a port inside this process."""

from __future__ import annotations

import numpy as np
import pytest

from emulator.native.pages import address_of
from emulator.ports.batch import CELL_BYTES, FRAME_HEADROOM_BYTES, FrameBatch, TxPortTable
from emulator.ports.cable.memory import MemoryPort
from emulator.ports.cable.rings import Geometry, header_of
from emulator.ports.errors import PortError
from emulator.ports.spec import parse_port

SMALL = Geometry(posts=8, cells=4, pool_bytes=1 << 20)
LANES_START = 66


def make(geometry: Geometry = SMALL) -> tuple[MemoryPort, TxPortTable, FrameBatch]:
    table = TxPortTable()
    return MemoryPort(parse_port("7=memory:a"), table, geometry=geometry), table, FrameBatch(16)


def test_frames_come_in_with_their_port_and_are_borrowed_without_copying() -> None:
    port, _, batch = make()
    pool = port.host.frame_pool(2, 100)
    pool.frames[1, :3] = (1, 2, 3)
    assert port.host.post(pool.address + pool.stride_bytes, 3)
    port.host.flush()
    assert port.receive_into(batch) == 1
    assert list(batch.frames()) == [(7, b"\1\2\3")]
    pool.frames[1, 0] = 9
    assert list(batch.frames()) == [(7, b"\x09\2\3")]


def test_posted_frames_are_not_seen_before_the_flush() -> None:
    port, _, batch = make()
    pool = port.host.frame_pool(1, 64)
    port.host.post(pool.address, 64)
    assert port.receive_into(batch) == 0
    port.host.flush()
    assert port.receive_into(batch) == 1


def test_consumed_rises_only_at_release() -> None:
    port, _, batch = make()
    assert port.send([b"a", b"b"]) == 2
    assert (port.host.posted, port.host.consumed) == (2, 0)
    port.receive_into(batch)
    assert port.host.consumed == 0
    port.release()
    assert port.host.consumed == 2


def test_a_full_ring_refuses_posts_until_frames_are_consumed() -> None:
    port, _, batch = make()
    pool = port.host.frame_pool(1, 64)
    assert [port.host.post(pool.address, 1) for _ in range(9)] == [True] * 8 + [False]
    assert port.host.statistics().drops == {"refused": 1}
    port.host.flush()
    port.receive_into(batch)
    assert not port.host.post(pool.address, 1)
    port.release()
    assert port.host.post(pool.address, 1)


def test_a_kept_frame_is_posted_again_without_copying() -> None:
    port, _, batch = make()
    pool = port.host.frame_pool(1, 64)
    pool.frames[0, :2] = 5
    for _ in range(3):
        port.host.post(pool.address, 2)
    port.host.flush()
    port.receive_into(batch)
    assert [frame for _, frame in batch.frames()] == [b"\5\5"] * 3
    assert len(set(batch.address[:3])) == 1


def test_frames_outside_of_the_pool_can_not_be_posted() -> None:
    port, _, _ = make()
    pool = port.host.frame_pool(1, 64)
    start, size = int(port.host.state["pool"]), SMALL.pool_bytes
    assert not port.host.post(start - 1, 1)
    assert not port.host.post(start + size, 1)
    assert not port.host.post(start + size - 1, 2)
    assert not port.host.post(pool.address, -1)
    assert port.host.post(start + size - 1, 1)
    assert port.host.statistics().drops == {"bad_descriptors": 4}


@pytest.mark.parametrize(
    ("offset", "length"),
    [
        (1 << 20, 1),
        ((1 << 20) - 1, 2),
        (0, (1 << 20) + 1),
        (0, 0xFFFFFFFF),
        (1 << 63, 1),
        ((1 << 64) - 1, 1),
        ((1 << 64) - 16, 32),
        ((1 << 63) - 1, 0xFFFFFFFF),
    ],
)
def test_the_switch_does_not_believe_a_hosts_descriptors(offset: int, length: int) -> None:
    port, _, batch = make()
    port.send([b"before"])
    posts = np.frombuffer((port._memory[4096 : 4096 + 8 * 16]).data, [("o", "<u8"), ("l", "<u4"), ("r", "<u4")]).copy()
    posts[1] = (offset, length, 0)
    port._memory[4096 : 4096 + 8 * 16] = posts.view(np.uint8)
    header_of(port._memory)["up_tail"] = 2
    assert port.receive_into(batch) == 2
    assert list(batch.frames()) == [(7, b"before")]
    assert port.statistics().drops == {"bad_descriptors": 1}


@pytest.mark.parametrize("tail", [9, 1 << 40, (1 << 64) - 1, 1 << 63])
def test_the_switch_does_not_believe_an_impossible_ring_position(tail: int) -> None:
    port, _, batch = make()
    header_of(port._memory)["up_tail"] = tail
    assert port.receive_into(batch) == 0
    assert port.statistics().drops == {"bad_rings": 1}
    assert batch.count == 0


def test_the_host_does_not_believe_a_switchs_lengths_and_positions() -> None:
    port, table, batch = make()
    table.append(7, b"fine")
    table.append(7, b"bad")
    port.flush()
    lengths = SMALL.lengths_offset
    port._memory[lengths + 4 : lengths + 8] = 0xFF
    port.host.receive_into(batch)
    assert list(batch.frames()) == [(0, b"fine")]
    assert port.host.statistics().drops == {"bad_descriptors": 1}
    port.host.release()
    header_of(port._memory)["down_tail"] = 7
    assert port.host.receive_into(batch) == 0
    assert port.host.statistics().drops == {"bad_descriptors": 1, "bad_rings": 1}


def test_consumed_never_passes_posted_whatever_the_switch_writes() -> None:
    port, _, _ = make()
    header_of(port._memory)["up_head"] = 5
    assert port.host.consumed == 0


def test_a_hosts_impossible_position_makes_no_room_at_the_switch() -> None:
    port, table, batch = make()
    header_of(port._memory)["down_head"] = 1 << 40
    port.receive_into(batch)
    assert [table.append(7, b"x") for _ in range(5)] == [True] * 4 + [False]


def test_a_full_ring_at_the_switch_is_a_counted_drop() -> None:
    port, table, batch = make()
    assert [table.append(7, bytes([index])) for index in range(6)] == [True] * 4 + [False] * 2
    port.flush()
    assert port.received() == [b"\0", b"\1", b"\2", b"\3"]
    assert port.statistics().drops == {"ring_full": 2}
    port.receive_into(batch)
    assert table.append(7, b"again")


def test_a_frame_longer_than_a_cell_is_a_counted_drop() -> None:
    port, table, _ = make()
    assert table.append(7, bytes(CELL_BYTES))
    assert not table.append(7, bytes(CELL_BYTES + 1))
    port.flush()
    assert [len(frame) for frame in port.received()] == [CELL_BYTES]
    assert port.statistics().drops == {"longer_than_port": 1}


def test_a_port_that_does_not_exist_takes_nothing() -> None:
    _, table, _ = make()
    assert not table.append(8, b"x")
    assert table.numbers() == [7]


def test_rings_go_round_many_times() -> None:
    port, table, batch = make()
    for number in range(100):
        frame = bytes([number]) * (number + 1)
        assert port.send([frame]) == 1
        batch.clear()
        assert port.receive_into(batch) == 1
        for _, content in batch.frames():
            assert table.append(7, content)
        port.release()
        port.flush()
        assert port.received() == [frame]
    statistics = port.statistics()
    assert (statistics.frames_in, statistics.bytes_in) == (100, 5050)
    assert (statistics.frames_out, statistics.bytes_out) == (100, 5050)
    assert statistics.drops == {}


def test_a_batch_takes_no_more_than_it_has_room_for() -> None:
    port, _, _ = make()
    port.send([b"a", b"b", b"c"])
    batch = FrameBatch(2)
    assert port.receive_into(batch) == 2
    assert port.receive_into(batch) == 0
    batch.clear()
    assert port.receive_into(batch) == 1
    assert [frame for _, frame in batch.frames()] == [b"c"]


def test_lanes_start_on_cache_lines() -> None:
    port, table, _ = make()
    pool = port.host.frame_pool(3, 1100)
    assert (pool.address + LANES_START) % 64 == pool.stride_bytes % 64 == 0
    assert address_of(pool.frames[2]) == pool.address + 2 * pool.stride_bytes
    assert (int(table.rings[7]["cells"]) + LANES_START) % 64 == 0
    assert (FRAME_HEADROOM_BYTES + LANES_START) % 64 == 0


def test_a_pool_that_does_not_fit_is_refused() -> None:
    port, _, _ = make()
    with pytest.raises(PortError, match="2000 frames of 8256 bytes"):
        port.host.frame_pool(2000, 8250)


def test_a_port_number_is_taken_once() -> None:
    port, table, _ = make()
    with pytest.raises(PortError, match="number 7 is in use"):
        MemoryPort(parse_port("7=memory:b"), table)
    port.close()
    MemoryPort(parse_port("7=memory:b"), table).close()


def test_a_batch_keeps_appended_frames_and_refuses_more_than_its_capacity() -> None:
    batch = FrameBatch(2)
    batch.append(b"one", 1)
    batch.append(b"", 2)
    assert list(batch.frames()) == [(1, b"one"), (2, b"")]
    with pytest.raises(IndexError, match="holds 2 frames"):
        batch.append(b"three", 3)
