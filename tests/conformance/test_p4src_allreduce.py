"""The shipped aggregation program on both engines: right sums, and the same answer to whatever comes in."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from emulator.ports.batch import FrameBatch
from emulator.switch.core import Switch
from emulator.v1model.compiled import CompiledProgram, compiler_digest, load
from hostagent.cli.bench.switch import CHILDREN, AggregatingSwitch, Contributions, aggregation_rows, measure_bare
from hostagent.cli.bench.traffic import EPOCH, JOB, SWITCH_HOST, ip_of, mac_of
from hostagent.protocol.frames import Addresses, Frame, build_frame
from hostagent.protocol.wire import Header, Kind
from tests.programs.p4_programs import drain

LANES = 64
DEFINES = {"LANES": str(LANES), "SLOTS": "128"}


@pytest.fixture(scope="module", params=["llvm", "interpreter"])
def program(request: pytest.FixtureRequest) -> CompiledProgram:
    return load("allreduce.p4", DEFINES, engine=request.param)


def sums_of(frames: Contributions, chunk: int) -> bytes:
    values = frames.values[chunk * CHILDREN : (chunk + 1) * CHILDREN]
    return values.sum(axis=0, dtype=np.uint32).astype(">u4").tobytes()


@pytest.mark.parametrize("checksum", [False, True])
def test_every_child_gets_the_sum_once(program: CompiledProgram, checksum: bool) -> None:
    frames = Contributions(LANES, checksum=checksum)
    rig, batch = AggregatingSwitch(program, checksum=checksum), frames.batch
    batch.count = 3 * CHILDREN + 1
    rig.run(batch)
    sent = drain(rig.switch.ports)
    assert sorted(sent) == list(range(CHILDREN))
    for child, results in sent.items():
        assert [r[66:] for r in results] == [sums_of(frames, chunk) for chunk in range(3)]
        for chunk, result in enumerate(results):
            assert result[42:48] == bytes([2, 1, 0, 3, 0, child]), "version, result, job, child"
            assert int.from_bytes(result[58:62], "big") == chunk
            assert (result[40:42] != b"\0\0") == checksum
            assert ones_sum(result[14:34]) == 0xFFFF, "IPv4 header checksum"
            if checksum:
                pseudo = result[26:34] + bytes([0, 17]) + result[38:40]
                assert ones_sum(pseudo + result[34:]) == 0xFFFF, "UDP checksum"


@pytest.mark.parametrize("checksum", [False, True])
@pytest.mark.parametrize("size", [0, 1, 3, 4 * LANES - 1, 4 * LANES, 4 * LANES + 1])
def test_a_message_leaves_for_its_peer_alone(program: CompiledProgram, size: int, checksum: bool) -> None:
    """Bytes are not parsed: not even as many as a contribution's lanes."""
    rig, batch = AggregatingSwitch(program, checksum=True), FrameBatch()
    sender, peer, switch = 1, 3, SWITCH_HOST
    way = Addresses(mac_of(sender), mac_of(switch), ip_of(sender), ip_of(switch))
    header = Header(Kind.MESSAGE, JOB, sender, EPOCH, chunk=0xFFFFFFFF, operation=5, peer=peer)
    frame = Frame(way, header, checksum=checksum, payload=random.Random(size).randbytes(size))
    batch.append(build_frame(frame), sender)
    rig.run(batch)
    onward = Addresses(mac_of(switch), mac_of(peer), ip_of(switch), ip_of(peer))
    wanted = {} if size > 4 * LANES else {peer: [build_frame(replace(frame, addresses=onward))]}
    assert {port: frames for port, frames in drain(rig.switch.ports).items() if frames} == wanted


def ones_sum(data: bytes) -> int:
    total = sum(int.from_bytes(data[i : i + 2], "big") for i in range(0, len(data), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def spoil(frame: bytes, source: random.Random) -> bytes:
    """Sometimes a bit flipped, a length cut, the operator or a flag changed, another chunk."""
    changed = bytearray(frame)
    match source.randrange(10):
        case 0:
            changed[source.randrange(len(changed))] ^= 1 << source.randrange(8)
        case 1:
            return bytes(changed[: source.randrange(len(changed))])
        case 2:
            changed[49] = 1
        case 3:
            changed[61] = source.randrange(4)
        case 4:
            changed[48] = 1
        case 5:
            changed += bytes(source.randrange(1, 9))
    return bytes(changed)


def everything(switch: Switch) -> tuple[object, ...]:
    assert switch.program is not None
    view = switch.program.view
    registers = {r.name: [switch.read_register(r.id, i) for i in range(0, r.size, 3)] for r in view.registers}
    counters = {c.name: [switch.read_counter(c.id, i) for i in range(min(c.size, 32))] for c in view.counters}
    return registers, counters, switch.drops, switch.faults


def test_engines_agree_on_any_frames() -> None:
    source = random.Random(11)
    frames = Contributions(LANES, checksum=True)
    whole = [(port, frame) for port, frame in frames.batch.frames()][: 6 * CHILDREN]
    sequence = [source.choice(whole) for _ in range(150)]
    sequence = [(p if source.random() < 0.9 else 1, spoil(f, source)) for p, f in sequence]
    outcomes = []
    for engine in ("interpreter", "llvm"):
        rig = AggregatingSwitch(load("allreduce.p4", DEFINES, engine=engine), checksum=True)
        batch = frames.batch
        batch.clear()
        for port, frame in sequence:
            batch.append(frame, port)
        rig.run(batch)
        outcomes.append((drain(rig.switch.ports), everything(rig.switch)))
    assert outcomes[0][0] == outcomes[1][0]
    assert outcomes[0][1] == outcomes[1][1]
    assert sum(len(f) for f in outcomes[0][0].values()) > 30


def test_warm_load_runs_no_front_end(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NETSUM_CACHE", str(tmp_path))
    source = tmp_path / "forward.p4"
    source.write_text(FORWARD)
    cold = load(source)
    with monkeypatch.context() as patch:
        patch.setattr("emulator.p4.frontend.compile_source", lambda *a, **k: pytest.fail("the front end ran"))
        assert load(source) == cold
    source.write_text(FORWARD.replace("= 1", "= 2"))
    assert load(source).object_code != cold.object_code, "a changed source is compiled anew"
    assert len(compiler_digest()) == 64


FORWARD = """
#include <core.p4>
#include <v1model.p4>
struct none { }
parser P(packet_in p, out none h, inout none m, inout standard_metadata_t s) { state start { transition accept; } }
control V(inout none h, inout none m) { apply { } }
control I(inout none h, inout none m, inout standard_metadata_t s) { apply { s.egress_spec = 1; } }
control E(inout none h, inout none m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in none h) { apply { } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
"""


def test_benchmark_measures_what_it_says() -> None:
    bare, *others = aggregation_rows(64, batches=2)
    assert [row.name for row in others] == [
        "64 lanes, compiled",
        "64 lanes, interpreter",
        "64 lanes, compiled, checksums",
        "64 lanes, interpreter, checksums",
    ]
    assert all(row.ratio == bare.value / row.value > 0 for row in others)
    assert all(row.details["lanes"] == 64 for row in (bare, *others))
    assert measure_bare(64, 1) > 0
