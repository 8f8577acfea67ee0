"""Writing capture files: pcapng, or the classic format for a file that is not named ``*.pcapng``.

One `CaptureWriter` takes frames of many links, each an interface of the file, from compiled loops (`record_frame`) or
from Python (`CaptureWriter.write`), live or in virtual time. They are kept in a buffer, which is written when it is
full or the loop is about to sleep. Not for several threads at a time.

The format: draft-ietf-opsawg-pcapng, sections 4.1 (section header), 4.2 (interface description) and 4.3 (enhanced
packet block).
"""

from __future__ import annotations

import errno
import logging
import os
import struct
import time
from typing import Any

import numpy as np

from emulator.native.jit import njit
from emulator.native.memory import copy_bytes, load_i64, load_u32, record_at, store_i32, store_u16, store_u32
from emulator.native.pages import address_of, aligned_bytes
from emulator.native.syscalls import monotonic_ns, write_descriptor
from emulator.ports.batch import CELL_BYTES, batch_at, tx_frame, tx_length
from emulator.ports.errors import PortError
from emulator.ports.pcap.capture import (
    BILLION,
    RECORD_HEADER_BYTES,
    capture_header,
    is_pcapng,
    whole_bytes,
)
from emulator.ports.pcap.pcapng import (
    ENHANCED_PACKET,
    INTERFACE,
    LINK_ETHERNET,
    LONGEST_FRAME_BYTES,
    OPTION_DESCRIPTION,
    OPTION_FLAGS,
    OPTION_NAME,
    OPTION_RESOLUTION,
    PACKET_HEADER_BYTES,
    block,
    option,
    section_header,
)

log = logging.getLogger("netsum.ports")

IN, OUT = 1, 2
"""Direction of a frame, as epb_flags has it: into the node whose link this is, or out of it."""
BUFFER_BYTES = 1 << 20
LONGEST_BLOCK_BYTES = 64 + LONGEST_FRAME_BYTES
assert BUFFER_BYTES > LONGEST_BLOCK_BYTES > CELL_BYTES
UNLIMITED_BYTES = 1 << 62

WRITER = np.dtype(
    [
        (name, "<i8")
        for name in (
            "file",  # descriptor, or -1: nothing more can be written
            "is_classic",
            "buffer",  # address of what is not yet written; bytes and frames in it
            "used",
            "kept",
            "size_bytes",  # of the file, with what is in the buffer
            "limit_bytes",
            "frames",  # in the file or the buffer
            "left_out",  # frames that the file does not have
            "lost",  # those of them that were counted in `frames` before; whoever accounts for them clears it
            "is_full",
            "last_error",  # errno of a write that failed
            "notice",  # 1: something to log happened
            "is_live",  # 1: stamps are the time of day, else what the caller says
            "offset_ns",  # from CLOCK_MONOTONIC to the time of day
        )
    ],
    align=True,
)
writer_at = record_at(WRITER)
WORD = 0xFFFF_FFFF
EINTR = -errno.EINTR
PACKET_END_BYTES = 16
"""After an enhanced packet block's frame: epb_flags, the end of the options, and the block's length again."""


@njit
def writer_flush(writer: int) -> None:
    """Write what is kept. After a failure nothing more is written: what follows could not be read."""
    state = writer_at(writer)
    written = 0
    while written < state.used and state.file >= 0:
        result = write_descriptor(state.file, state.buffer + written, state.used - written)
        if result >= 0:
            written += result
        elif result != EINTR:
            state.last_error = -result
            state.frames += -state.kept
            state.left_out += state.kept
            state.lost += state.kept
            state.file = -1
            state.notice = 1
    state.used = 0
    state.kept = 0


