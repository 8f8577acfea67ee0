"""v1model's externs on both engines: hashes, random numbers, digests, truncation, messages, meters, assertions."""

from __future__ import annotations

import pytest

from emulator.p4 import ir
from emulator.switch.control import MeterConfig, Rate
from emulator.v1model.hashing import csum16
from emulator.v1model.messages import LOG_CAPACITY, Format
from emulator.v1model.metadata import Algorithm, Instance, standard
from emulator.v1model.random_numbers import Generator
from tests.programs.p4_programs import (
    Rig,
    binary,
    const,
    header_type,
    linear_parser,
    make_program,
    ref,
    run_both,
    send_to,
    var,
)
from tests.programs.reinjection import (
    E2E,
    I2E,
    MARK,
    NOTE,
    OTHER,
    RECIRCULATE,
    TAG,
    clone,
    frame,
    is_instance,
    sessions,
    set_field,
)

Op = ir.BinaryOp
TRUE = ir.Constant(1, ir.BOOL)
TIMES = ref(TAG, "times")
LISTS = ((1, (NOTE,)),)


def program(ingress, egress=(), **more):
    return make_program([TAG], ingress, egress=egress, variables=[NOTE, OTHER], field_lists=LISTS, **more)


def call(name: str, *arguments: ir.Argument, instance: ir.ExternInstance | None = None) -> ir.CallExtern:
    return ir.CallExtern(name, arguments, instance)


def algorithm(which: Algorithm) -> ir.Constant:
    return const(which.value, 32)


# --- Hashes (4.6) -------------------------------------------------------------------------------------------------


def test_hash_is_base_plus_the_rest_modulo_max_and_max_zero_counts_as_one() -> None:
    data = (ref(TAG, "kind"), ref(TAG, "note"))

    def hashed(base: int, limit: int) -> int:
        ingress = (
            call("hash", TIMES, algorithm(Algorithm.IDENTITY), const(base, 16), data, const(limit, 32)),
            send_to(1),
        )
        result = run_both(program(ingress), [frame(0x12, 0x34)])
        return int.from_bytes(result.frames[0][1][0][2:4], "big")

    assert hashed(7, 1000) == 7 + 0x1234 % 1000
    assert hashed(7, 0) == 7
    assert hashed(7, 1) == 7


@pytest.mark.parametrize("which", [Algorithm.CRC16, Algorithm.CRC32, Algorithm.CSUM16, Algorithm.XOR16])
def test_the_custom_algorithms_are_the_plain_ones(which: Algorithm) -> None:
    """4.6: they start with the same parameters, and only the CLI could change them."""
    custom = {Algorithm.CRC16: Algorithm.CRC16_CUSTOM, Algorithm.CRC32: Algorithm.CRC32_CUSTOM}.get(which, which)
    results = []
    for each in (which, custom):
        hashed = call(
            "hash", TIMES, algorithm(each), const(0, 16), (ref(TAG, "note"), const(5, 12)), const(1 << 16, 32)
        )
        results.append(run_both(program((hashed, send_to(1))), [frame(1, 2)]).frames)
    assert results[0] == results[1]


def test_the_random_hash_is_a_random_number() -> None:
    """An extension: p4c takes it, bmv2 can't load it."""
    hashed = call("hash", TIMES, algorithm(Algorithm.RANDOM), const(0, 16), (ref(TAG, "note"),), const(1 << 16, 32))
    result = run_both(program((hashed, send_to(1))), [frame(), frame()])
    generator = Generator()
    assert result.frames[0][1] == [frame(times=generator.next() & 0xFFFF) for _ in range(2)]


def test_a_checksum_with_payload_takes_what_the_parser_left() -> None:
    compute = (call("update_checksum_with_payload", TRUE, (ref(TAG, "kind"), ref(TAG, "note")), TIMES,
        algorithm(Algorithm.CSUM16)),)  # fmt: skip
    result = run_both(program((send_to(1),), compute=compute), [frame(1, 2, payload=b"odd")])
    assert result.frames[0][1] == [frame(1, 2, csum16(b"\x01\x02odd"), b"odd")]


