"""The switch's end of a port, whatever its kind: what the live loop calls, and what people can read of it.

A turn of a loop is: ``port_refresh`` and ``port_receive`` for each port, the switch's process(), ``port_release`` and
``port_flush`` for each port; before it sleeps it calls ``port_settle`` and asks ``port_next_ns`` and
``port_has_input``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emulator.native.jit import njit
from emulator.native.pages import address_of, aligned_bytes
from emulator.ports.batch import (
    CELL_BYTES,
    FRAME_HEADROOM_BYTES,
    TX_RING,
    FrameBatch,
    TxPortTable,
    batch_at,
    tx_frame,
    tx_length,
    tx_ring_at,
)
from emulator.ports.cable.rings import (
    cable_switch_has_input,
    cable_switch_publish,
    cable_switch_receive,
    cable_switch_refresh,
    cable_switch_release,
)
from emulator.ports.cable.wake_peer import leave_peer, ring_peer
from emulator.ports.errors import PortError
from emulator.ports.impairments import (
    ImpairmentState,
    impair_next_ns,
    impair_pop,
    impair_push,
    impair_push_batch,
    impair_release,
    impair_transmit,
)
from emulator.ports.interface.packet_socket import packet_has_input, packet_receive, packet_release, packet_settle
from emulator.ports.pcap.pcap_loops import pcap_flush, pcap_next_ns, pcap_receive, pcap_write_out
from emulator.ports.pcap.writer import CaptureWriter, record_batch, record_ring, writer_at, writer_flush
from emulator.ports.sockets.mmsg import flush_ring
from emulator.ports.sockets.tcp_loops import tcp_has_input, tcp_receive, tcp_release, tcp_switch_flush
from emulator.ports.sockets.udp_loops import udp_has_input, udp_receive, udp_release, udp_switch_flush
from emulator.ports.spec import Impairments, PortSpec
from emulator.ports.state import (
    KIND_CABLE,
    KIND_PACKET,
    KIND_PCAP,
    KIND_TCP,
    KIND_UDP,
    OWN_TX,
    PORT,
    port_at,
)

RETRY_BLOCKED_NS = 1_000_000
"""A full socket buffer empties at the speed of the network; ask again this much later."""

IMPAIRED_CELLS = 1024
"""Frames the switch can append between two flushes of a port with outbound impairments."""

MOST = 1 << 30
"""As many frames as the batch takes."""

BROKEN_PEER = ("bad_descriptors", "bad_rings")
DROP_REASONS = (
    *BROKEN_PEER,
    "too_long_in",
    "marked_in",
    "too_long_out",
    "too_short_out",
    "segments_joined",
    "checksum_unfinished",
    "interface_down",
    "unwritten",
    "no_remote",
    "unidentified",
    "unidentified_bytes",
    "broken_streams",
    "refused",
    "io_errors",
)
NOTES = ("tags_restored", "checksums_completed")


@njit
def port_receive(port: int, batch: int, most: int, now_ns: int) -> Any:
    """Append up to ``most`` frames to a batch; returns how many entries of the wire, or due frames, were taken."""
    state = port_at(port)
    if state.capture == 0:
        return _receive(port, batch, most, now_ns)
    first = batch_at(batch).count
    taken = _receive(port, batch, most, now_ns)
    record_batch(state.capture, state.capture_interface, batch, first, now_ns)
    return taken


@njit
def _receive(port: int, batch: int, most: int, now_ns: int) -> Any:
    state = port_at(port)
    link = state.impair_in
    target = batch if link == 0 else state.scratch
    taken = _wire_receive(port, target, most, now_ns)
    if link == 0:
        return taken
    impair_push_batch(link, target, now_ns)
    _wire_release(port)
    return impair_pop(link, batch, state.number, most, now_ns)


@njit
def _wire_receive(port: int, batch: int, most: int, now_ns: int) -> Any:
    kind = port_at(port).kind
    if kind == KIND_CABLE:
        return cable_switch_receive(port, batch, most)
    if kind == KIND_PACKET:
        return packet_receive(port, batch, most)
    if kind == KIND_PCAP:
        return pcap_receive(port, batch, most, now_ns)
    if kind == KIND_TCP:
        return tcp_receive(port, batch, most)
    return udp_receive(port, batch, most)


@njit
def _wire_release(port: int) -> None:
    kind = port_at(port).kind
    if kind == KIND_CABLE:
        cable_switch_release(port)
    elif kind == KIND_PACKET:
        packet_release(port)
    elif kind == KIND_UDP:
        udp_release(port)
    elif kind == KIND_TCP:
        tcp_release(port)


@njit
def port_release(port: int) -> None:
    """All frames received from the port have been read."""
    state = port_at(port)
    if state.impair_in == 0:
        _wire_release(port)
    else:
        impair_release(state.impair_in)


@njit
def port_refresh(port: int) -> None:
    """Let the switch use the room that the other end has made since."""
    if port_at(port).kind == KIND_CABLE:
        cable_switch_refresh(port)


@njit
def port_flush(port: int, now_ns: int) -> Any:
    """Send what the switch has appended and what the link has held back until now; how many frames that are."""
    state = port_at(port)
    if state.capture == 0:
        return _flush(port, now_ns)
    record_ring(state.capture, state.capture_interface, state.tx, state.captured, tx_ring_at(state.tx).tail, now_ns)
    sent = _flush(port, now_ns)
    state.captured = tx_ring_at(state.tx).tail
    return sent


@njit
def _flush(port: int, now_ns: int) -> Any:
    state = port_at(port)
    link = state.impair_out
    if link != 0:
        ring = state.tx
        tail = tx_ring_at(ring).tail
        # of a ring that is emptied at once, limit less the number of cells is where it was emptied to
        first = tx_ring_at(ring).limit - tx_ring_at(ring).mask - 1
        for index in range(first, tail):
            impair_push(link, tx_frame(ring, index), tx_length(ring, index), now_ns)
        tx_ring_at(ring).limit = tail + tx_ring_at(ring).mask + 1
        impair_transmit(link, state.wire_tx, now_ns)
    kind = state.kind
    if kind == KIND_CABLE:
        sent = cable_switch_publish(port)
        if sent > 0:
            ring_peer(port)
        return sent
    if not _has_output(port):
        return 0
    if kind == KIND_PACKET:
        return flush_ring(port)
    if kind == KIND_PCAP:
        return pcap_flush(port, now_ns)
    if kind == KIND_TCP:
        return tcp_switch_flush(port)
    return udp_switch_flush(port)


@njit
def _has_output(port: int) -> Any:
    ring = tx_ring_at(port_at(port).wire_tx)
    return ring.limit - ring.mask - 1 != ring.tail


@njit
def port_has_input(port: int) -> Any:
    """Whether frames wait in memory; a socket's are ppoll's to report."""
    kind = port_at(port).kind
    if kind == KIND_CABLE:
        return cable_switch_has_input(port)
    if kind == KIND_TCP:
        return tcp_has_input(port)
    if kind == KIND_UDP:
        return udp_has_input(port)
    return kind == KIND_PACKET and packet_has_input(port)


@njit
def port_settle(port: int) -> Any:
    """Before a sleep: remove what would interrupt it, flush buffers. True: SwitchPort.attend has to be called."""
    state = port_at(port)
    kind = state.kind
    if kind == KIND_PACKET:
        packet_settle(port)
    elif kind == KIND_PCAP:
        pcap_write_out(port)
    if state.capture != 0:
        writer_flush(state.capture)
        return state.notice != 0 or writer_at(state.capture).notice != 0
    return state.notice != 0


@njit
def port_next_ns(port: int, now_ns: int) -> int:
    """When the port wants a turn even if nothing comes in; -1: never."""
    state = port_at(port)
    soonest = -1
    for link in (state.impair_in, state.impair_out):
        due = impair_next_ns(link) if link != 0 else -1
        if due >= 0 and (soonest < 0 or due < soonest):
            soonest = due
    if state.kind == KIND_PCAP:
        due = pcap_next_ns(port, now_ns)
        if due >= 0 and (soonest < 0 or due < soonest):
            soonest = due
    if state.blocked != 0 and (soonest < 0 or soonest > now_ns + RETRY_BLOCKED_NS):
        soonest = now_ns + RETRY_BLOCKED_NS
    return soonest


@dataclass(frozen=True, slots=True)
class PortStatistics:
    """What has passed one end of a port since it was opened. "In" is towards the owner of the end."""

    frames_in: int
    bytes_in: int
    frames_out: int
    bytes_out: int
    drops: dict[str, int] = field(default_factory=dict)
    """Drops by reason, zeros left out. bad_descriptors and bad_rings indicate a broken peer, io_errors the network."""
    bells_rung: int = 0
    """System calls made to wake the peer."""
    peer_changes: int = 0
    """How often another process has taken the other end."""
    notes: dict[str, int] = field(default_factory=dict)
    """What impairments did to frames besides dropping them; zeros left out."""
    links: dict[str, dict[str, int]] = field(default_factory=dict)
    """What the impairments did, by direction (in, out)."""
    queued_out: int = 0
    """Frames that the other end has not taken yet; of a switch's end."""


