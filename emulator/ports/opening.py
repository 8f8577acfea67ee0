"""Opening of a port from its specification."""

from __future__ import annotations

from collections.abc import Sequence

from emulator.native.pages import CACHE_LINE_BYTES
from emulator.ports.batch import TxPortTable
from emulator.ports.cable.bell import Bell
from emulator.ports.cable.memory import MemoryPort
from emulator.ports.cable.rings import Geometry
from emulator.ports.cable.shm import ShmHostPort, ShmSwitchPort
from emulator.ports.errors import PortError
from emulator.ports.host import HostPort
from emulator.ports.interface.interface import InterfacePort
from emulator.ports.loop.runner import warm_loop
from emulator.ports.pcap.pcap import PcapPort
from emulator.ports.port import SwitchPort
from emulator.ports.sockets.tcp import TcpHostPort, TcpSwitchPort
from emulator.ports.sockets.udp import UdpHostPort, UdpSwitchPort
from emulator.ports.spec import PortKind, PortSpec, parse_port

SOCKETS = {PortKind.UDP, PortKind.TCP, PortKind.INTERFACE}


def make_switch_bell(specs: Sequence[PortSpec]) -> Bell:
    """The bell of a switch process with these ports."""
    kinds = {spec.kind for spec in specs}
    return Bell(shared=PortKind.SHM in kinds, poll=bool(kinds & SOCKETS))


def cable_for(frame_bytes: int) -> Geometry:
    """For a switch that sends no longer frames: adjacent cells. With cells of 8.5 KiB each is on separate pages,
    and 16 ports of 1 KiB a frame had seven times the TLB misses and took a rack server a quarter more CPU time."""
    return Geometry(stride_bytes=-(-frame_bytes // CACHE_LINE_BYTES) * CACHE_LINE_BYTES)


def open_switch_port(spec: PortSpec, table: TxPortTable, bell: Bell, geometry: Geometry | None = None) -> SwitchPort:
    """The switch's end of a port; its egress frames go through ``table``. Raises PortError.

    ``geometry``: of a cable of shared memory, instead of the default one.
    """
    if spec.kind is PortKind.SHM:
        return ShmSwitchPort(spec, table, bell, geometry)
    if spec.kind is PortKind.MEMORY:
        return MemoryPort(spec, table, bell)
    if spec.kind is PortKind.PCAP:
        return PcapPort(spec, table)
    port: UdpSwitchPort | TcpSwitchPort | InterfacePort
    if spec.kind is PortKind.UDP:
        port = UdpSwitchPort(spec, table)
    elif spec.kind is PortKind.TCP:
        port = TcpSwitchPort(spec, table, bell)
    else:
        port = InterfacePort(spec, table)
    bell.watch(port.descriptor)
    return port


def open_switch_ports(
    specs: Sequence[PortSpec], table: TxPortTable, bell: Bell, geometry: Geometry | None = None
) -> list[SwitchPort]:
    """All of them, or none: where one can't be had the others are closed again. ``geometry``: see the one."""
    if SOCKETS & {spec.kind for spec in specs}:
        warm_loop()
    ports: list[SwitchPort] = []
    try:
        for spec in specs:
            ports.append(open_switch_port(spec, table, bell, geometry))
    except BaseException:
        for port in ports:
            port.close()
        raise
    return ports


def open_host_port(spec: PortSpec | str) -> HostPort:
    """The host's end of a port: ``shm:NAME``, ``udp:LOCAL,REMOTE`` or ``tcp:LOCAL,REMOTE``. Raises PortError."""
    if isinstance(spec, str):
        spec = parse_port(spec, numbered=False)
    if spec.inbound or spec.outbound:
        raise PortError(
            f"port {spec}: impairments belong to the switch's end; leave out what follows the question mark"
        )
    if spec.kind is PortKind.SHM:
        return ShmHostPort(spec)
    if spec.kind is PortKind.UDP:
        return UdpHostPort(spec)
    if spec.kind is PortKind.TCP:
        return TcpHostPort(spec)
    raise PortError(f"port {spec}: only shm, udp and tcp ports have an end for a host of ours; use one of them")