def test_verify_with_payload_marks_the_packet() -> None:
    check = (call("verify_checksum_with_payload", TRUE, (ref(TAG, "kind"), ref(TAG, "note")), TIMES,
        algorithm(Algorithm.CSUM16)),)  # fmt: skip
    tell = set_field("kind", ir.Cast(standard("checksum_error"), ir.Bits(8)))
    right = frame(1, 2, csum16(b"\x01\x02abc"), b"abc")
    result = run_both(program((tell, send_to(1)), verify=check), [right, frame(1, 2, 0, b"abc")])
    assert [f[0] for f in result.frames[0][1]] == [0, 1]


def test_checksum16_gives_its_result_first() -> None:
    """The deprecated extern object: csum16 of a list."""
    instance = ir.ExternInstance("ck16", "Checksum16", (), ())
    got = call("Checksum16.get", TIMES, (ref(TAG, "kind"), ref(TAG, "note")), instance=instance)
    result = run_both(program((got, send_to(1)), externs=[instance]), [frame(1, 2)])
    assert result.frames[0][1] == [frame(1, 2, csum16(b"\x01\x02"))]


# --- Random numbers (4.7) -----------------------------------------------------------------------------------------


def test_random_numbers_lie_between_their_bounds_and_repeat_with_the_seed() -> None:
    draw = call("random", TIMES, const(10, 16), const(13, 16))
    result = run_both(program((draw, send_to(1))), [frame()] * 60)
    drawn = [int.from_bytes(f[2:4], "big") for f in result.frames[0][1]]
    assert set(drawn) == {10, 11, 12, 13}
    generator = Generator()
    assert drawn == [generator.between(10, 13) for _ in range(60)]


def test_another_seed_gives_other_numbers() -> None:
    made = program((call("random", TIMES, const(0, 16), const(0xFFFF, 16)), send_to(1)))
    rigs = [Rig(made, engine, seed=9) for engine in ("llvm", "interpreter")] + [Rig(made)]
    first, second, other = (rig.run(frame(), frame()) for rig in rigs)
    assert first == second != other


def test_random_over_all_64_bits_and_with_bounds_the_wrong_way_round() -> None:
    wide = ir.Header("hdr.wide", header_type("wide_t", ("a", 64), ("b", 64)))
    ones = const((1 << 64) - 1, 64)
    ingress = (
        call("random", ref(wide, "a"), const(0, 64), ones),
        call("random", ref(wide, "b"), const(5, 64), const(4, 64)),
        send_to(1),
    )
    result = run_both(make_program([wide], ingress), [bytes(8) + b"unchange"])
    assert result.frames[0][1] == [Generator().next().to_bytes(8, "big") + b"unchange"]
    assert result.faults == {"random bounds the wrong way round": 1}


# --- Digests (4.2) ------------------------------------------------------------------------------------------------


def digest(name: str, *fields: ir.Expr) -> ir.CallExtern:
    return call("digest", ir.Text(name), const(1, 32), fields)


def test_the_last_digest_of_ingress_leaves_with_the_values_of_its_call() -> None:
    signed = ir.Cast(ref(TAG, "note"), ir.Bits(8, signed=True))
    ingress = (
        digest("learn", NOTE, TIMES),
        set_field("times", const(9, 16)),
        digest("learn", ref(TAG, "kind"), TIMES),
        set_field("times", const(10, 16)),
        send_to(1),
    )
    result = run_both(program(ingress), [frame(3), frame(4)])
    assert result.digests == {"learn": [(3, 9), (4, 9)]}
    two = (
        ir.If(binary(Op.EQ, ref(TAG, "kind"), const(1, 8)), (digest("a", signed),), (digest("b", TIMES),)),
        send_to(511),
    )
    result = run_both(program(two), [frame(1, 255), frame(2, times=7)])
    assert result.digests == {"a": [(255,)], "b": [(7,)]}