def common_statistics(state: Any) -> dict[str, Any]:
    """The fields of PortStatistics that a PORT record has, for either end."""
    return {
        "frames_in": int(state["in_frames"]),
        "bytes_in": int(state["in_bytes"]),
        "frames_out": int(state["out_frames"]),
        "bytes_out": int(state["out_bytes"]),
        "drops": {name: int(state[name]) for name in DROP_REASONS if state[name]},
        "notes": {name: int(state[name]) for name in NOTES if state[name]},
        "bells_rung": int(state["rings"]),
        "peer_changes": int(state["peer_changes"]),
    }


class SwitchPort:
    """One port of a switch. The kinds fill in the wire in their constructors, then call ``_connect_switch``."""

    def __init__(self, spec: PortSpec, table: TxPortTable) -> None:
        if spec.number is None:
            raise PortError(f"port {spec}: a switch's port needs a number; write N={spec}")
        self.spec = spec
        self.number = spec.number
        self.records: NDArray[Any] = aligned_bytes(PORT.itemsize).view(PORT)
        self.state = self.records[0]
        self.address = address_of(self.records)
        """What the compiled functions take."""
        self._table = table
        self._inbound: ImpairmentState | None = None
        self._outbound: ImpairmentState | None = None
        self._kept: list[Any] = []
        self._captured_into: CaptureWriter | None = None
        self.cell_bytes = CELL_BYTES
        """The longest frame that impairments carry; the kinds may change it before they connect the switch."""
        self.state["number"] = spec.number
        if table.rings[spec.number]["cells"]:
            raise PortError(f"port {spec}: number {spec.number} is in use; give each port another number")

    @property
    def descriptor(self) -> int:
        """The socket to wait for, or -1: the port rings the process's bell instead."""
        return -1

    @property
    def max_frame_bytes(self) -> int:
        """The longest frame that can leave."""
        return int(self.wire_ring["stride_bytes"])

    @property
    def switch_ring(self) -> Any:
        """The TX_RING that the switch writes."""
        return self._table.rings[self.number]

    @property
    def wire_ring(self) -> Any:
        """The TX_RING whose frames travel."""
        return self.state["own_tx"] if self.spec.outbound else self.switch_ring

    def _connect_switch(self) -> None:
        """Put the impairments between the switch and the wire, or nothing."""
        ring_address = self._table.ring_address(self.number)
        self.state["tx"] = ring_address
        self.state["wire_tx"] = self.address + OWN_TX if self.spec.outbound else ring_address
        if self.spec.inbound:
            self._inbound = ImpairmentState(self.spec.inbound, stream=2 * self.number, frame_bytes=self.cell_bytes)
            self._scratch = FrameBatch(64)
            self.state["impair_in"] = self._inbound.address
            self.state["scratch"] = self._scratch.record_address
        if self.spec.outbound:
            self._outbound = ImpairmentState(
                self.spec.outbound, stream=2 * self.number + 1, frame_bytes=self.cell_bytes
            )
            self.state["impair_out"] = self._outbound.address
            self._kept += make_private_ring(self.switch_ring, IMPAIRED_CELLS, self.cell_bytes)

    def impair(self, inbound: Impairments, outbound: Impairments) -> None:
        """Other impairments from the next frame on, of both directions; queue and seed stay. May be called while a loop
        runs. Raises PortError where the port was not opened as changeable."""
        if self._inbound is None or self._outbound is None:
            raise PortError(f"port {self.spec}: its impairments are fixed; open it with ?changeable=yes")
        self._inbound.configure(inbound)
        self._outbound.configure(outbound)

    def receive_into(self, batch: FrameBatch, now_ns: int = 0, most: int = MOST) -> int:
        """See port_receive; makes room for output first."""
        port_refresh(self.address)
        return int(port_receive(self.address, batch.record_address, most, now_ns))

    def release(self) -> None:
        """See port_release."""
        port_release(self.address)

    def flush(self, now_ns: int = 0) -> int:
        """See port_flush."""
        return int(port_flush(self.address, now_ns))

    def next_timer_ns(self, now_ns: int = 0) -> int | None:
        """See port_next_ns; None: never."""
        due = int(port_next_ns(self.address, now_ns))
        return None if due < 0 else due

    def statistics(self) -> PortStatistics:
        """What has passed so far; may be called while a loop runs."""
        values = common_statistics(self.state)
        rings = [self.wire_ring, self.switch_ring] if self.spec.outbound else [self.wire_ring]
        for reason, name in (("ring_full", "dropped_full"), ("longer_than_port", "dropped_too_long")):
            if total := sum(int(ring[name]) for ring in rings):
                values["drops"][reason] = total
        links = {"in": self._inbound, "out": self._outbound}
        values["links"] = {name: link.statistics() for name, link in links.items() if link is not None}
        return PortStatistics(**values, queued_out=self.queued_out)

    @property
    def queued_out(self) -> int:
        """Frames that wait for the other end; from any thread."""
        ring = self.wire_ring
        return max(0, int(ring["tail"]) - int(ring["limit"]) + int(ring["mask"]) + 1)

    def settle(self) -> None:
        """See port_settle, and attend."""
        if port_settle(self.address):
            self.attend()

    @property
    def is_up(self) -> bool:
        """Whether frames can leave by it now, as far as the port can know. May be asked while a loop runs."""
        return True

    def attend(self) -> None:
        """Log what happened to the port, where the compiled loop could only note it."""

    def capture_into(self, writer: CaptureWriter) -> None:
        """Write what passes into a file from now on: as the switch gets it after the link's impairments, as it sends it
        before them. No loop may be using the port."""
        self._captured_into = writer
        self.state["capture_interface"] = writer.interface(f"port {self.number}", self.spec.address_text)
        self.state["captured"] = self.switch_ring["tail"]
        self.state["capture"] = writer.address

    def attend_capture(self) -> None:
        """Log what happened to the file that the port's frames are written into."""
        if self._captured_into is not None:
            self._captured_into.attend()

    def go_live(self) -> None:
        """A loop with the machine's clock serves the port from now on. Without that its times are its own (pcap)."""

    def close(self) -> None:
        """Take the port away from the switch. No loop may be using it."""
        leave_peer(self.address)
        self.switch_ring["cells"] = 0


def make_private_ring(ring: Any, cells: int, cell_bytes: int = CELL_BYTES) -> list[Any]:
    """Give a TX_RING private cells; returns the memory, for the caller to keep."""
    assert ring.dtype == TX_RING
    memory = aligned_bytes(cells * cell_bytes + FRAME_HEADROOM_BYTES)
    lengths = np.zeros(cells, np.uint32)
    ring["stride_bytes"] = cell_bytes
    ring["mask"] = cells - 1
    ring["tail"] = 0
    ring["limit"] = cells
    ring["lengths"] = address_of(lengths)
    ring["cells"] = address_of(memory) + FRAME_HEADROOM_BYTES
    return [memory, lengths]
