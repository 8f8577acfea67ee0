"""Clones, resubmission, recirculation, multicast: what copies are made of, on both engines (simple_switch's rules)."""

from __future__ import annotations

import pytest

from emulator.p4 import ir
from emulator.switch.control import CloneSession
from emulator.v1model.limits import REINJECTION_LIMIT
from emulator.v1model.metadata import Instance, standard
from tests.programs.p4_programs import (
    binary,
    const,
    header_type,
    make_program,
    read,
    ref,
    register,
    run_both,
    send_to,
    write,
)
from tests.programs.reinjection import (
    E2E,
    I2E,
    MARK,
    NOTE,
    OTHER,
    RECIRCULATE,
    RESUBMIT,
    TAG,
    clone,
    count_up,
    frame,
    is_instance,
    low_byte,
    seen,
    sessions,
    set_field,
)

Op = ir.BinaryOp
LISTS = ((1, (NOTE,)), (2, (NOTE, OTHER)))
PARSED_NOTE = ir.Parser("P", (ir.State("start", (ir.Extract(TAG), ir.Assign(NOTE, const(7, 8))), ir.Goto("accept")),))


def program(ingress, egress=(), **more):
    return make_program([TAG], ingress, egress=egress, variables=[NOTE, OTHER], field_lists=LISTS, **more)


def test_an_ingress_clone_is_the_received_frame_before_its_original() -> None:
    """4.1 (clones enter the queue first), 4.2 (parsed again, instance type 1, metadata zero)."""
    ingress = (
        set_field("note", const(9, 8)),
        ir.Assign(NOTE, const(5, 8)),
        clone(I2E, 5),
        send_to(1),
    )
    result = run_both(program(ingress, (set_field("kind", low_byte("instance_type")),)), [frame(note=3)],
        prepare=sessions(s5=((1, 0),)))  # fmt: skip
    assert result.frames[0] == {1: [frame(1, 3), frame(0, 9)]}


def test_a_clone_keeps_its_field_list_as_of_the_end_of_ingress() -> None:
    """4.2: the values at the end of ingress, not at the call; what the parser put into metadata is lost (BUG-LIKE)."""
    egress = (set_field("note", NOTE), set_field("times", ir.Cast(OTHER, ir.Bits(16))))
    ingress = (
        ir.Assign(OTHER, const(1, 8)),
        clone(I2E, 5, 2),
        ir.Assign(OTHER, const(2, 8)),
        send_to(1),
    )
    kept = run_both(program(ingress, egress, parser=PARSED_NOTE), [frame()], prepare=sessions(s5=((2, 0),)))
    assert kept.frames[0] == {1: [frame(0, 7, 2)], 2: [frame(0, 7, 2)]}
    lost = run_both(program((clone(I2E, 5), send_to(1)), egress, parser=PARSED_NOTE), [frame()],
        prepare=sessions(s5=((2, 0),)))  # fmt: skip
    assert lost.frames[0] == {1: [frame(0, 7)], 2: [frame()]}


def test_the_parse_of_a_clone_starts_from_zero_metadata() -> None:
    """4.2: in bmv2 from what an earlier packet left."""
    parser = ir.Parser("P", (ir.State("start", (ir.Extract(TAG), set_field("note", OTHER)), ir.Goto("accept")),))
    ingress = (ir.Assign(OTHER, const(8, 8)), clone(I2E, 5, 2), send_to(1))
    result = run_both(program(ingress, parser=parser), [frame()] * 2, prepare=sessions(s5=((2, 0),)))
    assert result.frames[0] == {1: [frame()] * 2, 2: [frame()] * 2}


def test_a_list_that_no_field_carries_is_empty() -> None:
    """4.2: a warning, and nothing is kept."""
    ingress = (ir.Assign(NOTE, const(5, 8)), clone(I2E, 5, 9), send_to(511))
    result = run_both(program(ingress, seen()), [frame()], prepare=sessions(s5=((2, 0),)))
    assert result.frames[0] == {2: [frame(1, 0)]}


def test_clones_have_no_ingress_port_and_no_timestamp_of_ingress() -> None:
    """4.2: ingress_port too is zero after the clone's parse (BUG-LIKE)."""
    port, time = binary(Op.SHL, low_byte("ingress_port"), const(4, 8)), low_byte("ingress_global_timestamp")
    egress = (set_field("note", binary(Op.ADD, port, time)), set_field("kind", low_byte("egress_global_timestamp")))
    result = run_both(program((clone(I2E, 5), send_to(1)), egress), [(3, frame())], prepare=sessions(s5=((2, 0),)))
    now_us = 5000 & 0xFF
    assert result.frames[0] == {1: [frame(now_us, (3 << 4) + now_us & 0xFF)], 2: [frame(now_us, 0)]}


