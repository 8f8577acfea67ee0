"""Programs that are about queues, on both engines: marks of congestion, telemetry, random early detection."""

from __future__ import annotations

import json
import struct
from functools import cache
from pathlib import Path

import emulator.v1model
from emulator.bmv2json.program import load_json
from emulator.bmv2json.write.program import write_json
from emulator.p4.frontend import compile_source
from emulator.v1model.architecture import V1MODEL
from emulator.v1model.compiled import CompiledProgram, compile_program, load
from emulator.v1model.metadata import Drop
from tests.programs.p4_programs import Rig
from tests.programs.queue_program import at_times

FOLDER = Path(__file__).parents[1] / "programs" / "queueing"
MS = 1_000_000
ETHERNET = bytes(12) + b"\x08\x00"


@cache
def compiled(name: str, engine: str) -> CompiledProgram:
    return load(str(FOLDER / name), engine=engine)


def run(name: str, arrivals: list[tuple[int, list[bytes]]], *, rate: int | None) -> tuple[list[bytes], dict[str, int]]:
    """What leaves by port 1 and why packets were dropped, the same for both engines."""
    results = []
    for engine in ("interpreter", "llvm"):
        rig = Rig(compiled(name, engine), engine, cells=512, seed=3)
        if rate is not None:
            rig.switch.set_queue_rate(rate, 1)
        results.append((at_times(rig, arrivals).get(1, []), dict(rig.switch.drops)))
    assert results[0] == results[1]
    return results[0]


def ipv4(ecn: int) -> bytes:
    return ETHERNET + struct.pack("!BBHHHBBHII", 0x45, ecn, 20, 0, 0, 64, 17, 0, 1, 2)


def ecn_of(frame: bytes) -> int:
    total = sum(struct.unpack("!10H", frame[14:34]))
    assert (total & 0xFFFF) + (total >> 16) == 0xFFFF  # the checksum is right
    return frame[15] & 3


def test_packets_of_a_long_queue_are_marked() -> None:
    """The queue is drained at 1,000 packets a second: of 30 at once those behind ten others, the first has left."""
    frames, _ = run("ecn.p4", [(MS, [ipv4(1)] * 30)], rate=1000)
    assert [ecn_of(frame) for frame in frames] == [1] * 11 + [3] * 19
    unable, _ = run("ecn.p4", [(MS, [ipv4(0)] * 30)], rate=1000)
    assert {ecn_of(frame) for frame in unable} == {0}
    slowly, _ = run("ecn.p4", [(2 * MS * i, [ipv4(2)]) for i in range(30)], rate=1000)
    assert {ecn_of(frame) for frame in slowly} == {2}
    without, _ = run("ecn.p4", [(MS, [ipv4(1)] * 30)], rate=None)
    assert {ecn_of(frame) for frame in without} == {1}


def test_a_trace_shows_depths_and_times() -> None:
    once, _ = run("mri.p4", [(0, [b"\0\0"] * 4)], rate=500)
    assert [struct.unpack("!H3I", frame) for frame in once] == [
        (1, 7, depth, waited) for depth, waited in ((0, 0), (2, 2000), (1, 4000), (0, 6000))
    ]
    twice, _ = run("mri.p4", [(0, once)], rate=100)
    assert [struct.unpack("!H6I", frame) for frame in twice] == [
        (2, 7, (0, 2, 1, 0)[i], 10_000 * i, *struct.unpack("!3I", frame[2:])) for i, frame in enumerate(once)
    ]


def test_packets_that_are_recirculated_from_a_queue_are_looked_up_as_others_are() -> None:
    """Look-ups begin ahead for the frames of a batch, and such packets are none of them: addresses of later frames, as
    well as others."""
    arrivals = [(MS * i, [struct.pack("!IBB", 0x0A0000F0 + 64 * n + i, n % 4, 0) for n in range(20)]) for i in range(3)]
    without, _ = run("again.p4", arrivals, rate=None)
    slowly, _ = run("again.p4", arrivals, rate=500)
    assert len(slowly) == 60
    assert sorted(slowly) == sorted(without)
    assert len({frame[5] for frame in slowly}) > 3  # more than one look-up of a packet finds something


def test_random_early_detection_drops_before_the_queue_is_full() -> None:
    """Twice as many packets as the rate lets through: no packet finds the queue full, and the average stays between the
    thresholds."""
    arrivals = [(500_000 * i, [i.to_bytes(2, "big") + b"\0\0"]) for i in range(400)]
    frames, drops = run("red.p4", arrivals, rate=1000)
    averages = [int.from_bytes(frame[2:], "big") for frame in frames]
    assert set(drops) == {Drop.INGRESS.words}
    assert all(4 <= average < 20 for average in averages[100:])
    assert len(frames) + drops[Drop.INGRESS.words] == 400
    assert len(frames) > 50
    unlimited, none = run("red.p4", arrivals, rate=None)
    assert (len(unlimited), none) == (400, {})


def test_the_queue_has_a_number_where_the_programs_own_v1model_asks(tmp_path: Path) -> None:
    """As source, and as bmv2's JSON with the alias by which simple_switch finds the field."""
    ours = (Path(emulator.v1model.__path__[0]) / "include" / "v1model.p4").read_text()
    field = "    bit<3> priority;\n"
    assert field in ours
    (tmp_path / "v1model.p4").write_text(
        ours.replace(field, f'{field}    @alias("queueing_metadata.qid")\n    bit<5> qid;\n')
    )
    text = (FOLDER / "mri.p4").read_text().replace("standard_metadata.deq_qdepth", "standard_metadata.qid")
    path = tmp_path / "numbered.p4"
    path.write_text(text.replace("egress_spec = 1;", "egress_spec = 1; standard_metadata.priority = 2;"))
    checked = compile_source(str(path), architecture=V1MODEL, include_paths=(str(tmp_path),))
    document = json.dumps(write_json(checked.program, checked.p4info)).encode()
    for program in (checked, load_json(document, checked.p4info)):
        for engine in ("interpreter", "llvm"):
            rig = Rig(compile_program(program, engine=engine), engine)
            rig.switch.set_priority_queues(3)
            rig.switch.set_queue_rate(1000)
            left = at_times(rig, [(0, [b"\0\0"] * 2)])
            assert [struct.unpack("!H3I", frame)[2:] for frame in left[1]] == [(2, 0), (2, 1000)]
