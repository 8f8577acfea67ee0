"""The private record of one end of a cable: what compiled loops know of a port, whatever its kind.

One record of int64 fields; loops take its address and the offsets below. Nothing in it is shared with another process,
so a peer can't change it: what is shared lies in the cable (``cable``).
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from emulator.ports.batch import TX_RING, offset_of

_FIELDS = (
    "kind",  # a WireKind
    "number",  # the switch's port number; goes into batches
    "tx",  # switch end: the TX_RING that the switch writes
    "wire_tx",  # switch end: the TX_RING whose cells travel; the same, unless outbound impairments lie between the two
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
    "in_next",  # next entry to take, free running
    "in_released",  # up to here the peer has been told
    "out_next",  # next entry to write (the host's posts; the switch's is tx.tail)
    "out_published",  # up to here the peer has been told
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
    "remote",  # address of a sockaddr: the learned remote
    "remote_bytes",  # its length; 0: not known
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
    "notice",  # 1: something happened that people should be told; see SwitchPort.attend
    "scratch_word",
    # capture files
    "records",  # address of the frames to come, how many, and what is added to their times
    "record_count",
    "shift_ns",
    "file",  # descriptor of the file written, or -1
    "buffer",  # what is not yet written: address, size, bytes and frames in it
    "buffer_bytes",
    "buffer_used",
    "buffer_frames",
    "stamp_offset_ns",  # from the loop's clock to the one of the stamps written
    # statistics; "in" is towards the owner of this record
    "in_frames",
    "in_bytes",
    "out_frames",
    "out_bytes",
    "bad_descriptors",  # frames outside of the pool or the cell: a broken peer
    "bad_rings",  # ring positions that can't be: a broken peer
    "too_long_in",  # datagrams longer than a cell
    "too_long_out",  # datagrams longer than the path takes
    "refused",  # posts refused because the ring was full
    "no_remote",  # frames for a remote not yet known, or not connected
    "strangers",  # connections that did not greet as one of ours
    "stranger_bytes",  # what they had sent
    "broken_streams",  # connections given up because no frame is that long
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
    "peer_changes",  # times the other end was attached anew
    "wake_requested",  # set by wake(), from any thread
)

_RECORD: list[tuple[str, Any]] = [(name, "<i8") for name in _FIELDS]
_RECORD.append(("own_tx", TX_RING))
PORT = np.dtype(_RECORD, align=True)
"""``own_tx`` is the wire's ring where the switch's is another: behind outbound impairments."""


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

KIND = offset_of(PORT, "kind")
NUMBER = offset_of(PORT, "number")
TX = offset_of(PORT, "tx")
WIRE_TX = offset_of(PORT, "wire_tx")
OWN_TX = offset_of(PORT, "own_tx")
IMPAIR_IN = offset_of(PORT, "impair_in")
IMPAIR_OUT = offset_of(PORT, "impair_out")
SCRATCH = offset_of(PORT, "scratch")
CABLE = offset_of(PORT, "cable")
POSTS = offset_of(PORT, "posts")
POST_MASK = offset_of(PORT, "post_mask")
CELLS = offset_of(PORT, "cells")
CELL_MASK = offset_of(PORT, "cell_mask")
STRIDE = offset_of(PORT, "stride_bytes")
LENGTHS = offset_of(PORT, "lengths")
POOL = offset_of(PORT, "pool")
POOL_BYTES = offset_of(PORT, "pool_bytes")
IN_NEXT = offset_of(PORT, "in_next")
IN_RELEASED = offset_of(PORT, "in_released")
OUT_NEXT = offset_of(PORT, "out_next")
OUT_PUBLISHED = offset_of(PORT, "out_published")
OUT_TAKEN = offset_of(PORT, "out_taken")
PEER_BLOCK = offset_of(PORT, "peer_block")
PEER_GENERATION = offset_of(PORT, "peer_generation")
PEER_BELL = offset_of(PORT, "peer_bell")
PEER_FIFO = offset_of(PORT, "peer_fifo")
BELL_PATH = offset_of(PORT, "bell_path")
SOCKET = offset_of(PORT, "socket")
MESSAGES_IN = offset_of(PORT, "messages_in")
MESSAGES_OUT = offset_of(PORT, "messages_out")
REMOTE = offset_of(PORT, "remote")
REMOTE_BYTES = offset_of(PORT, "remote_bytes")
CONNECTED = offset_of(PORT, "connected")
BLOCKED = offset_of(PORT, "blocked")
NEXT_SOCKET = offset_of(PORT, "next_socket")
POLLER = offset_of(PORT, "poller")
POLL_EVENT = offset_of(PORT, "poll_event")
STREAM = offset_of(PORT, "stream")
STREAM_BYTES = offset_of(PORT, "stream_bytes")
STREAM_FROM = offset_of(PORT, "stream_from")
STREAM_END = offset_of(PORT, "stream_end")
PREFIXES = offset_of(PORT, "prefixes")
SENT_BYTES = offset_of(PORT, "sent_bytes")
SLOTS = offset_of(PORT, "slots")
SLOT_MASK = offset_of(PORT, "slot_mask")
SLOT_BYTES = offset_of(PORT, "slot_bytes")
RECEIVER = offset_of(PORT, "receiver")
NOTICE = offset_of(PORT, "notice")
SCRATCH_WORD = offset_of(PORT, "scratch_word")
RECORDS = offset_of(PORT, "records")
RECORD_COUNT = offset_of(PORT, "record_count")
SHIFT_NS = offset_of(PORT, "shift_ns")
FILE = offset_of(PORT, "file")
BUFFER = offset_of(PORT, "buffer")
BUFFER_BYTES = offset_of(PORT, "buffer_bytes")
BUFFER_USED = offset_of(PORT, "buffer_used")
BUFFER_FRAMES = offset_of(PORT, "buffer_frames")
STAMP_OFFSET_NS = offset_of(PORT, "stamp_offset_ns")
IN_FRAMES = offset_of(PORT, "in_frames")
IN_BYTES = offset_of(PORT, "in_bytes")
OUT_FRAMES = offset_of(PORT, "out_frames")
OUT_BYTES = offset_of(PORT, "out_bytes")
BAD_DESCRIPTORS = offset_of(PORT, "bad_descriptors")
BAD_RINGS = offset_of(PORT, "bad_rings")
TOO_LONG_IN = offset_of(PORT, "too_long_in")
TOO_LONG_OUT = offset_of(PORT, "too_long_out")
REFUSED = offset_of(PORT, "refused")
NO_REMOTE = offset_of(PORT, "no_remote")
BROKEN_STREAMS = offset_of(PORT, "broken_streams")
SEGMENTS_JOINED = offset_of(PORT, "segments_joined")
CHECKSUM_UNFINISHED = offset_of(PORT, "checksum_unfinished")
TOO_SHORT_OUT = offset_of(PORT, "too_short_out")
INTERFACE_DOWN = offset_of(PORT, "interface_down")
UNWRITTEN = offset_of(PORT, "unwritten")
TAGS_RESTORED = offset_of(PORT, "tags_restored")
CHECKSUMS_COMPLETED = offset_of(PORT, "checksums_completed")
IO_ERRORS = offset_of(PORT, "io_errors")
LAST_ERROR = offset_of(PORT, "last_error")
RINGS = offset_of(PORT, "rings")
PEER_CHANGES = offset_of(PORT, "peer_changes")
WAKE_REQUESTED = offset_of(PORT, "wake_requested")
