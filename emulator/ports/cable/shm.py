"""A port in shared memory: a cable in a file that both ends map, named by the user.

The switch's end makes the file; a host finds it by its name. Who holds an end has the lock on its byte of the file, so
an end is taken once, and free again the moment its process is gone. Whoever leaves last removes the file.

What happens when an end dies and comes back. Positions live in the file, so a new switch goes on where the old one
stood: frames posted and not consumed are read again, by an empty switch. A new host must not rewrite frames that the
switch may still be reading, so it waits until everything its predecessor posted has been consumed; where no switch is
attached, it declares it consumed itself. It discards what was sent to its predecessor. Then the end's generation rises,
by which the other end notices, and finds the new bell.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from emulator.native.atomics import load_acquire64, store_release64
from emulator.native.jit import njit
from emulator.ports.batch import TxPortTable
from emulator.ports.cable import shm_files
from emulator.ports.cable.bell import Bell
from emulator.ports.cable.rings import (
    DOWN_HEAD,
    DOWN_TAIL,
    END_GENERATION,
    HEADER_BYTES,
    HOST_END,
    LAYOUT_VERSION,
    MAGIC,
    SWITCH_END,
    UP_HEAD,
    UP_TAIL,
    Geometry,
    header_of,
    place,
    place_tx,
    write_header,
)
from emulator.ports.cable.shared_folder import shared_folder
from emulator.ports.cable.wake_peer import bell_path_template, ring_peer
from emulator.ports.errors import NotOffered, PortError
from emulator.ports.host import FramePool, HostPort, pool_bytes, pool_over, pool_stride
from emulator.ports.port import SwitchPort, port_refresh
from emulator.ports.spec import PortSpec
from emulator.ports.state import WireKind

PORT_PREFIX = f"{shm_files.PREFIX}port-"

LOCK_SWITCH, LOCK_HOST, LOCK_GATE = 0, 1, 2
"""Bytes of the file: who holds each end, and who is just now taking or leaving one."""

DRAIN_TIMEOUT_S = 10.0
"""How long a new host waits for the switch to read what the old one posted. A running switch needs microseconds; one
that is paused for a control change, or is compiling a program, some seconds."""

DRAIN_STEP_S = 0.0005


def port_path(name: str) -> Path:
    """The file of the port with this name."""
    return shared_folder() / f"{PORT_PREFIX}{name}"


@njit
def _load(address: int) -> int:
    return load_acquire64(address)


@njit
def _store(address: int, value: int) -> None:
    store_release64(address, value)


def read_geometry(shared: shm_files.SharedFile) -> Geometry:
    """The sizes in a file's header. Raises PortError where they are not those of such a file."""
    if len(shared.bytes) < HEADER_BYTES or int(header_of(shared.bytes)["magic"]) != MAGIC:
        raise PortError(f"{shared.path} is not a port of ours; remove it or use another name")
    header = header_of(shared.bytes)
    if int(header["version"]) != LAYOUT_VERSION:
        raise PortError(f"{shared.path} was made by another version of netsum; end its processes and remove it")
    geometry = Geometry(*(int(header[name]) for name in ("posts", "cells", "stride_bytes", "pool_bytes")))
    if geometry.problem() or geometry.total_bytes != len(shared.bytes):
        problem = geometry.problem() or "the file has another size than its header says"
        raise PortError(f"{shared.path} is damaged: {problem}; end its processes and remove it")
    return geometry


def _other(end: int) -> int:
    return LOCK_HOST if end == LOCK_SWITCH else LOCK_SWITCH


def _take(spec: PortSpec, shared: shm_files.SharedFile, end: int) -> bool:
    """Lock one end, through the gate; False when the file has lost its name meanwhile. The gate stays ours."""
    shm_files.wait_lock(shared.descriptor, LOCK_GATE)
    if not shared.is_named():
        return False
    if not shm_files.try_lock(shared.descriptor, end):
        owner = header_of(shared.bytes)["switch" if end == LOCK_SWITCH else "host"]["pid"]
        role = "switch" if end == LOCK_SWITCH else "host"
        raise PortError(f"port {spec} is in use by another {role}, process {owner}; end it or use another name")
    return True


