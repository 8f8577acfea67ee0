"""What travels in the forwarding benchmark, and a switch that is set up for it."""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

from emulator.switch.control import Exact, Lpm, TableEntry
from emulator.switch.core import Switch
from emulator.v1model.compiled import load
from hostagent.protocol.frames import Addresses, Frame, build_frame, ipv4_header
from hostagent.protocol.wire import ETHERNET_BYTES, ETHERTYPE_IPV4, OFFSET, UDP_BYTES, Header

FRAMES = 1024
ROUTES = 256
SEED = 20

JOB, EPOCH = 3, 7
WINDOW = 256
CHILDREN = (1, 2)
"""Ports, and numbers of the children less one."""

SWITCH_MAC, SWITCH_IP = 0x0200_0000_00C8, 0x0A00_00C8
HEADER_AT = ETHERNET_BYTES + 20 + UDP_BYTES
CHUNK_AT = HEADER_AT + OFFSET["chunk"]


def routed_frames(frame_bytes: int) -> NDArray[np.uint8]:
    """UDP datagrams to random hosts of 256 routed networks, shape (FRAMES, frame_bytes)."""
    source = np.random.default_rng(SEED)
    frames = np.zeros((FRAMES, frame_bytes), np.uint8)
    macs = SWITCH_MAC.to_bytes(6, "big") + _mac(1).to_bytes(6, "big")
    for row, host in zip(frames, source.integers(0, ROUTES << 8, FRAMES), strict=True):
        ipv4 = ipv4_header(frame_bytes - ETHERNET_BYTES, _ip(1), 0x0A80_0000 | int(host))
        head = macs + struct.pack(">H", ETHERTYPE_IPV4) + ipv4
        head += struct.pack(">HHHH", 9, 9, frame_bytes - len(head), 0)
        row[: len(head)] = np.frombuffer(head, np.uint8)
    return frames


def contributions(lanes: int) -> NDArray[np.uint8]:
    """Frames of both children, 64 each, shape (2, 64, bytes); the chunk number is to be filled in."""
    values = np.random.default_rng(SEED).integers(0, 1 << 32, (len(CHILDREN), 64, lanes), np.uint32)
    rows = []
    for child, of_child in enumerate(values):
        addresses = Addresses(_mac(child + 1), SWITCH_MAC, _ip(child + 1), SWITCH_IP)
        header = Header(kind=0, job=JOB, child=child, epoch=EPOCH, chunk=0, operation=0xABCD)
        rows.append([np.frombuffer(build_frame(Frame(addresses, header, numbers)), np.uint8) for numbers in of_child])
    return np.array(rows)


def _mac(host: int) -> int:
    return 0x0200_0000_0000 | host


def _ip(host: int) -> int:
    return 0x0A00_0000 | host


def load_switch(traffic: str, lanes: int) -> Switch:
    """A switch with the router or the aggregator and its entries; ports 1 and 2."""
    switch = Switch()
    if traffic == "router":
        switch.load(load("router.p4"))
        _install_routes(switch)
    else:
        switch.load(load("allreduce.p4", {"LANES": str(lanes)}))
        _install_job(switch)
    return switch


def _insert(switch: Switch, name: str, action: str, match: tuple[Exact | Lpm, ...], params: tuple[int, ...]) -> None:
    assert switch.program is not None
    table = next(table for table in switch.program.view.tables if table.name == name)
    number = next(found.id for found in table.actions if found.name == action)
    switch.insert_entry(table.id, TableEntry(match, 0, number, params))


def _install_routes(switch: Switch) -> None:
    for network in range(ROUTES):
        match = (Lpm(1, 0x0A80_0000 | network << 8, 24),)
        _insert(switch, "RouterIngress.routes", "RouterIngress.set_nhop", match, (2, _mac(2)))
    for port in CHILDREN:
        _insert(switch, "RouterEgress.source_macs", "RouterEgress.set_source", (Exact(1, port),), (SWITCH_MAC,))


def _install_job(switch: Switch) -> None:
    job = (EPOCH, 0, WINDOW, WINDOW.bit_length() - 1, 0, (1 << len(CHILDREN)) - 1, 1, 1, 0)
    _insert(switch, "AllreduceIngress.jobs", "AllreduceIngress.set_job", (Exact(1, JOB),), job)
    for child, port in enumerate(CHILDREN):
        sender = (JOB, child, port, _mac(port), _ip(port))
        match = tuple(Exact(index, value) for index, value in enumerate(sender, 1))
        _insert(switch, "AllreduceIngress.children", "AllreduceIngress.set_child", match, (1 << child, 1))
        copy = (child, SWITCH_MAC, _mac(port), SWITCH_IP, _ip(port), 0)
        match = (Exact(1, port), Exact(2, port))
        _insert(switch, "AllreduceEgress.copies", "AllreduceEgress.address_copy", match, copy)
    switch.insert_multicast_group(1, tuple((port, port) for port in CHILDREN))
