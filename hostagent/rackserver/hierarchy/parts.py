"""Partial sums, and the frames that carry them between racks.

A frame between racks is the protocol's: a contribution is a partial sum, a result a total, ``waiting`` asks for what
was lost, and an error has the protocol's four lanes. Racks are told apart by addresses; the child is a worker of the
sender's rack, for errors to name.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hostagent.protocol.frames import Addresses, Frame, build_frame
from hostagent.protocol.wire import FLAG_NO_DATA, Header, Kind, Operator

Lanes = np.ndarray[Any, np.dtype[np.uint32]]

RACK_MAC = 0x026E_7200_0000
RACK_IP = 0x0A4F_0000
"""Locally administered MACs and 10.79.0.0/16, the rack's number in the low bytes."""
MOST_RACKS = 1 << 16


@dataclass(frozen=True, slots=True)
class Part:
    """The sum of some racks' contributions to one chunk. Nobody writes into its lanes."""

    chunk: int
    """Modulo 2^32, as in frames."""
    operation: int
    operator: int
    lanes: Lanes
    """Empty: none of those racks had anything to add."""
    child: int = 0
    """Who contributed first, for errors."""

    @property
    def no_data(self) -> bool:
        return len(self.lanes) == 0

    def agrees(self, other: Part) -> bool:
        """Whether both are of one operation; else some rank has called another one."""
        return (self.operation, self.operator) == (other.operation, other.operator)


def combine(one: Part, other: Part) -> Part:
    """The sum, or maximum, of two parts of one chunk: the same bits in any order."""
    if one.no_data or other.no_data:
        return other if one.no_data else one
    if one.operator in (Operator.MAX, Operator.ANNOUNCE):
        lanes = np.maximum(one.lanes.view(np.int32), other.lanes.view(np.int32)).view(np.uint32)
    else:
        lanes = one.lanes + other.lanes
    return replace(one, lanes=lanes)


@dataclass(frozen=True, slots=True)
class Failure:
    """Ranks have called different operations on one chunk."""

    chunk: int
    operation: int
    operator: int
    lanes: Lanes
    """As in error frames: both hashes, then a child that sent each."""

    @staticmethod
    def between(one: Part, other: Part) -> Failure:
        lanes = np.array([one.operation, other.operation, one.child, other.child], np.uint32)
        return Failure(one.chunk, one.operation, one.operator, lanes)


@dataclass(frozen=True, slots=True)
class Peer:
    """Another rack's server, seen from ours."""

    rack: int
    port: int
    """Of ours, by which it is reached."""

    def __post_init__(self) -> None:
        if not 0 <= self.rack < MOST_RACKS:
            raise ValueError(f"rack {self.rack}: racks are numbered from 0 to {MOST_RACKS - 1}")


@dataclass(frozen=True, slots=True)
class Envelope:
    """What all frames of one job from one rack have in common."""

    job: int
    epoch: int
    rack: int
    checksum: bool = False

    def frame(self, kind: Kind, part: Part, to: Peer) -> bytes:
        """A part, or an error's lanes, on its way to a peer; an asking frame has no lanes whatever the part has."""
        lanes = part.lanes[:0] if kind is Kind.WAITING else part.lanes
        header = Header(
            kind=kind,
            job=self.job,
            child=part.child,
            epoch=self.epoch,
            chunk=part.chunk,
            operation=part.operation,
            operator=part.operator,
            flags=0 if len(lanes) else FLAG_NO_DATA,
        )
        return build_frame(Frame(addresses(self.rack, to.rack), header, lanes, self.checksum))


def addresses(source: int, target: int) -> Addresses:
    """Of a frame from one rack's server to another's."""
    return Addresses(RACK_MAC | source, RACK_MAC | target, RACK_IP | source, RACK_IP | target)


def part_of(frame: Frame) -> Part:
    """What a frame between racks carries."""
    header = frame.header
    lanes = frame.lanes[:0] if header.flags & FLAG_NO_DATA else frame.lanes
    return Part(header.chunk, header.operation, header.operator, lanes, header.child)


def sender_of(frame: Frame, rack: int) -> int:
    """The rack that sent this frame to ours; -1: none did."""
    sender = frame.addresses.source_ip & 0xFFFF
    return sender if frame.addresses == addresses(sender, rack) else -1