def _announce(shared: shm_files.SharedFile, end: str, bell: Bell) -> None:
    """Tell the other end who we are; the generation last."""
    block = header_of(shared.bytes)[end]
    block["bell"] = bell.identity
    block["pid"] = os.getpid()
    offset = SWITCH_END if end == "switch" else HOST_END
    _store(shared.address + offset + END_GENERATION, int(block["generation"]) + 1)
    shm_files.unlock(shared.descriptor, LOCK_GATE)


def _leave(shared: shm_files.SharedFile, end: int) -> None:
    """Give an end back, and remove the file if the other end is free too.

    The gate makes the two ends leave one after the other, so that one of them is the last; and keeps anybody from
    mistaking our look at the other end's lock for its owner.
    """
    if not shared.is_open:
        return
    shm_files.wait_lock(shared.descriptor, LOCK_GATE)
    shm_files.unlock(shared.descriptor, end)
    if shm_files.try_lock(shared.descriptor, _other(end)):
        shared.unlink()
    shared.close()


def _connect(state: Any, shared: shm_files.SharedFile, geometry: Geometry, peer_end: int) -> Any:
    """Fill in a PORT record; returns the memory of the path of the peer's bell, for the caller to keep."""
    state["kind"] = WireKind.CABLE
    place(state, shared.address, geometry)
    template = bell_path_template()
    state["bell_path"] = template.ctypes.data
    state["peer_block"] = shared.address + peer_end
    return template


class ShmSwitchPort(SwitchPort):
    """The switch's end; makes the file, or takes over the file of a switch that has ended."""

    def __init__(self, spec: PortSpec, table: TxPortTable, bell: Bell, geometry: Geometry | None = None) -> None:
        super().__init__(spec, table)
        self._shared = self._open(geometry or Geometry())
        try:
            self._kept.append(_connect(self.state, self._shared, read_geometry(self._shared), HOST_END))
            self._connect_switch()
            self._resume()
            _announce(self._shared, "switch", bell)
        except BaseException:
            _leave(self._shared, LOCK_SWITCH)
            raise

    def _open(self, geometry: Geometry) -> shm_files.SharedFile:
        path = port_path(self.spec.name)
        while True:
            shared = shm_files.open_existing(path) or shm_files.create(
                path, geometry.total_bytes, geometry.pool_offset, lambda made: write_header(made.bytes, geometry)
            )
            if shared is None:
                continue
            try:
                if _take(self.spec, shared, LOCK_SWITCH) and not self._replace(shared, geometry):
                    return shared
            except BaseException:
                shared.close()
                raise
            shared.close()

    def _replace(self, shared: shm_files.SharedFile, geometry: Geometry) -> bool:
        """Remove a file left behind with other sizes or damaged; True when it was, so a new one must be made."""
        try:
            if read_geometry(shared) == geometry:
                return False
            problem = f"port {self.spec} has a host attached, with other sizes; end the host first"
        except PortError as error:
            problem = str(error)
        if not shm_files.try_lock(shared.descriptor, LOCK_HOST):
            raise PortError(problem)
        shared.unlink()
        return True

    def _resume(self) -> None:
        """Go on where the last switch stood."""
        address = self._shared.address
        head, published = _load(address + UP_HEAD), _load(address + DOWN_TAIL)
        self.state["in_next"] = self.state["in_released"] = head
        self.state["out_published"] = published
        place_tx(self.wire_ring, self.state, published)
        port_refresh(self.address)

    def close(self) -> None:
        """Leave the cable; the file goes with the last end."""
        super().close()
        _leave(self._shared, LOCK_SWITCH)


