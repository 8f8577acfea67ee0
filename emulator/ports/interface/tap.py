"""What passes on a network interface, written into two capture files: ``NAME_in.pcap`` and ``NAME_out.pcap``.

It listens on another socket than the port, as tcpdump would, so it costs the live loop nothing; at rates that
one thread of Python cannot follow, captures have gaps. Every frame is in the file as soon as it was seen.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import struct
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from emulator.ports.errors import PortError
from emulator.ports.pcap.capture import capture_header

ETH_P_ALL = 3
PACKET_OUTGOING = 4
SOL_PACKET, PACKET_AUXDATA = 263, 8
AUXDATA = struct.Struct("IIIHHHH")
TP_STATUS_VLAN_VALID = 0x10
LONGEST_FRAME_BYTES = 1 << 16
RECEIVE_BUFFER_BYTES = 1 << 22
STOP_CHECK_S = 0.2
REST_S = 2.0
"""At the end, for frames that wait to be recorded; an interface that never rests must not keep the switch from
stopping."""
PACKET_STATISTICS = 6
TPACKET_STATS = struct.Struct("II")
"""Linux's tpacket_stats: frames, and those among them that found the socket's memory full."""
RECORD = struct.Struct("=IIII")

log = logging.getLogger("netsum.tap")


class Tap:
    """Tap of one interface; a context manager. Raises PortError where the interface or a file cannot be had."""

    def __init__(self, interface: str, folder: str) -> None:
        self._interface = interface
        self._folder = Path(folder)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._serve, name=f"netsum-tap-{interface}", daemon=True)
        self._files: list[BinaryIO] = []

    def __enter__(self) -> Tap:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            for way in ("in", "out"):
                file = open(self._folder / f"{self._interface}_{way}.pcap", "wb", buffering=0)
                file.write(capture_header())
                self._files.append(file)
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            self._socket.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
            self._socket.bind((self._interface, ETH_P_ALL))
            self._socket.settimeout(STOP_CHECK_S)
        except OSError as error:
            raise PortError(f"cannot record {self._interface} into {self._folder}: {error.strerror}") from error
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        self._thread.join()
        self._record_the_rest()
        self._socket.close()
        for file in self._files:
            file.close()

    def _serve(self) -> None:
        while not self._stopping.is_set():
            try:
                self._record_one()
            except TimeoutError:
                continue
            except OSError:  # the interface is down or gone; it may come back
                self._stopping.wait(STOP_CHECK_S)

    def _record_one(self) -> None:
        frame, ancillary, _, address = self._socket.recvmsg(LONGEST_FRAME_BYTES, 256)
        self._write(self._files[address[2] == PACKET_OUTGOING], _tagged(frame, ancillary))

    def _record_the_rest(self) -> None:
        """What has passed before the end and was not looked at yet; and say what was too much."""
        self._socket.setblocking(False)
        end = time.monotonic() + REST_S
        with contextlib.suppress(OSError):
            while time.monotonic() < end:
                self._record_one()
        with contextlib.suppress(OSError):
            _, lost = TPACKET_STATS.unpack(self._socket.getsockopt(SOL_PACKET, PACKET_STATISTICS, TPACKET_STATS.size))
            if lost:
                log.warning("%s: %d frames passed faster than they could be recorded", self._interface, lost)

    def _write(self, file: BinaryIO, frame: bytes) -> None:
        seconds, fraction = divmod(time.time_ns(), 1_000_000_000)
        try:
            file.write(RECORD.pack(seconds, fraction, len(frame), len(frame)) + frame)
        except OSError:  # a full disk must not stop the switch
            return


def _tagged(frame: bytes, ancillary: Sequence[tuple[int, int, bytes]]) -> bytes:
    """The frame as it was on the wire: the kernel hands a VLAN tag over separately."""
    for level, kind, data in ancillary:
        if (level, kind) == (SOL_PACKET, PACKET_AUXDATA):
            status, _, _, _, _, tag, tag_type = AUXDATA.unpack(data[: AUXDATA.size])
            if status & TP_STATUS_VLAN_VALID:
                return frame[:12] + struct.pack(">HH", tag_type or 0x8100, tag) + frame[12:]
    return frame