def test_the_parser_of_a_clone_sees_the_port_where_the_frame_arrived() -> None:
    """4.2: ingress_port is set for the parse."""
    by_port = ir.Select((standard("ingress_port"),), (ir.SelectCase((ir.Masked(3, 511),), "three"),))
    parser = ir.Parser("P", (
        ir.State("start", (ir.Extract(TAG),), by_port),
        ir.State("three", (set_field("note", const(33, 8)),), ir.Goto("accept")),
    ))  # fmt: skip
    result = run_both(program((clone(I2E, 5), send_to(511)), parser=parser), [(3, frame()), (2, frame())],
        prepare=sessions(s5=((2, 0),)))  # fmt: skip
    assert result.frames[0] == {2: [frame(0, 33), frame()]}


@pytest.mark.parametrize("fate", [send_to(511), MARK, ir.Assign(standard("mcast_grp"), const(1, 16)), RESUBMIT])
def test_a_clone_is_made_whatever_becomes_of_the_original(fate: ir.Statement) -> None:
    """4.2: also when the original is dropped, resubmitted or multicast."""
    first = ir.If(is_instance(Instance.NORMAL), (clone(I2E, 5), fate), (send_to(511),))

    def prepare(switch) -> None:
        switch.insert_multicast_group(1, ((4, 1),))
        sessions(s5=((2, 0),))(switch)

    result = run_both(program((first,), seen()), [frame()], prepare=prepare)
    assert result.frames[0][2] == [frame(1)]


def test_clones_of_a_session_with_replicas_keep_their_instance_type() -> None:
    """4.2: a clone through a multicast group keeps type 1 or 2 and gets egress_rid."""
    egress = (set_field("kind", low_byte("instance_type")), set_field("note", low_byte("egress_rid")))
    result = run_both(program((clone(I2E, 5), send_to(511)), egress), [frame()],
        prepare=sessions(s5=((2, 7), (3, 7), (2, 9))))  # fmt: skip
    assert result.frames[0] == {2: [frame(1, 7), frame(1, 9)], 3: [frame(1, 7)]}


def test_an_unknown_session_is_a_fault_without_effect() -> None:
    result = run_both(program((clone(I2E, 6), send_to(1))), [frame()], prepare=sessions(s5=((2, 0),)))
    assert result.frames[0] == {1: [frame()]}
    assert result.faults == {"no such clone session": 1}


def test_sessions_have_fifteen_bits() -> None:
    """simple_switch keeps a mark in the sixteenth."""
    result = run_both(program((clone(I2E, 0x12345), send_to(511))), [frame()], prepare=sessions(s9029=((2, 0),)))
    assert 0x12345 % 2**15 == 9029
    assert result.frames[0] == {2: [frame()]}


def test_the_last_clone_call_wins() -> None:
    """4.2."""
    ingress = (clone(I2E, 5, 1), clone(I2E, 6), ir.Assign(NOTE, const(1, 8)), send_to(511))
    result = run_both(program(ingress, seen()), [frame()], prepare=sessions(s5=((2, 0),), s6=((3, 0),)))
    assert result.frames[0] == {3: [frame(1)]}


def test_an_egress_clone_has_egress_headers_and_passes_egress_again() -> None:
    """4.2: not deparsed in between, so the checksum block's work is not in it; instance type 2."""
    egress = (
        ir.If(
            is_instance(Instance.EGRESS_CLONE),
            (set_field("kind", const(2, 8)), set_field("times", ir.Cast(NOTE, ir.Bits(16)))),
            (set_field("note", const(4, 8)), ir.Assign(NOTE, const(6, 8)), clone(E2E, 5, 1)),
        ),
    )
    compute = (ir.CallExtern("update_checksum", (ir.Constant(1, ir.BOOL), (ref(TAG, "note"),), ref(TAG, "times"),
        const(7, 32))),)  # fmt: skip
    result = run_both(program((send_to(1),), egress, compute=compute), [frame()], prepare=sessions(s5=((1, 0),)))
    assert result.frames[0] == {1: [frame(0, 4, 0x0400), frame(2, 4, 0x0400)]}


