"""The loops of a switch's process, from an object file: what Python calls of them, by name."""

from __future__ import annotations

import functools

from emulator.native.jit_cache import source_stamp
from emulator.native.loops_file import Entries, adopt_loops
from emulator.native.object_code import ObjectCodeError


@functools.cache
def adopt_switch_loops() -> None:
    """From now on this process needs no numba to serve ports of any kind but capture files; where that cannot be, it
    loads numba as ever."""
    try:
        adopt_loops("switch-loops", source_stamp(__file__), entries())
    except (OSError, ObjectCodeError):
        return


def entries() -> Entries:
    """The largest first. What is missing loads numba when it is first called; `test_switch_process` looks for that."""
    from emulator.ports import host, port
    from emulator.ports.cable import bell, shm, wake_peer
    from emulator.ports.loop import program, turns
    from emulator.ports.pcap import pcapng, writer
    from emulator.ports.sockets import tcp_loops

    return [
        (turns.run_slice, 1),
        (port.port_receive, 4),
        (port.port_flush, 2),
        (port.port_release, 1),
        (port.port_next_ns, 2),
        (program.call_program, 4),
        (port.port_refresh, 1),
        (port.port_has_input, 1),
        (port.port_settle, 1),
        (bell.bell_ring, 2),
        (bell.bell_prepare, 1),
        (bell.bell_cancel, 1),
        (bell.bell_sleep, 3),
        (host.host_wait, 4),
        (host.request_wake, 1),
        (host.host_post, 3),
        (host.host_posted, 1),
        (host.host_consumed, 1),
        (host.host_receive, 3),
        (host.host_release, 1),
        (host.host_flush, 1),
        (wake_peer.ring_peer, 1),
        (wake_peer.leave_peer, 1),
        (shm._load, 1),
        (shm._store, 2),
        (tcp_loops.offer_socket, 2),
        (tcp_loops.tcp_drop, 1),
        (writer.writer_flush, 1),
        (pcapng.index_packets, 8),
    ]