class ShmHostPort(HostPort):
    """The host's end of a port that a switch has made."""

    def __init__(self, spec: PortSpec, bell: Bell | None = None) -> None:
        super().__init__(spec, bell or Bell())
        self._owns_bell = bell is None
        self._pools: list[tuple[int, int]] = []
        try:
            self._shared = self._open()
        except BaseException:
            self._close_bell()
            raise
        try:
            self._geometry = read_geometry(self._shared)
            self._path = _connect(self.state, self._shared, self._geometry, SWITCH_END)
            self._drain()
            self._resume()
            _announce(self._shared, "host", self.bell)
        except BaseException:
            self.close()
            raise

    def _open(self) -> shm_files.SharedFile:
        path = port_path(self.spec.name)
        while True:
            shared = shm_files.open_existing(path)
            if shared is None:
                raise NotOffered(f"port {self.spec}: no switch offers it ({path} is not there); start the switch first")
            try:
                if _take(self.spec, shared, LOCK_HOST):
                    return shared
            except BaseException:
                shared.close()
                raise
            shared.close()

    def _drain(self) -> None:
        """Wait until nobody reads frames of the host that was here before."""
        address = self._shared.address
        deadline = time.monotonic() + DRAIN_TIMEOUT_S
        while _load(address + UP_HEAD) != _load(address + UP_TAIL):
            if shm_files.try_lock(self._shared.descriptor, LOCK_SWITCH):
                # nobody reads; and with the gate ours, nobody can begin to
                _store(address + UP_HEAD, _load(address + UP_TAIL))
                shm_files.unlock(self._shared.descriptor, LOCK_SWITCH)
                return
            if time.monotonic() > deadline:
                raise PortError(
                    f"port {self.spec}: its switch has not read the last host's frames in {DRAIN_TIMEOUT_S:g} s; "
                    f"is it stopped?"
                )
            # the old host may have died between posting and ringing
            ring_peer(self.address)
            time.sleep(DRAIN_STEP_S)

    def _resume(self) -> None:
        """Go on where the last host stood, without what was sent to it."""
        address = self._shared.address
        posted, sent = _load(address + UP_TAIL), _load(address + DOWN_TAIL)
        for name in ("out_next", "out_published", "out_taken"):
            self.state[name] = posted
        self.state["in_next"] = self.state["in_released"] = sent
        _store(address + DOWN_HEAD, sent)

    def frame_pool(self, count: int, stride_bytes: int) -> FramePool:
        """See HostPort. Raises PortError when the pool's address space or the machine's shared memory is used up."""
        stride_bytes = pool_stride(stride_bytes)
        need = -(-pool_bytes(count, stride_bytes) // 4096) * 4096
        start = self._find_room(need)
        offset = self._geometry.pool_offset + start
        shm_files.reserve(self._shared.descriptor, offset, need, self._shared.path.parent)
        self._pools = sorted([*self._pools, (start, need)])
        return pool_over(self._shared.bytes[offset : offset + need], count, stride_bytes)

    def _find_room(self, need: int) -> int:
        start = 0
        for used_start, used in self._pools:
            if start + need <= used_start:
                break
            start = used_start + used
        if start + need > self._geometry.pool_bytes:
            size = f"{need / 2**20:.1f} MiB of {self._geometry.pool_bytes / 2**20:.0f} MiB"
            raise PortError(
                f"port {self.spec}: its frame pool is used up ({size} asked for); close unused groups first"
            )
        return start

    def release_pool(self, pool: FramePool) -> None:
        """See HostPort."""
        start = pool.address - pool.address % 4096 - self._shared.address - self._geometry.pool_offset
        for index, (used_start, used) in enumerate(self._pools):
            if used_start == start:
                del self._pools[index]
                self._shared.discard(self._geometry.pool_offset + start, used)
                return
        raise ValueError("this pool is not the port's, or was released before")

    def close(self) -> None:
        """Leave the cable; the file goes with the last end."""
        super().close()
        _leave(self._shared, LOCK_HOST)
        self._close_bell()

    def _close_bell(self) -> None:
        if self._owns_bell:
            self.bell.close()