def test_an_egress_clone_is_made_although_the_original_is_dropped() -> None:
    """4.1: clone before drop, and a drop before the deparser."""
    egress = (ir.If(is_instance(Instance.EGRESS_CLONE), (), (clone(E2E, 5), MARK)),)
    result = run_both(program((send_to(1),), egress), [frame()], prepare=sessions(s5=((2, 0),)))
    assert result.frames[0] == {2: [frame()]}
    assert result.drops == {"dropped by egress": 1}


def test_packet_length_of_clones() -> None:
    """4.3: an ingress clone starts from the length on arrival; an egress clone from the original's of that moment."""
    extra = ir.Header("hdr.extra", header_type("extra_t", ("a", 32)))
    tell = set_field("times", ir.Cast(standard("packet_length"), ir.Bits(16)))
    ingress = (ir.SetValidity(extra, True), clone(I2E, 5), send_to(1))
    normal = is_instance(Instance.NORMAL)
    egress = (tell, ir.If(normal, (ir.SetValidity(extra, False), ir.SetValidity(extra, True), clone(E2E, 6))))
    made = make_program([TAG, extra], ingress, egress=egress,
        parser=ir.Parser("P", (ir.State("start", (ir.Extract(TAG),), ir.Goto("accept")),)))  # fmt: skip
    result = run_both(made, [frame(payload=b"")], prepare=sessions(s5=((2, 0),), s6=((3, 0),)))
    assert result.frames[0] == {1: [frame(0, 0, 8, bytes(4))], 2: [frame(0, 0, 4, b"")], 3: [frame(0, 0, 8, bytes(4))]}


def test_clones_may_be_cut_by_their_session() -> None:
    """P4Runtime's packet_length_bytes."""

    def prepare(switch) -> None:
        switch.set_clone_session(CloneSession(5, ((2, 0),), 6))

    result = run_both(program((clone(I2E, 5), send_to(1))), [frame()], prepare=prepare)
    assert result.frames[0] == {1: [frame()], 2: [frame()[:6]]}


# --- Resubmission and recirculation -------------------------------------------------------------------------------


def test_a_resubmitted_packet_starts_from_its_bytes_with_its_field_list() -> None:
    """4.2: the original of this pass; the list, instance type and packet_length survive, ingress_port reads 0."""
    tell = (
        set_field("kind", low_byte("instance_type")),
        set_field("note", NOTE),
        set_field("times", binary(Op.ADD, standard_16("ingress_port"), standard_16("packet_length"))),
    )
    ingress = (
        ir.If(
            is_instance(Instance.RESUBMITTED),
            (*tell, send_to(2)),
            (ir.Assign(NOTE, const(5, 8)), set_field("note", const(1, 8)), send_to(511), RESUBMIT),
        ),
    )
    result = run_both(program(ingress), [(3, frame())])
    assert result.frames[0] == {2: [frame(6, 5, 11)]}
    assert result.drops == {}  # resubmit beats a drop


def test_a_packet_may_be_resubmitted_again_and_again() -> None:
    ingress = (
        ir.If(binary(Op.LT, NOTE, const(9, 8)), (ir.Assign(NOTE, binary(Op.ADD, NOTE, const(1, 8))), RESUBMIT)),
        set_field("note", NOTE),
        send_to(1),
    )
    assert run_both(program(ingress), [frame(), frame(times=1)]).frames[0] == {1: [frame(0, 9), frame(0, 9, 1)]}


def test_a_recirculated_packet_is_the_deparsed_one() -> None:
    """4.2: it is parsed again; ingress_port reads 0 (BUG-LIKE), packet_length and counters see the new length."""
    extra = ir.Header("hdr.extra", header_type("extra_t", ("a", 32)))
    counter = ir.ExternInstance("c", "counter", (), (1, "packets_and_bytes"))
    ingress = (
        ir.CallExtern("counter.count", (const(0, 32),), counter),
        ir.Assign(OTHER, low_byte("ingress_port")),
        send_to(1),
    )
    egress = (
        ir.If(
            binary(Op.EQ, ref(TAG, "times"), const(0, 16)),
            (set_field("times", const(1, 16)), ir.SetValidity(extra, True), ir.Assign(NOTE, const(8, 8)), RECIRCULATE),
            (set_field("note", binary(Op.ADD, NOTE, OTHER)), set_field("kind", low_byte("packet_length"))),
        ),
    )
    made = make_program([TAG, extra], ingress, egress=egress, variables=[NOTE, OTHER], field_lists=LISTS,
        externs=[counter], parser=ir.Parser("P", (ir.State("start", (ir.Extract(TAG),), ir.Goto("accept")),)),
    )  # fmt: skip
    result = run_both(made, [(6, frame(payload=b""))])
    assert result.frames[0] == {1: [frame(8, 8, 1, bytes(4))]}
    assert result.counters["c"] == [(2, 12)]