def test_a_digest_of_egress_never_leaves() -> None:
    result = run_both(program((send_to(1),), (digest("learn", NOTE),)), [frame()])
    assert result.digests == {"learn": []}


def test_a_digest_leaves_although_the_packet_is_dropped_or_resubmitted() -> None:
    again = ir.CallExtern("resubmit_preserving_field_list", (const(1, 8),))
    ingress = (ir.If(is_instance(Instance.NORMAL), (digest("learn", TIMES), again), (MARK,)),)
    assert run_both(program(ingress), [frame(times=3)]).digests == {"learn": [(3,)]}


def test_a_full_digest_queue_loses_samples_and_counts_them() -> None:
    result = run_both(program((digest("learn", TIMES), send_to(511))), [frame()] * 1000, [frame()] * 30)
    assert len(result.digests["learn"]) == 1024
    assert result.drops["digest queue full"] == 6


# --- Truncation (4.3) ---------------------------------------------------------------------------------------------


def truncate(length: int) -> ir.CallExtern:
    return call("truncate", const(length, 32))


@pytest.mark.parametrize("in_egress", [False, True])
def test_truncate_cuts_what_is_sent_to_the_smallest_of_its_calls(in_egress: bool) -> None:
    cut = (truncate(9), truncate(6), truncate(100))
    made = program((send_to(1),), cut) if in_egress else program((*cut, send_to(1)))
    assert run_both(made, [frame(), frame(payload=b"")]).frames[0][1] == [frame()[:6], frame(payload=b"")]


def test_copies_are_not_cut_by_what_their_original_asked_for() -> None:
    """4.3: truncate belongs to the packet object; every kind of copy loses it (BUG-LIKE)."""

    def prepare(switch) -> None:
        switch.insert_multicast_group(1, ((2, 1),))
        sessions(s5=((3, 0),), s6=((4, 0),))(switch)

    copied = (truncate(5), ir.Assign(standard("mcast_grp"), const(1, 16)), clone(I2E, 5))
    egress = (ir.If(is_instance(Instance.REPLICATED), (truncate(6), clone(E2E, 6))),)
    result = run_both(program(copied, egress), [frame()], prepare=prepare)
    assert result.frames[0] == {2: [frame()[:6]], 3: [frame()], 4: [frame()]}


def test_a_recirculated_packet_is_whole_although_it_was_to_be_cut() -> None:
    egress = (ir.If(binary(Op.EQ, TIMES, const(0, 16)), (set_field("times", const(1, 16)), truncate(5), RECIRCULATE)),)
    assert run_both(program((send_to(1),), egress), [frame()]).frames[0] == {1: [frame(times=1)]}


def test_a_checksum_over_the_payload_sees_no_more_of_it_than_is_left() -> None:
    """4.3: the length is compared with the payload alone, headers being gone from the buffer."""
    compute = (call("update_checksum_with_payload", TRUE, (NOTE,), TIMES, algorithm(Algorithm.CSUM16)),)
    result = run_both(program((truncate(6), send_to(1)), compute=compute), [frame(payload=b"12345678")])
    assert result.frames[0][1] == [frame(times=csum16(bytes(1) + b"123456"), payload=b"12")]


def test_a_cut_frame_fits_a_port_that_the_whole_would_not() -> None:
    result = run_both(program((truncate(16), send_to(1))), [frame(payload=bytes(100))], stride_bytes=16)
    assert result.frames[0][1] == [bytes(16)]


# --- Messages (4.10) ----------------------------------------------------------------------------------------------


def log(text: str, *values: ir.Expr) -> ir.CallExtern:
    return call("log_msg", ir.Text(text), values)


def test_messages_show_their_values_in_decimal() -> None:
    signed = ir.Cast(ref(TAG, "note"), ir.Bits(8, signed=True))
    said = (log("kind={}, note={ignored}", ref(TAG, "kind"), signed), log("nothing"), log(r"a \{brace\} {}", TIMES))
    result = run_both(program((*said, send_to(1))), [frame(3, 254, 9)])
    assert result.messages == ["kind=3, note=-2", "nothing", "a {brace} 9"]


