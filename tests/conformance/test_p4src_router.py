"""The shipped router on both engines: longest prefix, TTL, checksum, addresses, counters."""

from __future__ import annotations

import random
import struct

import pytest

from emulator.switch.control import Exact, Lpm, TableEntry
from emulator.switch.core import Switch
from emulator.v1model.compiled import load
from emulator.v1model.control_view import TableView
from emulator.v1model.hashing import csum16
from tests.programs.p4_programs import Rig, drain

ROUTES = ((0x0A000000, 8, 1), (0x0A010000, 16, 2), (0x0A010203, 32, 3), (0, 0, 4))


class Router(Rig):
    """A rig with the router, routes and source addresses of ports 1 to 4 (5 has none)."""

    def __init__(self, engine: str) -> None:
        super().__init__(load("router.p4", engine=engine))
        tables = {t.name: t for t in self.switch.program.view.tables}  # type: ignore[union-attr]
        for value, length, port in ROUTES:
            match = (Lpm(1, value, length),) if length else ()
            self.insert(
                tables["RouterIngress.routes"], match, "RouterIngress.set_nhop", (port, 0x0200_0000_0000 + port)
            )
        for port in range(1, 4):
            self.insert(
                tables["RouterEgress.source_macs"], (Exact(1, port),), "RouterEgress.set_source", (0xAA00 + port,)
            )

    def insert(self, table: TableView, match: tuple[Exact | Lpm, ...], action: str, params: tuple[int, ...]) -> None:
        number = next(a.id for a in table.actions if a.name == action)
        self.switch.insert_entry(table.id, TableEntry(match, 0, number, params))


def packet(destination: int, *, ttl: int = 64, spoilt: bool = False) -> bytes:
    header = bytearray(struct.pack(">BBHHHBBHII", 0x45, 0, 30, 1, 0, ttl, 17, 0, 0xC0A80001, destination))
    header[10:12] = struct.pack(">H", csum16(bytes(header)) ^ spoilt)
    return bytes(12) + b"\x08\x00" + bytes(header) + b"0123456789"


def counters(switch: Switch) -> dict[str, list[int]]:
    assert switch.program is not None
    return {c.name: [switch.read_counter(c.id, i).packets for i in range(8 if c.size > 8 else c.size)]
            for c in switch.program.view.counters}  # fmt: skip


@pytest.mark.parametrize("engine", ["llvm", "interpreter"])
def test_routes(engine: str) -> None:
    router = Router(engine)
    sent = router.run(
        packet(0x0A010203), packet(0x0A010204), packet(0x0A020000), packet(0x0B000000),
        packet(0x0A010203, ttl=1), packet(0x0A010203, spoilt=True), bytes(14) + b"hello",
    )  # fmt: skip
    assert {port: len(frames) for port, frames in sent.items()} == {1: 1, 2: 1, 3: 1}
    frame = sent[3][0]
    assert frame[:12] == (0x0200_0000_0003).to_bytes(6, "big") + (0xAA03).to_bytes(6, "big")
    assert frame[22] == 63
    assert csum16(frame[14:34]) == 0
    assert frame[34:] == b"0123456789"
    seen = counters(router.switch)
    assert seen["RouterIngress.drops"] == [1, 1, 1, 0]
    assert seen["RouterEgress.sent"][1:4] == [1, 1, 1]
    assert router.switch.drops == {"dropped by ingress": 3, "dropped by egress": 1}


def test_engines_agree_on_any_frames() -> None:
    source = random.Random(3)
    frames = []
    for _ in range(200):
        frame = bytearray(
            packet(source.choice([r[0] for r in ROUTES]) | source.getrandbits(9), ttl=source.randrange(4))
        )
        if source.random() < 0.5:
            frame[source.randrange(len(frame))] ^= 1 << source.randrange(8)
        frames.append(bytes(frame[: source.choice([len(frame), source.randrange(len(frame))])]))
    outcomes = []
    for engine in ("interpreter", "llvm"):
        router = Router(engine)
        outcomes.append((router.run(*frames), drain(router.switch.ports), counters(router.switch), router.switch.drops))
    assert outcomes[0] == outcomes[1]