def test_a_drop_at_the_end_of_egress_beats_recirculation() -> None:
    """4.1."""
    result = run_both(program((send_to(1),), (RECIRCULATE, MARK)), [frame()])
    assert result.drops == {"dropped by egress": 1}


def test_what_was_recirculated_comes_before_the_next_frame() -> None:
    """4.1: the queue of recirculated packets is served first."""
    order = register("order", 16, 1)
    stamp = (
        read(order, ref(TAG, "times"), const(0, 32)),
        set_field("times", binary(Op.ADD, ref(TAG, "times"), const(1, 16))),
        write(order, const(0, 32), ref(TAG, "times")),
    )
    ingress = (*stamp, ir.Assign(OTHER, low_byte("instance_type")), send_to(1))
    egress = (ir.If(binary(Op.EQ, OTHER, const(0, 8)), (RECIRCULATE,)),)
    made = make_program([TAG], ingress, egress=egress, variables=[NOTE, OTHER], field_lists=LISTS, externs=[order])
    assert run_both(made, [frame(1), frame(2)]).frames[0] == {1: [frame(1, 0, 2), frame(2, 0, 4)]}


def test_a_packet_that_goes_round_for_ever_is_dropped_and_counted() -> None:
    result = run_both(program((send_to(1),), (RECIRCULATE,)), [frame(), frame()])
    assert result.drops == {"re-injected too often": 2}


def test_clones_that_clone_themselves_for_ever_are_bounded_too() -> None:
    result = run_both(program((send_to(1),), (clone(E2E, 5),)), [frame()], prepare=sessions(s5=((2, 0), (3, 0))),
        cells=2 * REINJECTION_LIMIT * 2, stride_bytes=16)  # fmt: skip
    assert (
        sum(map(len, result.frames[0].values()))
        == 1 + 2 * REINJECTION_LIMIT - 2 * result.drops["re-injection queue full"]
    )
    assert result.drops["re-injected too often"] > 0


def test_a_thousand_rounds_are_fine() -> None:
    result = run_both(program((send_to(1),), count_up(1000, RECIRCULATE, 1)), [frame()])
    assert result.frames[0] == {1: [frame(0, 0, 1000)]}


def test_a_recirculated_packet_may_grow_until_it_no_longer_fits() -> None:
    """bmv2 has room for 512 added bytes and dies beyond; here the packet is dropped, counted."""
    pad = ir.Header("hdr.pad", header_type("pad_t", *((f"p{i}", 512) for i in range(64))))
    egress = (ir.SetValidity(pad, True), RECIRCULATE)
    made = make_program([TAG, pad], (send_to(1),), egress=egress, variables=[NOTE, OTHER], field_lists=LISTS,
        parser=ir.Parser("P", (ir.State("start", (ir.Extract(TAG),), ir.Goto("accept")),)))  # fmt: skip
    assert run_both(made, [frame()]).drops == {"longer than the egress port takes": 1}


def test_copies_of_copies() -> None:
    """4.2: a clone may recirculate, and a recirculated packet may clone."""
    first = ir.If(is_instance(Instance.RECIRCULATED), (clone(I2E, 6),), (clone(I2E, 5, 1),))
    ingress = (ir.Assign(NOTE, binary(Op.ADD, NOTE, const(1, 8))), first, send_to(1))
    egress = (
        set_field("note", NOTE),
        ir.If(binary(Op.EQ, standard("egress_port"), const(2, 9)), (set_field("times", const(1, 16)), RECIRCULATE)),
        set_field("kind", low_byte("instance_type")),
    )
    result = run_both(program(ingress, egress), [frame()], prepare=sessions(s5=((2, 0),), s6=((3, 0),)))
    assert result.frames[0] == {1: [frame(0, 1), frame(0, 2, 1)], 3: [frame(1, 0, 1)]}


# --- Multicast ----------------------------------------------------------------------------------------------------


def test_multicast_beats_drop_unless_mark_to_drop_came_last() -> None:
    """4.1, 4.2, 4.10."""

    def prepare(switch) -> None:
        switch.insert_multicast_group(1, ((2, 1), (3, 2)))

    group = ir.Assign(standard("mcast_grp"), const(1, 16))
    kept = run_both(program((MARK, ir.Assign(NOTE, const(5, 8)), group), seen()), [frame()], prepare=prepare)
    assert kept.frames[0] == {2: [frame(5, 5)], 3: [frame(5, 5)]}
    dropped = run_both(program((group, MARK), seen()), [frame()], prepare=prepare)
    assert dropped.drops == {"dropped by ingress": 1}