@pytest.mark.parametrize("text", ["two {} {}", "open {", "none", "{} at the start isn't seen"])
def test_a_message_that_would_end_bmv2_drops_the_packet(text: str) -> None:
    result = run_both(program((log(text, TIMES), send_to(1))), [frame()])
    assert result.drops == {"log message with more or fewer values than braces": 1}
    assert result.messages == []


def test_a_full_log_loses_messages_and_counts_them() -> None:
    result = run_both(
        program((log("packet {}", TIMES), send_to(511))), [frame(times=i) for i in range(LOG_CAPACITY + 2)]
    )
    assert len(result.messages) == LOG_CAPACITY
    assert result.messages[:2] == ["packet 0", "packet 1"]
    assert result.faults == {"log full": 2}


def test_a_deparser_speaks_also_when_no_port_takes_the_frame() -> None:
    deparser = (ir.Emit(TAG), log("gone to {}", standard("egress_port")))
    made = program((send_to(99),), deparser=deparser)
    result = run_both(made, [frame()])
    assert (result.messages, result.drops) == (["gone to 99"], {"no such port": 1})
    full = run_both(program((send_to(1),), deparser=deparser), [frame()] * 5, cells=4)
    assert len(full.messages) == 5
    assert full.drops == {"egress ring full": 1}


def test_format_knows_nested_and_unbalanced_braces() -> None:
    assert not Format(" }{", ()).is_sound
    assert Format(" {a{b}", (ir.Bits(8),)).render((7,)) == " 7"


# --- Assertions (4.10) --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("block", ["parser", "verify", "ingress", "egress", "compute", "deparser"])
def test_a_failing_assertion_is_a_counted_drop_wherever_it_stands(block: str) -> None:
    """bmv2's process would end."""
    check = call("assert", binary(Op.EQ, ref(TAG, "kind"), const(0, 8)), ir.Text("p.p4:1:1"))
    blocks = {"ingress": (send_to(1),), "egress": (), "verify": (), "compute": (), "deparser": (ir.Emit(TAG),)}
    if block == "parser":
        parser = ir.Parser("P", (ir.State("start", (ir.Extract(TAG), check), ir.Goto("accept")),))
    else:
        parser = linear_parser([TAG])
        blocks[block] = (*blocks[block], check)
    ingress, egress = blocks.pop("ingress"), blocks.pop("egress")
    result = run_both(program(ingress, egress, parser=parser, **blocks), [frame(0), frame(1), frame(0, 5)])
    assert result.frames[0] == {1: [frame(0), frame(0, 5)]}
    assert result.drops == {"failed assertion": 1}


def test_an_assertion_that_fails_for_a_clone_leaves_its_original_alone() -> None:
    check = call("assume", binary(Op.NE, standard("instance_type"), const(1, 32)), ir.Text("p.p4:1:1"))
    result = run_both(program((clone(I2E, 5), send_to(1)), (check,)), [frame()], prepare=sessions(s5=((2, 0),)))
    assert result.frames[0] == {1: [frame()]}
    assert result.drops == {"failed assertion": 1}


# --- Meters (4.7) -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", ["packets", "bytes"])
def test_a_meter_colours_packets_by_what_they_need(unit: str) -> None:
    meter = ir.ExternInstance("m", "meter", (ir.INDEX,), (2, unit))
    index = ir.Cast(ref(TAG, "kind"), ir.INDEX)
    ingress = (call("meter.execute_meter", index, TIMES, instance=meter), send_to(1))
    size = 1 if unit == "packets" else 11

    def prepare(switch) -> None:
        view = switch.program.view.meters[0]
        switch.write_meter(view.id, 1, MeterConfig(Rate(0.0, 2 * size), Rate(0.0, 3 * size)))

    frames = [frame(1, times=9)] * 4 + [frame(0, times=9), frame(5, times=9)]
    result = run_both(program(ingress, externs=[meter]), frames, prepare=prepare)
    colours = [int.from_bytes(f[2:4], "big") for f in result.frames[0][1]]
    assert colours == [0, 0, 1, 2, 0, 9]  # unconfigured is green, out of range leaves the target alone
    assert result.faults == {"meter index out of range": 1}


