"""MSCCL's XML out and in again: the same messages; programs as others write them; what is refused."""

import xml.etree.ElementTree as ET

import pytest

from emulator.network.messages.simulate import simulate
from emulator.network.schedule.builder import Builder
from emulator.network.schedule.generators import GENERATORS
from emulator.network.schedule.msccl import chunks_of, read_msccl, write_msccl
from emulator.network.schedule.parts import Reduce, ScheduleError, Send
from emulator.network.schedule.verify import verify
from emulator.network.topology.builders import star

# Allgather of two GPUs out of place: a copy of the own chunk, and one message each way.
COPIES = """<algo name="g" nchannels="1" nchunksperloop="2" proto="Simple" coll="allgather" inplace="0" ngpus="2">
{}</algo>"""
GPU = """<gpu id="{0}" i_chunks="1" o_chunks="2" s_chunks="0">
 <tb id="0" send="{1}" recv="{1}" chan="0">
  <step s="0" type="cpy" srcbuf="i" srcoff="0" dstbuf="o" dstoff="{0}" cnt="1" depid="-1" deps="-1" hasdep="0"/>
  <step s="1" type="s" srcbuf="i" srcoff="0" dstbuf="o" dstoff="{0}" cnt="1" depid="-1" deps="-1" hasdep="0"/>
  <step s="2" type="r" srcbuf="i" srcoff="0" dstbuf="o" dstoff="{1}" cnt="1" depid="-1" deps="-1" hasdep="0"/>
 </tb></gpu>"""


def alltoall(ranks):
    """Each chunk by way of the rank after its source, so that there is scratch."""
    builder = Builder("alltoall", star(ranks), chunks_of("alltoall", ranks, ranks, 64))
    for source in range(ranks):
        for end in range(ranks):
            chunk, relay = source * ranks + end, (source + 1) % ranks
            if source != end:
                if relay != end:
                    builder.send(source, relay, [chunk])
                builder.send(relay if relay != end else source, end, [chunk])
    return builder.build()


def allgather(ranks):
    builder = Builder("allgather", star(ranks), chunks_of("allgather", ranks, ranks, 64))
    for step in range(ranks - 1):
        for rank in range(ranks):
            builder.send(rank, (rank + 1) % ranks, [(rank - step) % ranks])
    return builder.build()


def reduce_scatter(ranks):
    builder = Builder("reduce_scatter", star(ranks), chunks_of("reduce_scatter", ranks, ranks, 64))
    for rank in range(ranks):
        for end in range(ranks):
            if rank != end:
                builder.reduce(rank, end, [end])
    return builder.build()


SCHEDULES = [GENERATORS[name](star(4), 4 * 64) for name in ("ring", "halving-doubling", "bcube", "double-binary-tree")]
SCHEDULES += [alltoall(4), allgather(4), reduce_scatter(4)]


def ends_of(task):
    assert isinstance(task, Send | Reduce)
    return task.source, task.destination, task.chunks


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda schedule: schedule.name)
def test_out_and_in_again(schedule):
    verify(schedule)
    text = write_msccl(schedule)
    size = sum(schedule.chunk_bytes.tolist()) // (4 if schedule.name == "alltoall" else 1)
    again = read_msccl(text, schedule.topology, size)
    assert verify(again).link_bytes.tolist() == verify(schedule).link_bytes.tolist()
    own, read = (sorted((*ends_of(task), type(task).__name__) for task in each) for each in (schedule, again))
    if schedule.name != "alltoall":  # in which runs of chunks may be several steps
        assert own == read
    assert simulate(again).elapsed_ns >= 0
    steps = ET.fromstring(text).iter("step")
    assert all(step.get("hasdep") in ("0", "1") for step in steps)


def test_a_program_with_copies():
    schedule = read_msccl(COPIES.format(GPU.format(0, 1) + GPU.format(1, 0)), star(2), 128)
    verify(schedule)
    assert sorted(map(ends_of, schedule)) == [(0, 1, (0,)), (1, 0, (1,))]


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ('coll="allgather"', 'coll="scan"', "'scan' is none of allreduce"),
        ('type="r"', 'type="x"', "unknown type of step 'x'"),
        ('type="r"', 'type="nop"', "does not receive all that GPU 0 sends"),
        ('srcoff="0" dstbuf="o" dstoff="0" cnt="1"', 'srcoff="1" dstbuf="o" dstoff="0" cnt="1"', r"nothing at i\[1\]"),
        ("<algo", "<alga", "no XML"),
        ('depid="-1" deps="-1"', 'depid="0" deps="2"', "waits for itself"),
        ('ngpus="2"', 'ngpus="two"', "ngpus is 'two'"),
    ],
)
def test_what_is_refused(old, new, text):
    program = COPIES.format(GPU.format(0, 1) + GPU.format(1, 0)).replace(old, new)
    with pytest.raises(ScheduleError, match=text):
        read_msccl(program, star(2), 128)


def test_what_cannot_be_written():
    with pytest.raises(ScheduleError, match="only send and receive"):
        write_msccl(GENERATORS["switch"](star(4), 64))
