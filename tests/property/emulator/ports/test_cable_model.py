"""A cable under any order of calls does what two plain queues do."""

from __future__ import annotations

from collections import deque

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from emulator.ports.batch import FrameBatch, TxPortTable
from emulator.ports.cable.memory import MemoryPort
from emulator.ports.cable.rings import Geometry
from emulator.ports.spec import parse_port
from tests.labs.extent import tries

POSTS, CELLS, POOL = 8, 4, 6
FRAMES = st.binary(min_size=0, max_size=100)
MOST = st.integers(1, 10)


class CableMachine(RuleBasedStateMachine):
    """The host posts pool frames and the switch appends copies; each side sees what was published, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.table = TxPortTable()
        geometry = Geometry(posts=POSTS, cells=CELLS, pool_bytes=1 << 16)
        self.port = MemoryPort(parse_port("1=memory:a"), self.table, geometry=geometry)
        self.host = self.port.host
        self.pool = self.host.frame_pool(POOL, 128)
        self.free = deque(range(POOL))
        self.posted: deque[tuple[int, bytes]] = deque()
        self.published: deque[tuple[int, bytes]] = deque()
        self.reading: list[tuple[int, bytes]] = []
        self.read_count = self.consumed = 0
        self.appended: deque[bytes] = deque()
        self.sent: deque[bytes] = deque()
        self.held = 0
        self.limit_free = CELLS

    @precondition(lambda self: self.free)
    @rule(frame=FRAMES)
    def post(self, frame: bytes) -> None:
        row = self.free[0]
        self.pool.frames[row, : len(frame)] = memoryview(frame)
        in_ring = len(self.posted) + len(self.published) + len(self.reading)
        accepted = self.host.post(self.pool.address + row * self.pool.stride_bytes, len(frame))
        assert accepted == (in_ring < POSTS)
        if accepted:
            self.posted.append((self.free.popleft(), frame))

    @rule()
    def host_flush(self) -> None:
        assert self.host.flush() == len(self.posted)
        self.published += self.posted
        self.posted.clear()

    @rule(most=MOST)
    def switch_receives(self, most: int) -> None:
        batch = FrameBatch(16)
        count = min(most, len(self.published))
        self.limit_free = CELLS - self.held - len(self.sent) - len(self.appended)
        assert self.port.receive_into(batch, most=most) == count
        expected = [self.published.popleft() for _ in range(count)]
        assert [frame for _, frame in batch.frames()] == [frame for _, frame in expected]
        self.reading += expected

    @rule()
    def switch_releases(self) -> None:
        self.port.release()
        self.free += [row for row, _ in self.reading]
        self.read_count += len(self.reading)
        self.reading.clear()

    @rule(frame=FRAMES)
    def append(self, frame: bytes) -> None:
        accepted = self.table.append(1, frame)
        assert accepted == (self.limit_free > 0)
        if accepted:
            self.limit_free -= 1
            self.appended.append(frame)

    @rule()
    def switch_flush(self) -> None:
        assert self.port.flush() == len(self.appended)
        self.sent += self.appended
        self.appended.clear()

    @rule(most=MOST)
    def host_receives(self, most: int) -> None:
        batch = FrameBatch(16)
        count = min(most, len(self.sent))
        assert self.host.receive_into(batch, most) == count
        assert [frame for _, frame in batch.frames()] == [self.sent.popleft() for _ in range(count)]
        self.held += count

    @rule()
    def host_releases(self) -> None:
        self.host.release()
        self.held = 0

    @invariant()
    def consumed_is_what_the_switch_released(self) -> None:
        assert self.host.consumed == self.read_count

    @invariant()
    def no_frame_being_read_has_changed(self) -> None:
        for row, frame in [*self.posted, *self.published, *self.reading]:
            assert self.pool.frames[row, : len(frame)].tobytes() == frame


CableMachine.TestCase.settings = settings(max_examples=tries(50, 150), stateful_step_count=40, deadline=None)
TestCable = CableMachine.TestCase
