"""The private record of one end of a cable: what compiled loops know of a port, whatever its kind.

One record of int64 fields; loops take its address, and ``port_at`` gives them its fields. The offsets below are of
words that are atomic, or of which the address is needed. Nothing in it is shared with another process, so a peer cannot
change it: what is shared is in the cable (``cable.rings``).
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from emulator.native.memory import offset_of, record_at
from emulator.ports.batch import TX_RING

_FIELDS = (
    "kind",  # a WireKind
    "number",  # the switch's port number; goes into batches
    "tx",  # switch end: the TX_RING that the switch writes
    "wire_tx",  # switch end: the TX_RING whose cells travel; the same, unless outbound impairments are between the two
    "impair_in",  # address of an impairment record, or 0
    "impair_out",
    "scratch",  # a BATCH for frames on their way into impair_in
    # a cable (shm, memory)
    "cable",
    "posts",  # address of the descriptors, and how many there are, less one
    "post_mask",
    "cells",  # address of frame 0 of the ring to the host, cells less one, their distance
    "cell_mask",
    "stride_bytes",
    "lengths",
    "pool",  # address and size of the host's frames
    "pool_bytes",
    "turn_bytes",  # limit of a switch's turn: once its frames have these bytes, the rest wait; 0: none
    "in_next",  # next entry to take, free running
    "in_released",  # up to here the peer knows that entries are free
    "out_next",  # next entry to write (the host's posts; the switch's is tx.tail)
    "out_published",  # up to here the peer can see entries
    "out_taken",  # what the peer had released when last looked at
    # the peer's bell
    "peer_block",  # address of the peer's part of the cable header; 0: the bell below never changes
    "peer_generation",
    "peer_bell",  # address, or 0
    "peer_fifo",  # descriptor, or -1
    "bell_path",  # address of a C string with 16 digits to fill in before its end, then ".fifo"
    # udp
    "socket",
    "messages_in",  # addresses of struct mmsghdr arrays
    "messages_out",
    "in_messages",  # messages that have been received; in_next is the one whose datagrams come next, in_position
    "in_position",  # the byte of it where they begin
    "most_segments",  # frames of one length that go out as one message
    "remote",  # address of a sockaddr: the learned remote
    "remote_bytes",  # its length; 0: not known
    "controls_out",  # address of the control messages of messages_out; 0: there are none
    "connected",  # 1: the kernel knows the remote
    "blocked",  # 1: the socket took less than was offered, so sleep until it can be written to
    # tcp; "socket" is the connection, or -1
    "next_socket",  # a connection that waits to be taken, or -1; exchanged, for another thread leaves it there
    "poller",  # the epoll descriptor that the connection is in
    "poll_event",  # address of the struct epoll_event for it
    "stream",  # what has come and not been released: address, size, where the next frame begins, where the bytes end
    "stream_bytes",
    "stream_from",
    "stream_end",
    "prefixes",  # address of a length prefix for each frame of a system call
    "sent_bytes",  # of the first frame that has not left whole, its prefix included
    # an interface
    "slots",  # address of the kernel's ring for frames in, slots less one, their distance
    "slot_mask",
    "slot_bytes",
    "receiver",  # the socket that the ring belongs to; "socket" is for sending
    "notice",  # 1: something to log happened; see SwitchPort.attend
    "scratch_word",
    # capture files
    "records",  # address of the frames to come, how many, and what is added to their times
    "record_count",
    "shift_ns",
    "writer",  # address of the WRITER record of the file written, or 0
    "stamp_offset_ns",  # from the loop's clock to the one of the stamps written
    # a capture of what passes, whatever the kind
    "capture",  # address of a WRITER record, or 0: none
    "capture_interface",
    "captured",  # switch end: position in ``tx`` up to which frames have been looked at
    # statistics; "in" is towards the owner of this record
    "in_frames",
    "in_bytes",
    "out_frames",
    "out_bytes",
    "bad_descriptors",  # frames outside of the pool or the cell: a broken peer
    "bad_rings",  # ring positions that can't be: a broken peer
    "too_long_in",  # datagrams longer than a cell
    "marked_in",  # datagrams with a mark of congestion that their frames cannot have
    "too_long_out",  # datagrams longer than the path takes
    "refused",  # posts refused because the ring was full
    "no_remote",  # frames for a remote not yet known, or not connected
    "unidentified",  # connections without our greeting
    "unidentified_bytes",  # what they had sent
    "broken_streams",  # connections closed because no frame is that long
    "segments_joined",  # frames of several segments, which a sender with segmentation offload left to its hardware
    "checksum_unfinished",  # frames that lack a checksum we do not compute (SCTP)
    "too_short_out",  # frames shorter than an Ethernet header
    "interface_down",  # frames for an interface that is down or gone
    "unwritten",  # frames that no file took
    "tags_restored",  # VLAN tags put back where the kernel had taken them out
    "checksums_completed",  # that a sender with checksum offload had left to its hardware
    "io_errors",  # failed socket calls, an unreachable remote among them
    "last_error",  # the errno of the latest
    "rings",  # bells rung: system calls made to wake the peer
    "peer_changes",  # times the other end was attached again
    "wake_requested",  # set by wake(), from any thread
)

_RECORD: list[tuple[str, Any]] = [(name, "<i8") for name in _FIELDS]
_RECORD.append(("own_tx", TX_RING))
PORT = np.dtype(_RECORD, align=True)
"""``own_tx`` is the wire's ring where the switch's is another: behind outbound impairments."""

port_at = record_at(PORT)


class WireKind(IntEnum):
    """What a port's frames travel through."""

    CABLE = 1
    UDP = 2
    PACKET = 3
    PCAP = 4
    TCP = 5


KIND_CABLE = int(WireKind.CABLE)
KIND_UDP = int(WireKind.UDP)
KIND_PACKET = int(WireKind.PACKET)
KIND_PCAP = int(WireKind.PCAP)
KIND_TCP = int(WireKind.TCP)

WIRE_TX = offset_of(PORT, "wire_tx")
OWN_TX = offset_of(PORT, "own_tx")
OUT_PUBLISHED = offset_of(PORT, "out_published")
NEXT_SOCKET = offset_of(PORT, "next_socket")
SCRATCH_WORD = offset_of(PORT, "scratch_word")
WAKE_REQUESTED = offset_of(PORT, "wake_requested")