def test_each_copy_of_a_group_may_be_cloned_and_recirculated() -> None:
    def prepare(switch) -> None:
        switch.insert_multicast_group(1, ((2, 1), (3, 2)))
        sessions(s5=((4, 0),))(switch)

    ingress = (
        ir.If(is_instance(Instance.RECIRCULATED), (send_to(6),), (ir.Assign(standard("mcast_grp"), const(1, 16)),)),
    )
    egress = (
        ir.If(
            is_instance(Instance.REPLICATED), (set_field("note", low_byte("egress_rid")), clone(E2E, 5), RECIRCULATE)
        ),
    )
    result = run_both(program(ingress, egress), [frame()], prepare=prepare)
    assert result.frames[0] == {4: [frame(0, 1), frame(0, 2)], 6: [frame(0, 1), frame(0, 2)]}


def test_a_rid_written_by_ingress_stays_with_a_unicast_packet() -> None:
    """egress_rid is set for copies of groups only."""
    ingress = (ir.Assign(standard("egress_rid"), const(77, 16)), send_to(1))
    assert run_both(program(ingress, seen("egress_rid")), [frame()]).frames[0] == {1: [frame(0, 77)]}


# --- The old calls, whose data names the fields -----------------------------------------------------------------


def test_the_old_calls_keep_the_metadata_they_name() -> None:
    def old(name: str, *before: ir.Argument) -> ir.CallExtern:
        return ir.CallExtern(name, (*before, (NOTE, ref(TAG, "note"))))

    again = ir.If(is_instance(Instance.NORMAL), (ir.Assign(NOTE, const(5, 8)), ir.Assign(OTHER, const(6, 8)),
        old("resubmit"), old("clone3", I2E, const(5, 32))))  # fmt: skip
    tell = (set_field("note", NOTE), set_field("times", ir.Cast(OTHER, ir.Bits(16))))
    result = run_both(program((again, send_to(1)), tell), [frame()], prepare=sessions(s5=((2, 0),)))
    assert result.frames[0] == {1: [frame(0, 5)], 2: [frame(0, 5)]}


# --- Long headers, which live in memory -------------------------------------------------------------------------


def test_long_headers_survive_waiting() -> None:
    """Headers in memory are shared with the frame or with scratch until somebody writes them; clones don't see it."""
    long_type = header_type("long_t", *((f"w{i}", 32) for i in range(40)))
    long = ir.Header("hdr.long", long_type)
    first, last = ref(long, "w0"), ref(long, "w39")
    ingress = (ir.Assign(first, const(0xAAAA, 32)), clone(I2E, 5), send_to(1))
    bump = ir.Assign(last, binary(Op.ADD, last, const(1, 32)))
    egress = (bump, ir.If(is_instance(Instance.NORMAL), (clone(E2E, 6),)))
    made = make_program([long], ingress, egress=egress)
    content = bytes(range(160))
    plus_one = content[:-1] + bytes([content[-1] + 1])
    changed = (0xAAAA).to_bytes(4, "big") + plus_one[4:]
    twice = changed[:-1] + bytes([changed[-1] + 1])
    result = run_both(made, [content + b"rest"], prepare=sessions(s5=((2, 0),), s6=((3, 0), (4, 0))))
    assert result.frames[0] == {
        1: [changed + b"rest"],
        2: [plus_one + b"rest"],
        3: [twice + b"rest"],
        4: [twice + b"rest"],
    }


def standard_16(name: str) -> ir.Expr:
    return ir.Cast(standard(name), ir.Bits(16))


def test_each_copy_has_a_stack_of_its_own() -> None:
    """What one copy pushes in egress, the next copy's ``lastIndex`` does not see."""
    stack = ir.HeaderStack("hdr.s", TAG.type, 2)
    last = ir.Cast(ir.StackLastIndex(stack), ir.Bits(8))
    egress = (set_field("kind", last), ir.PushFront(stack, 1), set_field("note", last))
    to_group = ir.Assign(standard("mcast_grp"), const(1, 16))

    def prepare(switch):
        switch.insert_multicast_group(1, ((1, 0), (2, 0), (3, 0)))

    copies = program((to_group,), egress, stacks=(stack,), deparser=(ir.Emit(TAG),))
    assert run_both(copies, [frame()], prepare=prepare).frames[0] == {port: [frame(255, 0)] for port in (1, 2, 3)}
