"""The machine's parameters. Each has a unit and a source; `MachineConfig()` is PsPIN as its RTL builds it.

Sources: [rtl] measured on the public RTL, [src] read in its sources, [ours] a choice of this model.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray


class ConfigError(ValueError):
    """A configuration that no machine can have. Says which field and why."""


def unknown_field(table: str, name: str, known: Sequence[str]) -> ConfigError:
    """The error for a key that a table does not have, by the names that a file has."""
    close = difflib.get_close_matches(name, known, 1)
    advice = f"did you mean {close[0]}?" if close else f"known: {', '.join(known)}"
    return ConfigError(f"{table}: there is no field {name}; {advice}")


LIMIT = 1 << 31
"""Limit of each field: sums and products of two stay in the machine's words. [ours]"""
LEAST_STACK_BYTES = 16 * 1024
"""Four times what our deepest handlers use: a full stack is not detected. [ours]"""


@dataclass(frozen=True, slots=True)
class MachineConfig:
    """Sizes in bytes, times in cycles (1 ns at 1 GHz), rates in bytes a cycle."""

    clusters: int = 4
    """Clusters of cores. [src]; Flare: 64."""
    cores: int = 8
    """Cores in a cluster. [src]"""
    tasks_per_cluster: int = 20
    """Tasks a cluster takes at a time, 8 running and 12 buffered. [src]"""
    message_queues: int = 256
    """Message queues; a message uses the one of its number modulo this. [src]"""
    queue_cells: int = 128
    """Packet descriptors shared by the queues, in addition to one per queue. [src]"""
    max_packet_bytes: int = 2048
    """Largest packet. [src]"""
    beat_bytes: int = 64
    """Width of the wide buses: 512 bit. [src]"""
    l1_bytes: int = 1 << 20
    """L1 of a cluster. [src]"""
    l1_runtime_bytes: int = 17 * 1024
    """The runtime's part of it: 1 KiB reserved, 16 KiB runtime. [src]"""
    l1_packet_bytes: int = 64 * 1024
    """The packet buffer's part of it. A header file says 32 KiB; the RTL has 64. [src]"""
    l2_packet_bytes: int = 4 << 20
    """L2 packet memory. [src]"""
    l2_handler_bytes: int = 4 << 20
    """L2 handler memory. [src]"""
    program_bytes: int = 32 * 1024
    """L2 program memory. [src]"""
    packet_rows: int = 4096
    """Packets that may be in the machine at a time. [ours]"""
    network_beats: int = 1
    """Beats the network interface writes to L2 in a cycle (512 Gbit/s). [rtl]"""
    copy_beats: int = 1
    """Beats the port from L2 to the L1s moves in a cycle, no two of them into one cluster. [rtl]; Flare: 16.

    If it is 1, the cluster next in turn holds up the others while all its copies are in flight, as built."""
    send_beats: int = 1
    """Beats that are sent to the network in a cycle, no two of them from one cluster. [rtl]; Flare's clusters: 16.

    If it is 1, what commands read of any two L1s shares one way back, as built."""
    arrival_to_request: int = 5
    """Last beat written to request at the message queue. [rtl]"""
    request_to_task: int = 2
    """Request to task at the scheduler. [rtl]"""
    task_to_accept: int = 1
    """Task to the cluster's acceptance, when the copy is issued. [rtl]"""
    copy_latency: int = 11
    """Copy L2 to L1, in addition to one cycle a beat. [rtl]"""
    copies_in_flight: int = 2
    """Reads of L2 that a cluster's copies have in flight. [src]"""
    copy_slot: int = 3
    """Cycles from a copy's last beat until the cluster may ask for the one after the next: 64 B go every 2. [rtl]"""
    copy_turns: int = 2
    """Cycles of a copy's beat while reads and writes of commands take turns at the L1 it goes to. [src]"""
    copy_buffer: int = 7
    """Beats that the registers between L2 and an L1 hold in addition to those in flight. [src]"""
    copied_to_dispatch: int = 1
    """End of the copy to dispatch. [rtl]"""
    dispatch_to_start: int = 4
    """Dispatch to the handler's first cycle; with the handler's cycles, dispatch to doorbell. [rtl]"""
    first_task_extra: int = 1
    """More on a core's first task. [rtl]"""
    busy_extra: int = 1
    """More while all other cores of the cluster run: they share the port of the instruction cache. [rtl]"""
    doorbell_to_free: int = 1
    """Doorbell to the core's next task. [rtl]"""
    feedback_latency: int = 1
    """Doorbell, or end of the last command, to feedback. [rtl]"""
    feedback_to_doorbell: int = 2
    """Feedback that leaves the core to the doorbell of a handler that waited for its place. [src]"""
    feedback_to_command: int = 0
    """Feedback that leaves the core to the end of a handler's wait to issue a command. [rtl]"""
    commands_per_core: int = 4
    """Commands in flight of a core. [src]"""
    commands_in_flight: int = 7
    """Commands in flight at an interface: its buffer has 8 places and keeps one free. [src]"""
    requests_in_flight: int = 2
    """Requests to L1s that an engine behind an interface has taken and not wholly done. [src]"""
    issue_latency: int = 3
    """Issue by the core to the interface: queue of the core, of the cluster, of the unit. [src]"""
    register_places: int = 2
    """Places of a cluster's registers for commands at the unit, and for feedback at the scheduler. [src]"""
    stale_handles: int = 0
    """1: as built, a command that waits for the feedback of the task before gives its handler the number that would
    have been free when it began to wait, so that a wait on it returns at once. 0: mended. [src]"""
    send_latency: int = 3
    """Command unit to the end of a send, in addition to its beats. [rtl]"""
    send_turn: int = 1
    """Cycles from the last beat that commands of an engine read to the request for another cluster's L1. [rtl]"""
    l2_read_extra: int = 2
    """More cycles if a command reads L2 instead of an L1. [rtl]"""
    l2_write_requests: int = 7
    """Requests of the network interface that L2 takes before their beats; of more, one is held. [src]"""
    l2_read_slot: int = 6
    """Cycles from a packet's last beat written to L2 to when a request to read passes the one held. [rtl]"""
    l2_bank_gap: int = 26
    """Beats between what the network interface writes and what a copy to the host begins to read, where writes have
    caught up with reads at L2's banks and wait with them for the host's beat more. [rtl]"""
    write_turn: int = 2
    """Cycles from the last beat that a copy from the host writes to the request for another cluster's L1. [rtl]"""
    host_write_latency: int = 17
    """Command unit to the end of a copy to the host, in addition to its beats. [rtl]"""
    host_write_fill: int = 4
    """Part of it before the first beat is read: queue, burst, request and two cuts of a crossbar. A copy from the host
    asks to write as early. [src]"""
    host_read_latency: int = 16
    """Command unit to the end of a copy from the host, in addition to its beats. [rtl]"""
    host_read_fill: int = 11
    """Part of it before the first beat is written: the way to the host and back. [src]"""
    host_extra_beats: int = 1
    """More beats of a host copy: host addresses are not aligned. [rtl]"""
    host_word_latency: int = 5
    """Command unit to the end of a word's write. [rtl]"""
    wait_to_resume: int = 2
    """End of a command to the handler that waits for it. [rtl]"""
    host_read_hold: int = 1
    """More cycles that a copy from the host keeps its place in the unit: its answer's way to the core. [src]"""
    l2_access: int = 2
    """Cycles of a core's load or store in L2 at the way there, which all cores share. [rtl]"""
    trap_cycles: int = 40
    """Cycles from a fault to the doorbell: the trap and the runtime's handler. [rtl]"""
    cache_lines: int = 256
    """Instruction cache of a cluster: 4 KiB in lines of 16 B. [src]"""
    cache_line_bytes: int = 16
    """[src]"""
    cache_miss: int = 8
    """Cycles a cold line costs. [rtl]"""
    cache_request: int = 3
    """Those of them to the cluster's unit that brings lines: tags, request, its buffer. [src]"""
    cache_port: int = 2
    """Cycles of a line at the port that all clusters' code comes by: it has 8 bytes. [src]"""
    cache_turn: int = 7
    """Turn of the arbiter of each such unit before the first handler: booting fetches code, too. [rtl]"""
    return_cycles: int = 3
    """Cycles from the request for the line that a handler returns to to its end: a jump and the end's mark. [src]"""
    superbanks: int = 4
    """Superbanks of L1, interleaved at a beat. [src]"""
    bank_permille: int = 1000
    """Cycles in a thousand that an access to L1 waits, times used / free cycles of a superbank: the next cycle is as
    likely to be free as this one was. [src]"""
    core_permille: int = 4
    """The same for each other core that runs in the cluster. [rtl]"""
    few_accesses: int = 4
    """Up to this many accesses each meets beats of copies or none; more wait as long as they do on average.
    [ours]"""
    header_accesses: int = 12
    """Accesses with which a handler reads and turns round a packet's headers. [src]"""
    header_bank_permille: int = 500
    """Those of a thousand of them to the bank that has most of them. It is the same bank for all packets whose length
    is a multiple of all superbanks' beats, so cores that begin together wait for each other. [rtl]"""
    lock_handoff: int = 6
    """Unlock to the next holder's first cycle: a turn of its polling loop. [ours]"""
    handler_limit: int = 1_000_000
    """Cycles after which a handler counts as never returning; so does a wait for a lock. [ours]"""
    loop_limit: int = 50_000_000
    """Turns of a handler's loops after which it does; a range counts before its loop begins. [ours]"""
    stack_bytes: int = 64 * 1024
    """Stack of a simulated core on the host. [ours]"""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if type(value) is not int or not 0 <= value < LIMIT:
                raise ConfigError(f"{field.name} = {value!r}: must be an integer of at least 0 and less than {LIMIT}")
        positive = (
            "clusters", "cores", "tasks_per_cluster", "message_queues", "max_packet_bytes", "packet_rows", "beat_bytes",
            "register_places", "copies_in_flight", "copy_turns", "superbanks", "send_beats", "commands_per_core",
            "commands_in_flight", "cache_line_bytes",
        )  # fmt: skip
        for name in positive:
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1")
        if self.max_packet_bytes > self.l1_packet_bytes:
            raise ConfigError(
                f"a packet of max_packet_bytes = {self.max_packet_bytes} does not fit into "
                f"l1_packet_bytes = {self.l1_packet_bytes}"
            )
        if self.max_packet_bytes > self.l2_packet_bytes:
            raise ConfigError("a packet of max_packet_bytes does not fit into l2_packet_bytes")
        if self.host_write_fill > self.host_write_latency or self.host_read_fill > self.host_read_latency:
            raise ConfigError("host_write_fill is a part of host_write_latency, host_read_fill of host_read_latency")
        if self.stack_bytes < LEAST_STACK_BYTES or self.stack_bytes % 64:
            raise ConfigError(f"stack_bytes = {self.stack_bytes}: a multiple of 64, at least {LEAST_STACK_BYTES}")
        if self.scratchpad_bytes <= 0:
            raise ConfigError("l1_bytes leaves nothing after l1_runtime_bytes and l1_packet_bytes")
        if self.clusters * self.cores >= 1 << 18 or self.packet_rows >= 1 << 18:
            raise ConfigError("at most 262,143 cores and packet_rows")
        if 2 * self.clusters * self.cores * self.commands_per_core >= 1 << 18:
            raise ConfigError(f"commands_per_core = {self.commands_per_core}: at most 131,071 of all cores together")

    @property
    def scratchpad_bytes(self) -> int:
        """L1 of a cluster left for scratchpads."""
        return self.l1_bytes - self.l1_runtime_bytes - self.l1_packet_bytes

    def words(self) -> NDArray[np.int64]:
        """The fields in order, as the engine reads them (`C_*` below)."""
        return np.array([getattr(self, field.name) for field in fields(self)], np.int64)


_ORDER = {field.name: index for index, field in enumerate(fields(MachineConfig))}


def index_of(name: str) -> int:
    """Position of a field in `MachineConfig.words`."""
    return _ORDER[name]
