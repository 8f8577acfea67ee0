"""A program whose frames say by which port and with which priority they leave, and come out with what egress knew of
their queue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from emulator.p4 import ir
from emulator.v1model.metadata import standard
from tests.programs.p4_programs import Rig, header_type, make_program, ref, send_to

KNOWN = ("enq_timestamp", "enq_qdepth", "deq_timedelta", "deq_qdepth", "egress_global_timestamp")
TAG = ir.Header(
    "hdr.tag",
    header_type("tag_t", ("port", 8), ("priority", 8), ("number", 16), *((name, 32) for name in KNOWN), ("qid", 8)),
)
QID = ir.Variable("standard_metadata.qid", ir.Bits(5))


def asked(*, number: int, port: int = 1, priority: int = 0, payload: bytes = b"payload") -> bytes:
    """A frame."""
    return bytes([port, priority]) + number.to_bytes(2, "big") + bytes(4 * len(KNOWN) + 1) + payload


@dataclass(frozen=True, order=True)
class Seen:
    """What egress wrote into a frame; times in microseconds."""

    number: int
    enq_timestamp: int
    enq_qdepth: int
    deq_timedelta: int
    deq_qdepth: int
    egress_global_timestamp: int
    qid: int = 0

    @classmethod
    def read(cls, frame: bytes) -> Seen:
        end = 4 + 4 * len(KNOWN)
        words = [int.from_bytes(frame[at : at + 4], "big") for at in range(4, end, 4)]
        known = dict(zip(KNOWN, words, strict=True))
        return cls(number=int.from_bytes(frame[2:4], "big"), qid=frame[end], **known)


def ask() -> tuple[ir.Statement, ...]:
    """Ingress."""
    priority = ir.Assign(standard("priority"), ir.Cast(ref(TAG, "priority"), ir.Bits(3)))
    return send_to(ir.Cast(ref(TAG, "port"), ir.Bits(9))), priority


def tell(*, qid: bool = False) -> tuple[ir.Statement, ...]:
    """Egress."""
    writes = tuple(ir.Assign(ref(TAG, name), ir.Cast(standard(name), ir.Bits(32))) for name in KNOWN)
    return (*writes, ir.Assign(ref(TAG, "qid"), ir.Cast(QID, ir.Bits(8)))) if qid else writes


def queue_program(*, qid: bool = False, **more: Any) -> ir.Program:
    return make_program([TAG], more.pop("ingress", ask()), egress=more.pop("egress", tell(qid=qid)),
                        variables=[*more.pop("variables", ()), *([QID] if qid else [])], **more)  # fmt: skip


def at_times(rig: Rig, arrivals: Sequence[tuple[int, Sequence[bytes]]], *, until_ns: int | None = None,
             every_timer: bool = True) -> dict[int, list[bytes]]:  # fmt: skip
    """Batches of frames at their times in nanoseconds, then what waits, until a time if one is given; what left by each
    port. ``every_timer``: the switch is called between two batches, too, whenever it wants to be."""
    left: dict[int, list[bytes]] = {}
    timer_ns: int | None = None

    def call(now_ns: int, *frames: bytes) -> None:
        nonlocal timer_ns
        for port, out in rig.run(*frames, now_ns=now_ns).items():
            left.setdefault(port, []).extend(out)
        timer_ns = rig.next_ns

    for now_ns, frames in arrivals:
        while every_timer and timer_ns is not None and timer_ns < now_ns:
            call(timer_ns)
        call(now_ns, *frames)
    while timer_ns is not None and (until_ns is None or timer_ns <= until_ns):
        call(timer_ns)
    return left
