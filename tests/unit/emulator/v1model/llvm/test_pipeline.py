"""The life of a packet in v1model, on both engines: copies, drops, checksums, registers, short frames."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable

import pytest

from emulator.p4 import ir
from emulator.switch.control import Code, ControlError
from emulator.v1model.hashing import crc16, csum16
from emulator.v1model.metadata import Algorithm, standard
from emulator.v1model.target import HASH_OF_VALID
from tests.programs.p4_programs import (
    Rig,
    binary,
    const,
    header_type,
    make_program,
    mark_to_drop,
    read,
    ref,
    register,
    run_both,
    send_to,
    var,
    write,
)

Op = ir.BinaryOp
BYTE = header_type("byte_t", ("x", 8))
ETH = header_type("eth_t", ("dst", 48), ("src", 48), ("type", 16))
MARK = mark_to_drop()


def test_multicast_copies_start_from_what_ingress_left_and_change_alone() -> None:
    eth, tag = ir.Header("hdr.eth", ETH), ir.Header("hdr.tag", header_type("tag_t", ("rid", 16), ("count", 16)))
    note = var("meta.note", 16)
    ingress = (
        ir.Assign(ref(eth, "type"), const(0xBEEF, 16)),
        ir.SetValidity(tag, True),
        ir.Assign(ref(tag, "count"), const(5, 16)),
        ir.Assign(note, const(100, 16)),
        ir.Assign(standard("mcast_grp"), const(7, 16)),
        ir.Assign(standard("egress_spec"), const(511, 9)),  # multicast beats it
    )
    more = binary(Op.ADD, ref(tag, "count"), const(1, 16))
    egress = (
        ir.Assign(ref(tag, "rid"), standard("egress_rid")),
        ir.Assign(ref(tag, "count"), more),
        ir.Assign(note, binary(Op.ADD, note, const(1, 16))),
        ir.Assign(ref(eth, "dst"), ir.Cast(note, ir.Bits(48))),
        ir.If(
            binary(Op.EQ, standard("egress_rid"), const(3, 16)),
            (ir.SetValidity(tag, False), MARK),
            (ir.Assign(ref(eth, "src"), ir.Cast(standard("instance_type"), ir.Bits(48))),),
        ),
    )
    program = make_program([eth, tag], ingress, egress=egress, variables=[note],
        parser=ir.Parser("P", (ir.State("start", (ir.Extract(eth),), ir.Goto("accept")),)))  # fmt: skip

    def prepare(switch) -> None:
        switch.insert_multicast_group(7, ((2, 1), (2, 2), (5, 3), (4, 9), (500, 1)))

    result = run_both(program, [bytes(14) + b"payload"], prepare=prepare)

    def copy(rid: int) -> bytes:
        return (101).to_bytes(6, "big") + (5).to_bytes(6, "big") + b"\xbe\xef" + struct.pack(">HH", rid, 6) + b"payload"

    assert result.frames[0] == {2: [copy(1), copy(2)], 4: [copy(9)]}
    assert result.drops == {"dropped by egress": 1, "no such port": 1}


def test_drops_are_counted_by_reason() -> None:
    head = ir.Header("hdr.h", header_type("h_t", ("port", 8), ("group", 8), ("priority", 8)))
    ingress = (
        ir.If(
            binary(Op.EQ, ref(head, "port"), const(255, 8)), (MARK,), (send_to(ir.Cast(ref(head, "port"), ir.Bits(9))),)
        ),
        ir.Assign(standard("mcast_grp"), ir.Cast(ref(head, "group"), ir.Bits(16))),
        ir.Assign(standard("priority"), ir.Slice(ref(head, "priority"), 2, 0)),
    )
    program = make_program([head], ingress)
    frames = [b"\xff\0\0", b"\x01\x09\0", b"\x01\0\x01", b"\x63\0\0", b"\x02\0\0" + bytes(62), b"\x02\0\0" + bytes(61)]
    result = run_both(program, frames + [b"\x01\0\0"] * 5, cells=4, stride_bytes=64)
    assert result.drops == {
        "dropped by ingress": 1,
        "no such multicast group": 1,
        "priority without priority queues": 1,
        "no such port": 1,
        "longer than the egress port takes": 1,
        "egress ring full": 1,
    }
    assert len(result.frames[0][1]) == 4
    assert [len(f) for f in result.frames[0][2]] == [64]


def test_ring_counters() -> None:
    for engine in ("llvm", "interpreter"):
        rig = Rig(make_program([ir.Header("hdr.h", BYTE)], (send_to(3),)), engine, cells=2)
        rig.run((6, b"abc"), (6, b"de"), (6, b"f"))
        sent = rig.switch.ports.rings[3]
        assert (sent["frames"], sent["bytes"], sent["dropped_full"]) == (2, 5, 1)
        assert int(rig.switch.ports.rings["frames"].sum()) == 2


CHUNKS = header_type("chunks_t", ("nibble", 4), ("five", 5), ("seven", 7), ("word", 32), ("odd", 24))


def deep_parser() -> ir.Parser:
    a, b, c = ir.Header("hdr.a", CHUNKS), ir.Header("hdr.b", BYTE), ir.Header("hdr.c", CHUNKS)
    peek, nonzero = var("peek", 12), binary(Op.NE, ref(a, "word"), const(0, 32))
    return ir.Parser(
        "P",
        (
            ir.State("start", (ir.Extract(a),), ir.Select(
                (ref(a, "nibble"), ref(a, "five")),
                (
                    ir.SelectCase((ir.Masked(1, 15), ir.Masked(0, 0)), "more"),
                    ir.SelectCase((ir.Between(2, 5), ir.Masked(4, 4)), "skip"),
                    ir.SelectCase((ir.Masked(9, 15), ir.Masked(0, 0)), "reject"),
                ),
            )),
            ir.State("more", (ir.Lookahead(((peek, 3),), 15), ir.Extract(b)), ir.Goto("last")),
            ir.State("skip", (ir.Advance(const(24, 32)), ir.Verify(nonzero, const(4, 32))), ir.Goto("last")),
            ir.State("last", (ir.Extract(c),), ir.Goto("accept")),
        ),
    )  # fmt: skip


def test_short_frames_cut_at_every_byte() -> None:
    a, b, c = ir.Header("hdr.a", CHUNKS), ir.Header("hdr.b", BYTE), ir.Header("hdr.c", CHUNKS)
    out = ir.Header("hdr.out", header_type("out_t", ("error", 32), ("peek", 16), ("valid", 8)))
    peek = var("peek", 12)
    valid = ir.Concat(ir.Cast(ir.IsValid(b), ir.Bits(4)), ir.Cast(ir.IsValid(c), ir.Bits(4)), ir.Bits(8))
    ingress = (
        ir.SetValidity(out, True),
        ir.Assign(ref(out, "error"), standard("parser_error")),
        ir.Assign(ref(out, "peek"), ir.Cast(peek, ir.Bits(16))),
        ir.Assign(ref(out, "valid"), valid),
        send_to(1),
    )
    program = make_program([a, b, c, out], ingress, variables=[peek], parser=deep_parser(),
        deparser=[ir.Emit(out), ir.Emit(a), ir.Emit(b), ir.Emit(c)])  # fmt: skip
    whole = [
        bytes([first, second]) + bytes(range(20, 40)) for first, second in ((0x10, 9), (0x22, 0), (0x90, 1), (0xF0, 0))
    ]
    whole.append(b"\x22\x00\0\0\0\0" + bytes(16))  # verify fails
    frames = [frame[:n] for frame in whole for n in range(len(frame) + 1)]
    result = run_both(program, frames, cells=256)
    seen = result.frames[0][1]
    assert len(seen) == len(frames)
    skipped = {f for f in frames if f[:1] == b"\x22" and len(f) >= 12}  # their advance over 3 bytes succeeds
    kept = [f[:9] + f[12:] if f in skipped else f for f in frames]
    assert [f[7:] for f in seen] == kept, "nothing else is lost, whatever was parsed"
    by_frame = dict(zip(frames, seen, strict=True))
    assert by_frame[whole[0]][3] == 0
    assert by_frame[whole[0]][6] == 0x11
    assert by_frame[whole[0][:9]][3] == 1, "PacketTooShort in lookahead"
    assert by_frame[whole[2]][3] == 0, "reject is accept on bmv2"
    assert by_frame[whole[4]][3] == 4
    assert by_frame[b""][3] == 1


def test_registers_of_any_width_and_indices_out_of_range() -> None:
    head = ir.Header("hdr.h", header_type("h_t", ("index", 32), ("v", 72)))
    cells = [register(f"r{w}", w, 4) for w in (1, 9, 48, 72)]
    old = [var(f"old{w}", w) for w in (1, 9, 48, 72)]
    body: list[ir.Statement] = [send_to(1)]
    for cell, local in zip(cells, old, strict=True):
        assert isinstance(local.type, ir.Bits)
        width = local.type.width_bits
        body.append(ir.Assign(local, const(1, width)))
        body.append(read(cell, local, ref(head, "index")))
        body.append(write(cell, ref(head, "index"), ir.Cast(ref(head, "v"), ir.Bits(width))))
    total: ir.Expr = ir.Cast(old[0], ir.Bits(72))
    for local in old[1:]:
        total = binary(Op.ADD, total, ir.Cast(local, ir.Bits(72)))
    body.append(ir.Assign(ref(head, "v"), total))
    program = make_program([head], body, variables=old, externs=cells)
    values = [0xFF << 64 | 0x123456789ABCDEF0, 7]
    frames = [struct.pack(">I", i) + v.to_bytes(9, "big") for i in (0, 3, 4, 0xFFFFFFFF) for v in values]
    result = run_both(program, frames)
    assert result.registers["r72"] == [7, 0, 0, 7]
    assert result.faults == {"register index out of range": 32}
    out = [int.from_bytes(f[4:], "big") for f in result.frames[0][1]]
    assert out[4:] == [4] * 4, "a read out of range leaves its target as it was"
    assert out[1] == (values[0] + (values[0] & 0xFFFFFFFFFFFF) + (values[0] & 0x1FF) + (values[0] & 1)) & (2**72 - 1)


def test_counters() -> None:
    head = ir.Header("hdr.h", BYTE)
    counter = ir.ExternInstance("Ingress.c", "counter", (), (3, "packets_and_bytes"))
    body = (send_to(1), ir.CallExtern("counter.count", (ir.Cast(ref(head, "x"), ir.Bits(32)),), counter))
    result = run_both(make_program([head], body, externs=[counter]), [b"\0aa", b"\0", b"\2", b"\3", b"\xff"])
    assert result.counters == {"Ingress.c": [(2, 4), (0, 0), (1, 1)]}
    assert result.faults == {"counter index out of range": 2}
    rig = Rig(make_program([head], body, externs=[counter]))
    with pytest.raises(ControlError, match=r"indices 0 \.\. 2") as refused:
        rig.switch.read_counter(1, 3)
    assert refused.value.code is Code.OUT_OF_RANGE


# --- Checksums ----------------------------------------------------------------------------------------------------

PLAIN: dict[Algorithm, Callable[[bytes], int]] = {
    Algorithm.CSUM16: csum16,
    Algorithm.CRC16: crc16,
    Algorithm.CRC32: zlib.crc32,
    Algorithm.IDENTITY: lambda data: int.from_bytes(data[:8], "big"),
    Algorithm.XOR16: lambda data: __import__("functools").reduce(
        lambda a, b: a ^ b, (int.from_bytes((data + b"\0")[i : i + 2], "big") for i in range(0, len(data), 2)), 0
    ),
}


def hash_program(algorithm: Algorithm, *, with_b: bool, name: str = "hash") -> ir.Program:
    """Hash over pieces at odd places, of two headers; b is an odd number of bytes and may be invalid."""
    a, b = ir.Header("hdr.a", CHUNKS), ir.Header("hdr.b", BYTE)
    out = ir.Header("hdr.out", header_type("out_t", ("value", 64)))
    value = var("value", 64)
    items = (
        ref(a, "word"),
        ref(b, "x"),
        const(0xABC, 12),
        ref(a, "nibble"),
        ref(a, "five"),
        ref(a, "seven"),
        ref(a, "odd"),
    )
    call = ir.CallExtern(name, (value, const(algorithm.value, 32), const(0, 64), items, const(1 << 40, 64)))
    body = (send_to(1), ir.SetValidity(b, with_b), call, ir.SetValidity(out, True), ir.Assign(ref(out, "value"), value))
    return make_program([a, b, out], body, variables=[value],
        parser=ir.Parser("P", (ir.State("start", (ir.Extract(a), ir.Extract(b)), ir.Goto("accept")),)),
        deparser=[ir.Emit(out)])  # fmt: skip


@pytest.mark.parametrize("name", ["hash", HASH_OF_VALID])
@pytest.mark.parametrize("with_b", [True, False])
@pytest.mark.parametrize("algorithm", list(PLAIN))
def test_hash_of_a_list(algorithm: Algorithm, with_b: bool, name: str) -> None:
    result = run_both(hash_program(algorithm, with_b=with_b, name=name), [bytes(range(7, 17)), b"\xff" * 10, bytes(10)])
    for frame, got in zip(([*range(7, 17)], [255] * 10, [0] * 10), result.frames[0][1], strict=True):
        text = "".join(f"{byte:08b}" for byte in frame)
        a, b = text[:72], text[72:80] if with_b or name == "hash" else ""
        pieces = a[16:48] + b + f"{0xABC:012b}" + a[:4] + a[4:9] + a[9:16] + a[48:72]
        pieces += "0" * (-len(pieces) % 8)
        data = int(pieces, 2).to_bytes(len(pieces) // 8, "big")
        assert int.from_bytes(got, "big") == PLAIN[algorithm](data) % (1 << 40)


IPV4 = header_type(
    "ipv4_t", ("version", 4), ("ihl", 4), ("tos", 8), ("length", 16), ("id", 16), ("flags", 3), ("fragment", 13),
    ("ttl", 8), ("protocol", 8), ("checksum", 16), ("source", 32), ("destination", 32),
)  # fmt: skip


def test_verify_and_update_checksum() -> None:
    ip = ir.Header("hdr.ip", IPV4)
    items = tuple(ref(ip, f.name) for f in IPV4.fields if f.name != "checksum")
    algorithm = const(Algorithm.CSUM16.value, 32)
    verify = (ir.CallExtern("verify_checksum", (ir.IsValid(ip), items, ref(ip, "checksum"), algorithm)),)
    compute = (ir.CallExtern("update_checksum", (ir.IsValid(ip), items, ref(ip, "checksum"), algorithm)),)
    ingress = (
        send_to(ir.Cast(standard("checksum_error"), ir.Bits(9))),
        ir.Assign(ref(ip, "ttl"), binary(Op.SUB, ref(ip, "ttl"), const(1, 8))),
    )
    program = make_program([ip], ingress, verify=verify, compute=compute)
    good = bytearray.fromhex("4500001c000040004011000001020304c0a80001")
    good[10:12] = struct.pack(">H", csum16(bytes(good)))
    bad = bytearray(good)
    bad[3] ^= 1
    result = run_both(program, [bytes(good), bytes(bad), bytes(good[:19])])
    (fine, short), (spoilt,) = result.frames[0][0], result.frames[0][1]
    assert short == bytes(good[:19])
    assert csum16(fine) == csum16(spoilt) == 0
    assert fine[8] == good[8] - 1


def test_checksum_with_payload() -> None:
    head = ir.Header("hdr.h", header_type("h_t", ("checksum", 16), ("x", 24)))
    algorithm = const(Algorithm.CSUM16.value, 32)
    compute = (
        ir.CallExtern(
            "update_checksum_with_payload",
            (ir.Constant(1, ir.BOOL), (ref(head, "x"),), ref(head, "checksum"), algorithm),
        ),
    )
    result = run_both(make_program([head], (send_to(1),), compute=compute), [b"\0\0abcdefgh", b"\0\0abc"])
    assert result.frames[0][1] == [struct.pack(">H", csum16(x)) + x for x in (b"abcdefgh", b"abc")]


def test_packet_length_in_egress_follows_set_valid_and_set_invalid() -> None:
    a, b = ir.Header("hdr.a", CHUNKS), ir.Header("hdr.b", BYTE)
    ingress = (
        send_to(1),
        ir.SetValidity(a, False),
        ir.SetValidity(a, False),
        ir.SetValidity(b, True),
        ir.SetValidity(b, True),
    )
    egress = (ir.Assign(ref(b, "x"), ir.Slice(standard("packet_length"), 7, 0)),)
    program = make_program([a, b], ingress, egress=egress,
        parser=ir.Parser("P", (ir.State("start", (ir.Extract(a),), ir.Goto("accept")),)))  # fmt: skip
    assert run_both(program, [bytes(20)]).frames[0][1][0][0] == 20 - 9 + 1


def test_timestamps_are_microseconds() -> None:
    out = ir.Header("hdr.out", header_type("out_t", ("t", 48)))
    body = (send_to(1), ir.SetValidity(out, True), ir.Assign(ref(out, "t"), standard("ingress_global_timestamp")))
    program = make_program([out], body, parser=ir.Parser("P", (ir.State("start", (), ir.Goto("accept")),)))
    assert Rig(program).run(b"", now_ns=1_234_567_890)[1] == [(1_234_567).to_bytes(6, "big")]


def test_a_parser_that_never_ends_is_stopped() -> None:
    head = ir.Header("hdr.h", BYTE)
    out = ir.Header("hdr.out", header_type("out_t", ("error", 32)))
    parser = ir.Parser("P", (ir.State("start", (), ir.Goto("start")),))
    body = (send_to(1), ir.SetValidity(out, True), ir.Assign(ref(out, "error"), standard("parser_error")))
    program = make_program([head, out], body, parser=parser)
    assert run_both(program, [b"x"]).frames[0][1] == [b"\0\0\0\x05x"]
