"""A port on capture files: frames come out of one at its times, and go into another with theirs.

Time is the files' where all ports of a loop are of this kind: the loop's clock jumps from frame to frame, so a capture
of an hour takes as long as its frames take the switch, and a run gives the same files every time. Next to ports of
others (``go_live``) the first frame comes at once, each later one as long after it as in the file, and what goes out
is stamped with the time of day.

A capture whose frames are out of order is played in the file's order, none before its time.
"""

from __future__ import annotations

import time

import numpy as np

from emulator.native.pages import address_of
from emulator.ports.batch import TxPortTable
from emulator.ports.errors import PortError
from emulator.ports.pcap.capture import Capture, read_capture
from emulator.ports.pcap.pcap_loops import NOT_STARTED, pcap_write_out
from emulator.ports.pcap.writer import CaptureWriter
from emulator.ports.port import PortStatistics, SwitchPort, make_private_ring
from emulator.ports.spec import PortSpec
from emulator.ports.state import WireKind

TX_CELLS = 1024


class PcapPort(SwitchPort):
    """The switch's end of a port on capture files."""

    def __init__(self, spec: PortSpec, table: TxPortTable) -> None:
        super().__init__(spec, table)
        try:
            self._capture = read_capture(spec.reads) if spec.reads else None
            self._writer = CaptureWriter(spec.writes) if spec.writes else None
        except PortError as error:
            raise PortError(f"port {spec}: {error}") from error
        state = self.state
        state["kind"] = WireKind.PCAP
        state["peer_fifo"] = -1
        if self._writer is not None:
            self._writer.interface(f"port {self.number}")
            state["writer"] = self._writer.address
        if self._capture is not None:
            self._place(self._capture)
        self._connect_switch()
        self._kept += make_private_ring(self.wire_ring, TX_CELLS)

    def _place(self, capture: Capture) -> None:
        times = capture.records["time_ns"]
        np.maximum.accumulate(times, out=times)
        self.state["records"], self.state["record_count"] = address_of(capture.records), len(capture.records)

    def go_live(self) -> None:
        """See SwitchPort."""
        self.state["shift_ns"] = NOT_STARTED
        self.state["stamp_offset_ns"] = time.time_ns() - time.monotonic_ns()

    def attend(self) -> None:
        """Say in the log why nothing is written any more."""
        self.state["notice"] = 0
        if self._writer is not None:
            self._writer.attend()

    def statistics(self) -> PortStatistics:
        """See SwitchPort."""
        found = super().statistics()
        if self._capture is not None:
            if self._capture.cut_short:
                found.notes["cut_short_in_file"] = self._capture.cut_short
            if self._capture.incomplete:
                found.drops["incomplete_in_file"] = 1
        return found

    def close(self) -> None:
        """Write what is kept and close the file."""
        super().close()
        if self._writer is not None:
            pcap_write_out(self.address)
            self._writer.close()
            self._writer = None
            self.state["writer"] = 0