@njit
def record_frame(writer: int, interface: int, direction: int, address: int, length_bytes: int, time_ns: int) -> int:
    """Append a frame; ``time_ns`` counts from 1970. 1, or 0 where the file does not take it."""
    state = writer_at(writer)
    padded = (length_bytes + 3) // 4 * 4
    size = RECORD_HEADER_BYTES + length_bytes if state.is_classic else PACKET_HEADER_BYTES + padded + PACKET_END_BYTES
    if state.size_bytes + size > state.limit_bytes and state.is_full == 0:
        state.is_full = 1
        state.notice = 1
    if length_bytes > LONGEST_FRAME_BYTES or state.is_full != 0:
        state.left_out += 1
        return 0
    if state.used + size > BUFFER_BYTES:
        writer_flush(writer)
    if state.file < 0:
        state.left_out += 1
        return 0
    at = state.buffer + state.used
    if state.is_classic:
        store_u32(at, (time_ns // BILLION) & WORD)
        store_u32(at + 4, time_ns % BILLION)
        store_u32(at + 8, length_bytes)
        store_u32(at + 12, length_bytes)
        copy_bytes(at + RECORD_HEADER_BYTES, address, length_bytes)
    else:
        store_u32(at, ENHANCED_PACKET)
        store_u32(at + 4, size)
        store_u32(at + 8, interface)
        store_u32(at + 12, (time_ns >> 32) & WORD)
        store_u32(at + 16, time_ns & WORD)
        store_u32(at + 20, length_bytes)
        store_u32(at + 24, length_bytes)
        end = at + PACKET_HEADER_BYTES + padded
        store_i32(end - 4, 0)
        copy_bytes(at + PACKET_HEADER_BYTES, address, length_bytes)
        store_u16(end, OPTION_FLAGS)
        store_u16(end + 2, 4)
        store_u32(end + 4, direction)
        store_u32(end + 8, 0)
        store_u32(end + 12, size)
    state.used += size
    state.size_bytes += size
    state.kept += 1
    state.frames += 1
    return 1


@njit
def _stamp_ns(writer: int, now_ns: int) -> int:
    state = writer_at(writer)
    return monotonic_ns() + state.offset_ns if state.is_live else now_ns


@njit
def record_batch(writer: int, interface: int, batch: int, first: int, now_ns: int) -> None:
    """The frames of a batch from position ``first`` on, which came in from a link."""
    frames = batch_at(batch)
    count = frames.count
    if first < count:
        time_ns = _stamp_ns(writer, now_ns)
        for index in range(first, count):
            address, length = load_i64(frames.addresses + 8 * index), load_u32(frames.lengths + 4 * index)
            record_frame(writer, interface, IN, address, length, time_ns)


@njit
def record_ring(writer: int, interface: int, ring: int, first: int, tail: int, now_ns: int) -> None:
    """Frames of a TX_RING, by free running position, which go out to a link."""
    if first < tail:
        time_ns = _stamp_ns(writer, now_ns)
        for index in range(first, tail):
            record_frame(writer, interface, OUT, tx_frame(ring, index), tx_length(ring, index), time_ns)


class CaptureWriter:
    """A capture file that is written; a context manager."""

    def __init__(self, path: str, *, limit_bytes: int = UNLIMITED_BYTES, append: bool = False) -> None:
        """``limit_bytes``: the file grows no larger; frames beyond are counted, and the log says so once.
        ``append``: a further section of a pcapng file that may exist, after its last whole block.

        Raises PortError that names the file."""
        self.path = path
        self._interfaces: dict[str, int] = {}
        self._buffer = np.zeros(BUFFER_BYTES, np.uint8)
        self._record: Any = aligned_bytes(WRITER.itemsize).view(WRITER)
        self.state = self._record[0]
        self.address = address_of(self._record)
        """What the compiled functions take."""
        self._descriptor = self.state["file"] = -1
        self.state["is_classic"] = not is_pcapng(path)
        self.state["buffer"] = address_of(self._buffer)
        self.state["limit_bytes"] = limit_bytes
        head = section_header() if is_pcapng(path) else capture_header()
        try:
            if append and not is_pcapng(path):
                raise PortError(f"cannot continue {path}: only a pcapng file has sections; name it *.pcapng")
            fresh = 0 if append else os.O_TRUNC
            self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | fresh, 0o666)
            self.state["file"] = self._descriptor
            kept = whole_bytes(path) if append else 0
            if append:
                os.ftruncate(self._descriptor, kept)
                os.lseek(self._descriptor, kept, os.SEEK_SET)
            os.write(self._descriptor, head)
        except OSError as error:
            self.close()
            raise PortError(f"cannot write {path}: {error.strerror}") from error
        self.state["size_bytes"] = kept + len(head)

    def __enter__(self) -> CaptureWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def go_live(self) -> None:
        """Stamps of the frames of compiled loops are the time of day from now on."""
        self.state["is_live"], self.state["offset_ns"] = 1, time.time_ns() - time.monotonic_ns()

    def interface(self, name: str, description: str = "") -> int:
        """The number of a link in the file, in which it is described the first time; a classic file has but one."""
        if name not in self._interfaces:
            self._interfaces[name] = len(self._interfaces)
            if not self.state["is_classic"]:
                about = option(OPTION_DESCRIPTION, description.encode()) if description else b""
                options = option(OPTION_NAME, name.encode()) + about + option(OPTION_RESOLUTION, b"\x09")
                self._keep(block(INTERFACE, struct.pack("=HHI", LINK_ETHERNET, 0, 0) + options + bytes(4)))
        return self._interfaces[name]

    def write(self, time_ns: int, link: str, direction: int, frame: bytes) -> bool:
        """Append a frame from Python, as of a simulated link; ``direction``: `IN` or `OUT`, ``time_ns`` of virtual time
        or since 1970. Whether the file takes it."""
        memory = np.frombuffer(frame or b"\0", np.uint8)
        number = self.interface(link)
        return bool(record_frame(self.address, number, direction, address_of(memory), len(frame), time_ns))

    def _keep(self, content: bytes) -> None:
        if int(self.state["used"]) + len(content) > BUFFER_BYTES:
            writer_flush(self.address)
        used = int(self.state["used"])
        self._buffer[used : used + len(content)] = np.frombuffer(content, np.uint8)
        self.state["used"] += len(content)
        self.state["size_bytes"] += len(content)

    def statistics(self) -> dict[str, Any]:
        """``{"file", "interfaces", "frames", "left_out", "bytes", "is_full"}``; may be called while a loop runs."""
        return {
            "file": self.path,
            "interfaces": len(self._interfaces),
            "frames": int(self.state["frames"]),
            "left_out": int(self.state["left_out"]),
            "bytes": int(self.state["size_bytes"]),
            "is_full": bool(self.state["is_full"]),
        }

    def attend(self) -> None:
        """Say in the log why frames are not in the file."""
        if self.state["notice"]:
            self.state["notice"] = 0
            if self.state["last_error"]:
                reason = os.strerror(int(self.state["last_error"]))
                log.error("cannot write %s: %s; no further frame is in it", self.path, reason)
            elif self.state["is_full"]:
                limit, frames = int(self.state["limit_bytes"]), int(self.state["frames"])
                log.warning("%s is full: %d bytes are its limit; it ends after %d frames", self.path, limit, frames)

    def close(self) -> None:
        """Write what is kept and close the file."""
        if self._descriptor >= 0:
            writer_flush(self.address)
            self.attend()
            os.close(self._descriptor)
            self._descriptor = self.state["file"] = -1