# --- Standard metadata (3.4, 4.1) ---------------------------------------------------------------------------------


def test_what_egress_finds_in_its_metadata() -> None:
    names = ("egress_spec", "enq_qdepth", "deq_qdepth", "deq_timedelta", "enq_timestamp", "egress_global_timestamp")
    fields = [(name, 48) for name in names]
    told = ir.Header("hdr.told", header_type("told_t", *fields))
    ingress: tuple[ir.Statement, ...]
    ingress = (ir.SetValidity(told, True), send_to(3), *(ir.Assign(standard(n), const(77, w)) for n, w in (
        ("enq_qdepth", 19), ("deq_qdepth", 19), ("deq_timedelta", 32), ("enq_timestamp", 32))))  # fmt: skip
    egress = tuple(ir.Assign(ref(told, n), ir.Cast(standard(n), ir.Bits(48))) for n in names)
    made = make_program(
        [told], ingress, egress=egress, parser=ir.Parser("P", (ir.State("start", (), ir.Goto("accept")),))
    )
    result = run_both(made, [b""])
    values = [int.from_bytes(result.frames[0][3][0][i : i + 6], "big") for i in range(0, 36, 6)]
    assert values == [0, 0, 0, 0, 5000, 5000]


def test_a_group_dropped_for_its_priority_counts_each_copy() -> None:
    """4.1: a nonzero priority is out of range without priority queues."""
    ingress = (ir.Assign(standard("priority"), const(1, 3)), ir.Assign(standard("mcast_grp"), const(1, 16)))

    def prepare(switch) -> None:
        switch.insert_multicast_group(1, ((2, 1), (3, 1)))

    assert run_both(program(ingress), [frame()], prepare=prepare).drops == {"priority without priority queues": 2}


def test_a_variable_keeps_its_value_through_the_whole_packet_and_no_longer() -> None:
    """3.8: locals live in metadata, zero for a new packet only."""
    kept = var("local.kept", 16)
    ingress = (ir.Assign(kept, binary(Op.ADD, kept, const(1, 16))), send_to(1))
    egress = (set_field("times", binary(Op.ADD, kept, const(1, 16))),)
    made = make_program([TAG], ingress, egress=egress, variables=[kept])
    assert run_both(made, [frame(), frame()]).frames[0][1] == [frame(times=2)] * 2


# --- What would hang or end bmv2 --------------------------------------------------------------------------------


def test_a_loop_that_never_ends_drops_its_packet() -> None:
    forever = ir.Loop(binary(Op.EQ, ref(TAG, "kind"), const(1, 8)), (set_field("times", const(1, 16)),))
    result = run_both(program((forever, send_to(1))), [frame(1), frame(2)])
    assert result.frames[0] == {1: [frame(2)]}
    assert result.drops == {"loop limit": 1}


def test_a_header_that_was_never_valid_reads_zero_whatever_came_before() -> None:
    """4.8: bmv2 shows what an earlier packet left there."""
    extra = ir.Header("hdr.extra", header_type("extra_t", ("a", 16)))
    more = ir.Select((ref(TAG, "kind"),), (ir.SelectCase((ir.Masked(1, 255),), "more"),))
    parser = ir.Parser("P", (ir.State("start", (ir.Extract(TAG),), more),
        ir.State("more", (ir.Extract(extra),), ir.Goto("accept"))))  # fmt: skip
    made = make_program([TAG, extra], (set_field("times", ref(extra, "a")), send_to(1)), parser=parser)
    result = run_both(made, [frame(1, payload=b"\xab\xcd"), frame(0, payload=b"\xab\xcd")])
    assert [f[2:4] for f in result.frames[0][1]] == [b"\xab\xcd", bytes(2)]
